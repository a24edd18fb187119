//! CUPTI's calling convention: parameter structs with a size field, and the functions that take
//! them.
//!
//! Every function takes a pointer to one struct that begins `{ size_t structSize; void *pPriv }`.
//! The size is that up to the end of the last field, without tail padding. The library refuses a
//! struct that is larger than its own; a smaller one is the struct of an older client. So each
//! struct is declared here with its last field *of CUDA 12.6*, for every version of cudarc's
//! bindings.

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::cupti::sys;

use crate::library::Library;
use crate::{Code, Failure};

/// A parameter struct of CUPTI.
///
/// # Safety
/// The type is `repr(C)`, its first field is a `usize` for the size, all-zero is a valid value (its
/// enums have a zero), and `STRUCT_SIZE` is at most its size.
pub(crate) unsafe trait Parameters {
    /// The expected `structSize`.
    const STRUCT_SIZE: usize;
}

const fn size_of_pointee<T, F>(_: fn(*const T) -> *const F) -> usize {
    size_of::<F>()
}

macro_rules! parameters {
    ($($name:ident upto $last:ident),* $(,)?) => {$(
        // SAFETY: a struct of CUPTI's headers; the size ends with one of its fields.
        unsafe impl Parameters for sys::$name {
            const STRUCT_SIZE: usize = std::mem::offset_of!(sys::$name, $last)
                + size_of_pointee(|it: *const sys::$name| {
                    // SAFETY: never called; it only names the field's type.
                    unsafe { &raw const (*it).$last }
                });
        }
    )*};
}

parameters! {
    CUpti_Profiler_Host_GetSupportedChips_Params upto ppChipNames,
    CUpti_Profiler_Host_Initialize_Params upto pHostObject,
    CUpti_Profiler_Host_Deinitialize_Params upto pHostObject,
    CUpti_Profiler_Host_GetBaseMetrics_Params upto numMetrics,
    CUpti_Profiler_Host_GetSubMetrics_Params upto ppSubMetrics,
    CUpti_Profiler_Host_GetMetricProperties_Params upto metricType,
    CUpti_Profiler_Host_GetRangeName_Params upto pRangeName,
    CUpti_Profiler_Host_EvaluateToGpuValues_Params upto pMetricValues,
    CUpti_Profiler_Host_ConfigAddMetrics_Params upto numMetrics,
    CUpti_Profiler_Host_GetConfigImageSize_Params upto configImageSize,
    CUpti_Profiler_Host_GetConfigImage_Params upto pConfigImage,
    CUpti_Profiler_Host_GetNumOfPasses_Params upto numOfPasses,
    CUpti_Profiler_Initialize_Params upto pPriv,
    CUpti_Profiler_DeInitialize_Params upto pPriv,
    CUpti_Profiler_DeviceSupported_Params upto api,
    CUpti_Profiler_GetCounterAvailability_Params upto pCounterAvailabilityImage,
    CUpti_Device_GetChipName_Params upto pChipName,
    CUpti_RangeProfiler_Enable_Params upto pRangeProfilerObject,
    CUpti_RangeProfiler_Disable_Params upto pRangeProfilerObject,
    CUpti_RangeProfiler_GetCounterDataSize_Params upto counterDataSize,
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params upto pCounterData,
    CUpti_RangeProfiler_SetConfig_Params upto targetNestingLevel,
    CUpti_RangeProfiler_Start_Params upto pRangeProfilerObject,
    CUpti_RangeProfiler_Stop_Params upto isAllPassSubmitted,
    CUpti_RangeProfiler_PushRange_Params upto pRangeName,
    CUpti_RangeProfiler_PopRange_Params upto pRangeProfilerObject,
    CUpti_RangeProfiler_DecodeData_Params upto numOfRangeDropped,
    CUpti_RangeProfiler_GetCounterDataInfo_Params upto numTotalRanges,
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params upto rangeName,
    CUpti_GetCubinCrcParams upto cubinCrc,
    CUpti_SassMetrics_GetProperties_Params upto metric,
    CUpti_SassMetricsSetConfig_Params upto deviceIndex,
    CUpti_SassMetricsUnsetConfig_Params upto deviceIndex,
    CUpti_SassMetricsEnable_Params upto enableLazyPatching,
    CUpti_SassMetricsDisable_Params upto numOfDroppedRecords,
    CUpti_SassMetricsGetDataProperties_Params upto numOfInstances,
    CUpti_SassMetricsFlushData_Params upto numOfInstances,
    CUpti_PCSamplingEnableParams upto ctx,
    CUpti_PCSamplingDisableParams upto ctx,
    CUpti_PCSamplingConfigurationInfoParams upto pPCSamplingConfigurationInfo,
    CUpti_PCSamplingGetNumStallReasonsParams upto numStallReasons,
    CUpti_PCSamplingGetStallReasonsParams upto stallReasons,
    CUpti_PCSamplingStartParams upto ctx,
    CUpti_PCSamplingStopParams upto ctx,
    CUpti_PCSamplingGetDataParams upto pcSamplingData,
    CUpti_PmSampling_GetCounterAvailability_Params upto pCounterAvailabilityImage,
    CUpti_PmSampling_Enable_Params upto pPmSamplingObject,
    CUpti_PmSampling_Disable_Params upto pPmSamplingObject,
    CUpti_PmSampling_SetConfig_Params upto triggerMode,
    CUpti_PmSampling_GetCounterDataSize_Params upto counterDataSize,
    CUpti_PmSampling_CounterDataImage_Initialize_Params upto pCounterData,
    CUpti_PmSampling_Start_Params upto pPmSamplingObject,
    CUpti_PmSampling_Stop_Params upto pPmSamplingObject,
    CUpti_PmSampling_DecodeData_Params upto overflow,
    CUpti_PmSampling_GetCounterDataInfo_Params upto numCompletedSamples,
    CUpti_PmSampling_CounterData_GetSampleInfo_Params upto endTimestamp,
}

/// A parameter struct on its way in or out.
pub(crate) struct Call<T>(MaybeUninit<T>);

impl<T: Parameters> Call<T> {
    /// All-zero but for the size.
    pub(crate) fn new() -> Self {
        let mut zeroed = MaybeUninit::<T>::zeroed();
        // SAFETY: the first field is `structSize` (Parameters).
        unsafe { zeroed.as_mut_ptr().cast::<usize>().write(T::STRUCT_SIZE) };
        Self(zeroed)
    }

    /// The fields, to fill in before the call.
    pub(crate) fn fields(&mut self) -> &mut T {
        // SAFETY: before the call it is all-zero with a size, which is valid (Parameters).
        unsafe { self.0.assume_init_mut() }
    }

    /// The struct after the call. Fields are read through the pointer, never through a reference:
    /// an enum in which a newer library wrote a number unknown to the bindings must not be looked
    /// at as that enum.
    pub(crate) fn out(&self) -> *const T {
        self.0.as_ptr()
    }

    /// The `u32` at `offset`, for enums that CUPTI wrote.
    pub(crate) fn number_at(&self, offset: usize) -> u32 {
        assert!(offset + size_of::<u32>() <= size_of::<T>());
        // SAFETY: inside the struct; initialised since it began all-zero.
        unsafe { self.out().byte_add(offset).cast::<u32>().read_unaligned() }
    }
}

/// Calls into CUPTI are serialised. Its first call initialises the library without a lock: with
/// 13.0, one of two threads that begin at the same time gets `CUPTI_ERROR_UNKNOWN`.
static CALLS: Mutex<()> = Mutex::new(());

/// Keeps other calls into CUPTI out while it lives.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function of CUPTI, with its name for the error.
pub(crate) struct Function<T> {
    name: &'static str,
    address: unsafe extern "C" fn(*mut T) -> u32,
}

impl<T: Parameters> Function<T> {
    /// Calls it.
    ///
    /// # Safety
    /// The pointers in `call` are valid for the function as long as it uses them, and the function
    /// may be called now: host functions once nvperf is loaded, target functions after
    /// `cuptiProfilerInitialize`.
    pub(crate) unsafe fn call(&self, call: &mut Call<T>) -> Result<(), Failure> {
        let _one_at_a_time = one_at_a_time();
        // SAFETY: the caller's promise.
        let code = unsafe { (self.address)(call.0.as_mut_ptr()) };
        match Code::from_number(code) {
            Code::Success => Ok(()),
            code => Err(self.failed(code)),
        }
    }
}

impl<T> Function<T> {
    /// This function, having answered `code`.
    pub(crate) fn failed(&self, code: Code) -> Failure {
        Failure { call: self.name, code }
    }
}

macro_rules! functions {
    ($(#[$doc:meta])* $group:ident { $($field:ident = $name:literal ($parameters:ident)),* $(,)? }) => {
        $(#[$doc])*
        pub(crate) struct $group {
            $(pub(crate) $field: Function<sys::$parameters>,)*
        }

        impl $group {
            /// Looks all of them up; the name of the first that is missing otherwise.
            pub(crate) fn resolve(library: Library) -> Result<Self, &'static str> {
                Ok(Self {$(
                    $field: Function {
                        name: $name,
                        // SAFETY: the function of this name takes this struct (CUPTI's headers) and
                        // returns a CUptiResult, which is an unsigned integer.
                        address: unsafe { library.symbol($name) }?,
                    },
                )*})
            }
        }
    };
}

functions! {
    /// Every function of the host and the range profiler that is used, resolved.
    Functions {
    host_chips = "cuptiProfilerHostGetSupportedChips" (CUpti_Profiler_Host_GetSupportedChips_Params),
    host_initialize = "cuptiProfilerHostInitialize" (CUpti_Profiler_Host_Initialize_Params),
    host_deinitialize = "cuptiProfilerHostDeinitialize" (CUpti_Profiler_Host_Deinitialize_Params),
    host_base_metrics = "cuptiProfilerHostGetBaseMetrics" (CUpti_Profiler_Host_GetBaseMetrics_Params),
    host_sub_metrics = "cuptiProfilerHostGetSubMetrics" (CUpti_Profiler_Host_GetSubMetrics_Params),
    host_properties = "cuptiProfilerHostGetMetricProperties" (CUpti_Profiler_Host_GetMetricProperties_Params),
    host_range_name = "cuptiProfilerHostGetRangeName" (CUpti_Profiler_Host_GetRangeName_Params),
    host_evaluate = "cuptiProfilerHostEvaluateToGpuValues" (CUpti_Profiler_Host_EvaluateToGpuValues_Params),
    host_add_metrics = "cuptiProfilerHostConfigAddMetrics" (CUpti_Profiler_Host_ConfigAddMetrics_Params),
    host_config_size = "cuptiProfilerHostGetConfigImageSize" (CUpti_Profiler_Host_GetConfigImageSize_Params),
    host_config = "cuptiProfilerHostGetConfigImage" (CUpti_Profiler_Host_GetConfigImage_Params),
    host_passes = "cuptiProfilerHostGetNumOfPasses" (CUpti_Profiler_Host_GetNumOfPasses_Params),
    initialize = "cuptiProfilerInitialize" (CUpti_Profiler_Initialize_Params),
    deinitialize = "cuptiProfilerDeInitialize" (CUpti_Profiler_DeInitialize_Params),
    device_supported = "cuptiProfilerDeviceSupported" (CUpti_Profiler_DeviceSupported_Params),
    counter_availability = "cuptiProfilerGetCounterAvailability" (CUpti_Profiler_GetCounterAvailability_Params),
    chip_name = "cuptiDeviceGetChipName" (CUpti_Device_GetChipName_Params),
    enable = "cuptiRangeProfilerEnable" (CUpti_RangeProfiler_Enable_Params),
    disable = "cuptiRangeProfilerDisable" (CUpti_RangeProfiler_Disable_Params),
    counter_data_size = "cuptiRangeProfilerGetCounterDataSize" (CUpti_RangeProfiler_GetCounterDataSize_Params),
    counter_data_initialize = "cuptiRangeProfilerCounterDataImageInitialize"
        (CUpti_RangeProfiler_CounterDataImage_Initialize_Params),
    set_config = "cuptiRangeProfilerSetConfig" (CUpti_RangeProfiler_SetConfig_Params),
    start = "cuptiRangeProfilerStart" (CUpti_RangeProfiler_Start_Params),
    stop = "cuptiRangeProfilerStop" (CUpti_RangeProfiler_Stop_Params),
    push_range = "cuptiRangeProfilerPushRange" (CUpti_RangeProfiler_PushRange_Params),
    pop_range = "cuptiRangeProfilerPopRange" (CUpti_RangeProfiler_PopRange_Params),
    decode = "cuptiRangeProfilerDecodeData" (CUpti_RangeProfiler_DecodeData_Params),
    range_count = "cuptiRangeProfilerGetCounterDataInfo" (CUpti_RangeProfiler_GetCounterDataInfo_Params),
    range_name = "cuptiRangeProfilerCounterDataGetRangeInfo" (CUpti_RangeProfiler_CounterData_GetRangeInfo_Params),
    }
}

functions! {
    /// The function that names a cubin.
    CubinFunctions {
        crc = "cuptiGetCubinCrc" (CUpti_GetCubinCrcParams),
    }
}

functions! {
    /// The functions that count by machine instruction.
    SassFunctions {
        properties = "cuptiSassMetricsGetProperties" (CUpti_SassMetrics_GetProperties_Params),
        set_config = "cuptiSassMetricsSetConfig" (CUpti_SassMetricsSetConfig_Params),
        unset_config = "cuptiSassMetricsUnsetConfig" (CUpti_SassMetricsUnsetConfig_Params),
        enable = "cuptiSassMetricsEnable" (CUpti_SassMetricsEnable_Params),
        disable = "cuptiSassMetricsDisable" (CUpti_SassMetricsDisable_Params),
        data_properties = "cuptiSassMetricsGetDataProperties" (CUpti_SassMetricsGetDataProperties_Params),
        flush = "cuptiSassMetricsFlushData" (CUpti_SassMetricsFlushData_Params),
    }
}

functions! {
    /// The functions that sample program counters.
    PcSamplingFunctions {
        enable = "cuptiPCSamplingEnable" (CUpti_PCSamplingEnableParams),
        disable = "cuptiPCSamplingDisable" (CUpti_PCSamplingDisableParams),
        configure = "cuptiPCSamplingSetConfigurationAttribute" (CUpti_PCSamplingConfigurationInfoParams),
        reason_count = "cuptiPCSamplingGetNumStallReasons" (CUpti_PCSamplingGetNumStallReasonsParams),
        reasons = "cuptiPCSamplingGetStallReasons" (CUpti_PCSamplingGetStallReasonsParams),
        start = "cuptiPCSamplingStart" (CUpti_PCSamplingStartParams),
        stop = "cuptiPCSamplingStop" (CUpti_PCSamplingStopParams),
        data = "cuptiPCSamplingGetData" (CUpti_PCSamplingGetDataParams),
    }
}

functions! {
    /// The functions that sample counters over time.
    PmSamplingFunctions {
        availability = "cuptiPmSamplingGetCounterAvailability" (CUpti_PmSampling_GetCounterAvailability_Params),
        enable = "cuptiPmSamplingEnable" (CUpti_PmSampling_Enable_Params),
        disable = "cuptiPmSamplingDisable" (CUpti_PmSampling_Disable_Params),
        set_config = "cuptiPmSamplingSetConfig" (CUpti_PmSampling_SetConfig_Params),
        data_size = "cuptiPmSamplingGetCounterDataSize" (CUpti_PmSampling_GetCounterDataSize_Params),
        data_initialize = "cuptiPmSamplingCounterDataImageInitialize"
            (CUpti_PmSampling_CounterDataImage_Initialize_Params),
        start = "cuptiPmSamplingStart" (CUpti_PmSampling_Start_Params),
        stop = "cuptiPmSamplingStop" (CUpti_PmSampling_Stop_Params),
        decode = "cuptiPmSamplingDecodeData" (CUpti_PmSampling_DecodeData_Params),
        data_info = "cuptiPmSamplingGetCounterDataInfo" (CUpti_PmSampling_GetCounterDataInfo_Params),
        sample_info = "cuptiPmSamplingCounterDataGetSampleInfo" (CUpti_PmSampling_CounterData_GetSampleInfo_Params),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header's macro `STRUCT_SIZE`, which cudarc took over for the version it was built for.
    #[cfg(feature = "cuda-12060")]
    #[test]
    fn struct_sizes_match_the_headers() {
        fn size<T: Parameters>() -> u32 {
            u32::try_from(T::STRUCT_SIZE).unwrap()
        }
        assert_eq!(
            size::<sys::CUpti_RangeProfiler_SetConfig_Params>(),
            sys::RangeProfiler_SetConfig_Params_STRUCT_SIZE
        );
        assert_eq!(
            size::<sys::CUpti_RangeProfiler_Stop_Params>(),
            sys::RangeProfiler_Stop_Params_STRUCT_SIZE
        );
        assert_eq!(
            size::<sys::CUpti_Profiler_DeviceSupported_Params>(),
            sys::Profiler_DeviceSupported_Params_STRUCT_SIZE
        );
        assert_eq!(
            size::<sys::CUpti_Profiler_Host_GetMetricProperties_Params>(),
            sys::Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE
        );
    }

    #[test]
    fn struct_sizes_match_cuda_12_6() {
        assert_eq!(sys::CUpti_RangeProfiler_SetConfig_Params::STRUCT_SIZE, 90);
        assert_eq!(sys::CUpti_RangeProfiler_Stop_Params::STRUCT_SIZE, 41);
        assert_eq!(sys::CUpti_RangeProfiler_Enable_Params::STRUCT_SIZE, 32);
        assert_eq!(sys::CUpti_Profiler_Host_Initialize_Params::STRUCT_SIZE, 48);
        assert_eq!(sys::CUpti_Profiler_GetCounterAvailability_Params::STRUCT_SIZE, 40);
        assert_eq!(sys::CUpti_Profiler_Initialize_Params::STRUCT_SIZE, 16);
        assert_eq!(sys::CUpti_SassMetricsSetConfig_Params::STRUCT_SIZE, 36);
        assert_eq!(sys::CUpti_SassMetricsUnsetConfig_Params::STRUCT_SIZE, 20);
        assert_eq!(sys::CUpti_SassMetricsEnable_Params::STRUCT_SIZE, 25);
        assert_eq!(sys::CUpti_SassMetricsDisable_Params::STRUCT_SIZE, 32);
        // The header's macro ends before the data.
        assert_eq!(sys::CUpti_SassMetricsFlushData_Params::STRUCT_SIZE, 40);
        assert_eq!(sys::CUpti_PCSamplingGetStallReasonsParams::STRUCT_SIZE, 48);
        assert_eq!(sys::CUpti_PmSampling_DecodeData_Params::STRUCT_SIZE, 45);
        assert_eq!(sys::CUpti_PmSampling_SetConfig_Params::STRUCT_SIZE, 60);
        assert_eq!(size_of::<sys::CUpti_PCSamplingPCData>(), 64);
        assert_eq!(size_of::<sys::CUpti_PCSamplingData>(), 80);
    }
}
