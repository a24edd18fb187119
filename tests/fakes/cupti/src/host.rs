//! The Profiler Host API: the catalogue, config images, values of counter data. Needs no GPU.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{LazyLock, Mutex};

use crate::call::{
    self, Code, INVALID_METRIC_NAME, INVALID_PARAMETER, NOT_SUPPORTED, UNKNOWN, sys,
};
use crate::catalogue::{self, CHIPS, Kind, Metric};
use crate::counter_data::CounterData;
use crate::plan::{Plan, raws_of};
use crate::trouble;

/// A host object.
#[derive(Debug, Default)]
struct Host {
    chip: String,
    metrics: Vec<String>,
    /// Whether it is for PM sampling.
    samples: bool,
    /// Whether it knows the device's available counters.
    knows_device: bool,
    /// A refused addition: nothing more can be had from the object.
    spoiled: bool,
}

impl Host {
    fn plan(&self, names: &[String]) -> Result<Plan, Code> {
        match self.samples {
            true => Plan::sampled(&self.chip, names),
            false => Plan::new(&self.chip, names),
        }
    }
}

/// Objects by their address, which is never one.
static HOSTS: Mutex<BTreeMap<usize, Host>> = Mutex::new(BTreeMap::new());

fn hosts<T>(f: impl FnOnce(&mut BTreeMap<usize, Host>) -> T) -> T {
    f(&mut HOSTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn with<T>(
    object: *mut sys::CUpti_Profiler_Host_Object,
    f: impl FnOnce(&mut Host) -> Result<T, Code>,
) -> Result<T, Code> {
    hosts(|all| f(all.get_mut(&object.addr()).ok_or(INVALID_PARAMETER)?))
}

/// A list that the client may keep.
struct List(Vec<*const c_char>);

// SAFETY: strings that are never written nor freed.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl List {
    fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(call::leak).collect())
    }

    fn as_mut_ptr(&self) -> *mut *const c_char {
        self.0.as_ptr().cast_mut()
    }
}

static CHIP_LIST: LazyLock<List> = LazyLock::new(|| List::new(CHIPS));

const KINDS: [Kind; 3] = [Kind::Counter, Kind::Ratio, Kind::Throughput];

static METRIC_LISTS: LazyLock<[List; 3]> = LazyLock::new(|| {
    KINDS.map(|kind| {
        List::new(catalogue::metrics().filter(|metric| metric.kind == kind).map(|m| m.name))
    })
});

static SUBMETRIC_LISTS: LazyLock<[List; 3]> = LazyLock::new(|| {
    KINDS.map(|kind| List::new(catalogue::submetrics(kind).iter().map(String::as_str)))
});

fn known_chip(chip: &str) -> Result<(), Code> {
    if CHIPS.contains(&chip) { Ok(()) } else { Err(INVALID_PARAMETER) }
}

pub fn chips(p: &mut sys::CUpti_Profiler_Host_GetSupportedChips_Params) -> Result<(), Code> {
    p.numChips = CHIP_LIST.0.len();
    p.ppChipNames = CHIP_LIST.as_mut_ptr();
    Ok(())
}

pub fn initialize(p: &mut sys::CUpti_Profiler_Host_Initialize_Params) -> Result<(), Code> {
    // SAFETY: the client's text, for the call.
    let chip = unsafe { call::text(p.pChipName) }?;
    known_chip(&chip)?;
    let samples = p.profilerType == sys::CUpti_ProfilerType::CUPTI_PROFILER_TYPE_PM_SAMPLING;
    if !samples && p.profilerType != sys::CUpti_ProfilerType::CUPTI_PROFILER_TYPE_RANGE_PROFILER {
        return Err(INVALID_PARAMETER);
    }
    let knows_device = !p.pCounterAvailabilityImage.is_null();
    if knows_device {
        let expected = crate::target::AVAILABILITY;
        // SAFETY: the client's image, which has no size here: CUPTI trusts it, and the client
        // sealed it.
        let image = unsafe { call::bytes(p.pCounterAvailabilityImage, expected.len()) }?;
        if image != expected {
            return Err(INVALID_PARAMETER);
        }
    }
    p.pHostObject = hosts(|all| {
        let next = all.last_key_value().map_or(0x1000, |(last, _)| last + 16);
        all.insert(next, Host { chip, samples, knows_device, ..Host::default() });
        std::ptr::without_provenance_mut(next)
    });
    Ok(())
}

pub fn deinitialize(p: &mut sys::CUpti_Profiler_Host_Deinitialize_Params) -> Result<(), Code> {
    hosts(|all| all.remove(&p.pHostObject.addr())).map(drop).ok_or(INVALID_PARAMETER)
}

pub fn base_metrics(p: &mut sys::CUpti_Profiler_Host_GetBaseMetrics_Params) -> Result<(), Code> {
    with(p.pHostObject, |_| Ok(()))?;
    let list = METRIC_LISTS.get(p.metricType as usize).ok_or(INVALID_PARAMETER)?;
    p.numMetrics = list.0.len();
    p.ppMetricNames = list.as_mut_ptr();
    Ok(())
}

pub fn sub_metrics(p: &mut sys::CUpti_Profiler_Host_GetSubMetrics_Params) -> Result<(), Code> {
    with(p.pHostObject, |_| Ok(()))?;
    // SAFETY: the client's text, for the call.
    let metric = named(&unsafe { call::text(p.pMetricName) }?)?.0;
    if metric.kind as u32 != p.metricType as u32 {
        return Err(INVALID_PARAMETER);
    }
    let list = &SUBMETRIC_LISTS[metric.kind as usize];
    p.numOfSubmetrics = list.0.len();
    p.ppSubMetrics = list.as_mut_ptr();
    Ok(())
}

fn named(name: &str) -> Result<(&'static Metric, &str), Code> {
    catalogue::split(name).ok_or(INVALID_METRIC_NAME)
}

pub fn properties(p: &mut sys::CUpti_Profiler_Host_GetMetricProperties_Params) -> Result<(), Code> {
    with(p.pHostObject, |_| Ok(()))?;
    // SAFETY: the client's text, for the call.
    let metric = named(&unsafe { call::text(p.pMetricName) }?)?.0;
    p.pDescription = call::leak(&format!("the fake's {}", metric.name));
    p.pHwUnit = call::leak(metric.name.split("__").next().unwrap_or_default());
    p.pDimUnit = call::leak("thing");
    p.metricType = match metric.kind {
        Kind::Counter => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_COUNTER,
        Kind::Ratio => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_RATIO,
        Kind::Throughput => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_THROUGHPUT,
    };
    Ok(())
}

pub fn add_metrics(p: &mut sys::CUpti_Profiler_Host_ConfigAddMetrics_Params) -> Result<(), Code> {
    // SAFETY: the client's names, for the call.
    let names = unsafe { call::texts(p.ppMetricNames, p.numMetrics) }?;
    with(p.pHostObject, |host| {
        let all: Vec<String> = host.metrics.iter().cloned().chain(names).collect();
        if host.knows_device && all.iter().any(|name| trouble::withholds(name)) {
            host.spoiled = true;
            return Err(NOT_SUPPORTED);
        }
        // A bad name is a bad parameter here, and only here.
        let planned = host
            .plan(&all)
            .map_err(|code| if code == INVALID_METRIC_NAME { INVALID_PARAMETER } else { code });
        match planned {
            Ok(_) if !host.spoiled => {
                host.metrics = all;
                Ok(())
            }
            planned => {
                host.spoiled = true;
                Err(planned.err().unwrap_or(INVALID_PARAMETER))
            }
        }
    })
}

fn image_of(object: *mut sys::CUpti_Profiler_Host_Object) -> Result<Vec<u8>, Code> {
    with(object, |host| {
        if host.spoiled || host.metrics.is_empty() {
            return Err(INVALID_PARAMETER);
        }
        host.plan(&host.metrics).map(|plan| plan.to_bytes())
    })
}

pub fn config_size(p: &mut sys::CUpti_Profiler_Host_GetConfigImageSize_Params) -> Result<(), Code> {
    p.configImageSize = image_of(p.pHostObject)?.len();
    Ok(())
}

pub fn config(p: &mut sys::CUpti_Profiler_Host_GetConfigImage_Params) -> Result<(), Code> {
    let image = image_of(p.pHostObject)?;
    if p.configImageSize < image.len() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: the client's buffer, for the call.
    unsafe { call::bytes_mut(p.pConfigImage, image.len()) }?.copy_from_slice(&image);
    Ok(())
}

pub fn passes(p: &mut sys::CUpti_Profiler_Host_GetNumOfPasses_Params) -> Result<(), Code> {
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pConfigImage, p.configImageSize) }?;
    p.numOfPasses = Plan::from_bytes(image)?.passes.len();
    Ok(())
}

pub fn range_name(p: &mut sys::CUpti_Profiler_Host_GetRangeName_Params) -> Result<(), Code> {
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pCounterDataImage, p.counterDataImageSize) }?;
    let data = CounterData::read(image).map_err(|_| UNKNOWN)?;
    let name = &data.ranges.get(p.rangeIndex).ok_or(UNKNOWN)?.name;
    // The client frees it, so it comes from malloc.
    let text = std::ffi::CString::new(name.as_str()).map_err(|_| UNKNOWN)?;
    // SAFETY: a string that ends in NUL.
    p.pRangeName = unsafe { libc::strdup(text.as_ptr()) };
    Ok(())
}

pub fn evaluate(p: &mut sys::CUpti_Profiler_Host_EvaluateToGpuValues_Params) -> Result<(), Code> {
    with(p.pHostObject, |_| Ok(()))?;
    // SAFETY: the client's image and names, for the call.
    let (image, names) = unsafe {
        (
            call::bytes(p.pCounterDataImage, p.counterDataImageSize)?,
            call::texts(p.ppMetricNames, p.numMetrics)?,
        )
    };
    raws_of(&names)?;
    let data = CounterData::read(image)?;
    let range = data.ranges.get(p.rangeIndex).ok_or(INVALID_PARAMETER)?;
    for (at, name) in names.iter().enumerate() {
        let (metric, submetric) = named(name)?;
        let raws: Vec<_> = metric.raws.iter().map(|raw| range.counted(raw)).collect();
        let value = catalogue::evaluate(metric, submetric, &raws).ok_or(INVALID_METRIC_NAME)?;
        // SAFETY: the client's buffer holds a value for every name.
        unsafe { p.pMetricValues.add(at).write(value) };
    }
    trouble::log(&format!("evaluated {} metrics of range {}", names.len(), range.name));
    Ok(())
}
