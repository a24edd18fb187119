//! Accesses lane by lane: any space, any pattern, any width.
//!
//! The lanes of a request are sorted into the spaces that their addresses resolve to, checked
//! (alignment, then bounds, lowest lane first), counted as one request in each space, and only then
//! moved, in lane order: if several lanes store to one place the highest wins.

use super::bits::extend;
use super::context::Context;
use super::fault::{Access, Fault, FaultKind};
use super::memory::Allocation;
use super::shadow::{Hazard, Touch};
use crate::counters::{banks, sectors};
use crate::lower::address::resolve;
use crate::lower::inst::{Address, Element, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

type Outcome = Result<(), Box<Fault>>;

/// What an access does, for counting and for words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It loads.
    Read,
    /// It stores.
    Write,
    /// It is atomic; `true` if its result is used.
    Update(bool),
}

/// The lanes of a request that go to one space.
pub struct Part {
    /// The space.
    pub space: Space,
    /// Whether the instruction named constant memory.
    pub constant: bool,
    /// The lanes.
    pub lanes: u32,
    /// Their addresses within the space.
    pub addresses: [u64; 32],
}

/// Sorts lanes into spaces.
pub fn parts(cx: &Context<'_>, address: Address, on: u32) -> Vec<Part> {
    let mut addresses = cx.lanes.any(address.base, address.wide);
    for value in &mut addresses {
        *value = value.wrapping_add_signed(i64::from(address.offset));
        if !address.wide {
            *value &= 0xffff_ffff;
        }
    }
    if address.space != Space::Generic {
        let (space, constant) = match address.space {
            Space::Const => (Space::Global, true),
            space => (space, false),
        };
        return vec![Part { space, constant, lanes: on, addresses }];
    }
    let mut parts: Vec<Part> = Vec::new();
    for lane in (0..32).filter(|lane| on & (1 << lane) != 0) {
        let (space, within) = resolve(addresses[lane]);
        let part = match parts.iter_mut().position(|part| part.space == space) {
            Some(at) => &mut parts[at],
            None => {
                parts.push(Part { space, constant: false, lanes: 0, addresses: [0; 32] });
                parts.last_mut().expect("just pushed")
            }
        };
        part.lanes |= 1 << lane;
        part.addresses[lane] = within;
    }
    parts
}

/// Checks every lane of a part, and counts the request.
pub fn admit(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) -> Outcome {
    for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
        let address = part.addresses[lane];
        if !address.is_multiple_of(u64::from(bytes)) {
            return Err(refuse(cx, part, lane, bytes, verb, FaultKind::Misaligned));
        }
        let inside = match part.space {
            Space::Shared => address + u64::from(bytes) <= u64::from(cx.shared_bytes),
            Space::Local => address + u64::from(bytes) <= u64::from(cx.program.local_bytes),
            Space::Param => {
                address + u64::from(bytes) <= u64::from(cx.program.param_bytes)
                    && verb == Verb::Read
            }
            _ => allocation(cx, address)
                .is_some_and(|found| found.contains(address, u64::from(bytes))),
        };
        if !inside {
            let kind = match part.space {
                Space::Shared | Space::Local | Space::Param => FaultKind::OutOfBounds,
                _ if address < 0x1_0000 => FaultKind::Null,
                _ if cx.memory.was_freed(address) => FaultKind::UseAfterFree,
                _ => FaultKind::OutOfBounds,
            };
            return Err(refuse(cx, part, lane, bytes, verb, kind));
        }
    }
    count(cx, part, bytes, verb);
    Ok(())
}

fn refuse(
    cx: &Context<'_>,
    part: &Part,
    lane: usize,
    bytes: u32,
    verb: Verb,
    kind: FaultKind,
) -> Box<Fault> {
    let (space, limit) = match part.space {
        Space::Shared => ("shared", Some(u64::from(cx.shared_bytes))),
        Space::Local => ("local", Some(u64::from(cx.program.local_bytes))),
        Space::Param => ("parameter", Some(u64::from(cx.program.param_bytes))),
        _ => ("global", None),
    };
    let verb = match verb {
        Verb::Read => "reads",
        Verb::Write => "writes",
        Verb::Update(_) => "updates",
    };
    let access = Access { verb, space, address: part.addresses[lane], size: bytes, limit };
    let lane = Some((cx.warp.index, lane as u32));
    Box::new(Fault {
        kind,
        pc: None,
        callers: Vec::new(),
        lane,
        access: Some(access),
        hazard: None,
        detail: String::new(),
        place: None,
    })
}

/// A hazard of a lane of an admitted part, as a fault.
pub fn hazardous(
    cx: &Context<'_>,
    part: &Part,
    lane: usize,
    bytes: u32,
    verb: Verb,
    hazard: Hazard,
) -> Box<Fault> {
    let kind = match hazard {
        Hazard::Outside => FaultKind::OutOfBounds,
        Hazard::Unwritten => FaultKind::Uninitialised,
        Hazard::Race { .. } => FaultKind::Race,
    };
    let mut fault = refuse(cx, part, lane, bytes, verb, kind);
    fault.hazard = Some(hazard);
    fault
}

/// Checks the lanes of an admitted part of shared memory, all before the first of them, and
/// remembers them. The stores of the lanes of `changed` change something.
pub fn touch(
    cx: &mut Context<'_>,
    part: &Part,
    (bytes, strong): (u32, bool),
    verb: Verb,
    changed: u32,
) -> Outcome {
    if part.space != Space::Shared || !cx.shadow.is_on() {
        return Ok(());
    }
    let by = cx.by(strong);
    let touch = |lane: usize| match verb {
        Verb::Read => Touch::Read,
        Verb::Write => Touch::Write(changed & (1 << lane) != 0),
        Verb::Update(_) => Touch::Update,
    };
    let lanes = || (0..32).filter(|lane| part.lanes & (1 << lane) != 0);
    for lane in lanes() {
        let (by, address) = (by.lane(lane), part.addresses[lane]);
        if let Some(hazard) = cx.shadow.check(by, address, bytes, touch(lane)) {
            return Err(hazardous(cx, part, lane, bytes, verb, hazard));
        }
    }
    for lane in lanes() {
        cx.shadow.note(by.lane(lane), part.addresses[lane], bytes, touch(lane));
    }
    Ok(())
}

fn count(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) {
    let counts = &mut cx.counts.memory;
    match (part.space, verb) {
        (Space::Shared, Verb::Update(_)) => counts.shared_atomics += 1,
        (Space::Shared, _) => {
            let addresses = part.addresses.map(|address| address as u32);
            let (fronts, counts) = if verb == Verb::Read {
                let fronts = banks::load_wavefronts(&addresses, part.lanes, bytes);
                (fronts, &mut counts.shared_load)
            } else {
                let fronts = banks::wavefronts(&addresses, part.lanes, bytes);
                (fronts, &mut counts.shared_store)
            };
            counts.requests += 1;
            counts.wavefronts += u64::from(fronts.total);
            counts.ideal += u64::from(fronts.ideal);
            counts.bytes += 4 * u64::from(fronts.words);
        }
        (Space::Local, Verb::Read) => counts.local_loads += 1,
        (Space::Local, _) => counts.local_stores += 1,
        (Space::Param, _) => {}
        _ if part.constant => {}
        _ => {
            let counts = match verb {
                Verb::Read => &mut counts.load,
                Verb::Write => &mut counts.store,
                Verb::Update(false) => &mut counts.reduction,
                Verb::Update(true) => &mut counts.atomic,
            };
            counts.requests += 1;
            counts.sectors += sectors::count(&part.addresses, part.lanes, bytes);
            counts.bytes += if verb == Verb::Read {
                sectors::distinct_bytes(&part.addresses, part.lanes, bytes)
            } else {
                u64::from(bytes) * u64::from(part.lanes.count_ones())
            };
        }
    }
}

/// The allocation of an address, tried first where the last one was found.
#[inline]
fn allocation<'x>(cx: &mut Context<'x>, address: u64) -> Option<&'x Allocation> {
    let memory = cx.memory;
    if let Some(found) = memory.at(*cx.last_allocation).filter(|found| found.contains(address, 1)) {
        return Some(found);
    }
    *cx.last_allocation = memory.index_of(address)?;
    memory.at(*cx.last_allocation)
}

/// One word of some space.
pub enum Cell<'c> {
    /// Of device memory.
    Global(&'c AtomicU32),
    /// Of anything that one block owns.
    Owned(&'c mut u32),
}

impl Cell<'_> {
    /// Its value.
    #[inline]
    pub fn get(&self) -> u32 {
        match self {
            Self::Global(word) => word.load(Relaxed),
            Self::Owned(word) => **word,
        }
    }

    /// Changes it by `f` as one step, and returns what it was.
    #[inline]
    pub fn update(&mut self, f: impl Fn(u32) -> u32) -> u32 {
        match self {
            Self::Global(word) => {
                let mut old = word.load(Relaxed);
                while let Err(now) = word.compare_exchange_weak(old, f(old), Relaxed, Relaxed) {
                    old = now;
                }
                old
            }
            Self::Owned(word) => std::mem::replace(*word, f(**word)),
        }
    }

    /// Sets the bits of `field`.
    #[inline]
    pub fn put(&mut self, value: u32, field: u32) {
        match self {
            Self::Global(word) if field == u32::MAX => word.store(value, Relaxed),
            Self::Owned(word) if field == u32::MAX => **word = value,
            _ => {
                self.update(|old| (old & !field) | (value & field));
            }
        }
    }
}

/// The word that holds `address` of an admitted lane. Parameters are read elsewhere.
pub fn cell<'c>(
    cx: &'c mut Context<'_>,
    space: Space,
    lane: usize,
    address: u64,
) -> Option<Cell<'c>> {
    match space {
        Space::Shared => cx.shared.get_mut((address / 4) as usize).map(Cell::Owned),
        Space::Local => cx.local.get_mut((address / 4) as usize * 32 + lane).map(Cell::Owned),
        _ => {
            let found = allocation(cx, address)?;
            found.words.get(((address - found.base) / 4) as usize).map(Cell::Global)
        }
    }
}

fn read_word(cx: &mut Context<'_>, space: Space, lane: usize, address: u64) -> u64 {
    let word = match space {
        Space::Param => cx.params.get((address / 4) as usize).copied(),
        _ => cell(cx, space, lane, address).map(|cell| cell.get()),
    };
    u64::from(word.unwrap_or(0))
}

/// Reads `bytes` (1, 2, 4 or 8), which do not cross their own alignment.
pub fn read(cx: &mut Context<'_>, space: Space, lane: usize, address: u64, bytes: u8) -> u64 {
    let low = read_word(cx, space, lane, address) >> (8 * (address % 4));
    if bytes == 8 { low | read_word(cx, space, lane, address + 4) << 32 } else { low }
}

/// Writes `bytes` (1, 2, 4 or 8), which do not cross their own alignment.
pub fn write(cx: &mut Context<'_>, space: Space, lane: usize, address: u64, bytes: u8, value: u64) {
    let shift = 8 * (address % 4) as u32;
    let field = if bytes >= 4 { u32::MAX } else { ((1u32 << (8 * bytes)) - 1) << shift };
    if let Some(mut cell) = cell(cx, space, lane, address) {
        cell.put((value as u32) << shift, field);
    }
    if bytes == 8
        && let Some(mut cell) = cell(cx, space, lane, address + 4)
    {
        cell.put((value >> 32) as u32, u32::MAX);
    }
}

/// `d ← [address]`
#[inline(never)]
pub fn load(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    d: [Slot; 4],
    on: u32,
) -> Outcome {
    for part in parts(cx, address, on) {
        admit(cx, &part, element.total(), Verb::Read)?;
        if element.strong {
            cx.shadow.meet();
        }
        touch(cx, &part, (element.total(), element.strong), Verb::Read, 0)?;
        for (index, slot) in (0u64..).zip(d).take(usize::from(element.count)) {
            let mut values = [0; 32];
            for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
                let at = part.addresses[lane] + index * u64::from(element.bytes);
                let value = read(cx, part.space, lane, at, element.bytes);
                values[lane] = extend(value, element.bytes, element.signed);
            }
            cx.lanes.set_any(slot, element.wide, &values, part.lanes);
        }
    }
    Ok(())
}

/// The lanes that store to shared memory what is not there.
fn changed(cx: &mut Context<'_>, part: &Part, element: Element, a: [Slot; 4]) -> u32 {
    let mut changed = 0;
    for (index, slot) in (0u64..).zip(a).take(usize::from(element.count)) {
        let values = cx.lanes.any(slot, element.wide);
        for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
            let at = part.addresses[lane] + index * u64::from(element.bytes);
            let there = read(cx, part.space, lane, at, element.bytes);
            let same = |value| extend(value, element.bytes, false);
            changed |= u32::from(same(there) != same(values[lane])) << lane;
        }
    }
    changed
}

/// `[address] ← a`
#[inline(never)]
pub fn store(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    a: [Slot; 4],
    on: u32,
) -> Outcome {
    for part in parts(cx, address, on) {
        admit(cx, &part, element.total(), Verb::Write)?;
        if element.strong {
            cx.shadow.meet();
        }
        let changed = if part.space == Space::Shared { changed(cx, &part, element, a) } else { 0 };
        touch(cx, &part, (element.total(), element.strong), Verb::Write, changed)?;
        for (index, slot) in (0u64..).zip(a).take(usize::from(element.count)) {
            let values = cx.lanes.any(slot, element.wide);
            for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
                let at = part.addresses[lane] + index * u64::from(element.bytes);
                write(cx, part.space, lane, at, element.bytes, values[lane]);
            }
        }
    }
    Ok(())
}
