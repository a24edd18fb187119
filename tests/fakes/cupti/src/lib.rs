//! A `libcupti.so.13` for the fake driver: a state machine that is strict where NVIDIA's is, or
//! crashes.
//!
//! Input: the calls of CUPTI's Profiler Host, Range Profiler, sampling, Callback and Activity APIs,
//! and the kernels launched on the fake driver. Output: callbacks, records, config and counter data
//! images in a private format, and values that follow from the launches and from how often each
//! pass was collected. A lost pass leaves a hole (NaN), one collected twice doubles.
//!
//! It refuses a struct of another size than in the headers of CUDA 12.6, `pPriv`, calls out of
//! order, foreign images, and unknown metrics. In cases in which NVIDIA's crashes or hangs, it says
//! so on stderr and aborts.
//!
//! Tests control it by the environment, which harness processes inherit: see `trouble`.

mod activity;
mod call;
mod callbacks;
mod catalogue;
mod code;
mod counter_data;
mod crash;
mod driver;
mod host;
mod pc_sampling;
mod plan;
mod pm_sampling;
mod ready;
mod sass;
mod session;
mod target;
mod trouble;

#[path = "../../table.rs"]
mod table;
#[path = "../../timeline.rs"]
mod timeline;

use call::export;

export! {
    cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params, Device_GetChipName_Params_STRUCT_SIZE) = target::chip_name;
    cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params, Profiler_Initialize_Params_STRUCT_SIZE) = target::initialize;
    cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params, Profiler_DeInitialize_Params_STRUCT_SIZE) = target::deinitialize;
    cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params, Profiler_DeviceSupported_Params_STRUCT_SIZE)
        = target::device_supported;
    cuptiProfilerGetCounterAvailability(
        CUpti_Profiler_GetCounterAvailability_Params, Profiler_GetCounterAvailability_Params_STRUCT_SIZE
    ) = target::counter_availability;

    cuptiProfilerHostGetSupportedChips(
        CUpti_Profiler_Host_GetSupportedChips_Params, Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE
    ) = host::chips;
    cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params, Profiler_Host_Initialize_Params_STRUCT_SIZE) = host::initialize;
    cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params, Profiler_Host_Deinitialize_Params_STRUCT_SIZE)
        = host::deinitialize;
    cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params, Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE)
        = host::base_metrics;
    cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params, Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE)
        = host::sub_metrics;
    cuptiProfilerHostGetMetricProperties(
        CUpti_Profiler_Host_GetMetricProperties_Params, Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE
    ) = host::properties;
    cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params, Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE)
        = host::add_metrics;
    cuptiProfilerHostGetConfigImageSize(
        CUpti_Profiler_Host_GetConfigImageSize_Params, Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE
    ) = host::config_size;
    cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params, Profiler_Host_GetConfigImage_Params_STRUCT_SIZE)
        = host::config;
    cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params, Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE)
        = host::passes;
    cuptiProfilerHostGetRangeName(CUpti_Profiler_Host_GetRangeName_Params, Profiler_Host_GetRangeName_Params_STRUCT_SIZE)
        = host::range_name;
    cuptiProfilerHostEvaluateToGpuValues(
        CUpti_Profiler_Host_EvaluateToGpuValues_Params, Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE
    ) = host::evaluate;

    cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params, RangeProfiler_Enable_Params_STRUCT_SIZE) = session::enable;
    cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params, RangeProfiler_Disable_Params_STRUCT_SIZE) = session::disable;
    cuptiRangeProfilerGetCounterDataSize(
        CUpti_RangeProfiler_GetCounterDataSize_Params, RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE
    ) = session::counter_data_size;
    cuptiRangeProfilerCounterDataImageInitialize(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params, RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE
    ) = session::counter_data_initialize;
    cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params, RangeProfiler_SetConfig_Params_STRUCT_SIZE) = session::set_config;
    cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params, RangeProfiler_Start_Params_STRUCT_SIZE) = session::start;
    cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params, RangeProfiler_PushRange_Params_STRUCT_SIZE) = session::push;
    cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params, RangeProfiler_PopRange_Params_STRUCT_SIZE) = session::pop;
    cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params, RangeProfiler_Stop_Params_STRUCT_SIZE) = session::stop;
    cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params, RangeProfiler_DecodeData_Params_STRUCT_SIZE) = session::decode;
    cuptiRangeProfilerGetCounterDataInfo(
        CUpti_RangeProfiler_GetCounterDataInfo_Params, RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE
    ) = counter_data::range_count;
    cuptiRangeProfilerCounterDataGetRangeInfo(
        CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE
    ) = counter_data::range_name;

    cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params, SassMetrics_GetProperties_Params_STRUCT_SIZE)
        = sass::properties;
    cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params, SassMetricsSetConfig_Params_STRUCT_SIZE) = sass::set_config;
    cuptiSassMetricsUnsetConfig(CUpti_SassMetricsUnsetConfig_Params, SassMetricsUnsetConfig_Params_STRUCT_SIZE) = sass::unset_config;
    cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params, SassMetricsEnable_Params_STRUCT_SIZE) = sass::enable;
    cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params, SassMetricsDisable_Params_STRUCT_SIZE) = sass::disable;
    cuptiSassMetricsGetDataProperties(
        CUpti_SassMetricsGetDataProperties_Params, SassMetricsGetDataProperties_Params_STRUCT_SIZE
    ) = sass::data_properties;
    cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params, SassMetricsFlushData_Params_STRUCT_SIZE) = sass::flush;

    cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams, PCSamplingEnableParamsSize) = pc_sampling::enable;
    cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams, PCSamplingDisableParamsSize) = pc_sampling::disable;
    cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams, PCSamplingConfigurationInfoParamsSize)
        = pc_sampling::configure;
    cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams, PCSamplingGetNumStallReasonsParamsSize)
        = pc_sampling::reason_count;
    cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams, PCSamplingGetStallReasonsParamsSize) = pc_sampling::reasons;
    cuptiPCSamplingStart(CUpti_PCSamplingStartParams, PCSamplingStartParamsSize) = pc_sampling::start;
    cuptiPCSamplingStop(CUpti_PCSamplingStopParams, PCSamplingStopParamsSize) = pc_sampling::stop;

    cuptiPmSamplingGetCounterAvailability(
        CUpti_PmSampling_GetCounterAvailability_Params, PmSampling_GetCounterAvailability_Params_STRUCT_SIZE
    ) = pm_sampling::availability;
    cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params, PmSampling_Enable_Params_STRUCT_SIZE) = pm_sampling::enable;
    cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params, PmSampling_Disable_Params_STRUCT_SIZE) = pm_sampling::disable;
    cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params, PmSampling_SetConfig_Params_STRUCT_SIZE) = pm_sampling::set_config;
    cuptiPmSamplingGetCounterDataSize(
        CUpti_PmSampling_GetCounterDataSize_Params, PmSampling_GetCounterDataSize_Params_STRUCT_SIZE
    ) = pm_sampling::data_size;
    cuptiPmSamplingCounterDataImageInitialize(
        CUpti_PmSampling_CounterDataImage_Initialize_Params, PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE
    ) = pm_sampling::data_initialize;
    cuptiPmSamplingStart(CUpti_PmSampling_Start_Params, PmSampling_Start_Params_STRUCT_SIZE) = pm_sampling::start;
    cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params, PmSampling_Stop_Params_STRUCT_SIZE) = pm_sampling::stop;
    cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params, PmSampling_DecodeData_Params_STRUCT_SIZE) = pm_sampling::decode;
    cuptiPmSamplingGetCounterDataInfo(
        CUpti_PmSampling_GetCounterDataInfo_Params, PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE
    ) = pm_sampling::data_info;
    cuptiPmSamplingCounterDataGetSampleInfo(
        CUpti_PmSampling_CounterData_GetSampleInfo_Params, PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE
    ) = pm_sampling::sample_info;

    // The bindings lack the size of this structure, which equals that of the other one.
    cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams, PCSamplingGetNumStallReasonsParamsSize) = pc_sampling::data;
}

/// The version, a bare number: no struct.
///
/// # Safety
/// Null, or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetVersion(version: *mut u32) -> u32 {
    if version.is_null() {
        return call::INVALID_PARAMETER;
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { version.write(trouble::version()) };
    0
}
