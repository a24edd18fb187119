//! Named ranges in the closure of a series function.
//!
//! Input: names around pieces of work. Output: a mark for each, in the order of their begins, and
//! counters of each where they are counted: on the emulated driver by the launches in between, on a
//! GPU by a range of CUPTI's. Nothing happens while times are taken.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::CudaContext;
use gpuprof_cupti::Session as CuptiSession;

use super::collect::emulator;
use super::collect::parts::Mark;
use super::error::{Error, Result};
use super::launched::Launched;

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

#[derive(Default)]
struct Marks {
    by: Marker,
    /// The launches before the first range.
    launched: usize,
    found: Vec<Mark>,
    /// The positions in `found` of the ranges that have not ended.
    open: Vec<usize>,
}

impl NamedRanges {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: Arc::clone(context), marks: Rc::default() }
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
        self.begin(name)?;
        let done = work().into_result();
        let ended = self.end();
        done.and(ended)
    }

    fn begin(&self, name: &str) -> Result<()> {
        let marks = &mut *self.marks.borrow_mut();
        let at = marks.found.len();
        let launched = match &marks.by {
            Marker::None => return Ok(()),
            Marker::Names => 0,
            Marker::Launches => self.launched(marks.launched)?,
            Marker::Profiler(profiler) => {
                self.context.synchronize()?;
                profiler.borrow_mut().push(&at.to_string()).map_err(Error::cupti)?;
                0
            }
        };
        let path = match marks.open.last() {
            Some(&outer) => format!("{}/{name}", marks.found[outer].path),
            None => name.to_owned(),
        };
        marks.found.push(Mark { path, launches: launched..launched });
        marks.open.push(at);
        Ok(())
    }

    fn end(&self) -> Result<()> {
        let marks = &mut *self.marks.borrow_mut();
        let Some(at) = marks.open.pop() else { return Ok(()) };
        match &marks.by {
            Marker::None | Marker::Names => {}
            Marker::Launches => marks.found[at].launches.end = self.launched(marks.launched)?,
            Marker::Profiler(profiler) => {
                self.context.synchronize()?;
                profiler.borrow_mut().pop().map_err(Error::cupti)?;
            }
        }
        Ok(())
    }

    /// How many launches the emulated driver has executed since there were `before`.
    fn launched(&self, before: usize) -> Result<usize> {
        self.context.synchronize()?;
        Ok(emulator::launch_count() - before)
    }

    /// Does `work`, in which ranges are marked `by` this; returns the marks.
    pub(crate) fn marked(
        &self,
        by: Marker,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Mark>> {
        let launched = if let Marker::Launches = by { emulator::launch_count() } else { 0 };
        *self.marks.borrow_mut() = Marks { by, launched, ..Marks::default() };
        let done = work();
        let Marks { found, .. } = self.marks.take();
        done.map(|()| found)
    }
}
