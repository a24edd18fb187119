//! Compares requests to shared memory with earlier ones of the block, and logs those to global
//! memory for [`Races`](super::race_search::Races).

use super::access_log::{LaneAccess, lanes_of};
use super::context::Context;
use super::fault::{Fault, FaultKind, Outcome};
use super::hazard::{Bounds, By, Hazard, Touch};
use super::request::{Part, Verb, refuse};
use crate::lower::inst::{Element, GridOrder, Sharing, Space};

/// Logs an admitted part if it is in global memory; each lane accesses `bytes`.
#[inline]
pub fn log(
    cx: &mut Context<'_>,
    part: &Part,
    (bytes, sharing): (u32, Sharing),
    touch: Touch,
    order: GridOrder,
    word: impl Fn(usize, u32) -> u32,
) {
    if part.space == Space::Global && !part.constant {
        let access = LaneAccess { by: cx.by(sharing), touch, order, bytes, lanes: part.lanes };
        cx.shadow.log.access(access, &part.addresses, word);
    }
}

/// Logs an atomic access, of which the old value may inform the lanes.
pub fn log_update(
    cx: &mut Context<'_>,
    part: &Part,
    bytes: u32,
    (informs, order): (bool, GridOrder),
) {
    log(cx, part, (bytes, Sharing::Ordered), Touch::Update(informs), order, |_, _| 0);
    if informs {
        cx.shadow.observe(cx.warp.index, false);
    }
}

/// A hazard of a lane of an admitted part, as a fault.
fn hazardous(
    cx: &Context<'_>,
    part: &Part,
    lane: usize,
    bytes: u32,
    verb: Verb,
    hazard: Hazard,
) -> Box<Fault> {
    let kind = match hazard {
        Hazard::Outside => FaultKind::OutOfBounds,
        Hazard::Unwritten { .. } => FaultKind::Uninitialised,
        Hazard::Race { .. } => FaultKind::Race,
    };
    let mut fault = refuse(cx, part, lane, bytes, verb, kind);
    fault.hazard = Some(hazard);
    if matches!(hazard, Hazard::Unwritten { .. }) {
        // A thread may have stored a value there that it read from other unwritten memory.
        let origin = cx.shadow.origin(part.addresses[lane], bytes);
        return origin.map_or(fault, |origin| Box::new(origin.clone()));
    }
    fault
}

/// Checks the lanes of an admitted part of shared memory, all before the first of them, and
/// remembers them. The stores of the lanes of `changed` change something.
pub fn touch(
    cx: &mut Context<'_>,
    part: &Part,
    (bytes, sharing): (u32, Sharing),
    verb: Verb,
    changed: u32,
) -> Outcome {
    let by = cx.by(sharing);
    touch_within(cx, part, SharedAccess { bytes, by, bounds: cx.shadow.bounds(by) }, verb, changed)
}

/// The access of an instruction to shared memory.
#[derive(Debug, Clone, Copy)]
pub struct SharedAccess {
    /// Bytes of a lane.
    pub bytes: u32,
    /// The first lane, and the instruction.
    pub by: By,
    /// The order of earlier accesses when the instruction was issued.
    pub bounds: Bounds,
}

/// The same for an instruction that may have been issued earlier.
pub fn touch_within(
    cx: &mut Context<'_>,
    part: &Part,
    SharedAccess { bytes, by, bounds }: SharedAccess,
    verb: Verb,
    changed: u32,
) -> Outcome {
    if part.space != Space::Shared || !cx.shadow.is_on() {
        return Ok(());
    }
    let touch = |lane: usize| match verb {
        Verb::Read => Touch::Read,
        Verb::Write => Touch::Write(changed & (1 << lane) != 0),
        Verb::Update(_) => Touch::Update(true),
    };
    let all = match verb {
        Verb::Update(_) => cx.shadow.new_updates(bytes, part.lanes, &part.addresses),
        Verb::Read | Verb::Write => part.lanes,
    };
    if cx.shadow.touch_cells((by, bounds.block), bytes, (all, &part.addresses), touch) {
        return Ok(());
    }
    for lane in lanes_of(all) {
        let (by, address) = (by.lane(lane), part.addresses[lane]);
        if let Some(hazard) = cx.shadow.check_within(bounds, by, (address, bytes), touch(lane)) {
            return Err(hazardous(cx, part, lane, bytes, verb, hazard));
        }
    }
    for lane in lanes_of(all) {
        cx.shadow.note(by.lane(lane), part.addresses[lane], bytes, touch(lane));
    }
    Ok(())
}

/// The lanes that read unwritten memory, and the fault of the first of them if its value matters.
pub type Unwritten = Option<(u32, Box<Fault>)>;

/// Checks the lanes of an admitted part of shared memory that is read, and remembers them. A read
/// of unwritten memory is not remembered, so nothing races with it: its value may not matter.
pub fn touch_read(
    cx: &mut Context<'_>,
    part: &Part,
    (bytes, sharing): (u32, Sharing),
) -> Result<Unwritten, Box<Fault>> {
    if part.space != Space::Shared || !cx.shadow.is_on() {
        return Ok(None);
    }
    let (by, mut unwritten): (_, Unwritten) = (cx.by(sharing), None);
    let met = cx.shadow.bounds(by).block;
    if cx.shadow.touch_cells((by, met), bytes, (part.lanes, &part.addresses), |_| Touch::Read) {
        return Ok(None);
    }
    for lane in lanes(part) {
        match cx.shadow.check(by.lane(lane), part.addresses[lane], bytes, Touch::Read) {
            None => {}
            Some(hazard @ Hazard::Unwritten { .. }) => match &mut unwritten {
                Some((lanes, _)) => *lanes |= 1 << lane,
                None => {
                    let fault = hazardous(cx, part, lane, bytes, Verb::Read, hazard);
                    unwritten = Some((1 << lane, fault));
                }
            },
            Some(hazard) => return Err(hazardous(cx, part, lane, bytes, Verb::Read, hazard)),
        }
    }
    let unread = unwritten.as_ref().map_or(0, |(lanes, _)| *lanes);
    for lane in lanes(part).filter(|lane| unread & (1 << lane) == 0) {
        cx.shadow.note(by.lane(lane), part.addresses[lane], bytes, Touch::Read);
    }
    Ok(unwritten)
}

/// The lanes that read one element of a vector from unwritten memory, although others of its
/// elements are written, and the fault of the first of them if its value matters.
pub fn unwritten_element(cx: &Context<'_>, part: &Part, element: Element, index: u64) -> Unwritten {
    if part.space != Space::Shared || element.count == 1 {
        return None;
    }
    let bytes = u32::from(element.bytes);
    let offset = index * u64::from(bytes);
    let unwritten = |lane: &usize| cx.shadow.is_unwritten(part.addresses[*lane] + offset, bytes);
    let found = lanes(part).filter(unwritten).fold(0_u32, |lanes, lane| lanes | 1 << lane);
    (found != 0).then(|| {
        let (first, mut part) = (found.trailing_zeros() as usize, part.clone());
        part.addresses[first] += offset;
        let mut fault = hazardous(cx, &part, first, bytes, Verb::Read, cx.shadow.unwritten());
        if let Some(Hazard::Unwritten { in_part, .. }) = &mut fault.hazard {
            *in_part = true;
        }
        (found, fault)
    })
}

fn lanes(part: &Part) -> impl Iterator<Item = usize> + use<> {
    let lanes = part.lanes;
    (0..32).filter(move |lane| lanes & (1 << lane) != 0)
}
