//! PM sampling: a launch is spread evenly over the samples of its time. Idle samples come before
//! it and after it; the first one begins at a time that means nothing, as NVIDIA's does. In the
//! first session the device switches contexts before the launch.

use std::fs::File;
use std::ptr::NonNull;
use std::sync::Mutex;

use crate::call::{self, Code, INVALID_OPERATION, INVALID_PARAMETER, sys};
use crate::catalogue;
use crate::counter_data::CounterData;
use crate::driver::{self, Launch};
use crate::plan::{Plan, raws_of};
use crate::ready::need_initialized;
use crate::target::write_availability;
use crate::trouble;

/// The counter of context switches.
const SWITCHED: &str = "gpu__gr_cycles_active_cmd_ctxsw";

/// The reasons for which decoding ends.
const DATA_FULL: u32 = 1;
const END_OF_RECORDS: u32 = 2;

struct Sampler {
    /// The hold on the device.
    _held: Option<File>,
    plan: Plan,
    interval: u64,
    runs: bool,
    sessions: u32,
    /// What is not decoded yet.
    records: Vec<Record>,
}

/// The counts of an interval.
struct Record {
    start: u64,
    end: u64,
    counted: Vec<(String, u64, u64)>,
}

static SAMPLER: Mutex<Option<Sampler>> = Mutex::new(None);

/// The address of the one object.
const OBJECT: usize = 0x2000;

fn with<T>(
    object: *mut sys::CUpti_PmSampling_Object,
    f: impl FnOnce(&mut Sampler) -> Result<T, Code>,
) -> Result<T, Code> {
    let mut sampler = SAMPLER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match sampler.as_mut().filter(|_| object.addr() == OBJECT) {
        Some(sampler) => f(sampler),
        None => Err(INVALID_PARAMETER),
    }
}

pub fn availability(
    p: &mut sys::CUpti_PmSampling_GetCounterAvailability_Params,
) -> Result<(), Code> {
    need_initialized("cuptiPmSamplingGetCounterAvailability");
    if p.deviceIndex != 0 {
        return Err(INVALID_PARAMETER);
    }
    write_availability(p.pCounterAvailabilityImage, &mut p.counterAvailabilityImageSize)
}

pub fn enable(p: &mut sys::CUpti_PmSampling_Enable_Params) -> Result<(), Code> {
    need_initialized("cuptiPmSamplingEnable");
    if p.deviceIndex != 0 {
        return Err(INVALID_PARAMETER);
    }
    let mut sampler = SAMPLER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(held) = trouble::hold_device().filter(|_| sampler.is_none()) else {
        return Err(INVALID_OPERATION);
    };
    *sampler = Some(Sampler {
        _held: held,
        plan: Plan::default(),
        interval: 0,
        runs: false,
        sessions: 0,
        records: Vec::new(),
    });
    p.pPmSamplingObject = std::ptr::without_provenance_mut(OBJECT);
    Ok(())
}

pub fn disable(p: &mut sys::CUpti_PmSampling_Disable_Params) -> Result<(), Code> {
    with(p.pPmSamplingObject, |_| Ok(()))?;
    *SAMPLER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    Ok(())
}

pub fn set_config(p: &mut sys::CUpti_PmSampling_SetConfig_Params) -> Result<(), Code> {
    // SAFETY: the client's image, for the call.
    let plan = Plan::from_bytes(unsafe { call::bytes(p.pConfig, p.configSize) }?)?;
    with(p.pPmSamplingObject, |sampler| {
        if plan.passes.len() != 1 || p.samplingInterval == 0 || p.hardwareBufferSize == 0 {
            return Err(INVALID_PARAMETER);
        }
        (sampler.plan, sampler.interval) = (plan, p.samplingInterval);
        Ok(())
    })
}

pub fn start(p: &mut sys::CUpti_PmSampling_Start_Params) -> Result<(), Code> {
    with(p.pPmSamplingObject, |sampler| {
        if sampler.runs || sampler.interval == 0 {
            return Err(INVALID_OPERATION);
        }
        sampler.runs = true;
        sampler.sessions += 1;
        driver::observe(true);
        driver::take();
        trouble::log(&format!("samples every {} ns", sampler.interval));
        Ok(())
    })
}

pub fn stop(p: &mut sys::CUpti_PmSampling_Stop_Params) -> Result<(), Code> {
    with(p.pPmSamplingObject, |sampler| {
        if !sampler.runs {
            return Err(INVALID_OPERATION);
        }
        sampler.runs = false;
        sampler.records = sampler.sampled(&driver::take());
        driver::observe(false);
        Ok(())
    })
}

impl Sampler {
    fn sampled(&self, launches: &[Launch]) -> Vec<Record> {
        let mut records = vec![self.idle(), self.idle()];
        if self.sessions == 1 {
            let counts = records[1].counted.iter_mut();
            counts.filter(|one| one.0 == SWITCHED).for_each(|one| one.1 = self.interval);
        }
        for launch in launches {
            let count = launch.nanoseconds.div_ceil(self.interval).max(1);
            for at in 0..count {
                let part = |raw: &String| {
                    let value = catalogue::count(raw, launch) as u64;
                    // Each share begins where the one before ended, so that they add up.
                    let until = |at: u64| value * at / count;
                    (raw.clone(), until(at + 1) - until(at), self.interval)
                };
                let counted = self.plan.passes[0].iter().map(part).collect();
                records.push(Record { start: 0, end: 0, counted });
            }
        }
        if trouble::loses("last-samples").is_none() {
            records.extend([self.idle(), self.idle()]);
        }
        for (record, at) in records.iter_mut().zip(1..) {
            (record.start, record.end) = (at * self.interval, (at + 1) * self.interval);
        }
        records[0].start = 0;
        records
    }

    /// An interval in which nothing happens.
    fn idle(&self) -> Record {
        let counted = self.plan.passes[0].iter().map(|raw| (raw.clone(), 0, self.interval));
        Record { start: 0, end: 0, counted: counted.collect() }
    }
}

pub fn data_size(p: &mut sys::CUpti_PmSampling_GetCounterDataSize_Params) -> Result<(), Code> {
    // SAFETY: the client's names, for the call.
    let names = unsafe { call::texts(p.pMetricNames, p.numMetrics) }?;
    with(p.pPmSamplingObject, |_| Ok(()))?;
    let max_ranges = p.maxSamples as usize;
    let layout = CounterData { raws: raws_of(&names)?, max_ranges, ranges: Vec::new() };
    p.counterDataSize = layout.size();
    Ok(())
}

/// An image of `size` bytes without samples.
fn empty(sampler: &Sampler, size: usize) -> Result<CounterData, Code> {
    let raws = sampler.plan.passes.first().cloned().ok_or(INVALID_OPERATION)?;
    let layout = |max_ranges| CounterData { raws: raws.clone(), max_ranges, ranges: Vec::new() };
    let one = layout(1).size() - layout(0).size();
    Ok(layout(size.checked_sub(layout(0).size()).ok_or(INVALID_PARAMETER)? / one))
}

pub fn data_initialize(
    p: &mut sys::CUpti_PmSampling_CounterDataImage_Initialize_Params,
) -> Result<(), Code> {
    // SAFETY: the client's buffer, of the size that it says.
    let image = unsafe { call::bytes_mut(p.pCounterData, p.counterDataSize) }?;
    with(p.pPmSamplingObject, |sampler| empty(sampler, image.len())?.write(image))
}

pub fn decode(p: &mut sys::CUpti_PmSampling_DecodeData_Params) -> Result<(), Code> {
    // SAFETY: the client's image, of the size that it says.
    let image = unsafe { call::bytes_mut(p.pCounterDataImage, p.counterDataImageSize) }?;
    let mut data = CounterData::read(image)?;
    let reason = with(p.pPmSamplingObject, |sampler| {
        let fit = sampler.records.len().min(data.max_ranges - data.ranges.len());
        for record in sampler.records.drain(..fit) {
            data.add(&format!("{}-{}", record.start, record.end), &record.counted);
        }
        Ok(if sampler.records.is_empty() { END_OF_RECORDS } else { DATA_FULL })
    })?;
    data.write(image)?;
    p.overflow = u8::from(trouble::loses("records").is_some());
    // SAFETY: an enum of 32 bits that has this number.
    unsafe { NonNull::from(&mut p.decodeStopReason).cast::<u32>().write(reason) };
    Ok(())
}

pub fn data_info(p: &mut sys::CUpti_PmSampling_GetCounterDataInfo_Params) -> Result<(), Code> {
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pCounterDataImage, p.counterDataImageSize) }?;
    let data = CounterData::read(image)?;
    p.numTotalSamples = data.max_ranges;
    p.numPopulatedSamples = data.ranges.len();
    p.numCompletedSamples = data.ranges.len();
    Ok(())
}

pub fn sample_info(
    p: &mut sys::CUpti_PmSampling_CounterData_GetSampleInfo_Params,
) -> Result<(), Code> {
    with(p.pPmSamplingObject, |_| Ok(()))?;
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pCounterDataImage, p.counterDataImageSize) }?;
    let data = CounterData::read(image)?;
    let name = &data.ranges.get(p.sampleIndex).ok_or(INVALID_PARAMETER)?.name;
    let (start, end) = name.split_once('-').ok_or(INVALID_PARAMETER)?;
    p.startTimestamp = start.parse().map_err(|_| INVALID_PARAMETER)?;
    p.endTimestamp = end.parse().map_err(|_| INVALID_PARAMETER)?;
    Ok(())
}
