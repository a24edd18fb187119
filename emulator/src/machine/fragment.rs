//! `wmma.load` and `wmma.store`: the lanes move their parts of a matrix.
//!
//! Data that is contiguous both in memory and in a lane's registers is one request of the warp.

use super::bits::extend;
use super::checked::{log, touch, touch_read};
use super::context::Context;
use super::definedness;
use super::fault::{Fault, FaultKind, Outcome};
use super::hazard::Touch;
use super::lanes::FULL;
use super::per_lane::{log_values, read, write};
use super::request::{Part, Verb, admit, parts};
use crate::lower::inst::{Element, File, FragmentMove, GridOrder, Sharing, Slot, Space};

/// An element in a lane's registers, or a register full of elements that are smaller than a byte.
#[derive(Clone, Copy)]
struct Unit {
    register: usize,
    /// The place of its first element in the register.
    index: usize,
}

/// The place of a matrix in memory.
struct Place {
    space: Space,
    address: u64,
    stride: u64,
}

/// Executes it for the lanes of `on`.
///
/// # Errors
/// Lanes that are missing or disagree, and what is wrong with an access.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &FragmentMove, on: u32) -> Outcome {
    let place = find_place(cx, op, on)?;
    for request in requests(op) {
        let addresses = std::array::from_fn(|lane| address(op, &place, lane, request[0]));
        let part = Part::new(place.space, false, FULL, addresses);
        if op.stores {
            store(cx, op, &part, &request)?;
        } else {
            load(cx, op, &part, &request)?;
        }
    }
    Ok(())
}

/// Bytes of a unit.
fn unit_bytes(op: &FragmentMove) -> u8 {
    if op.fragment.bits < 8 { 4 } else { op.fragment.bits / 8 }
}

/// Elements of a unit.
fn unit_elements(op: &FragmentMove) -> usize {
    if op.fragment.bits < 8 { op.fragment.per_register() } else { 1 }
}

/// The units of each request.
fn requests(op: &FragmentMove) -> Vec<Vec<Unit>> {
    let elements = unit_elements(op);
    let mut requests: Vec<Vec<Unit>> = Vec::new();
    let mut next = None;
    for register in 0..op.fragment.registers() {
        for index in (0..op.fragment.per_register()).step_by(elements) {
            let (row, column) = op.fragment.place(0, register, index);
            let (line, at) = if op.by_columns { (column, row) } else { (row, column) };
            match requests.last_mut() {
                Some(units) if next == Some((line, at)) => units.push(Unit { register, index }),
                _ => requests.push(vec![Unit { register, index }]),
            }
            next = Some((line, at + elements));
        }
    }
    requests
}

/// The address of a lane's unit.
fn address(op: &FragmentMove, place: &Place, lane: usize, unit: Unit) -> u64 {
    let (row, column) = op.fragment.place(lane, unit.register, unit.index);
    let (line, at) = if op.by_columns { (column, row) } else { (row, column) };
    let elements = (line as u64).wrapping_mul(place.stride).wrapping_add(at as u64);
    place.address.wrapping_add(elements.wrapping_mul(op.fragment.bits.into()) / 8)
}

/// The place of the matrix, if all lanes agree about it and PTX allows it.
fn find_place(cx: &Context<'_>, op: &FragmentMove, on: u32) -> Result<Place, Box<Fault>> {
    let name = if op.stores { "wmma.store" } else { "wmma.load" };
    let wrong = |detail: String| Err(cx.fault(FaultKind::Undefined, on, detail));
    if on != FULL {
        return wrong(format!("{name} needs all 32 lanes of the warp"));
    }
    let strides = cx.lanes.get32(op.stride);
    let Part { space, addresses, .. } = parts(cx, op.address, on).first;
    let (address, stride) = (addresses[0], strides[0]);
    if addresses != [address; 32] || *strides != [stride; 32] {
        return wrong(format!("the lanes of {name} have different addresses or strides"));
    }
    if !matches!(space, Space::Global | Space::Shared) {
        return wrong(format!("{name} accesses memory that is neither global nor shared"));
    }
    // PTX aligns rows to the fragment; CUDA C++ lets the stride be any multiple of 16 bytes.
    let bytes = u64::from(op.count) * if op.fragment.is_wide() { 8 } else { 4 };
    if !address.is_multiple_of(bytes) {
        let what = format!("{name} at {address:#x} is not aligned to the");
        return wrong(format!("{what} {bytes} bytes of its fragment"));
    }
    let (stride, wanted) = (u64::from(stride), bytes.min(16));
    if !(stride * u64::from(op.fragment.bits)).is_multiple_of(8 * wanted) {
        let what = format!("{name} with a stride of {stride} elements");
        return wrong(format!("{what}: it must be a multiple of {wanted} bytes"));
    }
    Ok(Place { space, address, stride })
}

fn load(cx: &mut Context<'_>, op: &FragmentMove, part: &Part, units: &[Unit]) -> Outcome {
    let (bytes, wide) = (unit_bytes(op), op.fragment.is_wide());
    let total = u32::from(bytes) * units.len() as u32;
    admit(cx, part, total, Verb::Read)?;
    log(cx, part, (total, Sharing::Plain), Touch::Read, GridOrder::default(), |_, _| 0);
    let unwritten = touch_read(cx, part, (total, Sharing::Plain))?;
    let mut slots: Vec<Slot> = Vec::new();
    for (unit, offset) in units.iter().zip((0u64..).step_by(bytes.into())) {
        let shift = unit.index * usize::from(op.fragment.bits);
        let field = u64::MAX >> (64 - 8 * u32::from(bytes)) << shift;
        let repeats = op.registers.iter().take(op.count.into()).skip(unit.register);
        for &slot in repeats.step_by(op.fragment.registers()) {
            let mut words = cx.lanes.any(slot, wide);
            for (lane, word) in words.iter_mut().enumerate() {
                let value = read(cx, part.space, lane, part.addresses[lane] + offset, bytes);
                *word = *word & !field | value << shift & field;
            }
            cx.lanes.set_any(slot, wide, &words, FULL);
            slots.push(slot);
        }
    }
    if let Some((lanes, fault)) = unwritten {
        definedness::note(cx, &slots, File::by_width(wide), lanes, fault);
    }
    Ok(())
}

fn store(cx: &mut Context<'_>, op: &FragmentMove, part: &Part, units: &[Unit]) -> Outcome {
    let (bytes, wide) = (unit_bytes(op), op.fragment.is_wide());
    let total = u32::from(bytes) * units.len() as u32;
    admit(cx, part, total, Verb::Write)?;
    let mut slots = [op.registers[0]; 4];
    let (mut stored, mut changed) = (Vec::new(), 0);
    for ((unit, slot), offset) in units.iter().zip(&mut slots).zip((0u64..).step_by(bytes.into())) {
        *slot = op.registers[unit.register];
        let shift = unit.index * usize::from(op.fragment.bits);
        let words = cx.lanes.any(*slot, wide).map(|word| extend(word >> shift, bytes, false));
        for (lane, &word) in words.iter().enumerate() {
            let there = read(cx, part.space, lane, part.addresses[lane] + offset, bytes);
            changed |= u32::from(extend(there, bytes, false) != word) << lane;
        }
        stored.push(words);
    }
    let sharing = Sharing::Plain;
    touch(cx, part, (total, sharing), Verb::Write, changed)?;
    let (count, order) = (units.len() as u8, GridOrder::default());
    let element = Element { bytes, signed: false, wide, count, sharing, order, read_only: false };
    if cx.tracks_definedness() {
        definedness::store(cx, part, element, &slots)?;
    }
    log_values(cx, part, element, &stored);
    for (words, offset) in stored.into_iter().zip((0u64..).step_by(bytes.into())) {
        for (lane, word) in words.into_iter().enumerate() {
            write(cx, part.space, lane, part.addresses[lane] + offset, bytes, word);
        }
    }
    Ok(())
}
