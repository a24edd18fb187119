//! PC sampling: every execution of an instruction by a warp is a sample. A warp at an instruction
//! with sectors waits for them in every second one.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Mutex;

use crate::call::{Code, INVALID_OPERATION, INVALID_PARAMETER, crash, sys};
use crate::driver::{self, Executed};
use crate::ready::context;
use crate::sass::{blocks_sampling, crc, owned};
use crate::trouble;

/// The states of warps, by their numbers.
const STATES: [&str; 3] = ["selected", "long_scoreboard", "long_scoreboard_not_issued"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Off,
    Enabled,
    Configured,
    Started,
    Stopped { read: bool },
}

static STATE: Mutex<State> = Mutex::new(State::Off);

/// Goes from one of the states `from` to `to`.
fn step(from: &[State], to: State) -> Result<(), Code> {
    let mut state = STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !from.contains(&state) {
        return Err(INVALID_OPERATION);
    }
    *state = to;
    Ok(())
}

pub fn enable(p: &mut sys::CUpti_PCSamplingEnableParams) -> Result<(), Code> {
    context(p.ctx)?;
    blocks_sampling()?;
    step(&[State::Off], State::Enabled)
}

pub fn disable(p: &mut sys::CUpti_PCSamplingDisableParams) -> Result<(), Code> {
    context(p.ctx)?;
    *STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = State::Off;
    Ok(())
}

pub fn configure(p: &mut sys::CUpti_PCSamplingConfigurationInfoParams) -> Result<(), Code> {
    context(p.ctx)?;
    if p.numAttributes == 0 || p.pPCSamplingConfigurationInfo.is_null() {
        return Err(INVALID_PARAMETER);
    }
    let kinds = (0..p.numAttributes).map(|at| {
        // SAFETY: the client's list, of the length that it says; an enum read as its integer.
        unsafe { p.pPCSamplingConfigurationInfo.add(at).cast::<u32>().read() }
    });
    let kinds: Vec<u32> = kinds.collect();
    if kinds.contains(&1) || kinds.contains(&4) {
        crash("a period or a buffer of the hardware: NVIDIA's gives no samples on some chips");
    }
    // The data buffer and the control of start and stop.
    if ![8, 6].iter().all(|kind| kinds.contains(kind)) {
        return Err(INVALID_PARAMETER);
    }
    step(&[State::Enabled], State::Configured)
}

pub fn reason_count(p: &mut sys::CUpti_PCSamplingGetNumStallReasonsParams) -> Result<(), Code> {
    step(&[State::Configured], State::Configured)?;
    // SAFETY: the client's number.
    unsafe { p.numStallReasons.write(STATES.len()) };
    Ok(())
}

pub fn reasons(p: &mut sys::CUpti_PCSamplingGetStallReasonsParams) -> Result<(), Code> {
    step(&[State::Configured], State::Configured)?;
    if p.numStallReasons != STATES.len() {
        return Err(INVALID_PARAMETER);
    }
    for (at, state) in STATES.iter().enumerate() {
        let name = format!("smsp__pcsamp_warps_issue_stalled_{state}\0");
        // SAFETY: the client's lists, each name with room for 128 bytes.
        unsafe {
            p.stallReasonIndex.add(at).write(at as u32 + 3);
            name.as_ptr().copy_to((*p.stallReasons.add(at)).cast(), name.len());
        }
    }
    Ok(())
}

pub fn start(p: &mut sys::CUpti_PCSamplingStartParams) -> Result<(), Code> {
    context(p.ctx)?;
    step(&[State::Configured], State::Started)?;
    driver::executed();
    trouble::log("samples");
    Ok(())
}

pub fn stop(p: &mut sys::CUpti_PCSamplingStopParams) -> Result<(), Code> {
    context(p.ctx)?;
    step(&[State::Started], State::Stopped { read: false })
}

pub fn data(p: &mut sys::CUpti_PCSamplingGetDataParams) -> Result<(), Code> {
    context(p.ctx)?;
    let first = step(&[State::Stopped { read: false }], State::Stopped { read: true }).is_ok();
    if !first {
        step(&[State::Stopped { read: true }], State::Stopped { read: true })?;
    }
    // SAFETY: the client's buffer.
    let data = unsafe { p.pcSamplingData.cast::<sys::CUpti_PCSamplingData>().as_mut() };
    let data = data.ok_or(INVALID_PARAMETER)?;
    if data.size != size_of::<sys::CUpti_PCSamplingData>() {
        return Err(INVALID_PARAMETER);
    }
    let sampled = first && trouble::loses("all-samples").is_none();
    let found = if sampled { driver::executed() } else { Vec::new() };
    let found: Vec<Executed> = found.into_iter().filter(|one| one.counts[0] > 0).collect();
    assert!(found.len() <= data.collectNumPcs, "the fake fills one buffer");
    data.totalNumPcs = found.len();
    data.remainingNumPcs = 0;
    data.droppedSamples = trouble::loses("samples").unwrap_or(0) as u64;
    // One string for all records of a function, as NVIDIA's: freeing it twice crashes.
    let mut names: BTreeMap<&str, *mut c_char> = BTreeMap::new();
    for (at, one) in found.iter().enumerate() {
        let name = *names.entry(&one.kernel).or_insert_with(|| owned(&one.kernel));
        // SAFETY: room for as many instructions as the client says.
        fill(unsafe { &mut *data.pPcData.add(at) }, one, name);
    }
    Ok(())
}

fn fill(pc: &mut sys::CUpti_PCSamplingPCData, one: &Executed, name: *mut c_char) {
    let all = one.counts[0] as u32;
    let waiting = if one.counts[4] > 0 { all / 2 } else { 0 };
    let states = [(3, all - waiting), (4, waiting), (5, waiting)];
    assert!({ pc.stallReasonCount } >= states.len(), "the client made no room");
    pc.cubinCrc = crc().into();
    pc.pcOffset = one.offset.into();
    pc.functionName = name;
    pc.stallReasonCount = states.len();
    for (at, (number, samples)) in states.into_iter().enumerate() {
        // SAFETY: room for the states, as the client said.
        unsafe {
            pc.stallReason.add(at).write(sys::CUpti_PCSamplingStallReason {
                pcSamplingStallReasonIndex: number,
                samples,
            });
        }
    }
}
