//! Tracks the registers that hold values from unwritten memory.
//!
//! Such a read is a fault only if its value matters: if it is stored to global memory, decides a
//! branch or a predicate with an effect, or becomes an address. Compilers load early and select
//! later, and sums of partial results read those of absent warps, so most of these values are
//! dropped.
//!
//! A warp tracks its registers, lane by lane, from its first such read on; before that nothing here
//! runs. A result is undefined if a source is, except where the other sources decide it
//! ([`absorb`](super::absorb)). A store to shared memory makes its bytes unwritten again, and one to
//! local memory is remembered word by word.

use super::absorb;
use super::context::Context;
use super::fault::{Fault, Outcome};
use super::hazard::Hazard;
use super::matrix_layout::transposed_lanes;
use super::request::Part;
use super::undefined::{Definedness, Insertion, Taint, Undefined, put};
use crate::lower::inst::{
    ArithOp, BarrierKind, Binary, Carry, ControlOp, Element, ExchangeOp, File, Guard, Inst,
    IntegerOp, MadCarry, Matrix, Mma, Op, Role, Slot, Space, TransferOp,
};
use crate::lower::program::Program;

/// The lanes of `slots` are loaded from unwritten memory; `fault` names the read.
pub fn note(cx: &mut Context<'_>, slots: &[Slot], file: File, lanes: u32, mut fault: Box<Fault>) {
    // One with a place is an earlier read of a value that was then stored.
    if fault.pc.is_none() {
        fault.pc = Some(cx.warp.pc - 1);
        fault.callers = cx.warp.callers();
    }
    let table = &mut cx.warp.definedness;
    let origin = table.origin(fault);
    for &slot in slots {
        table.set((file, slot), lanes, Taint { lanes, origin, ..Taint::default() });
    }
}

fn join(table: &Definedness, slots: &[(File, Slot)]) -> Taint {
    slots.iter().fold(Taint::default(), |taint, &(file, slot)| taint.join(table.get(file, slot)))
}

/// Tracks undefined values through `inst`, which the lanes of `on` are about to execute.
///
/// # Errors
/// The read of an undefined value that matters here.
#[inline(never)]
pub fn step(cx: &mut Context<'_>, inst: &Inst, on: u32) -> Outcome {
    let table = &cx.warp.definedness;
    let guard = match inst.guard {
        Guard::Always => Taint::default(),
        Guard::If(p) | Guard::Unless(p) => table.get(File::Pred, p).restrict(cx.warp.active),
    };
    let sources = join(table, &inst.op.registers(Role::Read)).restrict(on);
    match inst.op {
        Op::Arith(_) | Op::Integer(_) | Op::Float(_) | Op::Move(_) => {
            let result = compute(cx, inst, sources, on);
            deliver(cx, inst, on, result.join(guard));
        }
        Op::Load { address, .. } => {
            let file = File::by_width(address.wide);
            demand(cx, table.get(file, address.base).restrict(on), "becomes an address")?;
            deliver(cx, inst, on, guard);
        }
        Op::Store { address, .. } => {
            let file = File::by_width(address.wide);
            demand(cx, table.get(file, address.base).restrict(on), "becomes an address")?;
            demand(cx, guard, "decides whether a thread stores")?;
        }
        Op::Mma(_)
        | Op::Fragment(_)
        | Op::Transfer(TransferOp::Matrix(_) | TransferOp::Transpose { .. }) => {
            matrices(cx, inst, on, guard)?;
        }
        Op::Exchange(ref op) => {
            let members = table.get(File::R32, op.members()).restrict(on);
            demand(cx, guard.join(members), "decides which threads exchange values")?;
        }
        Op::Control(ControlOp::CallWithFrame { .. } | ControlOp::CallIndirect { .. }) => {
            demand(cx, guard.join(sources), "decides a call")?;
        }
        Op::Control(ControlOp::Call { copies, .. }) => {
            demand(cx, guard, "decides a call")?;
            call(&mut cx.warp.definedness, cx.program, copies, on);
        }
        Op::Barrier(ref barrier) => {
            use BarrierKind::{RedAnd, RedOr, RedPopc};
            let votes = matches!(barrier.kind, RedPopc | RedAnd | RedOr);
            let mut read = inst.op.registers(Role::Read);
            read.retain(|slot| votes || *slot != (File::Pred, barrier.p));
            let taint = join(table, &read).restrict(on);
            demand(cx, guard.join(taint), "decides a barrier")?;
            deliver(cx, inst, on, Taint::default());
        }
        Op::Branch { .. } | Op::Control(_) => {
            demand(cx, guard.join(sources), "decides a branch or an exit")?;
            deliver(cx, inst, on, Taint::default());
        }
        Op::Atomic(_) | Op::AtomicVector(_) | Op::Transfer(_) | Op::Mbarrier(_) => {
            demand(cx, guard.join(sources), "takes part in an access to memory")?;
            deliver(cx, inst, on, Taint::default());
        }
        Op::Fence { .. } | Op::Sleep | Op::Nop => {}
    }
    Ok(())
}

/// The same for instructions that a warp executes together on matrices.
fn matrices(cx: &mut Context<'_>, inst: &Inst, on: u32, guard: Taint) -> Outcome {
    demand(cx, guard, "decides whether a thread takes part")?;
    match inst.op {
        Op::Mma(ref mma) => product(&mut cx.warp.definedness, mma, on),
        Op::Transfer(TransferOp::Transpose { d, a }) => {
            let taint = cx.warp.definedness.get(File::R32, a);
            let lanes = transposed_lanes(taint.lanes);
            cx.warp.definedness.set((File::R32, d), on, Taint { lanes, ..taint });
        }
        // The accesses track the values that they store.
        _ => {
            demand(cx, places(&cx.warp.definedness, inst), "becomes an address")?;
            deliver(cx, inst, on, Taint::default());
        }
    }
    Ok(())
}

/// Whether the places of an access of matrices are undefined, and in which lanes.
fn places(table: &Definedness, inst: &Inst) -> Taint {
    let (address, stride) = match inst.op {
        Op::Fragment(ref moved) => (moved.address, Some(moved.stride)),
        Op::Transfer(TransferOp::Matrix(ref matrix)) => (matrix.address, None),
        _ => return Taint::default(),
    };
    let base = table.get(File::by_width(address.wide), address.base);
    base.join(stride.map_or_else(Taint::default, |stride| table.get(File::R32, stride)))
}

/// The undefined lanes of the result of an operation on registers with these undefined sources.
fn compute(cx: &Context<'_>, inst: &Inst, sources: Taint, on: u32) -> Taint {
    match inst.op {
        _ if sources.lanes == 0 => sources,
        Op::Integer(
            IntegerOp::Carry(Carry { read: false, carry, .. })
            | IntegerOp::MadCarry(MadCarry { read: false, carry, .. }),
        ) => {
            let mut operands = inst.op.registers(Role::Read);
            operands.retain(|slot| *slot != (File::Pred, carry));
            join(&cx.warp.definedness, &operands).restrict(on)
        }
        ref op => {
            let lanes = absorb::undefined(cx, op, sources.lanes);
            let is_defined =
                |slot: &(File, Slot)| cx.warp.definedness.get(slot.0, slot.1).lanes & on == 0;
            let meets_defined = inst.op.registers(Role::Read).iter().any(is_defined);
            let insertion =
                if meets_defined { inserted(op, sources.insertion) } else { Insertion::None };
            Taint { lanes, insertion, ..sources }
        }
    }
}

/// How far a value is replaced after `op` with a defined operand.
fn inserted(op: &Op, before: Insertion) -> Insertion {
    match *op {
        Op::Arith(
            ArithOp::Binary32 { op: Binary::And, .. } | ArithOp::Binary64 { op: Binary::And, .. },
        ) => before.max(Insertion::Cleared),
        Op::Arith(
            ArithOp::Binary32 { op: Binary::Or, .. } | ArithOp::Binary64 { op: Binary::Or, .. },
        ) if before != Insertion::None => Insertion::Done,
        Op::Integer(IntegerOp::Bfi { .. }) => Insertion::Done,
        _ => Insertion::None,
    }
}

/// The results of `inst` are undefined in the lanes of `taint`.
fn deliver(cx: &mut Context<'_>, inst: &Inst, on: u32, taint: Taint) {
    for slot in inst.op.registers(Role::Write) {
        // A lane that might have taken part keeps its value, or gets one: neither is sure.
        cx.warp.definedness.set(slot, on | taint.lanes, taint);
    }
}

/// A product of matrices: a result is undefined if its row of `a`, its column of `b` or its element
/// of `c` has an undefined element.
fn product(table: &mut Definedness, mma: &Mma, on: u32) {
    let [a, b, c, d] = mma.fragments();
    let mut cause = Taint::default();
    let (mut rows, mut columns, mut sums) = ([false; 32], [false; 32], [[false; 32]; 32]);
    for (fragment, slots) in [(a, &mma.a), (b, &mma.b), (c, &mma.c)] {
        let file = File::by_width(fragment.is_wide());
        for (register, &slot) in slots.iter().enumerate().take(fragment.registers()) {
            let taint = table.get(file, slot);
            cause = cause.join(taint);
            for lane in (0..32).filter(|lane| taint.lanes >> lane & 1 == 1) {
                for index in 0..fragment.per_register() {
                    let (row, column) = fragment.place(lane, register, index);
                    match fragment.matrix {
                        Matrix::A => rows[row] = true,
                        Matrix::B => columns[column] = true,
                        Matrix::Sums => sums[row][column] = true,
                    }
                }
            }
        }
    }
    for (register, &slot) in mma.d.iter().enumerate().take(d.registers()) {
        let is_undefined = |lane: &usize| {
            (0..d.per_register()).any(|index| {
                let (row, column) = d.place(*lane, register, index);
                rows[row] || columns[column] || sums[row][column]
            })
        };
        let lanes = (0..32).filter(is_undefined).fold(0, |lanes, lane| lanes | 1 << lane);
        table.set((File::by_width(d.is_wide()), slot), on, Taint { lanes, ..cause });
    }
}

/// Arguments of a call.
fn call(table: &mut Definedness, program: &Program, copies: u32, on: u32) {
    for &(from, to) in &program.copies[copies as usize] {
        let taint = table.get(File::R32, from);
        table.set((File::R32, to), on, taint);
    }
}

/// The values of these lanes matter: they must be defined.
fn demand(cx: &Context<'_>, taint: Taint, matters: &str) -> Outcome {
    if taint.lanes == 0 {
        return Ok(());
    }
    let mut fault = Box::new(cx.warp.definedness.origins[taint.origin as usize].clone());
    let place = cx.program.place_in_words(cx.warp.pc - 1);
    fault.detail = format!("the value {matters} {place}");
    Err(fault)
}

/// Marks the registers that a load takes from undefined words of local memory.
pub fn load_local(cx: &mut Context<'_>, part: &Part, element: Element, d: &[Slot; 4]) {
    let table = &mut cx.warp.definedness;
    if part.space != Space::Local || table.local.is_empty() {
        return;
    }
    let file = File::by_width(element.wide);
    for (index, &slot) in d.iter().enumerate().take(usize::from(element.count)) {
        for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
            for word in words(part, element, index, lane) {
                let found = table.local.iter().find(|entry| entry.place == word);
                if let Some(&Undefined { lanes, origin, .. }) = found
                    && lanes & (1 << lane) != 0
                {
                    let taint = Taint { lanes: 1 << lane, origin, ..Taint::default() };
                    table.set((file, slot), 1 << lane, taint);
                }
            }
        }
    }
}

/// Tracks undefined values through a part of a store that was admitted.
///
/// # Errors
/// It stores an undefined value to global memory.
pub fn store(cx: &mut Context<'_>, part: &Part, element: Element, a: &[Slot; 4]) -> Outcome {
    let file = File::by_width(element.wide);
    let slots = &a[..usize::from(element.count)];
    // Compilers copy structures as vectors, and their padding with them.
    let of_all = slots
        .iter()
        .fold(part.lanes, |lanes, &slot| lanes & cx.warp.definedness.get(file, slot).lanes);
    for (index, &slot) in slots.iter().enumerate() {
        let taint = cx.warp.definedness.get(file, slot).restrict(part.lanes);
        match part.space {
            // A word with a written bit-field counts as written, as one with a written byte does.
            Space::Shared if taint.insertion == Insertion::Done => {}
            Space::Shared => {
                for lane in (0..32).filter(|lane| taint.lanes & (1 << lane) != 0) {
                    let at = part.addresses[lane] + index as u64 * u64::from(element.bytes);
                    let origin = &cx.warp.definedness.origins[taint.origin as usize];
                    cx.shadow.forget(at, u32::from(element.bytes), origin);
                }
            }
            Space::Local => {
                for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
                    for word in words(part, element, index, lane) {
                        // One byte of a word does not make the word defined.
                        if element.bytes >= 4 || taint.lanes & (1 << lane) != 0 {
                            put(&mut cx.warp.definedness.local, word, 1 << lane, taint);
                        }
                    }
                }
            }
            _ => {
                let lanes = if is_part(&cx.warp.definedness, taint) { of_all } else { u32::MAX };
                demand(cx, taint.restrict(lanes), "is stored to global memory")?;
            }
        }
    }
    Ok(())
}

/// Whether an undefined value comes from one element of a vector, of which others were written.
fn is_part(table: &Definedness, taint: Taint) -> bool {
    let origin = table.origins.get(taint.origin as usize).and_then(|origin| origin.hazard);
    matches!(origin, Some(Hazard::Unwritten { in_part: true, .. }))
}

/// The words of local memory of one element of an access.
fn words(part: &Part, element: Element, index: usize, lane: usize) -> std::ops::Range<u32> {
    let at = part.addresses[lane] as u32 + index as u32 * u32::from(element.bytes);
    at / 4..(at + u32::from(element.bytes)).div_ceil(4)
}

/// Undefined inputs of an exchange, by lane.
#[derive(Debug, Default)]
pub struct ExchangeTaint {
    values: Taint,
    /// Which lane a lane reads.
    choice: Taint,
}

impl ExchangeTaint {
    /// Those of all parts of an exchange, each an instruction and its lanes.
    pub fn gather(table: &Definedness, parts: &[(ExchangeOp, u32)]) -> Self {
        let mut taint = Self::default();
        for &(op, on) in parts {
            let get = |file, slot| table.get(file, slot).restrict(on);
            match op {
                ExchangeOp::Shuffle { a, b, c, .. } => {
                    taint.values = taint.values.join(get(File::R32, a));
                    let choice = get(File::R32, b).join(get(File::R32, c));
                    taint.choice = taint.choice.join(choice);
                }
                ExchangeOp::Vote { a, .. } => taint.values = taint.values.join(get(File::Pred, a)),
                ExchangeOp::Match { wide, a, .. } => {
                    taint.values = taint.values.join(get(File::by_width(wide), a));
                }
                ExchangeOp::Redux { a, .. } => taint.values = taint.values.join(get(File::R32, a)),
                ExchangeOp::Elect { .. } | ExchangeOp::WarpSync { .. } => {}
            }
        }
        taint
    }

    /// The lanes that bring an undefined value.
    pub fn values(&self) -> u32 {
        self.values.lanes
    }

    /// Marks the results: `lanes` are those with words computed from undefined values.
    pub fn deliver(&self, table: &mut Definedness, parts: &[(ExchangeOp, u32)], lanes: u32) {
        for &(op, on) in parts {
            let words = Taint { lanes, ..self.values }.join(self.choice);
            let inst = Inst::new(Guard::Always, Op::Exchange(op));
            for (file, slot) in inst.op.registers(Role::Write) {
                // Whether a shuffle's source exists does not depend on its value.
                let is_shuffle = matches!(op, ExchangeOp::Shuffle { .. });
                let taint = if is_shuffle && file == File::Pred { self.choice } else { words };
                table.set((file, slot), on, taint);
            }
        }
    }
}
