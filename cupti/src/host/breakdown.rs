//! The constituents of throughputs.
//!
//! Input: a loaded CUPTI, and a chip. Output: for each throughput of the chip the counters and the
//! other throughputs of which it is the largest. CUPTI's own functions do not report this; the
//! evaluator in its `libnvperf_host.so` does (`nvperf_host.h`), without a GPU.

use std::ffi::{c_char, c_void};

use super::{HostApi, c_string};
use crate::LoadError;
use crate::library::Library;
use crate::locate;

/// The constituents of a throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakdown {
    /// The throughput, without a submetric.
    pub throughput: String,
    /// Its counters, without submetrics, in the library's order.
    pub counters: Vec<String>,
    /// The throughputs of which it takes in all counters.
    pub throughputs: Vec<String>,
}

/// Why there are no breakdowns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BreakdownError {
    /// The library is not next to CUPTI.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A function of the library is missing or failed.
    #[error("{call} of libnvperf_host.so failed with status {status}")]
    Failed {
        /// The function.
        call: &'static str,
        /// Its `NVPA_Status`; 5 is "function not found".
        status: u32,
    },
}

type Evaluator = *mut c_void;

/// Parameter structs of nvperf, with the functions that take them. Each begins with its size and a
/// pointer that stays null, and ends with eight bytes, so its size has no padding.
macro_rules! calls {
    ($($name:ident = $function:literal { $($field:ident: $type:ty),* $(,)? })*) => {$(
        #[repr(C)]
        struct $name { size: usize, private: *mut c_void, $($field: $type),* }

        impl $name {
            /// All-zero but for the size.
            fn new() -> Self {
                // SAFETY: integers and pointers, for which all-zero is valid.
                let zeroed = unsafe { std::mem::zeroed::<Self>() };
                Self { size: size_of::<Self>(), ..zeroed }
            }

            /// Calls the function that takes it.
            ///
            /// # Safety
            /// The input fields are valid for the function as long as it uses them.
            unsafe fn call(&mut self, library: Library) -> Result<(), BreakdownError> {
                let failed = |status| BreakdownError::Failed { call: $function, status };
                type Function = unsafe extern "C" fn(*mut $name) -> u32;
                // SAFETY: this function takes this struct and returns an NVPA_Status
                // (nvperf_host.h, nvperf_cuda_host.h), which is an unsigned integer.
                let function: Function = unsafe { library.symbol($function) }.map_err(|_| failed(5))?;
                // SAFETY: the caller's promise.
                match unsafe { function(self) } {
                    0 => Ok(()),
                    status => Err(failed(status)),
                }
            }
        }
    )*};
}

calls! {
    Begin = "NVPW_InitializeHost" {}
    ScratchSize = "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize" {
        chip: *const c_char, availability: *const u8, bytes: usize,
    }
    Create = "NVPW_CUDA_MetricsEvaluator_Initialize" {
        scratch: *mut u8, bytes: usize, chip: *const c_char, availability: *const u8,
        counter_data: *const u8, counter_data_bytes: usize, evaluator: Evaluator,
    }
    Destroy = "NVPW_MetricsEvaluator_Destroy" { evaluator: Evaluator }
    MetricNames = "NVPW_MetricsEvaluator_GetMetricNames" {
        evaluator: Evaluator, kind: u8, text: *const c_char, begins: *const usize, count: usize,
    }
    Throughput = "NVPW_MetricsEvaluator_GetThroughputMetricProperties" {
        evaluator: Evaluator, index: usize, description: *const c_char, hw_unit: u32,
        counters: usize, counter_indices: *const usize,
        throughputs: usize, throughput_indices: *const usize,
    }
}

impl HostApi {
    /// The constituents of each throughput of `chip`, in the library's order.
    ///
    /// # Errors
    /// No `libnvperf_host.so` next to this CUPTI, or a library that does not know the chip.
    pub fn breakdowns(&self, chip: &str) -> Result<Vec<Breakdown>, BreakdownError> {
        let path = locate::sibling_path(self.path, "libnvperf_host.so");
        let library = Library::open_globally(&path)
            .map_err(|reason| LoadError::NvperfMissing { path: self.path.into(), reason })?;
        // SAFETY: it takes nothing.
        unsafe { Begin::new().call(library) }?;
        let chip = c_string(chip);
        let mut size = ScratchSize::new();
        size.chip = chip.as_ptr();
        // SAFETY: the name lives until it returns.
        unsafe { size.call(library) }?;
        let mut scratch = vec![0_u8; size.bytes];
        let evaluator = EvaluatorGuard::new(library, &chip, &mut scratch)?;
        let (counters, throughputs) = (evaluator.names(0)?, evaluator.names(2)?);
        let named = |at: usize| evaluator.breakdown(at, &counters, &throughputs);
        (0..throughputs.len()).map(named).collect()
    }
}

/// An evaluator that is there as long as its buffer.
struct EvaluatorGuard<'b> {
    library: Library,
    evaluator: Evaluator,
    _scratch: &'b mut [u8],
}

impl<'b> EvaluatorGuard<'b> {
    fn new(
        library: Library,
        chip: &std::ffi::CStr,
        scratch: &'b mut [u8],
    ) -> Result<Self, BreakdownError> {
        let mut create = Create::new();
        create.scratch = scratch.as_mut_ptr();
        create.bytes = scratch.len();
        create.chip = chip.as_ptr();
        // SAFETY: the buffer outlives the evaluator, which holds it; the name lives until it
        // returns.
        unsafe { create.call(library) }?;
        Ok(Self { library, evaluator: create.evaluator, _scratch: scratch })
    }

    /// The metrics of an `NVPW_MetricType`, by index.
    fn names(&self, kind: u8) -> Result<Vec<String>, BreakdownError> {
        let mut call = MetricNames::new();
        call.evaluator = self.evaluator;
        call.kind = kind;
        // SAFETY: the evaluator is live.
        unsafe { call.call(self.library) }?;
        // SAFETY: on success there are `count` places of strings behind `text`, which live as long
        // as the evaluator.
        let begins = unsafe { listed(call.begins, call.count) };
        // SAFETY: as above.
        let name = |&at: &usize| unsafe { super::string(call.text.add(at)) };
        Ok(begins.iter().map(name).collect())
    }

    fn breakdown(
        &self,
        index: usize,
        counters: &[String],
        throughputs: &[String],
    ) -> Result<Breakdown, BreakdownError> {
        let mut call = Throughput::new();
        call.evaluator = self.evaluator;
        call.index = index;
        // SAFETY: the evaluator is live, and has a throughput of this index.
        unsafe { call.call(self.library) }?;
        let among = |names: &[String], indices: &[usize]| {
            indices.iter().filter_map(|&at| names.get(at).cloned()).collect()
        };
        // SAFETY: on success two lists of these lengths that live as long as the evaluator.
        let (of_counters, of_throughputs) = unsafe {
            (
                listed(call.counter_indices, call.counters),
                listed(call.throughput_indices, call.throughputs),
            )
        };
        Ok(Breakdown {
            throughput: throughputs[index].clone(),
            counters: among(counters, of_counters),
            throughputs: among(throughputs, of_throughputs),
        })
    }
}

impl Drop for EvaluatorGuard<'_> {
    fn drop(&mut self) {
        let mut call = Destroy::new();
        call.evaluator = self.evaluator;
        // SAFETY: the evaluator is live, and this is its last use. A failure leaks it.
        let _ = unsafe { call.call(self.library) };
    }
}

/// A list of the library's.
///
/// # Safety
/// Null, or `count` numbers that live as long as the result is used.
unsafe fn listed<'l>(list: *const usize, count: usize) -> &'l [usize] {
    if list.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(list, count) }
}

// As nvperf_host.h of CUDA 13.0 has them.
const _: () = assert!(size_of::<Create>() == 72 && size_of::<Throughput>() == 80);
