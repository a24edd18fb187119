//! `cp.async`, and the way to the moves of matrices.

use super::access_log::lanes_of;
use super::checked::{SharedAccess, log, touch_within};
use super::context::Context;
use super::copies::Copy;
use super::fault::Outcome;
use super::hazard::{By, Touch};
use super::matrix_moves;
use super::mbarrier;
use super::per_lane::{read, write};
use super::request::{Extent, Part, Verb, check, check_lane, parts};
use crate::counters::{Use, sectors};
use crate::lower::inst::{AsyncCopy, GridOrder, Sharing, Space, TransferOp};

/// Executes it for the lanes of `on`.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &TransferOp, on: u32) -> Outcome {
    match *op {
        TransferOp::Copy(ref copy) => start(cx, copy, on),
        TransferOp::Commit => {
            cx.warp.copies.commit(on);
            Ok(())
        }
        TransferOp::Wait { left } => {
            let done = cx.warp.copies.take(on, left);
            finish(cx, &done)
        }
        TransferOp::WaitAll => {
            cx.warp.copies.commit(on);
            let done = cx.warp.copies.take(on, 0);
            finish(cx, &done)
        }
        TransferOp::Arrive { address, counts } => {
            let done = cx.warp.copies.take_all(on);
            finish(cx, &done)?;
            // Without `.noinc` the barrier expects one more arrival, and gets it.
            if counts { mbarrier::arrive_once(cx, address, on) } else { Ok(()) }
        }
        TransferOp::Matrix(ref matrix) => matrix_moves::execute(cx, matrix, on),
        TransferOp::Transpose { d, a } => matrix_moves::transpose(cx, d, a, on),
    }
}

/// Reads what is copied, and remembers it.
fn start(cx: &mut Context<'_>, copy: &AsyncCopy, on: u32) -> Outcome {
    let bytes = u32::from(copy.bytes);
    let sizes = copy.read.map_or([bytes; 32], |slot| cx.lanes.get32(slot).map(|n| n.min(bytes)));
    let ignored =
        copy.ignore.map_or(
            0,
            |(slot, negated)| {
                if negated { !cx.lanes.pred(slot) } else { cx.lanes.pred(slot) }
            },
        );
    let reads = |lane: usize| ignored >> lane & 1 == 0 && sizes[lane] > 0;
    let reading = (0..32).filter(|&lane| on >> lane & 1 == 1 && reads(lane));
    let reading = reading.fold(0, |lanes, lane| lanes | 1 << lane);
    let (mut from, to) = (parts(cx, copy.from, on).first, parts(cx, copy.to, on).first);
    from.lanes = reading;
    check(cx, &to, bytes, Verb::Write)?;
    for lane in (0..32).filter(|lane| reading >> lane & 1 == 1) {
        check_lane(cx, &from, lane, (sizes[lane], bytes), Verb::Read)?;
    }
    let counts = &mut cx.counts.memory.copies;
    counts.requests += 1;
    let Extent { low, high, .. } = from.extent;
    let touched = sectors::touched(&from.addresses, reading, bytes, (low, high));
    counts.sectors += touched.sectors;
    counts.bytes += touched.bytes;
    if let Some(traffic) = &mut cx.counts.traffic {
        traffic.lanes(Use::Read, &from.addresses, reading, bytes);
    }
    for lane in lanes_of(reading) {
        let part = Part { lanes: 1 << lane, ..from };
        log(cx, &part, (sizes[lane], Sharing::Plain), Touch::Read, GridOrder::default(), |_, _| 0);
    }
    let (pc, bounds) = (cx.warp.pc - 1, cx.shadow.bounds(cx.by(Sharing::Plain)));
    for lane in (0..32).filter(|lane| on >> lane & 1 == 1) {
        let mut words = [0; 4];
        for (at, word) in (0u32..).zip(&mut words).take(copy.bytes as usize / 4) {
            let wanted = if reads(lane) { sizes[lane].saturating_sub(4 * at).min(4) } else { 0 };
            for byte in 0..wanted {
                let address = from.addresses[lane] + u64::from(4 * at + byte);
                let value = read(cx, Space::Global, lane, address, 1) as u32 & 0xff;
                *word |= value << (8 * byte);
            }
        }
        let (address, bytes) = (to.addresses[lane], copy.bytes);
        cx.warp.copies.start(Copy { lane, pc, bounds, address, bytes, words, group: 0 });
    }
    Ok(())
}

/// Writes the copied data.
fn finish(cx: &mut Context<'_>, done: &[Copy]) -> Outcome {
    for copy in done {
        let mut addresses = [0; 32];
        addresses[copy.lane] = copy.address;
        let lanes = 1 << copy.lane;
        let part = Part::new(Space::Shared, false, lanes, addresses);
        let words = (0u64..).step_by(4).zip(copy.words).take(usize::from(copy.bytes) / 4);
        let mut changed = 0;
        for (at, word) in words.clone() {
            let there = read(cx, Space::Shared, copy.lane, copy.address + at, 4);
            changed |= if there == u64::from(word) { 0 } else { lanes };
        }
        let by = By::new(cx.warp.index, copy.pc, Sharing::Plain);
        let how = SharedAccess { bytes: copy.bytes.into(), by, bounds: copy.bounds };
        touch_within(cx, &part, how, Verb::Write, changed).map_err(|mut fault| {
            fault.pc = Some(copy.pc);
            fault
        })?;
        for (at, word) in words {
            write(cx, Space::Shared, copy.lane, copy.address + at, 4, u64::from(word));
        }
    }
    Ok(())
}
