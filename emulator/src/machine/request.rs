//! A memory request of a warp: which lanes go to which space, whether they may, and the counters.

use super::context::Context;
use super::fault::{Access, Fault, FaultKind, Outcome};
use super::memory::Allocation;
use super::memory_block::MemoryBlock;
use crate::counters::sectors::{self, Touched};
use crate::counters::{Use, banks};
use crate::lower::address::resolve;
use crate::lower::inst::{Address, Op, Space};
use std::collections::HashSet;

/// Lines of local memory that L1 looks up in a clock: 3.7 on an H200, of lines without conflicts of
/// banks (docs/scripts/estimate).
const LINES: u32 = 4;

/// The kind of an access, for counters and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It loads.
    Read,
    /// It stores.
    Write,
    /// It is atomic; `true` unless it is a reduction.
    Update(bool),
}

/// The range of the addresses of some lanes.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The lowest address.
    pub low: u64,
    /// The highest one.
    pub high: u64,
    /// The bits of all.
    pub bits: u64,
}

impl Extent {
    #[inline(always)]
    fn new(addresses: &[u64; 32], lanes: u32) -> Self {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for (lane, &at) in addresses.iter().enumerate() {
            if lanes & (1 << lane) != 0 {
                (low, high, bits) = (low.min(at), high.max(at), bits | at);
            }
        }
        Self { low, high, bits }
    }
}

/// The lanes of a request that go to one space.
#[derive(Clone)]
pub struct Part {
    /// The space.
    pub space: Space,
    /// Whether the instruction named constant memory.
    pub constant: bool,
    /// The lanes.
    pub lanes: u32,
    /// Their addresses within the space.
    pub addresses: [u64; 32],
    /// The extent of these lanes, or of more.
    pub extent: Extent,
}

impl Part {
    /// The lanes of `lanes`.
    #[inline(always)]
    pub fn new(space: Space, constant: bool, lanes: u32, addresses: [u64; 32]) -> Self {
        let extent = Extent::new(&addresses, lanes);
        Self { space, constant, lanes, addresses, extent }
    }

    /// How many different words its lanes access.
    fn words(&self) -> u32 {
        let lanes = self.addresses.iter().enumerate();
        let lanes = lanes.filter(|(lane, _)| self.lanes & (1 << lane) != 0);
        let words: HashSet<u64> = lanes.map(|(_, address)| address >> 2).collect();
        words.len() as u32
    }
}

/// The parts of a request: nearly always one.
pub struct Parts {
    /// The part of the lowest lane.
    pub first: Part,
    /// The parts of lanes with addresses in other spaces.
    pub others: Vec<Part>,
}

impl Parts {
    /// All of them.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// Sorts lanes into spaces.
pub fn parts(cx: &Context<'_>, address: Address, on: u32) -> Parts {
    let mut addresses = [0; 32];
    if address.wide {
        let offset = i64::from(address.offset);
        for (at, base) in addresses.iter_mut().zip(cx.lanes.get64(address.base)) {
            *at = base.wrapping_add_signed(offset);
        }
    } else {
        for (at, base) in addresses.iter_mut().zip(cx.lanes.get32(address.base)) {
            *at = u64::from(base.wrapping_add_signed(address.offset));
        }
    }
    let (space, constant) = match address.space {
        Space::Generic => return sort(addresses, on),
        Space::Const => (Space::Global, true),
        space => (space, false),
    };
    Parts { first: Part::new(space, constant, on, addresses), others: Vec::new() }
}

/// Sorts the lanes of generic addresses into spaces.
fn sort(mut addresses: [u64; 32], on: u32) -> Parts {
    let mut spaces = [Space::Global; 32];
    for (address, space) in addresses.iter_mut().zip(&mut spaces) {
        (*space, *address) = resolve(*address);
    }
    let lanes_in = |space: Space| {
        let is_in = |lane: &usize| on & (1 << lane) != 0 && spaces[*lane] == space;
        (0..32).filter(is_in).fold(0, |lanes, lane| lanes | 1 << lane)
    };
    let part = |space: Space| Part::new(space, false, lanes_in(space), addresses);
    let first = part(spaces[on.trailing_zeros().min(31) as usize]);
    let (mut others, mut left) = (Vec::new(), on & !first.lanes);
    while left != 0 {
        let other = part(spaces[left.trailing_zeros() as usize]);
        left &= !other.lanes;
        others.push(other);
    }
    Parts { first, others }
}

/// Checks every lane of a part, and counts the request.
pub fn admit(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) -> Outcome {
    check(cx, part, bytes, verb)?;
    count(cx, part, bytes, verb);
    Ok(())
}

/// Checks every lane of a part.
pub fn check(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) -> Outcome {
    if is_good(cx, part, bytes, verb) {
        return Ok(());
    }
    for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
        check_lane(cx, part, lane, (bytes, bytes), verb)?;
    }
    Ok(())
}

/// Whether all lanes of a part may access `bytes`, seen at once. `false`: they may not, or they
/// access several allocations.
fn is_good(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) -> bool {
    let Extent { low, high, bits } = part.extent;
    let bytes = u64::from(bytes);
    let Some(end) = high.checked_add(bytes) else { return false };
    let inside = match part.space {
        Space::Shared => end <= u64::from(cx.shared_bytes),
        Space::Local => end <= u64::from(cx.local_bytes(part.lanes)),
        Space::Param => false,
        _ => allocation(cx, low).is_some_and(|found| {
            let writable = verb == Verb::Read || found.is_writable;
            found.contains(low, end - low) && writable
        }),
    };
    inside && bits % bytes == 0
}

/// Checks a lane of a part, which accesses `bytes` at a multiple of `aligned`.
pub fn check_lane(
    cx: &mut Context<'_>,
    part: &Part,
    lane: usize,
    (bytes, aligned): (u32, u32),
    verb: Verb,
) -> Outcome {
    let address = part.addresses[lane];
    if !address.is_multiple_of(u64::from(aligned)) {
        return Err(refuse(cx, part, lane, aligned, verb, FaultKind::Misaligned));
    }
    let inside = match part.space {
        Space::Shared => address + u64::from(bytes) <= u64::from(cx.shared_bytes),
        Space::Local => address + u64::from(bytes) <= u64::from(cx.local_bytes(1 << lane)),
        Space::Param => {
            address + u64::from(bytes) <= u64::from(cx.program.param_bytes) && verb == Verb::Read
        }
        _ => allocation(cx, address).is_some_and(|found| found.contains(address, u64::from(bytes))),
    };
    if verb != Verb::Read && part.space == Space::Global && inside && !is_writable(cx, address) {
        return Err(refuse(cx, part, lane, bytes, verb, FaultKind::ReadOnly));
    }
    if !inside {
        let kind = match part.space {
            Space::Shared | Space::Local | Space::Param => FaultKind::OutOfBounds,
            _ if address < 0x1_0000 => FaultKind::Null,
            _ if cx.memory.was_freed(address) => FaultKind::UseAfterFree,
            _ => FaultKind::OutOfBounds,
        };
        return Err(refuse(cx, part, lane, bytes, verb, kind));
    }
    Ok(())
}

/// Whether the instruction is a load of constant memory, a part of global memory here.
fn reads_constants(cx: &Context<'_>) -> bool {
    let op = &cx.program.code[cx.warp.pc as usize - 1].op;
    matches!(op, Op::Load { address, .. } if address.space == Space::Const)
}

/// An access of a lane, as a fault.
pub fn refuse(
    cx: &Context<'_>,
    part: &Part,
    lane: usize,
    bytes: u32,
    verb: Verb,
    kind: FaultKind,
) -> Box<Fault> {
    let (space, limit) = match part.space {
        Space::Shared => ("shared", Some(u64::from(cx.shared_bytes))),
        Space::Local => ("local", Some(u64::from(cx.local_bytes(1 << lane)))),
        Space::Param => ("parameter", Some(u64::from(cx.program.param_bytes))),
        _ if reads_constants(cx) => ("constant", None),
        _ => ("global", None),
    };
    let verb = match verb {
        Verb::Read => "reads",
        Verb::Write => "writes",
        Verb::Update(_) => "updates",
    };
    let access = Access { verb, space, address: part.addresses[lane], size: bytes, limit };
    let lane = Some((cx.warp.index, lane as u32));
    Box::new(Fault { lane, access: Some(access), ..Fault::new(kind, String::new()) })
}

/// Clocks for which a request occupies the banks or the cache of its space, if no other count has
/// them.
fn passes(part: &Part, bytes: u32, verb: Verb) -> u32 {
    match (part.space, verb) {
        (Space::Shared, Verb::Update(_)) => banks::update_passes(&part.addresses, part.lanes),
        // Each line holds one word of every thread.
        (Space::Local, _) => (part.words() * bytes.div_ceil(4)).div_ceil(LINES),
        _ if part.constant => part.words(),
        _ => 0,
    }
}

/// Counts the request of a part.
pub fn count(cx: &mut Context<'_>, part: &Part, bytes: u32, verb: Verb) {
    if let Some(trace) = cx.trace() {
        trace.pass(passes(part, bytes, verb));
    }
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
            counts.bytes += touched(part, bytes).bytes;
        }
        (Space::Local, Verb::Read) => counts.local_loads += 1,
        (Space::Local, _) => counts.local_stores += 1,
        (Space::Param, _) => counts.param_loads += 1,
        _ if part.constant => {}
        _ => {
            if let Some(traffic) = &mut cx.counts.traffic {
                let how = match verb {
                    Verb::Read => Use::Read,
                    Verb::Write => Use::Write,
                    Verb::Update(_) => Use::Update,
                };
                traffic.lanes(how, &part.addresses, part.lanes, bytes);
            }
            let counts = match verb {
                Verb::Read => &mut counts.load,
                Verb::Write => &mut counts.store,
                Verb::Update(false) => &mut counts.reduction,
                Verb::Update(true) => &mut counts.atomic,
            };
            counts.requests += 1;
            let touched = touched(part, bytes);
            counts.sectors += touched.sectors;
            counts.bytes += touched.bytes;
            let is_shared = touched.bytes < u64::from(bytes * part.lanes.count_ones());
            if is_shared && matches!(verb, Verb::Update(_)) {
                counts.repeated += match part.extent {
                    Extent { low, high, .. } if low == high => {
                        u64::from(part.lanes.count_ones()) - 1
                    }
                    _ => sectors::repeated(&part.addresses, part.lanes),
                };
            }
        }
    }
}

#[inline]
fn touched(part: &Part, bytes: u32) -> Touched {
    let Extent { low, high, .. } = part.extent;
    sectors::touched(&part.addresses, part.lanes, bytes, (low, high))
}

fn is_writable(cx: &mut Context<'_>, address: u64) -> bool {
    allocation(cx, address).is_none_or(|found| found.is_writable)
}

/// The block of memory of an address, tried first where the last allocation was found.
#[inline]
pub fn allocation<'x>(cx: &mut Context<'x>, address: u64) -> Option<MemoryBlock<'x>> {
    let memory = cx.memory;
    if let Some(found) = memory.at(*cx.last_allocation).filter(|found| found.contains(address, 1)) {
        return Some(found.block());
    }
    let Some(index) = memory.index_of(address) else { return memory.heap.find(address) };
    *cx.last_allocation = index;
    memory.at(index).map(Allocation::block)
}
