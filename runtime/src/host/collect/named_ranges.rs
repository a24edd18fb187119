//! Named ranges in the closure of a series function.
//!
//! Input: names around pieces of work: those of the closure, and NVTX ranges that `--nvtx` selects.
//! Output: a mark for each, in the order of their begins, and counters of each where they are
//! counted: on the emulated driver by the launches in between, on a GPU by a range of CUPTI's.
//! Nothing happens while times are taken.
//!
//! The outer ones of NVTX ranges start and stop the profiler where nothing else tells which work is
//! theirs, so that they delimit the closure's range as a program does itself.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaContext, profiler_start, profiler_stop};
use gpuprof_cupti::Session as CuptiSession;
use gpuprof_model::protocol::NvtxRequest;

use crate::host::collect::emulator;
use crate::host::collect::launched::Launched;
use crate::host::collect::nvtx::Nvtx;
use crate::host::collect::parts::Mark;
use crate::host::collect::selected_nvtx_ranges::{NvtxRanges, RangeMarker};
use crate::host::error::{Error, Result};

/// Divides the closure of [`Run::measure`](crate::Run::measure) into named ranges with counters of
/// their own. Ranges may lie in each other.
///
/// The device finishes its work at both ends of a range while counters are collected, so kernels of
/// two ranges do not overlap then. Times are taken without ranges.
///
/// ```
/// use gpuprof::cudarc::driver::{CudaFunction, LaunchConfig};
/// use gpuprof::prelude::*;
///
/// # fn loaded(_: &Run<'_>) -> gpuprof::Result<CudaFunction> { unimplemented!() }
/// #[gpuprof::series(n = [1M])]
/// fn step(run: &mut Run<'_>) -> gpuprof::Result<()> {
///     let (kernel, stream, ranges) = (loaded(run)?, run.stream(), run.named_ranges());
///     let config = LaunchConfig::for_num_elems(run.value("n")?);
///     let launch = || -> gpuprof::Result<()> {
///         // SAFETY: the kernel takes nothing.
///         unsafe { stream.launch_builder(&kernel).launch(config) }?;
///         Ok(())
///     };
///     run.measure(|_| {
///         ranges.range("forward", launch)?;
///         ranges.range("backward", || {
///             ranges.range("weights", launch)?;
///             launch()
///         })
///     })
/// }
/// ```
#[derive(Clone)]
pub struct NamedRanges {
    context: Arc<CudaContext>,
    nvtx: Option<Rc<NvtxRequest>>,
    marks: Rc<RefCell<Marks>>,
}

/// What happens at the ends of a range.
#[derive(Default)]
pub(crate) enum Marker {
    /// Nothing.
    #[default]
    None,
    /// Its name is noted.
    Names,
    /// The launches of the emulated driver are counted.
    Launches,
    /// CUPTI counts in between.
    Profiler(Rc<RefCell<CuptiSession>>),
}

impl Marker {
    /// Whether outer NVTX ranges start and stop the profiler.
    fn starts_profiler(&self) -> bool {
        match self {
            Self::Names | Self::Launches => true,
            Self::None | Self::Profiler(_) => false,
        }
    }
}

#[derive(Default)]
struct Marks {
    by: Marker,
    /// The launches before the first range.
    launched: usize,
    found: Vec<Mark>,
    /// The ranges that have not ended.
    open: Vec<OpenRange>,
}

/// A range that has not ended.
struct OpenRange {
    /// Its position in `found`.
    at: usize,
    is_nvtx: bool,
}

impl NamedRanges {
    pub(crate) fn new(context: &Arc<CudaContext>, nvtx: Option<&NvtxRequest>) -> Self {
        let nvtx = nvtx.cloned().map(Rc::new);
        Self { context: Arc::clone(context), nvtx, marks: Rc::default() }
    }

    /// Does `work` as the range `name`. Several ranges of one name are added up.
    ///
    /// ```
    /// # fn forward() -> gpuprof::Result<()> { Ok(()) }
    /// fn step(ranges: &gpuprof::NamedRanges) -> gpuprof::Result<()> {
    ///     ranges.range("forward", forward)
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `work`, of the driver or of CUPTI; a name that is empty or has a `/`.
    #[doc(alias("nvtxRangePush", "nvtxRangePop", "cudaProfilerStart"))]
    pub fn range<R: Launched>(&self, name: &str, work: impl FnOnce() -> R) -> Result<()> {
        if name.is_empty() || name.contains('/') {
            return Err(Error::failed(format!(
                "`{name}` cannot name a range: a name is not empty and has no `/`"
            )));
        }
        self.begin(name, false)?;
        let done = panic::catch_unwind(AssertUnwindSafe(work));
        let ended = self.end(false);
        match done {
            Ok(done) => done.into_result().and(ended),
            Err(panic) => panic::resume_unwind(panic),
        }
    }

    fn begin(&self, name: &str, is_nvtx: bool) -> Result<()> {
        let marks = &mut *self.marks.borrow_mut();
        let at = marks.found.len();
        let launched = match &marks.by {
            Marker::None => return Ok(()),
            Marker::Names => 0,
            Marker::Launches => emulator::launch_count() - marks.launched,
            Marker::Profiler(profiler) => {
                self.context.synchronize()?;
                profiler.borrow_mut().push(&at.to_string()).map_err(Error::cupti)?;
                0
            }
        };
        let outer_nvtx = is_nvtx && !marks.open.iter().any(|open| open.is_nvtx);
        if outer_nvtx && marks.by.starts_profiler() {
            profiler_start()?;
        }
        // The path of an NVTX range contains the NVTX ranges around it.
        let outer = marks.open.iter().rev().find(|open| !(is_nvtx && open.is_nvtx));
        let path = match outer {
            Some(open) => format!("{}/{name}", marks.found[open.at].path),
            None => name.to_owned(),
        };
        let depth = marks.open.len() + 1;
        marks.found.push(Mark { path, depth, outer_nvtx, launches: launched..launched });
        marks.open.push(OpenRange { at, is_nvtx });
        Ok(())
    }

    fn end(&self, is_nvtx: bool) -> Result<()> {
        let marks = &mut *self.marks.borrow_mut();
        let Some(OpenRange { at, is_nvtx: was_nvtx }) = marks.open.pop() else { return Ok(()) };
        if is_nvtx != was_nvtx {
            let path = &marks.found[at].path;
            return Err(Error::failed(format!(
                "the range `{path}` has not ended before the range around it ends"
            )));
        }
        match &marks.by {
            Marker::None | Marker::Names => {}
            Marker::Launches => {
                marks.found[at].launches.end = emulator::launch_count() - marks.launched
            }
            Marker::Profiler(profiler) => {
                self.context.synchronize()?;
                profiler.borrow_mut().pop().map_err(Error::cupti)?;
            }
        }
        if marks.found[at].outer_nvtx && marks.by.starts_profiler() {
            profiler_stop()?;
        }
        Ok(())
    }

    /// Does `work`, in which ranges are marked `by` this; returns the marks.
    ///
    /// # Errors
    /// Those of `work`; NVTX ranges that cannot be collected, or that are not there.
    pub(crate) fn marked(
        &self,
        by: Marker,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Mark>> {
        let launched = if let Marker::Launches = by { emulator::launch_count() } else { 0 };
        let nvtx = self.nvtx.as_deref().filter(|_| !matches!(by, Marker::None));
        *self.marks.borrow_mut() = Marks { by, launched, ..Marks::default() };
        let done = match nvtx {
            Some(NvtxRequest { patterns, library }) => Nvtx::open(library).and_then(|nvtx| {
                let listener = NvtxRanges::new(self, patterns);
                let done = nvtx.while_listening(&listener, work);
                done.and(listener.finish())
            }),
            None => work(),
        };
        let Marks { found, .. } = self.marks.take();
        done.map(|()| found)
    }
}

impl RangeMarker for NamedRanges {
    fn begin_nvtx(&self, path: &str) -> Result<()> {
        self.begin(path, true)
    }

    fn end_nvtx(&self) -> Result<()> {
        self.end(true)
    }
}

/// That the closure starts the profiler itself, which NVTX ranges do where they are selected.
pub(crate) fn starts_the_profiler() -> Error {
    Error::failed(
        "--nvtx: the closure calls cuProfilerStart or cuProfilerStop too; its range is delimited \
         by one of the two",
    )
}
