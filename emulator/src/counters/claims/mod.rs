//! Which counters of a kernel carry the hardware's names.
//!
//! Input: a lowered kernel. Output: for each kind of access, the reason if its counters differ from
//! the hardware's. The emulator executes PTX; a GPU executes ptxas's output. Their counts of
//! accesses are equal (`tests/calibration.rs`) unless ptxas drops, joins or narrows an access,
//! makes a loop of an atomic, or lets the lanes of a loop leave it one by one.
//!
//! The rules were found with ptxas 13.0 for `sm_90`. They err on the safe side: a counter that they
//! withhold may still equal the hardware's.

mod bits;
mod control;
mod demand;
mod forms;
mod loops;
mod order;
mod straight;
mod unused;
mod values;
mod wires;

use crate::counters::{GenericCounts, MemoryCounts};
use crate::lower::blocks::{Flow, split};
use crate::lower::inst::{Atomic, AtomicOp, ControlOp, Op, Scalar, Space, TransferOp};
use crate::lower::program::Program;
use demand::Demand;
use straight::Change;
use unused::{Loads, Unused};
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

impl Kind {
    /// The counts of generic accesses that hardware adds to this kind's bytes.
    fn generic(self, counts: &MemoryCounts) -> GenericCounts {
        match self {
            Self::GlobalLoad | Self::SharedLoad => counts.generic_load,
            Self::GlobalStore | Self::SharedStore => counts.generic_store,
            Self::Reduction | Self::GlobalAtomic => GenericCounts::default(),
        }
    }
}

/// Why bytes are refused if a generic access left global and shared memory.
const ELSEWHERE: &str = "the bytes of a generic access to local memory or to parameters were not \
                         compared with a GPU";

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

/// The kinds of access with counters that differ from the hardware's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The kinds of access that the kernel has.
    accessed: Vec<Kind>,
    refused: Vec<(Scope, String)>,
}

/// Counters that are refused for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All of a kind.
    All(Kind),
    /// L1's sectors of a kind.
    Sectors(Kind),
    /// L1's sectors of a kind, if lanes updated one address together.
    Repeated(Kind),
}

impl Scope {
    /// Whether it holds a counter of a kind, in a launch with these counts.
    fn holds(self, name: &str, kind: Kind, counts: &MemoryCounts) -> bool {
        let is_sectors = name.starts_with("l1tex__t_sectors");
        match self {
            Self::All(refused) => refused == kind,
            Self::Sectors(refused) => refused == kind && is_sectors,
            Self::Repeated(refused) => {
                let counted =
                    if kind == Kind::Reduction { counts.reduction } else { counts.atomic };
                refused == kind && is_sectors && counted.repeated > 0
            }
        }
    }
}

impl Claims {
    /// Of a kernel.
    pub fn new(program: &Program) -> Self {
        let mut claims = Self { accessed: accessed(program), ..Self::default() };
        if let Some(pc) = unknown(program) {
            claims.unknown(program, pc);
            return claims;
        }
        let blocks = split(&program.code, 0, &program.tables);
        let (flow, values) = (Flow::new(&blocks), Values::new(program));
        let loads = Loads::new(program, Demand::new(program, &blocks, &values));
        for (pc, inst) in program.code.iter().enumerate() {
            match inst.op {
                Op::Load { element, address, .. } => {
                    let reason = match loads.unused(inst, element) {
                        Some(Unused::All) => "ptxas drops an unused load",
                        Some(Unused::Part) => "ptxas narrows a load that is used in part",
                        None => continue,
                    };
                    claims.refuse_space(program, pc, address.space, false, reason);
                }
                Op::Atomic(ref atomic) => claims.atomic(program, pc, atomic, &values),
                Op::AtomicVector(_) => {
                    for kind in [Kind::Reduction, Kind::GlobalAtomic] {
                        let reason = format!(
                            "atomics on several words were not compared with a GPU{}",
                            at(program, pc)
                        );
                        claims.refuse(Scope::All(kind), reason);
                    }
                }
                Op::Fragment(ref moved) => {
                    let (space, stores) = (moved.address.space, moved.stores);
                    let name = if stores {
                        "ptxas makes several stores of a `wmma.store`"
                    } else {
                        "ptxas makes several loads of a `wmma.load`"
                    };
                    claims.refuse_space(program, pc, space, stores, name);
                }
                Op::Transfer(TransferOp::Matrix(rows)) if rows.stores => {
                    let reason = "`stmatrix` was not compared with a GPU";
                    claims.refuse_space(program, pc, Space::Shared, true, reason);
                }
                Op::Transfer(TransferOp::Copy(copy)) if copy.bytes == 16 => {
                    let reason = "L1 counts the sectors of `cp.async` of 16 bytes differently";
                    claims.refuse(Scope::Sectors(Kind::GlobalLoad), reason.to_owned());
                }
                _ => {}
            }
        }
        claims.order(program);
        for (pc, change) in straight::changes(program, (&blocks, &flow), &values) {
            claims.change(program, pc, change);
        }
        for (pc, change) in loops::changes(program, (&blocks, &flow), &values) {
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
        let short = name.trim_end_matches(".sum");
        let kind = NAMES.iter().find(|(end, _)| short.ends_with(end))?.1;
        if let Some(reason) = irregular(counts).filter(|_| self.accessed.contains(&kind)) {
            return Some(reason);
        }
        if name.contains("data_bytes") && kind.generic(counts).elsewhere > 0 {
            return Some(ELSEWHERE);
        }
        let refused = self.refused.iter().find(|(scope, _)| scope.holds(short, kind, counts));
        refused.map(|(_, reason)| &**reason)
    }

    fn refuse(&mut self, scope: Scope, reason: String) {
        if !self.refused.iter().any(|(known, _)| *known == scope) {
            self.refused.push((scope, reason));
        }
    }

    /// Refuses everything of a kernel for which no rule is known, because of an instruction.
    fn unknown(&mut self, program: &Program, pc: usize) {
        for kind in self.accessed.clone() {
            let reason = match program.code[pc].op {
                _ if program.shares_slots => {
                    "the kernel has more registers than the emulator follows one by one"
                }
                Op::Control(ControlOp::Malloc { .. } | ControlOp::Free { .. }) => {
                    "malloc and free access memory on a GPU, and place blocks in another way"
                }
                _ => "calls through pointers and recursive calls were not compared with a GPU",
            };
            self.refuse(Scope::All(kind), format!("{reason}{}", at(program, pc)));
        }
    }

    /// Withholds counters that depend on the order of atomics.
    fn order(&mut self, program: &Program) {
        let found = order::ordered(program);
        let reason = |pc| format!("it depends on the order of atomics{}", at(program, pc));
        for kind in found.branch.map(|_| self.accessed.clone()).into_iter().flatten() {
            self.refuse(Scope::All(kind), reason(found.branch.unwrap_or(0)));
        }
        for pc in found.accesses {
            for &kind in kinds(&program.code[pc].op) {
                self.refuse(Scope::All(kind), reason(pc));
            }
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
            self.refuse(Scope::All(global), reason());
        }
        if matches!(space, Space::Shared | Space::Generic) {
            self.refuse(Scope::All(shared), reason());
        }
    }

    fn change(&mut self, program: &Program, pc: usize, change: Change) {
        let op = &program.code[pc].op;
        let stores = matches!(op, Op::Store { .. });
        let reason = match (change, stores) {
            (Change::Repeated, false) => "ptxas drops a repeated load",
            (Change::Repeated, true) => "ptxas drops a store that another one overwrites",
            (Change::Joined, false) => "ptxas joins neighbouring shared loads",
            (Change::Joined, true) => "ptxas joins neighbouring shared stores",
            (Change::Hoisted, _) => "ptxas moves an access out of a loop",
            (Change::Unrolled, _) => "ptxas unrolls a loop that lanes leave in different rounds",
        };
        for &kind in kinds(op) {
            self.refuse(Scope::All(kind), format!("{reason}{}", at(program, pc)));
        }
    }

    fn atomic(&mut self, program: &Program, pc: usize, atomic: &Atomic, values: &Values<'_>) {
        let space = atomic.address.space;
        let place = values.place(atomic.address);
        if space != Space::Shared && place.base.is_none_or(|base| values.is_uniform(base)) {
            let kind = if atomic.is_reduction() { Kind::Reduction } else { Kind::GlobalAtomic };
            let reason = "ptxas adds up the lanes of an atomic on one address";
            self.refuse(Scope::Repeated(kind), format!("{reason}{}", at(program, pc)));
        }
        if !is_loop(atomic) {
            return;
        }
        let reason = format!("ptxas makes a loop of an atomic{}", at(program, pc));
        // In global memory such a loop loads once, before it swaps.
        if space != Space::Shared {
            self.refuse(Scope::All(Kind::GlobalAtomic), reason.clone());
        }
        if space != Space::Global {
            self.refuse(Scope::All(Kind::SharedLoad), reason);
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

/// The instruction for which no rule of a kernel is known: the first, if registers share slots.
fn unknown(program: &Program) -> Option<usize> {
    let mut code = program.code.iter();
    if program.shares_slots { Some(0) } else { code.position(|inst| is_unknown_call(&inst.op)) }
}

/// Whether no rule is known for a kernel with this operation.
fn is_unknown_call(op: &Op) -> bool {
    matches!(
        op,
        Op::Control(
            ControlOp::CallWithFrame { .. }
                | ControlOp::CallIndirect { .. }
                | ControlOp::Malloc { .. }
                | ControlOp::Free { .. }
        )
    )
}

/// The kinds of access that a kernel has.
fn accessed(program: &Program) -> Vec<Kind> {
    program.code.iter().flat_map(|inst| kinds(&inst.op)).copied().collect()
}

/// The kinds of access that an instruction may make.
fn kinds(op: &Op) -> &'static [Kind] {
    match op {
        Op::Load { address, .. } => plain(address.space, false),
        Op::Store { address, .. } => plain(address.space, true),
        Op::Atomic(atomic) if atomic.is_reduction() => &[Kind::Reduction],
        Op::Atomic(atomic) if atomic.address.space == Space::Shared => &[],
        Op::Atomic(_) => &[Kind::GlobalAtomic],
        Op::AtomicVector(_) => &[Kind::Reduction, Kind::GlobalAtomic],
        Op::Transfer(TransferOp::Copy(_)) => &[Kind::GlobalLoad],
        Op::Fragment(moved) => plain(moved.address.space, moved.stores),
        _ => &[],
    }
}

/// The kinds of a load or of a store.
fn plain(space: Space, stores: bool) -> &'static [Kind] {
    match (space, stores) {
        (Space::Global, false) => &[Kind::GlobalLoad],
        (Space::Shared, false) => &[Kind::SharedLoad],
        (Space::Generic, false) => &[Kind::GlobalLoad, Kind::SharedLoad],
        (Space::Global, true) => &[Kind::GlobalStore],
        (Space::Shared, true) => &[Kind::SharedStore],
        (Space::Generic, true) => &[Kind::GlobalStore, Kind::SharedStore],
        (Space::Local | Space::Const | Space::Param, _) => &[],
    }
}

/// " (FILE:LINE)" of an instruction in the user's code, or the line of the PTX.
fn at(program: &Program, pc: usize) -> String {
    match program.place(pc as u32, &[]).map(|place| place.frame) {
        Some(frame) => format!(" ({}:{})", frame.file, frame.line),
        None => format!(" (line {} of the PTX)", program.positions[pc].ptx_line),
    }
}
