//! SASS metrics: counts by machine instruction.
//!
//! It is as strict as NVIDIA's, and crashes where that hangs: patching at the first launch, a
//! second flush, and launches after another collector.

use std::sync::Mutex;

use crate::call::{Code, INVALID_OPERATION, INVALID_PARAMETER, NOT_INITIALIZED, crash, sys, text};
use crate::driver::{self, Executed};
use crate::ready::{context, is_initialized, need_initialized};
use crate::trouble;

/// The subject of a metric: a number of the emulator's counts, of all instructions or of some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    All(usize),
    /// Of those with this part in their PTX.
    With(&'static str, usize),
    /// Of accesses to shared memory of 4 bytes.
    Words(usize),
    None,
}

/// The known metrics.
const METRICS: [(&str, Of); 19] = [
    ("smsp__sass_inst_executed", Of::All(0)),
    ("smsp__sass_thread_inst_executed", Of::All(1)),
    ("smsp__sass_thread_inst_executed_pred_on", Of::All(2)),
    ("smsp__sass_inst_executed_op_global", Of::All(3)),
    ("smsp__sass_sectors_mem_global", Of::All(4)),
    ("smsp__sass_sectors_mem_global_ideal", Of::All(5)),
    ("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", Of::All(7)),
    ("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", Of::All(8)),
    ("smsp__sass_inst_executed_op_branch", Of::All(9)),
    ("smsp__sass_branch_targets_threads_divergent", Of::All(10)),
    ("smsp__sass_inst_executed_op_global_atom", Of::All(11)),
    ("smsp__sass_inst_executed_op_shared_ld", Of::With("ld.shared", 0)),
    ("smsp__sass_inst_executed_op_shared_st", Of::With("st.shared", 0)),
    ("smsp__sass_inst_executed_op_shared", Of::With(".shared", 0)),
    ("smsp__sass_thread_inst_executed_op_shared_pred_on", Of::With(".shared", 2)),
    ("smsp__sass_inst_executed_op_memory_32b", Of::Words(0)),
    ("smsp__sass_inst_executed_op_local", Of::None),
    ("smsp__sass_inst_executed_op_local_ld", Of::All(12)),
    ("smsp__sass_inst_executed_op_local_st", Of::All(13)),
];

impl Of {
    fn value(self, one: &Executed) -> u64 {
        let opcode = one.text.split([' ', '\t']).find(|word| word.contains('.')).unwrap_or("");
        let is_word = opcode.ends_with("32") && !opcode.contains(".v");
        let at = match self {
            Self::All(at) => Some(at),
            Self::With(part, at) => one.text.contains(part).then_some(at),
            Self::Words(at) => is_word.then_some(at),
            Self::None => None,
        };
        at.map_or(0, |at| one.counts[at])
    }
}

/// The beginning of the ids.
const FIRST: u64 = 7000;

#[derive(Default)]
struct State {
    configured: Vec<u64>,
    enabled: bool,
    /// Whether it was enabled before.
    spent: bool,
    found: Option<Vec<Executed>>,
    flushed: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    configured: Vec::new(),
    enabled: false,
    spent: false,
    found: None,
    flushed: false,
});

fn with<T>(f: impl FnOnce(&mut State) -> T) -> T {
    f(&mut STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// The CRC that the last cubin got, which its code has.
static CRC: Mutex<u32> = Mutex::new(0);

/// The CRC of the last cubin.
pub fn crc() -> u32 {
    *CRC.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The CRC of a cubin: a struct without `pPriv`.
///
/// # Safety
/// Null, or CUPTI's struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetCubinCrc(p: *mut sys::CUpti_GetCubinCrcParams) -> u32 {
    // SAFETY: the caller's promise.
    let Some(p) = (unsafe { p.as_mut() }) else { return INVALID_PARAMETER };
    if p.size != 32 || p.cubin.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: as many bytes as the client says.
    let bytes = unsafe { std::slice::from_raw_parts(p.cubin.cast::<u8>(), p.cubinSize) };
    if !bytes.starts_with(b"\x7fELF") {
        return INVALID_PARAMETER;
    }
    let mixed =
        bytes.iter().fold(17u32, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    *CRC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = mixed;
    p.cubinCrc = mixed.into();
    0
}

pub fn properties(p: &mut sys::CUpti_SassMetrics_GetProperties_Params) -> Result<(), Code> {
    // SAFETY: the client's strings.
    let (chip, name) = unsafe { (text(p.pChipName)?, text(p.pMetricName)?) };
    let at = METRICS.iter().position(|(known, _)| *known == name).filter(|_| !chip.is_empty());
    p.metric.metricId = FIRST + at.ok_or(INVALID_PARAMETER)? as u64;
    Ok(())
}

pub fn set_config(p: &mut sys::CUpti_SassMetricsSetConfig_Params) -> Result<(), Code> {
    need_initialized("cuptiSassMetricsSetConfig");
    if p.pConfigs.is_null() || p.numOfMetricConfig == 0 || p.deviceIndex != 0 {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: the client's list, of the length that it says.
    let configs = unsafe { std::slice::from_raw_parts(p.pConfigs, p.numOfMetricConfig) };
    with(|state| {
        if !state.configured.is_empty() {
            return Err(INVALID_OPERATION);
        }
        state.configured = configs.iter().map(|config| config.metricId).collect();
        Ok(())
    })
}

pub fn unset_config(_: &mut sys::CUpti_SassMetricsUnsetConfig_Params) -> Result<(), Code> {
    with(|state| {
        if state.configured.is_empty() || state.enabled {
            return Err(INVALID_OPERATION);
        }
        state.configured.clear();
        Ok(())
    })
}

pub fn enable(p: &mut sys::CUpti_SassMetricsEnable_Params) -> Result<(), Code> {
    context(p.ctx)?;
    if p.enableLazyPatching != 0 {
        crash("SASS metrics patched at the first launch: NVIDIA's may deadlock there");
    }
    with(|state| {
        if state.configured.is_empty() || state.enabled {
            return Err(INVALID_OPERATION);
        }
        if state.spent {
            return Err(INVALID_PARAMETER);
        }
        (state.enabled, state.spent) = (true, true);
        driver::executed();
        trouble::log("counts instructions");
        Ok(())
    })
}

/// The records: for each instruction and metric the value, if the metric counts there at all.
fn records(state: &mut State) -> Vec<(String, u32, u64, u64)> {
    let found = state.found.get_or_insert_with(driver::executed);
    let ids = &state.configured;
    let record = |one: &Executed| {
        let of = |&id: &u64| {
            let (_, of) = METRICS[usize::try_from(id - FIRST).unwrap_or(0)];
            let value = of.value(one);
            (of == Of::All(0) || value > 0).then(|| (one.kernel.clone(), one.offset, id, value))
        };
        ids.iter().filter_map(of).collect::<Vec<_>>()
    };
    found.iter().flat_map(record).collect()
}

pub fn data_properties(p: &mut sys::CUpti_SassMetricsGetDataProperties_Params) -> Result<(), Code> {
    context(p.ctx)?;
    with(|state| {
        if !state.enabled {
            return Err(INVALID_OPERATION);
        }
        p.numOfPatchedInstructionRecords = records(state).len();
        p.numOfInstances = 1;
        Ok(())
    })
}

pub fn flush(p: &mut sys::CUpti_SassMetricsFlushData_Params) -> Result<(), Code> {
    context(p.ctx)?;
    with(|state| {
        if !state.enabled {
            return Err(INVALID_OPERATION);
        }
        if state.flushed {
            crash("SASS metrics flushed twice: NVIDIA's may wedge the launches of the process");
        }
        state.flushed = true;
        let records = records(state);
        if p.numOfPatchedInstructionRecords != records.len() || p.pMetricsData.is_null() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: the client's records, as many as it says.
        let data = unsafe { std::slice::from_raw_parts_mut(p.pMetricsData, records.len()) };
        for (data, (kernel, offset, id, value)) in data.iter_mut().zip(records) {
            if data.structSize != 48 || data.pInstanceValues.is_null() {
                return Err(INVALID_PARAMETER);
            }
            data.cubinCrc = crc();
            data.functionName = owned(&kernel);
            data.pcOffset = offset;
            // SAFETY: room for one value.
            unsafe {
                data.pInstanceValues
                    .write(sys::CUpti_SassMetrics_InstanceValue { metricId: id, value });
            }
        }
        Ok(())
    })
}

pub fn disable(p: &mut sys::CUpti_SassMetricsDisable_Params) -> Result<(), Code> {
    context(p.ctx)?;
    with(|state| {
        if !std::mem::take(&mut state.enabled) {
            return Err(INVALID_OPERATION);
        }
        let lost = trouble::loses("instructions");
        p.numOfDroppedRecords =
            if state.flushed { lost.unwrap_or(0) } else { records(state).len() };
        Ok(())
    })
}

/// Whether the profiler's initialisation keeps samplers away.
pub fn blocks_sampling() -> Result<(), Code> {
    if is_initialized() { Err(NOT_INITIALIZED) } else { Ok(()) }
}

/// A string that the client frees.
pub fn owned(text: &str) -> *mut std::ffi::c_char {
    let text = std::ffi::CString::new(text).unwrap_or_default();
    // SAFETY: it ends in NUL.
    unsafe { libc::strdup(text.as_ptr()) }
}
