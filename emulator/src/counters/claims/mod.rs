//! Which counters of a kernel carry the hardware's names.
//!
//! Input: a lowered kernel. Output: for each kind of access why its counters are not the
//! hardware's, where they are not. The emulator executes PTX; a GPU executes what ptxas makes of
//! it. Their counts of accesses are equal (`tests/calibration.rs`) unless ptxas drops, joins or
//! narrows an access, makes a loop of an atomic, or lets the lanes of a loop leave it one by one.
//!
//! The rules were found with ptxas 13.0 for `sm_90`. They err on the safe side: what they find may
//! still be the hardware's.

mod flow;
mod loops;
mod straight;
mod unused;
mod values;

use crate::counters::MemoryCounts;
use crate::lower::inst::{Atomic, AtomicOp, Op, Scalar, Space, TransferOp};
use crate::lower::program::Program;
use flow::Flow;
use straight::Change;
use unused::{Needed, Unused};
use values::Values;

/// A kind of access that hardware counts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    GlobalLoad,
    GlobalStore,
    Reduction,
    GlobalAtomic,
    SharedLoad,
    SharedStore,
}

/// The ends of the names of a kind's counters, without the roll-up.
const NAMES: [(&str, Kind); 12] = [
    ("global_op_ld", Kind::GlobalLoad),
    ("op_global_ld", Kind::GlobalLoad),
    ("global_op_st", Kind::GlobalStore),
    ("op_global_st", Kind::GlobalStore),
    ("global_op_red", Kind::Reduction),
    ("op_global_red", Kind::Reduction),
    ("global_op_atom", Kind::GlobalAtomic),
    ("op_global_atom", Kind::GlobalAtomic),
    ("mem_shared_op_ld", Kind::SharedLoad),
    ("op_shared_ld", Kind::SharedLoad),
    ("mem_shared_op_st", Kind::SharedStore),
    ("op_shared_st", Kind::SharedStore),
];

/// The kinds of access whose counters are not the hardware's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The kinds of access that the kernel has.
    accessed: Vec<Kind>,
    refused: Vec<(Kind, String)>,
    copies: Option<String>,
}

impl Claims {
    /// Of a kernel.
    pub fn new(program: &Program) -> Self {
        let mut claims = Self { accessed: accessed(program), ..Self::default() };
        let (flow, values) = (Flow::new(program), Values::new(program));
        let needed = Needed::new(program, &values);
        for (pc, inst) in program.code.iter().enumerate() {
            match inst.op {
                Op::Load { element, address, .. } if !element.strong => {
                    let reason = match needed.unused(program, inst, element) {
                        Some(Unused::All) => "ptxas drops an unused load",
                        Some(Unused::Part) => "ptxas narrows a load that is used in part",
                        None => continue,
                    };
                    claims.refuse_space(program, pc, address.space, false, reason);
                }
                Op::Atomic(ref atomic) => claims.atomic(program, pc, atomic),
                Op::Transfer(TransferOp::Copy(_)) => {
                    claims.copies = Some("L1 counts the sectors of `cp.async` differently".into());
                }
                _ => {}
            }
        }
        for (pc, change) in straight::changes(program, &flow, &values) {
            claims.change(program, pc, change);
        }
        for (pc, change) in loops::changes(program, &flow, &values) {
            claims.change(program, pc, change);
        }
        claims
    }

    /// Why the counter `name` is not the hardware's in a launch with these counts; none if it is,
    /// or has no hardware's name.
    pub fn refusal(&self, name: &str, counts: &MemoryCounts) -> Option<&str> {
        if name.starts_with("ptx__") {
            return None;
        }
        let name = name.trim_end_matches(".sum");
        if let Some(reason) = &self.copies
            && name == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
        {
            return Some(reason);
        }
        let kind = NAMES.iter().find(|(end, _)| name.ends_with(end))?.1;
        if let Some(reason) = irregular(counts).filter(|_| self.accessed.contains(&kind)) {
            return Some(reason);
        }
        self.refused.iter().find(|(known, _)| *known == kind).map(|(_, reason)| &**reason)
    }

    fn refuse(&mut self, kind: Kind, reason: String) {
        if !self.refused.iter().any(|(known, _)| *known == kind) {
            self.refused.push((kind, reason));
        }
    }

    /// Refuses the loads or stores of a space, for a reason at an instruction.
    fn refuse_space(
        &mut self,
        program: &Program,
        pc: usize,
        space: Space,
        stores: bool,
        reason: &str,
    ) {
        let global = if stores { Kind::GlobalStore } else { Kind::GlobalLoad };
        let shared = if stores { Kind::SharedStore } else { Kind::SharedLoad };
        let reason = || format!("{reason}{}", at(program, pc));
        if matches!(space, Space::Global | Space::Generic) {
            self.refuse(global, reason());
        }
        if matches!(space, Space::Shared | Space::Generic) {
            self.refuse(shared, reason());
        }
    }

    fn change(&mut self, program: &Program, pc: usize, change: Change) {
        let (space, stores) = match program.code[pc].op {
            Op::Load { address, .. } => (address.space, false),
            Op::Store { address, .. } => (address.space, true),
            _ => return,
        };
        let reason = match (change, stores) {
            (Change::Repeated, false) => "ptxas drops a repeated load",
            (Change::Repeated, true) => "ptxas drops a store that another one overwrites",
            (Change::Joined, false) => "ptxas joins neighbouring shared loads",
            (Change::Joined, true) => "ptxas joins neighbouring shared stores",
            (Change::Hoisted, _) => "ptxas moves an access out of a loop",
        };
        self.refuse_space(program, pc, space, stores, reason);
    }

    fn atomic(&mut self, program: &Program, pc: usize, atomic: &Atomic) {
        if !is_loop(atomic) {
            return;
        }
        let reason = format!("ptxas makes a loop of an atomic{}", at(program, pc));
        let space = atomic.address.space;
        // In global memory such a loop loads once, before it swaps.
        if space != Space::Shared {
            self.refuse(Kind::GlobalAtomic, reason.clone());
        }
        if space != Space::Global {
            self.refuse(Kind::SharedLoad, reason);
        }
    }
}

/// Why lanes may have run together in other groups than on hardware, if they may.
fn irregular(counts: &MemoryCounts) -> Option<&'static str> {
    if counts.split_yields > 0 {
        return Some(
            "lanes left a loop that waits for volatile accesses or atomics one by one, and the \
             machine code decides in which order",
        );
    }
    (counts.irregular_branches > 0).then_some(
        "lanes diverged at a branch whose arms share code, and the machine code decides where they \
         meet",
    )
}

/// Whether ptxas makes a loop of an atomic. Shared memory knows integers of 32 bits and swaps;
/// global memory everything but 16 bits.
fn is_loop(atomic: &Atomic) -> bool {
    let swaps = matches!(atomic.op, AtomicOp::Exchange | AtomicOp::CompareSwap);
    let halves = matches!(atomic.op, AtomicOp::AddHalf) || atomic.ty == Scalar::U16;
    let native = swaps || matches!(atomic.ty, Scalar::U32 | Scalar::S32);
    let pairs = matches!(atomic.op, AtomicOp::AddPair);
    halves || (atomic.address.space != Space::Global && (pairs || !native))
}

/// The kinds of access that a kernel has.
fn accessed(program: &Program) -> Vec<Kind> {
    let kinds = |op: &Op| -> &'static [Kind] {
        match op {
            Op::Load { address, .. } => match address.space {
                Space::Global => &[Kind::GlobalLoad],
                Space::Shared => &[Kind::SharedLoad],
                Space::Generic => &[Kind::GlobalLoad, Kind::SharedLoad],
                Space::Local | Space::Const | Space::Param => &[],
            },
            Op::Store { address, .. } => match address.space {
                Space::Global => &[Kind::GlobalStore],
                Space::Shared => &[Kind::SharedStore],
                Space::Generic => &[Kind::GlobalStore, Kind::SharedStore],
                Space::Local | Space::Const | Space::Param => &[],
            },
            Op::Atomic(atomic) if atomic.is_reduction() => &[Kind::Reduction],
            Op::Atomic(atomic) if atomic.address.space == Space::Shared => &[],
            Op::Atomic(_) => &[Kind::GlobalAtomic],
            Op::Transfer(TransferOp::Copy(_)) => &[Kind::GlobalLoad],
            _ => &[],
        }
    };
    program.code.iter().flat_map(|inst| kinds(&inst.op)).copied().collect()
}

/// " (FILE:LINE)" of an instruction, or the line of the PTX.
fn at(program: &Program, pc: usize) -> String {
    match program.frames(pc as u32).first() {
        Some(frame) => format!(" ({}:{})", frame.file, frame.line),
        None => format!(" (line {} of the PTX)", program.positions[pc].ptx_line),
    }
}
