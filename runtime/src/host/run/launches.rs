//! The launches of a call.
//!
//! Input: the work, which CUPTI watches; without CUPTI, the log of the launchers or the launch
//! configuration. Output: the records in the result, and which of the work belongs to the measured
//! range.

use std::mem;

use gpuprof_model::measurement::{LaunchRecord, PassResult};
use gpuprof_model::protocol::CounterRange;

use crate::host::collect::launches::{self, Observed};
use crate::host::collect::measured_work::MeasuredWork;
use crate::host::collect::named_ranges::{self, Marker};
use crate::host::collect::parts::{self, Mark};
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;
use crate::host::run::Run;

impl Run<'_> {
    /// Records the launches of one more call of the work, unless they are known: those of an
    /// annotated kernel are. Returns which of the work belongs to the range; none if all does.
    pub(super) fn observe(&mut self, work: &mut MeasuredWork<'_>) -> Result<Option<Vec<bool>>> {
        if !self.result.launches.is_empty() {
            return Ok(None);
        }
        work.restore()?;
        let mut marks = Vec::new();
        let mut launch = || {
            marks = self.ranges.marked(Marker::Names, || work.launch())?;
            Ok(())
        };
        match launches::observe(self.session, self.request, &mut launch)? {
            Some(Observed { launches, timeline, starts, inside, unified_memory }) => {
                self.check_starts(starts, &marks)?;
                self.result.launches = launches;
                self.result.timeline = timeline;
                self.result.unified_memory = unified_memory;
                self.observed = true;
                Ok(inside)
            }
            None if self.request.nvtx.is_some() => Err(Error::failed(
                "--nvtx: without CUPTI, the work in NVTX ranges cannot be told from other work",
            )),
            None => Ok(None),
        }
    }

    /// Fails if the closure, in which `marks` were set, calls `cuProfilerStart` although something
    /// else delimits its range. The profiler was started `starts` times, by `--nvtx` included.
    pub(super) fn check_starts(&self, starts: usize, marks: &[Mark]) -> Result<()> {
        if self.request.nvtx.is_some() {
            let own = parts::outer_nvtx(marks).count();
            return if starts > own { Err(named_ranges::starts_the_profiler()) } else { Ok(()) };
        }
        if starts > 0 && self.request.range == CounterRange::Closure {
            return Err(Error::failed(
                "--range closure: the closure calls cuProfilerStart, and its launches are counted \
                 one by one then; use --range launch",
            ));
        }
        Ok(())
    }

    /// The launches of the closure, if CUPTI saw them.
    pub(super) fn observed_launches(&self) -> Option<&[LaunchRecord]> {
        self.observed.then_some(&*self.result.launches)
    }

    /// Takes the launches that an `earlier` call of the function in this process was seen to make.
    pub(super) fn take_observed(&mut self, earlier: Self) {
        if earlier.observed {
            let PassResult { launches, timeline, unified_memory, .. } = earlier.result;
            let own = mem::take(&mut self.result);
            self.result = PassResult { launches, timeline, unified_memory, ..own };
            self.observed = true;
        }
    }

    /// Takes the launches in the log if nothing else reported them; otherwise only the names there.
    pub(super) fn take_logged(&mut self) {
        let log = &self.launchers.log;
        let logged = log.take();
        if self.observed {
            self.result.launches = log.named(mem::take(&mut self.result.launches));
        } else if !self.session.device.emulated && !logged.is_empty() {
            self.result.launches = logged;
        }
    }

    /// Records the launches of the measured range, if the driver does not report them.
    pub(crate) fn record_launch(&mut self, launch: LaunchRecord) {
        if self.result.launches.is_empty() {
            self.result.launches.push(launch);
        }
    }

    /// Records the launch of a series function as far as it is known: by the function's launch
    /// configuration. The emulated driver has reported the actual launches.
    pub(crate) fn record_configured(&mut self) -> Result<()> {
        let launch = self.launch_config()?;
        if let (Some(LaunchShape { grid, block, shared: shared_bytes }), false) =
            (launch.shape, self.session.device.emulated || self.observed)
        {
            self.record_launch(LaunchRecord {
                kernel: self.request.kernel.clone(),
                grid,
                block,
                shared_bytes,
                cluster: launch.cluster,
                ..LaunchRecord::default()
            });
        }
        Ok(())
    }
}
