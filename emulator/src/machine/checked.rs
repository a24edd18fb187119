//! A request to shared memory, held against what the threads of the block did there.

use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::hazard::{By, Hazard, Touch};
use super::request::{Part, Verb, refuse};
use crate::lower::inst::Space;

type Outcome = Result<(), Box<Fault>>;

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
    let by = cx.by(strong);
    touch_by(cx, part, (bytes, by), verb, changed)
}

/// The same by an instruction that the warp executed before.
pub fn touch_by(
    cx: &mut Context<'_>,
    part: &Part,
    (bytes, by): (u32, By),
    verb: Verb,
    changed: u32,
) -> Outcome {
    if part.space != Space::Shared || !cx.shadow.is_on() {
        return Ok(());
    }
    let touch = |lane: usize| match verb {
        Verb::Read => Touch::Read,
        Verb::Write => Touch::Write(changed & (1 << lane) != 0),
        Verb::Update(_) => Touch::Update,
    };
    for lane in lanes(part) {
        let (by, address) = (by.lane(lane), part.addresses[lane]);
        if let Some(hazard) = cx.shadow.check(by, address, bytes, touch(lane)) {
            return Err(hazardous(cx, part, lane, bytes, verb, hazard));
        }
    }
    for lane in lanes(part) {
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
    (bytes, strong): (u32, bool),
) -> Result<Unwritten, Box<Fault>> {
    if part.space != Space::Shared || !cx.shadow.is_on() {
        return Ok(None);
    }
    let (by, mut unwritten): (_, Unwritten) = (cx.by(strong), None);
    for lane in lanes(part) {
        match cx.shadow.check(by.lane(lane), part.addresses[lane], bytes, Touch::Read) {
            None => {}
            Some(hazard @ Hazard::Unwritten) => match &mut unwritten {
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

fn lanes(part: &Part) -> impl Iterator<Item = usize> + use<> {
    let lanes = part.lanes;
    (0..32).filter(move |lane| lanes & (1 << lane) != 0)
}
