//! Exchange between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `bar.warp.sync`.
//!
//! A lane waits until every lane of its member mask that has not exited reaches an exchange with
//! the same qualifiers and the same mask, in whatever arm of a branch. Lanes of one group with
//! different masks exchange separately, as tiles of a warp do. An exchange is complete at once if
//! the running group contains all of its members; otherwise its lanes are parked.

use super::bits::UNDEFINED;
use super::context::Context;
use super::definedness::ExchangeTaint;
use super::fault::{Fault, FaultKind, Outcome};
use super::integer::binary32;
use super::lanes::{Lanes, Lanes32, Lanes64};
use super::warp::{Parked, Wait};
use crate::lower::inst::{ExchangeKey, ExchangeOp, Op, Shuffle, Slot, Vote};
use crate::lower::program::Program;

/// Executes an exchange for the lanes of `on`: once for each member mask that they have.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &ExchangeOp, on: u32) -> Outcome {
    let masks = *cx.lanes.get32(op.members());
    let mut left = on;
    while left != 0 {
        let members = masks[left.trailing_zeros() as usize];
        let same = |lane: usize| u32::from(masks[lane] == members) << lane;
        let here = left & (0..32).fold(0, |lanes, lane| lanes | same(lane));
        left &= !here;
        if members & here != here {
            let detail = format!(
                "a lane that executes a .sync exchange is not in its member mask {members:#010x}"
            );
            return Err(cx.fault(FaultKind::Undefined, here & !members, detail));
        }
        if members & cx.warp.live & !here == 0 {
            exchange(cx, &[(*op, here)], members);
        } else {
            cx.warp.park(Wait::Members(members), cx.warp.pc - 1, here);
            complete_parked(cx);
        }
    }
    Ok(())
}

/// Executes every exchange of which all members that have not exited are parked.
pub fn complete_parked(cx: &mut Context<'_>) {
    while let Some((members, key)) = find_complete(cx) {
        let program = cx.program;
        let is_part = |parked: &Parked| {
            let op = exchange_at(program, parked.pc).filter(|op| op.key() == key);
            op.filter(|_| parked.wait == Wait::Members(members)).copied()
        };
        let parts: Vec<(ExchangeOp, u32)> = cx
            .warp
            .parked
            .iter()
            .filter_map(|parked| is_part(parked).map(|op| (op, parked.mask)))
            .collect();
        exchange(cx, &parts, members);
        cx.warp.release(|parked| is_part(parked).is_some());
    }
}

/// The member mask and qualifiers of an exchange with all members parked.
fn find_complete(cx: &Context<'_>) -> Option<(u32, ExchangeKey)> {
    let parked = &cx.warp.parked;
    parked.iter().find_map(|first| {
        let Wait::Members(members) = first.wait else { return None };
        let key = exchange_at(cx.program, first.pc)?.key();
        let same = parked.iter().filter(|other| {
            other.wait == first.wait
                && exchange_at(cx.program, other.pc).is_some_and(|op| op.key() == key)
        });
        let here = same.fold(0, |lanes, other| lanes | other.mask);
        (members & cx.warp.live & !here == 0).then_some((members, key))
    })
}

/// The fault of lanes at an exchange if its mask names lanes that wait at a barrier behind it.
/// These went past the exchange, and the barrier waits for all.
pub fn waits_for(cx: &Context<'_>, barrier: u32, at_barrier: u32) -> Option<Box<Fault>> {
    let waiting = cx.warp.parked.iter().find_map(|parked| match parked.wait {
        Wait::Members(members) if parked.pc < barrier && members & at_barrier != 0 => {
            Some((parked, members))
        }
        _ => None,
    });
    let (parked, members) = waiting?;
    let detail = format!(
        "lanes {:#010x} of warp {} wait at this .sync instruction with member mask {members:#010x} \
         for lanes {:#010x}, which went past it and wait {}: the mask must name only lanes that come \
         here, or all lanes that it names must come",
        parked.mask,
        cx.warp.index,
        members & at_barrier,
        cx.program.place_in_words(barrier),
    );
    let mut fault = cx.fault(FaultKind::BarrierDeadlock, parked.mask, detail);
    fault.pc = Some(parked.pc);
    Some(fault)
}

/// The exchange at an instruction.
fn exchange_at(program: &Program, pc: u32) -> Option<&ExchangeOp> {
    match &program.code[pc as usize].op {
        Op::Exchange(op) => Some(op),
        _ => None,
    }
}

/// The operands of the lanes of an exchange.
struct Inputs {
    a: Lanes32,
    wide: Lanes64,
    b: Lanes32,
    c: Lanes32,
    votes: u32,
}

/// Their results.
struct Outputs {
    words: Lanes32,
    bits: u32,
}

/// One exchange; its lanes execute one or several instructions with the same qualifiers.
fn exchange(cx: &mut Context<'_>, parts: &[(ExchangeOp, u32)], members: u32) {
    let mut inputs = Inputs { a: [0; 32], wide: [0; 32], b: [0; 32], c: [0; 32], votes: 0 };
    let on = parts.iter().fold(0, |all, (_, lanes)| all | lanes);
    for (op, lanes) in parts {
        gather(&cx.lanes, op, *lanes, &mut inputs);
    }
    let Some((op, _)) = parts.first() else { return };
    if cx.tracks_definedness() {
        track(cx, parts, &inputs, on);
    }
    let outputs = compute(op, &inputs, on);
    for (op, lanes) in parts {
        deliver(&mut cx.lanes, op, *lanes, &outputs);
    }
    cx.shadow.meet_lanes(cx.warp.index, members);
}

/// Carries undefined values of registers through an exchange.
#[inline(never)]
fn track(cx: &mut Context<'_>, parts: &[(ExchangeOp, u32)], inputs: &Inputs, on: u32) {
    let Some(&(op, _)) = parts.first() else { return };
    let taint = ExchangeTaint::gather(&cx.warp.definedness, parts);
    let undefined = taint.values();
    let known = on & !undefined;
    let lanes = match op {
        // Each lane's result if an undefined value counts as a 1.
        ExchangeOp::Shuffle { mode, .. } => {
            let a = std::array::from_fn(|lane| undefined >> lane & 1);
            let words = shuffle(mode, &Inputs { a, ..*inputs }, on).words;
            (0..32).filter(|&lane| words[lane] == 1).fold(0, |lanes, lane| lanes | 1 << lane)
        }
        ExchangeOp::Vote { mode: Vote::Any, .. } if inputs.votes & known != 0 => 0,
        ExchangeOp::Vote { mode: Vote::All, .. } if inputs.votes & known != known => 0,
        _ if undefined != 0 => on,
        _ => 0,
    };
    taint.deliver(&mut cx.warp.definedness, parts, lanes);
}

fn gather(lanes: &Lanes<'_>, op: &ExchangeOp, on: u32, inputs: &mut Inputs) {
    let take = |into: &mut Lanes32, slot: Slot| {
        for (lane, (into, value)) in into.iter_mut().zip(lanes.get32(slot)).enumerate() {
            *into = if on & (1 << lane) != 0 { *value } else { *into };
        }
    };
    match *op {
        ExchangeOp::Shuffle { a, b, c, .. } => {
            take(&mut inputs.a, a);
            take(&mut inputs.b, b);
            take(&mut inputs.c, c);
        }
        ExchangeOp::Vote { a, negate, .. } => {
            let predicate = lanes.pred(a);
            inputs.votes |= if negate { !predicate } else { predicate } & on;
        }
        ExchangeOp::Match { wide, a, .. } => {
            let values = lanes.any(a, wide);
            for lane in (0..32).filter(|lane| on & (1 << lane) != 0) {
                inputs.wide[lane] = values[lane];
            }
        }
        ExchangeOp::Redux { a, .. } => take(&mut inputs.a, a),
        ExchangeOp::Elect { .. } | ExchangeOp::WarpSync { .. } => {}
    }
}

/// The exchange among `on`, which all have the same member mask.
fn compute(op: &ExchangeOp, inputs: &Inputs, on: u32) -> Outputs {
    let all_or_none = |holds: bool| if holds { u32::MAX } else { 0 };
    let words = |words: Lanes32| Outputs { words, bits: 0 };
    let votes = inputs.votes;
    match *op {
        ExchangeOp::Shuffle { mode, .. } => shuffle(mode, inputs, on),
        ExchangeOp::Vote { mode: Vote::Ballot, .. } => words([votes; 32]),
        ExchangeOp::Vote { mode, .. } => {
            let holds = match mode {
                Vote::All => votes == on,
                Vote::Any | Vote::Ballot => votes != 0,
                Vote::Uniform => votes == on || votes == 0,
            };
            Outputs { words: [0; 32], bits: all_or_none(holds) }
        }
        ExchangeOp::Match { all, .. } => {
            let values = &inputs.wide;
            let equal_to = |lane: usize| {
                let equal =
                    |other: &usize| on & (1 << other) != 0 && values[*other] == values[lane];
                (0..32).filter(equal).fold(0u32, |mask, other| mask | 1 << other)
            };
            if all {
                let agree = equal_to(on.trailing_zeros() as usize) == on;
                Outputs { words: [if agree { on } else { 0 }; 32], bits: all_or_none(agree) }
            } else {
                words(std::array::from_fn(equal_to))
            }
        }
        ExchangeOp::Redux { op, .. } => {
            let values = (0..32).filter(|lane| on & (1 << lane) != 0).map(|lane| inputs.a[lane]);
            words([values.reduce(|x, y| binary32(op, x, y)).unwrap_or(0); 32])
        }
        ExchangeOp::Elect { .. } => {
            let leader = on.trailing_zeros();
            Outputs { words: [leader; 32], bits: 1 << leader }
        }
        ExchangeOp::WarpSync { .. } => words([0; 32]),
    }
}

fn deliver(lanes: &mut Lanes<'_>, op: &ExchangeOp, on: u32, outputs: &Outputs) {
    match *op {
        ExchangeOp::Vote { mode: Vote::Ballot, d, .. } | ExchangeOp::Redux { d, .. } => {
            lanes.set32(d, &outputs.words, on);
        }
        ExchangeOp::Match { all: false, d, .. } => lanes.set32(d, &outputs.words, on),
        ExchangeOp::Vote { d, .. } => lanes.set_pred(d, outputs.bits, on),
        ExchangeOp::Shuffle { d, p, .. }
        | ExchangeOp::Match { d, p, .. }
        | ExchangeOp::Elect { d, p, .. } => {
            lanes.set32(d, &outputs.words, on);
            lanes.set_pred(p, outputs.bits, on);
        }
        ExchangeOp::WarpSync { .. } => {}
    }
}

fn shuffle(mode: Shuffle, inputs: &Inputs, on: u32) -> Outputs {
    // A lane that takes no part gives an undefined value.
    let given: Lanes32 =
        std::array::from_fn(|lane| if on & (1 << lane) != 0 { inputs.a[lane] } else { UNDEFINED });
    let mut words = inputs.a;
    let mut in_range = 0;
    for lane in 0..32u32 {
        let (amount, control) = (inputs.b[lane as usize] & 31, inputs.c[lane as usize]);
        let (clamp, segment) = (control & 31, control >> 8 & 31);
        let highest = (lane & segment) | (clamp & !segment);
        let lowest = lane & segment;
        let (source, valid) = match mode {
            Shuffle::Up => {
                let source = lane.wrapping_sub(amount) as i32;
                (source as u32, source >= highest as i32)
            }
            Shuffle::Down => (lane + amount, lane + amount <= highest),
            Shuffle::Butterfly => (lane ^ amount, lane ^ amount <= highest),
            Shuffle::Index => {
                let source = lowest | (amount & !segment & 31);
                (source, source <= highest)
            }
        };
        in_range |= u32::from(valid) << lane;
        let word = &mut words[lane as usize];
        *word = if valid { given[source as usize & 31] } else { *word };
    }
    Outputs { words, bits: in_range & on }
}
