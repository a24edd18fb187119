//! Machine instructions: the opcode, the effect on the flow, and the units that they occupy.
//!
//! NVIDIA does not document the encoding. The parts read here were compared with the output of
//! nvdisasm 13.0 for compute capabilities 8.0, 8.9, 9.0, 10.0 and 12.0. An unknown opcode counts
//! as an instruction that occupies only an issue slot.

use crate::timing::pipes::{Cost, Pipe, cost};
use crate::timing::rates::Units;
use fatbin::code::MachineInstruction;

/// From this compute capability on, the low bits of a jump's distance are in another field.
const NEWER_JUMPS: u32 = 90;

/// The effect on the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The next instruction follows.
    Next,
    /// A jump to an instruction, by its number.
    Jump { target: usize, is_conditional: bool },
    /// A jump for the case that lanes of a warp are at different places.
    JumpOfParts,
    /// A jump by a register.
    Indexed,
    /// The end of the function.
    End { is_conditional: bool },
    /// A call; if the PTX has none there, of a subroutine for rare operands.
    Call { is_conditional: bool },
}

/// The memory that an instruction accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Global, shared or local memory, by a load.
    Load,
    /// The same by a store.
    Store,
    /// The same by an atomic.
    Atomic,
    /// From global to shared memory.
    Copy,
}

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The line of the PTX from which it comes.
    pub ptx_line: Option<u32>,
    /// Its effect on the flow.
    pub effect: Effect,
    /// The memory that it accesses.
    pub access: Option<Access>,
    /// Whether it is a barrier of the block.
    pub is_barrier: bool,
    /// Whether it asks the other lanes of its warp, as ptxas does where it merges their atomics.
    pub asks_lanes: bool,
    /// How ptxas orders it.
    pub control: Control,
    /// The barrier for which it waits until at most so many of those that release it are left.
    pub awaits: Option<(usize, usize)>,
    opcode: u16,
}

/// Barriers of a warp.
pub const BARRIERS: usize = 6;

/// The order of an instruction among those of its warp. ptxas knows the latency of arithmetic.
/// Instructions of another latency release a barrier of their warp, for which others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Clocks until the next instruction may issue.
    pub stall: u8,
    /// The barrier that its result releases.
    pub result: Option<usize>,
    /// The barrier that it releases once it has read its operands.
    pub operands: Option<usize>,
    /// A bit for each barrier for which it waits.
    waits: u8,
}

impl Control {
    fn new(bits: u128) -> Self {
        let field = |from: u32, count: u32| (bits >> from & ((1 << count) - 1)) as u8;
        let barrier = |from| Some(usize::from(field(from, 3))).filter(|at| *at < BARRIERS);
        Self {
            stall: field(105, 4),
            result: barrier(110),
            operands: barrier(113),
            waits: field(116, 6),
        }
    }

    /// The barriers for which it waits.
    pub fn waits(&self) -> impl Iterator<Item = usize> {
        let waits = self.waits;
        (0..BARRIERS).filter(move |at| waits & (1 << at) != 0)
    }
}

impl Instruction {
    /// The instruction number `at` of a function for a `compute_capability`.
    pub fn new(code: &MachineInstruction, at: usize, compute_capability: u32) -> Self {
        let field = |from: u32, bits: u32| (code.bits >> from & ((1 << bits) - 1)) as u64;
        let opcode = field(0, 9) as u16;
        let is_uniform = field(9, 3) == 2;
        // Predicate 7 is always true.
        let is_conditional = field(12, 3) != 7 || field(87, 3) != 7 || is_uniform;
        let effect = match opcode {
            0x147 if !is_uniform && field(91, 1) == 1 => Effect::JumpOfParts,
            0x147 => {
                let high = (field(34, 48) << 16).cast_signed() >> 16;
                let words = match compute_capability {
                    NEWER_JUMPS.. => high << 8 | field(16, 8).cast_signed(),
                    _ => high,
                };
                let target = (at as i64 + 1).saturating_add(words / 4);
                Effect::Jump { target: usize::try_from(target).unwrap_or(0), is_conditional }
            }
            0x149 | 0x14a => Effect::Indexed,
            0x14d | 0x150 => Effect::End { is_conditional: field(12, 3) != 7 },
            0x143 | 0x144 => Effect::Call { is_conditional: field(12, 3) != 7 },
            _ => Effect::Next,
        };
        let access = match opcode {
            0x3b | 0x180 | 0x181 | 0x183 | 0x184 => Some(Access::Load),
            0x185..=0x188 => Some(Access::Store),
            0x18a..=0x18e | 0x1a6 | 0x1a8 | 0x1a9 => Some(Access::Atomic),
            0x1ae => Some(Access::Copy),
            _ => None,
        };
        Self {
            ptx_line: code.ptx_line,
            effect,
            access,
            is_barrier: opcode == 0x11d,
            // VOTE, VOTEU, REDUX.
            asks_lanes: matches!(opcode, 0x06 | 0x86 | 0x1c4),
            control: Control::new(code.bits),
            // DEPBAR.LE.
            awaits: (opcode == 0x11a).then(|| (field(44, 3) as usize, field(38, 6) as usize)),
            opcode,
        }
    }

    /// Clocks until its result is there, if that varies and it accesses no memory. By chains of
    /// instructions on an H100 and an H200, less the instructions that ptxas adds
    /// (docs/scripts/estimate).
    pub fn latency(&self) -> u64 {
        match self.opcode {
            // SHFL, S2R, REDUX, S2UR.
            0x189 | 0x119 | 0x1c3 | 0x1c4 => 24,
            // MUFU, POPC, FLO, F2I, I2F and their like.
            _ => 17,
        }
    }

    /// Whether it loads from constant memory.
    pub fn loads_constants(&self) -> bool {
        self.opcode == 0x182
    }

    /// Whether it multiplies matrices.
    pub fn multiplies_matrices(&self) -> bool {
        matches!(self.opcode, 0x37..=0x3a | 0x3c | 0x3f)
    }

    /// Whether it waits until other threads see its accesses.
    pub fn is_fence(&self) -> bool {
        self.opcode == 0x192
    }

    /// Whether it joins the copies so far to a group.
    pub fn joins_copies(&self) -> bool {
        self.opcode == 0x1af
    }

    /// The units that it occupies. Its latency is that of the PTX.
    pub fn cost(&self, units: &Units) -> Cost {
        let slot = cost(1, 0);
        match self.opcode {
            // MOV, P2R, CS2R, SEL, FSEL, FMNMX, FSETP, ISETP, VIMNMX3, IADD3, LEA, LOP3, IABS,
            // PRMT, IMNMX, SHF, PLOP3, F2FP, I2FP, VIADDMNMX, VIMNMX, FMNMX3.
            0x02..=0x05 | 0x07..=0x19 | 0x1c | 0x3e | 0x45 | 0x46 | 0x48 | 0x76 => slot.alu(1),
            // FMUL, FADD, FFMA.
            0x20 | 0x21 | 0x23 if units.float_busy == 1 => slot.floats(1),
            0x20 | 0x21 | 0x23 => slot.heavy(2),
            // HADD2, HFMA2, HMUL2, HSETP2, HFMA2.MMA.
            0x30..=0x35 if units.half_busy == 1 => slot.floats(1),
            0x30..=0x35 => slot.heavy(2),
            // IMAD, IDP, VIADD; IMAD.WIDE, IMAD.HI.
            0x24 | 0x26 | 0x36 => slot.heavy(2),
            0x25 | 0x27 => slot.heavy(4),
            // DMUL, DADD, DSETP, DFMA.
            0x28..=0x2b => slot.with(Pipe::Double, units.double_busy),
            // FLO, BREV, FCHK, F2I, I2F, FRND, MUFU, POPC, F2F; REDUX.
            0x100..=0x110 => slot.special(1),
            0x1c4 => slot.special(2),
            // LDSM, SHFL; LDGSTS; the other accesses of memory.
            0x3b | 0x189 => slot.memory(4),
            0x1ae => slot.memory(7),
            _ if self.access.is_some() => slot.memory(2),
            _ => slot,
        }
    }
}
