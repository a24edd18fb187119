//! `cp.async` and `ldmatrix`.

use super::checked::{touch_by, touch_read};
use super::context::Context;
use super::copies::Copy;
use super::definedness;
use super::fault::{Fault, FaultKind};
use super::hazard::By;
use super::lanes::FULL;
use super::mbarrier;
use super::per_lane::{read, write};
use super::request::{Part, Verb, check, check_lane, parts};
use crate::counters::{banks, sectors};
use crate::lower::inst::{Address, AsyncCopy, File, Slot, Space, TransferOp};

type Outcome = Result<(), Box<Fault>>;

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
            // Without `.noinc` the arrival is added to what the barrier expects, and made.
            if counts { mbarrier::arrive_once(cx, address, on) } else { Ok(()) }
        }
        TransferOp::Matrix { address, count, transposed, d } => {
            matrix(cx, (address, count, transposed), d, on)
        }
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
    counts.sectors +=
        if reading == 0 { 0 } else { sectors::count(&from.addresses, reading, bytes) };
    let pc = cx.warp.pc - 1;
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
        cx.warp.copies.start(lane, pc, (to.addresses[lane], copy.bytes), words);
    }
    Ok(())
}

/// Writes what has been copied.
fn finish(cx: &mut Context<'_>, done: &[Copy]) -> Outcome {
    for copy in done {
        let mut addresses = [0; 32];
        addresses[copy.lane] = copy.address;
        let lanes = 1 << copy.lane;
        let part = Part { space: Space::Shared, constant: false, lanes, addresses };
        let words = (0u64..).step_by(4).zip(copy.words).take(usize::from(copy.bytes) / 4);
        let mut changed = 0;
        for (at, word) in words.clone() {
            let there = read(cx, Space::Shared, copy.lane, copy.address + at, 4);
            changed |= if there == u64::from(word) { 0 } else { lanes };
        }
        let by = By::new(cx.warp.index, copy.pc, false);
        touch_by(cx, &part, (u32::from(copy.bytes), by), Verb::Write, changed).map_err(
            |mut fault| {
                fault.pc = Some(copy.pc);
                fault
            },
        )?;
        for (at, word) in words {
            write(cx, Space::Shared, copy.lane, copy.address + at, 4, u64::from(word));
        }
    }
    Ok(())
}

/// Bytes of a row of a matrix.
const ROW: u32 = 16;

/// `ldmatrix`: lane `8 m + r` names row `r` of matrix `m`, and lane `4 r + c` gets the two halves
/// from column `2 c` on of row `r`; transposed, those of row `2 c` and the next in column `r`.
fn matrix(
    cx: &mut Context<'_>,
    (address, count, transposed): (Address, u8, bool),
    d: [Slot; 4],
    on: u32,
) -> Outcome {
    if on != FULL {
        let detail = "ldmatrix needs all 32 lanes of the warp".to_owned();
        return Err(cx.fault(FaultKind::Undefined, on, detail));
    }
    let rows = if count == 4 { FULL } else { (1 << (8 * count)) - 1 };
    let mut halves = [[[0u32; 8]; 8]; 4];
    let found = parts(cx, address, rows);
    if !found.others.is_empty() {
        let detail = "the rows of ldmatrix lie in several state spaces".to_owned();
        return Err(cx.fault(FaultKind::Undefined, rows, detail));
    }
    let part = &found.first;
    if part.space != Space::Shared {
        let detail = "the rows of ldmatrix lie outside of shared memory".to_owned();
        return Err(cx.fault(FaultKind::Undefined, rows, detail));
    }
    check(cx, part, ROW, Verb::Read)?;
    let unwritten = touch_read(cx, part, (ROW, false))?;
    let addresses = part.addresses.map(|address| address as u32);
    let fronts = banks::wavefronts(&addresses, rows, ROW);
    let counts = &mut cx.counts.memory.matrices;
    counts.requests += 1;
    counts.wavefronts += u64::from(fronts.total);
    counts.ideal += u64::from(fronts.ideal);
    counts.bytes += 4 * u64::from(fronts.words);
    for lane in 0..8 * usize::from(count) {
        for (column, half) in (0u64..).zip(&mut halves[lane / 8][lane % 8]) {
            let at = part.addresses[lane] + 2 * column;
            *half = read(cx, Space::Shared, lane, at, 2) as u32 & 0xffff;
        }
    }
    for (matrix, slot) in halves.iter().zip(d).take(usize::from(count)) {
        let pair = |lane: usize| {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            match transposed {
                true => matrix[column][row] | matrix[column + 1][row] << 16,
                false => matrix[row][column] | matrix[row][column + 1] << 16,
            }
        };
        cx.lanes.set32(slot, &std::array::from_fn(pair), on);
    }
    if let Some((unwritten, fault)) = unwritten {
        for (matrix, slot) in d.iter().enumerate().take(usize::from(count)) {
            let rows = unwritten >> (8 * matrix) & 0xff;
            let has = |lane: &u32| match transposed {
                true => rows & (3 << (2 * (lane % 4))) != 0,
                false => rows & (1 << (lane / 4)) != 0,
            };
            let lanes = (0..32).filter(has).fold(0, |lanes, lane| lanes | 1 << lane);
            definedness::note(cx, &[*slot], File::R32, lanes, fault.clone());
        }
    }
    Ok(())
}
