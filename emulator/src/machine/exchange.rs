//! Exchange between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `bar.warp.sync`.
//!
//! Lanes of a warp run in lockstep here, so the lanes that take part are those that are active
//! together. Those whose masks differ exchange apart, as tiles of a warp do. A member mask that
//! names a running lane which is elsewhere cannot be served, and is a fault rather than a wrong
//! value.

use super::bits::UNDEFINED;
use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::integer::binary32;
use super::lanes::Lanes32;
use crate::lower::flow::is_end;
use crate::lower::inst::{ExchangeOp, Shuffle, Slot, Vote};

type Outcome = Result<(), Box<Fault>>;

/// Executes an exchange among the lanes of `on`: once for each member mask that they have.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &ExchangeOp, on: u32) -> Outcome {
    let (ExchangeOp::Shuffle { members, .. }
    | ExchangeOp::Vote { members, .. }
    | ExchangeOp::Match { members, .. }
    | ExchangeOp::Redux { members, .. }
    | ExchangeOp::Elect { members, .. }
    | ExchangeOp::WarpSync { members }) = *op;
    let masks = *cx.lanes.get32(members);
    if comes_later(cx, &masks, on) {
        return Ok(());
    }
    let mut left = on;
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize];
        let same = |lane: &u32| left & (1 << lane) != 0 && masks[*lane as usize] == mask;
        let together = (0..32).filter(same).fold(0, |lanes, lane| lanes | 1 << lane);
        check(cx, mask, together)?;
        among(cx, op, together);
        left &= !together;
    }
    cx.shadow.meet_warp(cx.warp.index);
    Ok(())
}

/// Whether lanes that a member mask names are on their way here, having let the active ones run;
/// they go on, and the exchange is issued again once they are here.
fn comes_later(cx: &mut Context<'_>, masks: &Lanes32, on: u32) -> bool {
    let named = |cx: &Context<'_>| {
        let lanes = (0..32).filter(|lane| on & (1 << lane) != 0);
        lanes.fold(0, |all, lane: usize| all | masks[lane]) & cx.warp.live & !on
    };
    if named(cx) == 0 {
        return false;
    }
    let (code, pc) = (cx.program.code.as_slice(), cx.warp.pc - 1);
    cx.warp.forget_ended(|pc| is_end(&code[pc as usize]));
    if named(cx) == 0 || on != cx.warp.active || !cx.warp.let_yielding_run(pc) {
        return false;
    }
    cx.counts.take_back(pc, on);
    true
}

/// The exchange among `on`, which all have the same member mask.
fn among(cx: &mut Context<'_>, op: &ExchangeOp, on: u32) {
    match *op {
        ExchangeOp::Shuffle { mode, d, p, a, b, c, .. } => {
            shuffle(cx, mode, (d, p), (a, b, c), on);
        }
        ExchangeOp::Vote { mode, d, a, negate, .. } => {
            let predicate = cx.lanes.pred(a);
            let votes = if negate { !predicate } else { predicate } & on;
            let bits = |holds: bool| if holds { u32::MAX } else { 0 };
            match mode {
                Vote::Ballot => cx.lanes.set32(d, &[votes; 32], on),
                Vote::All => cx.lanes.set_pred(d, bits(votes == on), on),
                Vote::Any => cx.lanes.set_pred(d, bits(votes != 0), on),
                Vote::Uniform => cx.lanes.set_pred(d, bits(votes == on || votes == 0), on),
            }
        }
        ExchangeOp::Match { wide, all, d, p, a, .. } => {
            let values = cx.lanes.any(a, wide);
            let same = |lane: usize| {
                let equal =
                    |other: &usize| on & (1 << other) != 0 && values[*other] == values[lane];
                (0..32).filter(equal).fold(0u32, |mask, other| mask | 1 << other)
            };
            let mut result: Lanes32 = std::array::from_fn(same);
            if all {
                let agree = result[on.trailing_zeros() as usize] == on;
                cx.lanes.set_pred(p, if agree { u32::MAX } else { 0 }, on);
                result = [if agree { on } else { 0 }; 32];
            }
            cx.lanes.set32(d, &result, on);
        }
        ExchangeOp::Redux { op, d, a, .. } => {
            let values = *cx.lanes.get32(a);
            let taking_part =
                (0..32).filter(|lane| on & (1 << lane) != 0).map(|lane: usize| values[lane]);
            let total = taking_part.reduce(|x, y| binary32(op, x, y)).unwrap_or(0);
            cx.lanes.set32(d, &[total; 32], on);
        }
        ExchangeOp::Elect { d, p, .. } => {
            let leader = on.trailing_zeros();
            cx.lanes.set32(d, &[leader; 32], on);
            cx.lanes.set_pred(p, 1 << leader, on);
        }
        ExchangeOp::WarpSync { .. } => {}
    }
}

/// Every lane that the mask names must be here, or have exited.
fn check(cx: &mut Context<'_>, members: u32, on: u32) -> Outcome {
    if members & cx.warp.live & !on != 0 {
        let code = cx.program.code.as_slice();
        cx.warp.forget_ended(|pc| is_end(&code[pc as usize]));
    }
    let missing = members & cx.warp.live & !on;
    if missing == 0 && members & on == on {
        return Ok(());
    }
    let detail = if missing == 0 {
        format!("a lane that executes a .sync exchange is not in its member mask {members:#010x}")
    } else {
        format!(
            "the member mask {members:#010x} of a .sync exchange names lanes {missing:#010x} that \
             run elsewhere or name another mask"
        )
    };
    Err(cx.fault(FaultKind::Undefined, on, detail))
}

fn shuffle(
    cx: &mut Context<'_>,
    mode: Shuffle,
    (d, p): (Slot, Slot),
    (a, b, c): (Slot, Slot, Slot),
    on: u32,
) {
    let (values, amounts, controls) = (*cx.lanes.get32(a), *cx.lanes.get32(b), *cx.lanes.get32(c));
    let mut result = values;
    let mut in_range = 0;
    for lane in (0..32u32).filter(|lane| on & (1 << lane) != 0) {
        let (amount, control) = (amounts[lane as usize] & 31, controls[lane as usize]);
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
        if valid {
            in_range |= 1 << lane;
            let takes_part = on & (1 << (source & 31)) != 0;
            result[lane as usize] =
                if takes_part { values[source as usize & 31] } else { UNDEFINED };
        }
    }
    cx.lanes.set32(d, &result, on);
    cx.lanes.set_pred(p, in_range, on);
}
