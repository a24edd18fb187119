//! Atomics on vectors, with a separate atomic for every element, and on 128 bits as one atomic;
//! both in lane order.
//!
//! Kernels with such atomics run their blocks on one host thread, so several words are one step.

use super::atomic::{apply32, apply64};
use super::checked::{log_update, touch};
use super::context::Context;
use super::fault::Fault;
use super::per_lane::{read, write};
use super::request::{Verb, admit, parts};
use crate::lower::inst::{AtomicOp, AtomicVector, Sharing};

/// Executes one for the lanes of `on`.
///
/// # Errors
/// An access that is not allowed.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, how: &AtomicVector, on: u32) -> Result<(), Box<Fault>> {
    let wide = how.ty.is_wide();
    let (count, size) = (usize::from(how.count), if wide { 8_u8 } else { 4 });
    let total = u32::from(how.count) * u32::from(size);
    let [b, c] = [how.b, how.c].map(|slots| slots.map(|slot| cx.lanes.any(slot, wide)));
    let mut old = [[0; 32]; 4];
    if how.orders {
        cx.shadow.order(cx.warp.index);
    } else {
        cx.shadow.catch_up(cx.warp.index);
    }
    for part in parts(cx, how.address, on).iter() {
        let verb = Verb::Update(how.result_used);
        admit(cx, part, total, verb)?;
        touch(cx, part, (total, Sharing::Ordered), verb, 0)?;
        log_update(cx, part, total, (how.informs, how.order));
        for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
            let place = |at: usize| part.addresses[lane] + at as u64 * u64::from(size);
            for (at, old) in old.iter_mut().enumerate().take(count) {
                old[lane] = read(cx, part.space, lane, place(at), size);
            }
            let equal = (0..count).all(|at| old[at][lane] == b[at][lane]);
            for at in 0..count {
                let (before, b, c) = (old[at][lane], b[at][lane], c[at][lane]);
                let new = match how.op {
                    AtomicOp::CompareSwap => {
                        if equal {
                            c
                        } else {
                            before
                        }
                    }
                    op if wide => apply64(op, how.ty, before, b, c),
                    op => u64::from(apply32(op, how.ty, before as u32, b as u32, c as u32)),
                };
                write(cx, part.space, lane, place(at), size, new);
                cx.warp.changed |= new != before;
            }
        }
    }
    for (slot, old) in how.d.iter().zip(&old).take(count) {
        cx.lanes.set_any(*slot, wide, old, on);
    }
    Ok(())
}
