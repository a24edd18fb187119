//! Samples of the program counters of warps, and the reasons for which they wait.
//!
//! Input: the launches between [`PcSampler::begin`] and [`PcSampler::finish`]. Output: for each
//! machine instruction, how often a scheduler found a warp at it, by the state of the warp.
//!
//! Invariants, each a trap of CUPTI 13: every buffer is allocated before the sampler is enabled,
//! and it is configured at once afterwards; data is read after the end; the period is the default,
//! as another one gives no samples on some chips. CUPTI's profiler is not initialised in the
//! process (`cuptiProfilerInitialize` disables sampling), nor does it have another collector.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use cudarc::cupti::sys;
use cudarc::driver::CudaContext;

use crate::abi::{Call, PcSamplingFunctions};
use crate::target::{TargetError, own};
use crate::{HostApi, driver};

/// How many instructions a buffer holds; CUPTI fills it as often as it needs to.
const INSTRUCTIONS: usize = 4096;

/// The most reasons of one instruction: GH100 has 40.
const REASONS: usize = 64;

/// The bytes of a reason's name (`CUPTI_STALL_REASON_STRING_SIZE`).
const NAME: usize = 128;

/// Memory of the GPU's for samples, in bytes.
const SCRATCH: u64 = 32 << 20;

/// How often data is read at most: a library that never says that it has no more must not hang us.
const MOST_READS: usize = 10_000;

/// The samples of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcSample {
    /// The cubin, as [`crate::cubin::crc`] names it.
    pub cubin: u32,
    /// The function's name.
    pub function: String,
    /// The offset of the instruction in the function, in bytes.
    pub offset: u64,
    /// The samples by the state of the warp, with CUPTI's names:
    /// `smsp__pcsamp_warps_issue_stalled_long_scoreboard`, and the part of them in which the
    /// scheduler issued nothing: `…_not_issued`.
    pub states: Vec<(String, u64)>,
}

/// All samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PcSamples {
    /// Of each instruction that has some.
    pub instructions: Vec<PcSample>,
    /// Samples that it lost.
    pub dropped: u64,
}

/// Samples until it is finished or dropped.
pub struct PcSampler {
    functions: PcSamplingFunctions,
    context: Arc<CudaContext>,
    /// CUPTI fills it while it samples.
    configured: Box<Buffer>,
    read: Box<Buffer>,
    names: Vec<String>,
}

impl PcSampler {
    /// Begins to sample. CUPTI runs one kernel at a time from here on.
    ///
    /// # Errors
    /// CUPTI's; a context of another driver.
    pub fn begin(api: HostApi, context: &Arc<CudaContext>) -> Result<Self, TargetError> {
        driver::probe_nvidia()?;
        own(context)?;
        let functions =
            PcSamplingFunctions::resolve(api.library).map_err(|symbol| api.missing(symbol))?;
        let (configured, read) = (Buffer::new(), Buffer::new());
        let context = Arc::clone(context);
        let mut enable = Call::<sys::CUpti_PCSamplingEnableParams>::new();
        enable.fields().ctx = context.cu_ctx();
        // SAFETY: a live context of the driver that CUPTI uses.
        unsafe { functions.enable.call(&mut enable) }?;
        // From here on, leaving disables.
        let mut sampler = Self { functions, context, configured, read, names: Vec::new() };
        sampler.configure()?;
        sampler.names = sampler.reasons()?;
        let mut start = Call::<sys::CUpti_PCSamplingStartParams>::new();
        start.fields().ctx = sampler.context.cu_ctx();
        // SAFETY: the context is enabled and configured.
        unsafe { sampler.functions.start.call(&mut start) }?;
        Ok(sampler)
    }

    fn configure(&mut self) -> Result<(), TargetError> {
        use sys::CUpti_PCSamplingConfigurationAttributeType as Kind;
        let serialized =
            sys::CUpti_PCSamplingCollectionMode::CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
        let buffer: *mut sys::CUpti_PCSamplingData = &raw mut self.configured.data;
        let attribute = |kind: Kind, value: u64| Attribute {
            kind: kind as u32,
            status: 0,
            value: [value, 0, 0],
        };
        let mut attributes = [
            attribute(
                Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
                buffer as u64,
            ),
            attribute(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL, 1),
            attribute(
                Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
                serialized as u64,
            ),
            attribute(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE, SCRATCH),
        ];
        let mut call = Call::<sys::CUpti_PCSamplingConfigurationInfoParams>::new();
        call.fields().ctx = self.context.cu_ctx();
        call.fields().numAttributes = attributes.len();
        call.fields().pPCSamplingConfigurationInfo = attributes.as_mut_ptr().cast();
        // SAFETY: the context is enabled; the buffer lives in a box as long as the sampler.
        unsafe { self.functions.configure.call(&mut call) }?;
        Ok(())
    }

    /// The names of the states by their numbers.
    fn reasons(&self) -> Result<Vec<String>, TargetError> {
        let mut count = 0;
        let mut call = Call::<sys::CUpti_PCSamplingGetNumStallReasonsParams>::new();
        call.fields().ctx = self.context.cu_ctx();
        call.fields().numStallReasons = &raw mut count;
        // SAFETY: the context is enabled; it writes the count.
        unsafe { self.functions.reason_count.call(&mut call) }?;
        let mut numbers = vec![0; count];
        let mut texts = vec![[0; NAME]; count];
        let mut pointers: Vec<*mut c_char> =
            texts.iter_mut().map(|text| text.as_mut_ptr().cast()).collect();
        let mut call = Call::<sys::CUpti_PCSamplingGetStallReasonsParams>::new();
        call.fields().ctx = self.context.cu_ctx();
        call.fields().numStallReasons = count;
        call.fields().stallReasonIndex = numbers.as_mut_ptr();
        call.fields().stallReasons = pointers.as_mut_ptr();
        // SAFETY: as above; room for as many names as it counted.
        unsafe { self.functions.reasons.call(&mut call) }?;
        let last = numbers.iter().max().map_or(0, |last| *last as usize + 1);
        let mut names = vec![String::new(); last];
        for (number, text) in numbers.into_iter().zip(&texts) {
            let text: &[u8; NAME] = text;
            let name = text.split(|byte| *byte == 0).next().unwrap_or_default();
            names[number as usize] = String::from_utf8_lossy(name).into_owned();
        }
        Ok(names)
    }

    /// Ends the sampling, once all launches are over.
    ///
    /// # Errors
    /// CUPTI's.
    pub fn finish(mut self) -> Result<PcSamples, TargetError> {
        self.context.bind_to_thread().map_err(TargetError::Context)?;
        let mut stop = Call::<sys::CUpti_PCSamplingStopParams>::new();
        stop.fields().ctx = self.context.cu_ctx();
        // SAFETY: the context was started.
        unsafe { self.functions.stop.call(&mut stop) }?;
        let mut all = PcSamples::default();
        for _ in 0..MOST_READS {
            self.read.empty();
            let mut call = Call::<sys::CUpti_PCSamplingGetDataParams>::new();
            call.fields().ctx = self.context.cu_ctx();
            call.fields().pcSamplingData = (&raw mut self.read.data).cast::<c_void>();
            // SAFETY: the context is current and stopped; the buffer has the room that it states.
            unsafe { self.functions.data.call(&mut call) }?;
            let (found, remaining) = self.read.take(&self.names, &mut all);
            if found == 0 && remaining == 0 {
                break;
            }
        }
        Ok(all)
    }
}

impl Drop for PcSampler {
    fn drop(&mut self) {
        let mut call = Call::<sys::CUpti_PCSamplingDisableParams>::new();
        call.fields().ctx = self.context.cu_ctx();
        // SAFETY: the context is enabled. A failure changes nothing.
        let _ = unsafe { self.functions.disable.call(&mut call) };
    }
}

/// `CUpti_PCSamplingConfigurationInfo`, with its enums as the integers that they are.
#[repr(C)]
struct Attribute {
    kind: u32,
    status: u32,
    value: [u64; 3],
}

/// A buffer for samples, in one place as long as it lives.
struct Buffer {
    data: sys::CUpti_PCSamplingData,
    instructions: Vec<sys::CUpti_PCSamplingPCData>,
    /// Behind the pointers in `instructions`, which are the only way to them.
    _states: Vec<sys::CUpti_PCSamplingStallReason>,
}

impl Buffer {
    fn new() -> Box<Self> {
        let none = sys::CUpti_PCSamplingStallReason { pcSamplingStallReasonIndex: 0, samples: 0 };
        let mut states = vec![none; INSTRUCTIONS * REASONS];
        let instructions = states.chunks_mut(REASONS).map(|states| sys::CUpti_PCSamplingPCData {
            size: size_of::<sys::CUpti_PCSamplingPCData>(),
            cubinCrc: 0,
            pcOffset: 0,
            functionIndex: 0,
            pad: 0,
            functionName: std::ptr::null_mut(),
            stallReasonCount: REASONS,
            stallReason: states.as_mut_ptr(),
            correlationId: 0,
        });
        let mut instructions: Vec<_> = instructions.collect();
        let data = sys::CUpti_PCSamplingData {
            size: size_of::<sys::CUpti_PCSamplingData>(),
            collectNumPcs: INSTRUCTIONS,
            totalSamples: 0,
            droppedSamples: 0,
            totalNumPcs: 0,
            remainingNumPcs: 0,
            rangeId: 0,
            pPcData: instructions.as_mut_ptr(),
            nonUsrKernelsTotalSamples: 0,
            hardwareBufferFull: 0,
        };
        Box::new(Self { data, instructions, _states: states })
    }

    /// Makes room again: the counts of states say how much there is, and later how much is used.
    fn empty(&mut self) {
        self.instructions.iter_mut().for_each(|it| it.stallReasonCount = REASONS);
    }

    /// Adds what was read to `all`; how many instructions that was, and how many remain.
    fn take(&mut self, names: &[String], all: &mut PcSamples) -> (usize, usize) {
        let found = { self.data.totalNumPcs }.min(INSTRUCTIONS);
        for it in &self.instructions[..found] {
            let states = it.stallReason.cast_const();
            // SAFETY: as many states as CUPTI says, of at most the room that it had.
            let states =
                unsafe { std::slice::from_raw_parts(states, { it.stallReasonCount }.min(REASONS)) };
            let word = |number: u32| names.get(number as usize).cloned().unwrap_or_default();
            let states = states
                .iter()
                .map(|state| (word(state.pcSamplingStallReasonIndex), u64::from(state.samples)));
            let name = it.functionName.cast_const();
            // SAFETY: it ends in NUL. Records share it, so none of them may free it.
            let named = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
            all.instructions.push(PcSample {
                cubin: it.cubinCrc as u32,
                function: named.unwrap_or_default().to_string_lossy().into_owned(),
                offset: it.pcOffset,
                states: states.collect(),
            });
        }
        // Of all reads so far, not of this one.
        all.dropped = all.dropped.max(self.data.droppedSamples);
        (found, self.data.remainingNumPcs)
    }
}
