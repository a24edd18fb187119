//! `ldmatrix`, `stmatrix` and `movmatrix`, of matrices of 8 × 8 halves.
//! Lane `8 m + r` names the place of row `r` of matrix `m` in memory.

use super::checked::{touch, touch_read};
use super::context::Context;
use super::definedness;
use super::fault::{FaultKind, Outcome};
use super::lanes::FULL;
use super::matrix_layout::{collect, deal};
use super::per_lane::{read, write};
use super::request::{Part, Verb, check, parts};
use crate::counters::{SharedCounts, banks};
use crate::lower::inst::{File, MatrixRows, Sharing, Slot, Space};

/// Bytes of a row of a matrix.
const ROW: u32 = 16;

/// Refuses an instruction that not all lanes execute.
fn want_all(cx: &Context<'_>, name: &str, on: u32) -> Outcome {
    if on == FULL {
        return Ok(());
    }
    let detail = format!("{name} needs all 32 lanes of the warp");
    Err(cx.fault(FaultKind::Undefined, on, detail))
}

/// `movmatrix`
///
/// # Errors
/// Lanes that are missing.
pub fn transpose(cx: &mut Context<'_>, d: Slot, a: Slot, on: u32) -> Outcome {
    want_all(cx, "movmatrix", on)?;
    let words = deal(&collect(cx.lanes.get32(a), true), false);
    cx.lanes.set32(d, &words, on);
    Ok(())
}

/// `ldmatrix`, `stmatrix`
///
/// # Errors
/// Lanes that are missing, and what is wrong with an access.
pub fn execute(cx: &mut Context<'_>, op: &MatrixRows, on: u32) -> Outcome {
    let name = if op.stores { "stmatrix" } else { "ldmatrix" };
    want_all(cx, name, on)?;
    let rows = FULL >> (32 - 8 * u32::from(op.count));
    let found = parts(cx, op.address, rows);
    if !found.others.is_empty() {
        let detail = format!("the rows of {name} lie in several state spaces");
        return Err(cx.fault(FaultKind::Undefined, rows, detail));
    }
    let part = &found.first;
    if part.space != Space::Shared {
        let detail = format!("the rows of {name} lie outside of shared memory");
        return Err(cx.fault(FaultKind::Undefined, rows, detail));
    }
    if op.stores { store(cx, op, part) } else { load(cx, op, part) }
}

fn count(counts: &mut SharedCounts, part: &Part) {
    let addresses = part.addresses.map(|address| address as u32);
    let fronts = banks::wavefronts(&addresses, part.lanes, ROW);
    counts.requests += 1;
    counts.wavefronts += u64::from(fronts.total);
    counts.ideal += u64::from(fronts.ideal);
    counts.bytes += 4 * u64::from(fronts.words);
}

fn load(cx: &mut Context<'_>, op: &MatrixRows, part: &Part) -> Outcome {
    check(cx, part, ROW, Verb::Read)?;
    let unwritten = touch_read(cx, part, (ROW, Sharing::Plain))?;
    count(&mut cx.counts.memory.matrix_loads, part);
    let registers = &op.registers[..usize::from(op.count)];
    for (first, &slot) in (0..).step_by(8).zip(registers) {
        let mut matrix = [[0; 8]; 8];
        for (lane, row) in (first..).zip(&mut matrix) {
            for (column, half) in (0u64..).zip(row) {
                let at = part.addresses[lane] + 2 * column;
                *half = read(cx, Space::Shared, lane, at, 2) as u32 & 0xffff;
            }
        }
        cx.lanes.set32(slot, &deal(&matrix, op.transposed), FULL);
    }
    if let Some((unwritten, fault)) = unwritten {
        for (matrix, slot) in registers.iter().enumerate() {
            let rows = unwritten >> (8 * matrix) & 0xff;
            let has = |lane: &u32| match op.transposed {
                true => rows & (3 << (2 * (lane % 4))) != 0,
                false => rows & (1 << (lane / 4)) != 0,
            };
            let lanes = (0..32).filter(has).fold(0, |lanes, lane| lanes | 1 << lane);
            definedness::note(cx, &[*slot], File::R32, lanes, fault.clone());
        }
    }
    Ok(())
}

fn store(cx: &mut Context<'_>, op: &MatrixRows, part: &Part) -> Outcome {
    check(cx, part, ROW, Verb::Write)?;
    let mut rows: Vec<(usize, [u32; 8])> = Vec::new();
    let mut undefined: Vec<(u64, usize)> = Vec::new();
    for (first, &slot) in (0..).step_by(8).zip(&op.registers[..usize::from(op.count)]) {
        let matrix = collect(cx.lanes.get32(slot), op.transposed);
        rows.extend((first..).zip(matrix));
        let taint = cx.warp.definedness.get(File::R32, slot);
        let unknown = std::array::from_fn(|lane| (taint.lanes >> lane & 1) * 0x1_0001);
        for (lane, row) in (first..).zip(collect(&unknown, op.transposed)) {
            let halves = (0u64..).zip(row).filter(|(_, unknown)| *unknown != 0);
            let at = |(column, _)| (part.addresses[lane] + 2 * column, taint.origin as usize);
            undefined.extend(halves.map(at));
        }
    }
    let mut changed = 0;
    for (lane, row) in &rows {
        for (column, half) in (0u64..).zip(row) {
            let there = read(cx, Space::Shared, *lane, part.addresses[*lane] + 2 * column, 2);
            changed |= u32::from(there as u32 & 0xffff != *half) << lane;
        }
    }
    touch(cx, part, (ROW, Sharing::Plain), Verb::Write, changed)?;
    count(&mut cx.counts.memory.matrix_stores, part);
    for (address, origin) in undefined {
        cx.shadow.forget(address, 2, &cx.warp.definedness.origins[origin]);
    }
    for (lane, row) in rows {
        for (column, half) in (0u64..).zip(row) {
            let at = part.addresses[lane] + 2 * column;
            write(cx, Space::Shared, lane, at, 2, half.into());
        }
    }
    Ok(())
}
