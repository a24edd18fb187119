//! Counts of each machine instruction, by patching.
//!
//! Input: names of SASS metrics (`smsp__sass_inst_executed`, without a rollup), and the launches
//! while a [`SassCounting`] lives. Output: the value of each metric at each instruction, summed
//! over launches and multiprocessors.
//!
//! Invariants, each a trap of CUPTI 13: the code is loaded before the counting begins and patched
//! then, not at its first launch; data is flushed once, by an idle GPU; a process counts once. No
//! other collector of CUPTI works in the same process.

use std::ffi::CStr;
use std::sync::Arc;

use cudarc::cupti::sys;
use cudarc::driver::CudaContext;

use crate::abi::{Call, SassFunctions};
use crate::host::c_string;
use crate::target::{Target, TargetError, own};
use crate::{Code, HostApi};

/// A count of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SassCount {
    /// The cubin, as [`crate::cubin::crc`] names it.
    pub cubin: u32,
    /// The function's name.
    pub function: String,
    /// The offset of the instruction in the function, in bytes.
    pub offset: u64,
    /// The position of the metric among the requested ones.
    pub metric: usize,
    /// The value.
    pub value: u64,
}

/// Counts launches until it is finished or dropped.
pub struct SassCounting {
    functions: SassFunctions,
    context: Arc<CudaContext>,
    /// CUPTI stays initialised for it.
    _target: Target,
    device: u32,
    /// Position and id of each metric that the chip has.
    ids: Vec<(usize, u64)>,
    enabled: bool,
}

impl SassCounting {
    /// Begins to count those of `metrics` that the chip has.
    ///
    /// # Errors
    /// CUPTI's; [`TargetError::ForeignContext`].
    pub fn begin(
        api: HostApi,
        target: &Target,
        context: &Arc<CudaContext>,
        metrics: &[&str],
    ) -> Result<Self, TargetError> {
        own(context)?;
        let functions =
            SassFunctions::resolve(api.library).map_err(|symbol| api.missing(symbol))?;
        let device = u32::try_from(context.ordinal()).unwrap_or_default();
        let chip = c_string(&target.chip_name(context.ordinal())?);
        let mut ids = Vec::new();
        for (position, metric) in metrics.iter().enumerate() {
            let metric = c_string(metric);
            let mut call = Call::<sys::CUpti_SassMetrics_GetProperties_Params>::new();
            call.fields().pChipName = chip.as_ptr();
            call.fields().pMetricName = metric.as_ptr();
            // SAFETY: CUPTI is initialised; both names live until it returns.
            match unsafe { functions.properties.call(&mut call) } {
                // SAFETY: an integer that CUPTI wrote.
                Ok(()) => ids.push((position, unsafe { (*call.out()).metric.metricId })),
                Err(failure) if failure.code == Code::InvalidParameter => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        let context = Arc::clone(context);
        let mut counting =
            Self { functions, context, _target: target.clone(), device, ids, enabled: false };
        counting.enable()?;
        Ok(counting)
    }

    /// The positions of those of `count` metrics that the chip does not have.
    #[must_use]
    pub fn missing(&self, count: usize) -> Vec<usize> {
        let has = |position: &usize| self.ids.iter().any(|(known, _)| known == position);
        (0..count).filter(|position| !has(position)).collect()
    }

    fn enable(&mut self) -> Result<(), TargetError> {
        let config = |&(_, id): &(usize, u64)| sys::CUpti_SassMetrics_Config {
            metricId: id,
            outputGranularity:
                sys::CUpti_SassMetrics_OutputGranularity::CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU
                    as u8,
        };
        let mut configs: Vec<_> = self.ids.iter().map(config).collect();
        let mut call = Call::<sys::CUpti_SassMetricsSetConfig_Params>::new();
        call.fields().numOfMetricConfig = configs.len();
        call.fields().pConfigs = configs.as_mut_ptr();
        call.fields().deviceIndex = self.device;
        // SAFETY: CUPTI is initialised and a context is current; the list lives until it returns.
        unsafe { self.functions.set_config.call(&mut call) }?;
        self.enabled = true;
        let mut call = Call::<sys::CUpti_SassMetricsEnable_Params>::new();
        call.fields().ctx = self.context.cu_ctx();
        // SAFETY: the context is live and configured. Patching at the first launch can deadlock.
        unsafe { self.functions.enable.call(&mut call) }?;
        Ok(())
    }

    /// Ends the counting, once all launches are over.
    ///
    /// # Errors
    /// CUPTI's; [`TargetError::Lost`].
    pub fn finish(mut self) -> Result<Vec<SassCount>, TargetError> {
        self.context.bind_to_thread().map_err(TargetError::Context)?;
        let counts = self.flush()?;
        let dropped = self.disable()?;
        match dropped {
            0 => Ok(counts),
            dropped => Err(TargetError::Lost { what: "counts of instructions", dropped }),
        }
    }

    fn flush(&self) -> Result<Vec<SassCount>, TargetError> {
        let mut size = Call::<sys::CUpti_SassMetricsGetDataProperties_Params>::new();
        size.fields().ctx = self.context.cu_ctx();
        // SAFETY: counting is enabled on the live context.
        unsafe { self.functions.data_properties.call(&mut size) }?;
        // SAFETY: integers that CUPTI wrote.
        let (records, instances) =
            unsafe { ((*size.out()).numOfPatchedInstructionRecords, (*size.out()).numOfInstances) };
        if records == 0 {
            return Ok(Vec::new());
        }
        let zero = sys::CUpti_SassMetrics_InstanceValue { metricId: 0, value: 0 };
        let mut values = vec![zero; records * instances.max(1)];
        let data = values.chunks_mut(instances.max(1)).map(|values| sys::CUpti_SassMetrics_Data {
            structSize: size_of::<sys::CUpti_SassMetrics_Data>(),
            pPriv: std::ptr::null_mut(),
            cubinCrc: 0,
            functionIndex: 0,
            functionName: std::ptr::null(),
            pcOffset: 0,
            pInstanceValues: values.as_mut_ptr(),
        });
        let mut data: Vec<_> = data.collect();
        let mut call = Call::<sys::CUpti_SassMetricsFlushData_Params>::new();
        call.fields().ctx = self.context.cu_ctx();
        call.fields().numOfPatchedInstructionRecords = records;
        call.fields().numOfInstances = instances;
        // Behind the size that the header gives the struct, and read all the same.
        call.fields().pMetricsData = data.as_mut_ptr();
        // SAFETY: as many records as CUPTI asked for, each with as many values.
        unsafe { self.functions.flush.call(&mut call) }?;
        Ok(data.iter().filter_map(|data| self.count(data, instances)).collect())
    }

    /// The count in `data`, under our name.
    fn count(&self, data: &sys::CUpti_SassMetrics_Data, instances: usize) -> Option<SassCount> {
        if data.functionName.is_null() {
            return None;
        }
        // SAFETY: CUPTI wrote a string, allocated for us.
        let function = unsafe { take_string(data.functionName.cast_mut()) };
        // SAFETY: as many values as `flush` made room for.
        let values = unsafe { std::slice::from_raw_parts(data.pInstanceValues, instances.max(1)) };
        let id = values.first()?.metricId;
        let (metric, _) = self.ids.iter().find(|(_, known)| *known == id)?;
        Some(SassCount {
            cubin: data.cubinCrc,
            function,
            offset: data.pcOffset.into(),
            metric: *metric,
            value: values.iter().map(|it| it.value).sum(),
        })
    }

    /// Ends the counting; how many records CUPTI dropped.
    fn disable(&mut self) -> Result<u64, TargetError> {
        if !std::mem::take(&mut self.enabled) {
            return Ok(0);
        }
        let mut call = Call::<sys::CUpti_SassMetricsDisable_Params>::new();
        call.fields().ctx = self.context.cu_ctx();
        // SAFETY: counting is enabled on the live context.
        let disabled = unsafe { self.functions.disable.call(&mut call) };
        let mut unset = Call::<sys::CUpti_SassMetricsUnsetConfig_Params>::new();
        unset.fields().deviceIndex = self.device;
        // SAFETY: the device is configured.
        let unset = unsafe { self.functions.unset_config.call(&mut unset) };
        disabled.and(unset)?;
        // SAFETY: an integer that CUPTI wrote.
        Ok(unsafe { (*call.out()).numOfDroppedRecords } as u64)
    }
}

impl Drop for SassCounting {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        let _ = self.disable();
    }
}

/// A string that CUPTI allocated for its caller.
///
/// # Safety
/// It ends in NUL, comes from `malloc`, and is not used again.
unsafe fn take_string(text: *mut std::ffi::c_char) -> String {
    // SAFETY: the caller's promise.
    let owned = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    unsafe { libc::free(text.cast()) };
    owned
}
