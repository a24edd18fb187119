//! Counters over the time of launches (CUPTI's PM sampling).
//!
//! Input: metrics, an interval, and the launches between [`PmSampler::start`] and
//! [`PmSampler::stop`]. Output: the values of the metrics in each interval, of the whole device.
//!
//! Invariants: the metrics fit into one pass; every record is decoded, as CUPTI says, or the
//! samples are an error; a process samples with nothing else of CUPTI next to it, and one process
//! samples a device at a time.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::cupti::sys;
use cudarc::driver::CudaContext;

use crate::abi::{Call, PmSamplingFunctions};
use crate::host::{EvaluateError, Names, Profiler};
use crate::target::{Target, TargetError, own};
use crate::{Host, HostApi};

/// The memory of the GPU's records, in bytes. CUPTI says if they did not fit.
const BUFFER: usize = 64 << 20;

/// How many samples are decoded at once.
const SAMPLES: u32 = 1024;

/// How often records are decoded at most: a library that never says that it has no more must not
/// hang us.
const MOST_DECODINGS: usize = 10_000;

/// `CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS`.
const END_OF_RECORDS: u32 = 2;

/// The counters of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct PmSample {
    /// When it began, in nanoseconds by the GPU's clock.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// A value of each metric; NaN if it has none.
    pub values: Vec<f64>,
}

/// Why there are no samples.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PmSamplingError {
    /// CUPTI failed, or the context is another driver's.
    #[error("{0}")]
    Target(#[from] TargetError),
    /// The samples cannot be read.
    #[error("{0}")]
    Evaluate(#[from] EvaluateError),
    /// The chip has none of the metrics.
    #[error("{chip} has none of the metrics for PM sampling")]
    NoMetric {
        /// CUPTI's name of the chip.
        chip: String,
    },
    /// Records were lost.
    #[error("the buffer of the GPU was too small for the samples, or their end was not found")]
    Incomplete,
}

impl From<crate::Failure> for PmSamplingError {
    fn from(failure: crate::Failure) -> Self {
        Self::Target(failure.into())
    }
}

/// Samples a device until it is dropped.
pub struct PmSampler {
    functions: PmSamplingFunctions,
    context: Arc<CudaContext>,
    /// CUPTI stays initialised for it.
    _target: Target,
    host: Host,
    object: NonNull<sys::CUpti_PmSampling_Object>,
    // CUPTI keeps a pointer into it until sampling is disabled.
    config: Vec<u8>,
    metrics: Vec<String>,
}

impl PmSampler {
    /// Prepares to sample `metrics` on the device of `context`, every `interval` nanoseconds. Those
    /// that the chip does not have, or that need another pass than the ones before, are left out.
    ///
    /// # Errors
    /// CUPTI's, also if another process samples the device; [`PmSamplingError::NoMetric`].
    pub fn enable(
        api: HostApi,
        target: &Target,
        context: &Arc<CudaContext>,
        metrics: &[&str],
        interval: u64,
    ) -> Result<Self, PmSamplingError> {
        own(context)?;
        let functions = PmSamplingFunctions::resolve(api.library)
            .map_err(|symbol| TargetError::Load(api.missing(symbol)))?;
        let chip = target.chip_name(context.ordinal())?;
        let availability = availability(&functions, context.ordinal())?;
        let host = Host::open(api, &chip, Profiler::Samples, Some(availability))?;
        let metrics = in_one_pass(api, &host, metrics);
        if metrics.is_empty() {
            return Err(PmSamplingError::NoMetric { chip });
        }
        let config = host.build(&metrics)?;
        let mut call = Call::<sys::CUpti_PmSampling_Enable_Params>::new();
        call.fields().deviceIndex = context.ordinal();
        // SAFETY: CUPTI is initialised.
        unsafe { functions.enable.call(&mut call) }?;
        // SAFETY: a pointer that CUPTI wrote.
        let object = NonNull::new(unsafe { (*call.out()).pPmSamplingObject });
        let object = object.ok_or_else(|| functions.enable.failed(crate::Code::Unknown))?;
        let (context, target) = (Arc::clone(context), target.clone());
        // From here on, leaving disables.
        let sampler = Self { functions, context, _target: target, host, object, config, metrics };
        sampler.configure(interval)?;
        Ok(sampler)
    }

    /// The metrics that it samples, in the order of the values.
    #[must_use]
    pub fn metrics(&self) -> &[String] {
        &self.metrics
    }

    fn configure(&self, interval: u64) -> Result<(), PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_SetConfig_Params>::new();
        let fields = call.fields();
        fields.pPmSamplingObject = self.object.as_ptr();
        fields.configSize = self.config.len();
        fields.pConfig = self.config.as_ptr();
        fields.hardwareBufferSize = BUFFER;
        fields.samplingInterval = interval;
        fields.triggerMode =
            sys::CUpti_PmSampling_TriggerMode::CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
        // SAFETY: the object is live; the image lives as long as it.
        Ok(unsafe { self.functions.set_config.call(&mut call) }?)
    }

    /// Begins to sample.
    ///
    /// # Errors
    /// CUPTI's.
    pub fn start(&mut self) -> Result<(), PmSamplingError> {
        self.context.bind_to_thread().map_err(TargetError::Context)?;
        let mut call = Call::<sys::CUpti_PmSampling_Start_Params>::new();
        call.fields().pPmSamplingObject = self.object.as_ptr();
        // SAFETY: the object is live and configured.
        Ok(unsafe { self.functions.start.call(&mut call) }?)
    }

    /// Ends it, once all launches are over. The samples since the start, without the first one:
    /// its begin is not known.
    ///
    /// # Errors
    /// CUPTI's; [`PmSamplingError::Incomplete`].
    pub fn stop(&mut self) -> Result<Vec<PmSample>, PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_Stop_Params>::new();
        call.fields().pPmSamplingObject = self.object.as_ptr();
        // SAFETY: the object was started.
        unsafe { self.functions.stop.call(&mut call) }?;
        let mut image = self.image()?;
        let mut samples = Vec::new();
        for _ in 0..MOST_DECODINGS {
            self.initialize(&mut image)?;
            let ended = self.decode(&mut image)?;
            let count = self.completed(&image)?;
            for index in 0..count {
                samples.push(self.sample(&image, index)?);
            }
            if ended {
                return Ok(samples.split_off(samples.len().min(1)));
            }
        }
        Err(PmSamplingError::Incomplete)
    }

    /// An image with room for samples.
    fn image(&self) -> Result<Vec<u8>, PmSamplingError> {
        let mut names = Names::new(&self.metrics);
        let mut call = Call::<sys::CUpti_PmSampling_GetCounterDataSize_Params>::new();
        let fields = call.fields();
        fields.pPmSamplingObject = self.object.as_ptr();
        fields.pMetricNames = names.as_mut_ptr();
        fields.numMetrics = names.len();
        fields.maxSamples = SAMPLES;
        // SAFETY: the object is live; the names live until it returns.
        unsafe { self.functions.data_size.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote.
        Ok(vec![0; unsafe { (*call.out()).counterDataSize }])
    }

    fn initialize(&self, image: &mut [u8]) -> Result<(), PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_CounterDataImage_Initialize_Params>::new();
        call.fields().pPmSamplingObject = self.object.as_ptr();
        call.fields().counterDataSize = image.len();
        call.fields().pCounterData = image.as_mut_ptr();
        // SAFETY: the object is live; the image has the size that CUPTI asked for.
        Ok(unsafe { self.functions.data_initialize.call(&mut call) }?)
    }

    /// Decodes records into `image`; whether those were all.
    fn decode(&self, image: &mut [u8]) -> Result<bool, PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_DecodeData_Params>::new();
        call.fields().pPmSamplingObject = self.object.as_ptr();
        call.fields().pCounterDataImage = image.as_mut_ptr();
        call.fields().counterDataImageSize = image.len();
        // SAFETY: the object is live; the image was initialised for it.
        unsafe { self.functions.decode.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote.
        if unsafe { (*call.out()).overflow } != 0 {
            return Err(PmSamplingError::Incomplete);
        }
        let reason =
            std::mem::offset_of!(sys::CUpti_PmSampling_DecodeData_Params, decodeStopReason);
        Ok(call.number_at(reason) == END_OF_RECORDS)
    }

    /// How many samples of `image` are complete.
    fn completed(&self, image: &[u8]) -> Result<usize, PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_GetCounterDataInfo_Params>::new();
        call.fields().pCounterDataImage = image.as_ptr();
        call.fields().counterDataImageSize = image.len();
        // SAFETY: it reads the image, which lives until it returns.
        unsafe { self.functions.data_info.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote.
        Ok(unsafe { (*call.out()).numCompletedSamples })
    }

    fn sample(&mut self, image: &[u8], index: usize) -> Result<PmSample, PmSamplingError> {
        let mut call = Call::<sys::CUpti_PmSampling_CounterData_GetSampleInfo_Params>::new();
        let fields = call.fields();
        fields.pPmSamplingObject = self.object.as_ptr();
        fields.pCounterDataImage = image.as_ptr();
        fields.counterDataImageSize = image.len();
        fields.sampleIndex = index;
        // SAFETY: the object is live; it reads the image.
        unsafe { self.functions.sample_info.call(&mut call) }?;
        // SAFETY: integers that CUPTI wrote.
        let (start, end) = unsafe { ((*call.out()).startTimestamp, (*call.out()).endTimestamp) };
        let values = self.host.values(image, index, &self.metrics)?;
        Ok(PmSample { start, end, values })
    }
}

impl Drop for PmSampler {
    fn drop(&mut self) {
        let mut call = Call::<sys::CUpti_PmSampling_Disable_Params>::new();
        call.fields().pPmSamplingObject = self.object.as_ptr();
        // SAFETY: the object is live, and this is its last use. A failure changes nothing.
        let _ = unsafe { self.functions.disable.call(&mut call) };
    }
}

/// The counters that a device offers to PM sampling: an image that is not sealed.
fn availability(
    functions: &PmSamplingFunctions,
    ordinal: usize,
) -> Result<Vec<u8>, PmSamplingError> {
    let mut size = Call::<sys::CUpti_PmSampling_GetCounterAvailability_Params>::new();
    size.fields().deviceIndex = ordinal;
    size.fields().pCounterAvailabilityImage = ptr::null_mut();
    // SAFETY: CUPTI is initialised; without a buffer it writes the size.
    unsafe { functions.availability.call(&mut size) }?;
    // SAFETY: an integer that CUPTI wrote.
    let mut image = vec![0; unsafe { (*size.out()).counterAvailabilityImageSize }];
    let mut call = Call::<sys::CUpti_PmSampling_GetCounterAvailability_Params>::new();
    call.fields().deviceIndex = ordinal;
    call.fields().counterAvailabilityImageSize = image.len();
    call.fields().pCounterAvailabilityImage = image.as_mut_ptr();
    // SAFETY: as above; the buffer has the size that CUPTI asked for.
    unsafe { functions.availability.call(&mut call) }?;
    Ok(image)
}

/// Those of `metrics` that the chip has and that fit into one pass with the ones before them.
fn in_one_pass(api: HostApi, host: &Host, metrics: &[&str]) -> Vec<String> {
    let mut chosen: Vec<String> = Vec::new();
    for metric in metrics {
        chosen.push((*metric).to_owned());
        let passes = host.build(&chosen).and_then(|config| api.passes_of(&config));
        if !matches!(passes, Ok(1)) {
            chosen.pop();
        }
    }
    chosen
}
