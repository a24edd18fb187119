//! Exchange between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `bar.warp.sync`.
//!
//! Lanes of a warp run in lockstep here, so the lanes that take part are those that are active
//! together. They may form groups, such as the tiles of a warp, each under a member mask of its
//! own: a lane exchanges with its group alone. A member mask that names a running lane which is
//! elsewhere, or one with another mask, cannot be served, and is a fault rather than a wrong value.

use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::integer::binary32;
use super::lanes::Lanes32;
use crate::lower::flow::is_end;
use crate::lower::inst::{ExchangeOp, Shuffle, Slot, Vote};

type Outcome = Result<(), Box<Fault>>;

/// Executes an exchange among the lanes of `on`.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &ExchangeOp, on: u32) -> Outcome {
    match *op {
        ExchangeOp::Shuffle { mode, d, p, a, b, c, members } => {
            groups(cx, members, on)?;
            shuffle(cx, mode, (d, p), (a, b, c), on);
        }
        ExchangeOp::Vote { mode, d, a, negate, members } => {
            let groups = groups(cx, members, on)?;
            let predicate = cx.lanes.pred(a);
            let votes = if negate { !predicate } else { predicate };
            let bits = |holds: fn(u32, u32) -> bool| {
                let lanes = groups.iter().enumerate();
                lanes.fold(0, |all, (lane, group)| {
                    all | u32::from(holds(votes & group, *group)) << lane
                })
            };
            match mode {
                Vote::Ballot => cx.lanes.set32(d, &groups.map(|group| votes & group), on),
                Vote::All => cx.lanes.set_pred(d, bits(|votes, group| votes == group), on),
                Vote::Any => cx.lanes.set_pred(d, bits(|votes, _| votes != 0), on),
                Vote::Uniform => {
                    let agree = |votes, group| votes == group || votes == 0;
                    cx.lanes.set_pred(d, bits(agree), on);
                }
            }
        }
        ExchangeOp::Match { wide, all, d, p, a, members } => {
            let groups = groups(cx, members, on)?;
            let values = cx.lanes.any(a, wide);
            let same = |lane: usize| {
                let equal = |other: &usize| {
                    groups[lane] & (1 << other) != 0 && values[*other] == values[lane]
                };
                (0..32).filter(equal).fold(0u32, |mask, other| mask | 1 << other)
            };
            let mut result: Lanes32 = std::array::from_fn(same);
            if all {
                let agree = |lane: usize| result[lane] == groups[lane];
                let bits = (0..32).fold(0, |bits, lane| bits | u32::from(agree(lane)) << lane);
                result = std::array::from_fn(|lane| if agree(lane) { groups[lane] } else { 0 });
                cx.lanes.set_pred(p, bits, on);
            }
            cx.lanes.set32(d, &result, on);
        }
        ExchangeOp::Redux { op, d, a, members } => {
            let groups = groups(cx, members, on)?;
            let values = *cx.lanes.get32(a);
            let mut totals = [0; 32];
            let mut left = on;
            while left != 0 {
                let group = groups[left.trailing_zeros() as usize];
                let among = |lane: &usize| group & (1 << lane) != 0;
                let taking_part = (0..32).filter(among).map(|lane| values[lane]);
                let total = taking_part.reduce(|x, y| binary32(op, x, y)).unwrap_or(0);
                (0..32).filter(among).for_each(|lane| totals[lane] = total);
                left &= !group;
            }
            cx.lanes.set32(d, &totals, on);
        }
        ExchangeOp::WarpSync { members } => {
            groups(cx, members, on)?;
        }
    }
    cx.shadow.meet_warp(cx.warp.index);
    Ok(())
}

/// For each lane of `on`, the lanes that it exchanges with, itself among them. Every lane that its
/// mask names must be here with the same mask, or have exited.
fn groups(cx: &mut Context<'_>, members: Slot, on: u32) -> Result<Lanes32, Box<Fault>> {
    let masks = *cx.lanes.get32(members);
    let here = |lane: &usize| on & (1 << lane) != 0;
    let named = (0..32).filter(here).fold(0, |named, lane| named | masks[lane]);
    if named & cx.warp.live & !on != 0 {
        let code = cx.program.code.as_slice();
        cx.warp.forget_ended(|pc| is_end(&code[pc as usize]));
    }
    let mut left = on;
    while left != 0 {
        let members = masks[left.trailing_zeros() as usize];
        let group = members & on;
        let same = (0..32).filter(here).filter(|lane| masks[*lane] == members);
        let agreeing = same.fold(0u32, |lanes, lane| lanes | 1 << lane);
        if let Some(detail) = wrong(members, agreeing, on, cx.warp.live) {
            return Err(cx.fault(FaultKind::Undefined, agreeing, detail));
        }
        left &= !group;
    }
    Ok(masks.map(|members| members & on))
}

/// What is wrong with the member mask of the lanes `agreeing`, of those that are here, `on`.
fn wrong(members: u32, agreeing: u32, on: u32, live: u32) -> Option<String> {
    let missing = members & live & !on;
    let others = members & on & !agreeing;
    if missing != 0 {
        Some(format!(
            "the member mask {members:#010x} of a .sync exchange names lanes {missing:#010x} that \
             run elsewhere"
        ))
    } else if agreeing & !members != 0 {
        Some(format!(
            "a lane that executes a .sync exchange is not in its member mask {members:#010x}"
        ))
    } else if others != 0 {
        Some(format!(
            "the member mask {members:#010x} of a .sync exchange names lanes {others:#010x} that \
             name another member mask"
        ))
    } else {
        None
    }
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
            result[lane as usize] = values[source as usize & 31];
        }
    }
    cx.lanes.set32(d, &result, on);
    cx.lanes.set_pred(p, in_range, on);
}
