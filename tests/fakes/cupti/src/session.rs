//! The range profiler: a session, its passes, and the ranges in them.
//!
//! Enable → size and initialisation of the counter data where there is none → SetConfig → Start,
//! Stop, … → Decode → Disable. A process has one device and so one session at a time; processes
//! take turns.

use std::fs::File;
use std::sync::Mutex;

use crate::activity;
use crate::call::{self, Code, HARDWARE_BUSY, INVALID_OPERATION, INVALID_PARAMETER, sys};
use crate::catalogue;
use crate::counter_data::CounterData;
use crate::crash::crash;
use crate::driver::{self, Launch};
use crate::plan::{Plan, raws_of};
use crate::ready;
use crate::timeline;
use crate::trouble::{self, Fate};

/// The object that the client is given: there is one at a time.
const OBJECT: usize = 0x2000;

/// The state that SetConfig fixed.
struct Configured {
    plan: Plan,
    image: (usize, usize),
    user_ranges: bool,
    all_in_one: bool,
    max_ranges: usize,
    max_depth: usize,
    pass: usize,
    /// The nesting level that the next pass collects.
    level: usize,
    /// The image's contents when CUPTI received it; the client must not touch it.
    seen: Vec<u8>,
}

/// A range of the pass that is running.
struct Open {
    name: String,
    launches: Vec<Launch>,
}

#[derive(Default)]
struct Running {
    stack: Vec<String>,
    ranges: Vec<Open>,
    /// When the pass began.
    began: u128,
    /// Launches outside of any range, with user ranges.
    outside: Vec<Launch>,
}

/// A pass that ended and was not decoded yet: its ranges and what was counted in each.
type Pending = Vec<(String, Vec<(String, u64, u64)>)>;

#[derive(Default)]
struct Session {
    _held: Option<File>,
    layout: Option<CounterData>,
    configured: Option<Configured>,
    running: Option<Running>,
    pending: Vec<Pending>,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn locked<T>(f: impl FnOnce(&mut Option<Session>) -> T) -> T {
    f(&mut SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn with<T>(
    object: *mut sys::CUpti_RangeProfiler_Object,
    f: impl FnOnce(&mut Session) -> Result<T, Code>,
) -> Result<T, Code> {
    ready::need_initialized("the range profiler");
    locked(|session| match session {
        Some(session) if object.addr() == OBJECT => f(session),
        _ => Err(INVALID_PARAMETER),
    })
}

/// Whether a session is open.
pub fn is_open() -> bool {
    locked(|session| session.is_some())
}

pub fn enable(p: &mut sys::CUpti_RangeProfiler_Enable_Params) -> Result<(), Code> {
    ready::need_initialized("cuptiRangeProfilerEnable");
    ready::context(p.ctx)?;
    if activity::is_enabled() {
        crash("cuptiRangeProfilerEnable while kernels are recorded");
    }
    locked(|session| {
        if session.is_some() {
            return Err(INVALID_OPERATION);
        }
        let held = trouble::hold_device().ok_or(HARDWARE_BUSY)?;
        *session = Some(Session { _held: held, ..Session::default() });
        trouble::log("enabled");
        p.pRangeProfilerObject = std::ptr::without_provenance_mut(OBJECT);
        Ok(())
    })
}

pub fn disable(p: &mut sys::CUpti_RangeProfiler_Disable_Params) -> Result<(), Code> {
    with(p.pRangeProfilerObject, |session| {
        if session.running.is_some() { Err(INVALID_OPERATION) } else { Ok(()) }
    })?;
    trouble::log("disabled");
    locked(|session| *session = None);
    Ok(())
}

pub fn counter_data_size(
    p: &mut sys::CUpti_RangeProfiler_GetCounterDataSize_Params,
) -> Result<(), Code> {
    // SAFETY: the client's names, for the call.
    let names = unsafe { call::texts(p.pMetricNames, p.numMetrics) }?;
    with(p.pRangeProfilerObject, |session| {
        if p.maxNumOfRanges == 0 || (p.maxNumRangeTreeNodes as usize) < p.maxNumOfRanges {
            return Err(INVALID_PARAMETER);
        }
        let raws = raws_of(&names)?;
        let layout = CounterData { raws, max_ranges: p.maxNumOfRanges, ranges: Vec::new() };
        p.counterDataSize = layout.size();
        session.layout = Some(layout);
        Ok(())
    })
}

pub fn counter_data_initialize(
    p: &mut sys::CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
) -> Result<(), Code> {
    // SAFETY: the client's buffer, for the call.
    let image = unsafe { call::bytes_mut(p.pCounterData, p.counterDataSize) }?;
    with(p.pRangeProfilerObject, |session| {
        session.layout.as_ref().ok_or(INVALID_OPERATION)?.write(image)
    })
}

pub fn set_config(p: &mut sys::CUpti_RangeProfiler_SetConfig_Params) -> Result<(), Code> {
    use sys::CUpti_ProfilerRange as Range;
    use sys::CUpti_ProfilerReplayMode as Replay;
    // SAFETY: the client's images, which it keeps until it disables.
    let (config, image) = unsafe {
        (
            call::bytes(p.pConfig, p.configSize)?,
            call::bytes(p.pCounterDataImage, p.counterDataImageSize)?,
        )
    };
    with(p.pRangeProfilerObject, |session| {
        if session.running.is_some() {
            return Err(INVALID_OPERATION);
        }
        let (plan, data) = (Plan::from_bytes(config)?, CounterData::read(image)?);
        let user_ranges = p.range == Range::CUPTI_UserRange;
        let all_in_one = p.replayMode == Replay::CUPTI_KernelReplay;
        let modes = match p.replayMode {
            Replay::CUPTI_ApplicationReplay | Replay::CUPTI_UserReplay => {
                user_ranges || p.range == Range::CUPTI_AutoRange
            }
            Replay::CUPTI_KernelReplay => p.range == Range::CUPTI_AutoRange,
            _ => false,
        };
        let holds = plan.passes.iter().flatten().all(|raw| data.raws.contains(raw));
        let levels = p.numNestingLevels >= 1
            && (user_ranges || p.numNestingLevels == 1)
            && p.minNestingLevel == 1
            && (1..=p.numNestingLevels).contains(&p.targetNestingLevel);
        let fits = p.maxRangesPerPass >= 1 && p.maxRangesPerPass <= data.max_ranges;
        if !(modes && holds && levels && fits && p.passIndex < plan.passes.len()) {
            return Err(INVALID_PARAMETER);
        }
        session.configured = Some(Configured {
            plan,
            image: (p.pCounterDataImage.expose_provenance(), p.counterDataImageSize),
            user_ranges,
            all_in_one,
            max_ranges: p.maxRangesPerPass,
            max_depth: p.numNestingLevels.into(),
            pass: p.passIndex,
            level: p.targetNestingLevel.into(),
            seen: image.to_vec(),
        });
        session.pending.clear();
        Ok(())
    })
}

pub fn start(p: &mut sys::CUpti_RangeProfiler_Start_Params) -> Result<(), Code> {
    with(p.pRangeProfilerObject, |session| {
        let configured = session.configured.as_ref().ok_or(INVALID_OPERATION)?;
        if session.running.is_some() {
            return Err(INVALID_OPERATION);
        }
        trouble::log(&format!("started pass {}", configured.pass));
        driver::observe(true);
        session.running = Some(Running { began: timeline::now(), ..Running::default() });
        timeline::linger(timeline::MEASURED);
        Ok(())
    })
}

impl Running {
    /// Gives the launches since the last call to the ranges that are open.
    fn settle(&mut self, user_ranges: bool) {
        for launch in driver::take() {
            if !user_ranges {
                let name = self.ranges.len().to_string();
                self.ranges.push(Open { name, launches: vec![launch] });
            } else if self.stack.is_empty() {
                self.outside.push(launch);
            } else {
                for depth in 1..=self.stack.len() {
                    let name = self.stack[..depth].join("/");
                    if let Some(range) = self.ranges.iter_mut().find(|range| range.name == name) {
                        range.launches.push(launch.clone());
                    }
                }
            }
        }
    }
}

pub fn push(p: &mut sys::CUpti_RangeProfiler_PushRange_Params) -> Result<(), Code> {
    // SAFETY: the client's text, for the call.
    let name = unsafe { call::text(p.pRangeName) }?;
    with(p.pRangeProfilerObject, |session| {
        let configured = session.configured.as_ref().ok_or(INVALID_OPERATION)?;
        let running = session.running.as_mut().ok_or(INVALID_OPERATION)?;
        if !configured.user_ranges || running.stack.len() == configured.max_depth {
            return Err(INVALID_OPERATION);
        }
        if name.is_empty() || name.contains([' ', '\n', '/']) {
            return Err(INVALID_PARAMETER);
        }
        running.settle(true);
        running.stack.push(name);
        let name = running.stack.join("/");
        if running.ranges.iter().any(|range| range.name == name) {
            running.stack.pop();
            return Err(INVALID_OPERATION);
        }
        running.ranges.push(Open { name, launches: Vec::new() });
        Ok(())
    })
}

pub fn pop(p: &mut sys::CUpti_RangeProfiler_PopRange_Params) -> Result<(), Code> {
    with(p.pRangeProfilerObject, |session| {
        let running = session.running.as_mut().ok_or(INVALID_OPERATION)?;
        if running.stack.is_empty() {
            return Err(INVALID_OPERATION);
        }
        running.settle(true);
        running.stack.pop();
        Ok(())
    })
}

/// The counts of `raws` in each range.
fn counted(ranges: &[Open], raws: &[String]) -> Pending {
    let sum = |range: &Open, raw: &String| {
        let value: f64 = range.launches.iter().map(|l| catalogue::count(raw, l)).sum();
        let nanoseconds = range.launches.iter().map(|l| l.nanoseconds).sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let value = value as u64;
        (raw.clone(), value, nanoseconds)
    };
    ranges
        .iter()
        .map(|range| (range.name.clone(), raws.iter().map(|raw| sum(range, raw)).collect()))
        .collect()
}

pub fn stop(p: &mut sys::CUpti_RangeProfiler_Stop_Params) -> Result<(), Code> {
    with(p.pRangeProfilerObject, |session| {
        let configured = session.configured.as_mut().ok_or(INVALID_OPERATION)?;
        let running = session.running.as_mut().ok_or(INVALID_OPERATION)?;
        if !running.stack.is_empty() {
            return Err(INVALID_OPERATION);
        }
        running.settle(configured.user_ranges);
        driver::observe(false);
        let Some(Running { ranges, outside, began, .. }) = session.running.take() else {
            return Err(INVALID_OPERATION);
        };
        timeline::record("counts", began);
        // Those of inner ranges are in the outermost one too.
        let outermost = ranges.iter().filter(|range| !range.name.contains('/'));
        let launches: Vec<Launch> =
            outermost.flat_map(|range| &range.launches).chain(&outside).cloned().collect();
        // A pass collects the ranges of one level; NVIDIA's repeats it for the next one.
        let level = configured.level;
        let is_collected = |range: &Open| range.name.split('/').count() == level;
        let ranges: Vec<Open> = ranges.into_iter().filter(is_collected).collect();
        let count = configured.plan.passes.len();
        let is_last_level = level == configured.max_depth;
        let last = match (configured.all_in_one, is_last_level) {
            (true, _) => count,
            (false, true) => configured.pass + 1,
            (false, false) => configured.pass,
        };
        let mut endless = false;
        for pass in configured.pass..last.max(configured.pass + 1) {
            let Fate { lost, endless: more } = trouble::at_end_of(pass, &launches);
            endless |= more;
            trouble::log(&format!("collected pass {} of {count}: {}", pass, told(&ranges)));
            // One pass more than there are collects nothing.
            let raws = configured.plan.passes.get(pass).map_or(&[][..], Vec::as_slice);
            session.pending.push(if lost { Pending::new() } else { counted(&ranges, raws) });
        }
        configured.pass = last;
        configured.level = if is_last_level { 1 } else { level + 1 };
        p.passIndex = last;
        p.targetNestingLevel = configured.level;
        p.isAllPassSubmitted = u8::from(last >= count && !endless);
        Ok(())
    })
}

/// The ranges and their launches, for the log.
fn told(ranges: &[Open]) -> String {
    let launch = |l: &Launch| format!("{} {}x{}", l.kernel, l.grid[0], l.block[0]);
    let range = |range: &Open| {
        format!(
            "{} [{}]",
            range.name,
            range.launches.iter().map(launch).collect::<Vec<_>>().join(", ")
        )
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(" ")
}

pub fn decode(p: &mut sys::CUpti_RangeProfiler_DecodeData_Params) -> Result<(), Code> {
    with(p.pRangeProfilerObject, |session| {
        if session.running.is_some() || session.pending.is_empty() {
            return Err(INVALID_OPERATION);
        }
        timeline::record("decodes", timeline::now());
        let configured = session.configured.as_mut().ok_or(INVALID_OPERATION)?;
        let (address, size) = configured.image;
        let pointer: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the client keeps the image, untouched, from SetConfig until it disables.
        let image = unsafe { call::bytes_mut(pointer, size) }?;
        if *image != *configured.seen {
            call::crash("the counter data image was changed or freed while the session was open");
        }
        let mut data = CounterData::read(image)?;
        let mut dropped = 0;
        for pass in std::mem::take(&mut session.pending) {
            for (at, (range, counted)) in pass.iter().enumerate() {
                let room = at < configured.max_ranges && data.add(range, counted);
                // NVIDIA's says nothing of launches beyond the most (13.0 on an H200).
                dropped += usize::from(!room && configured.user_ranges);
            }
        }
        data.write(image)?;
        configured.seen = image.to_vec();
        p.numOfRangeDropped = dropped;
        Ok(())
    })
}
