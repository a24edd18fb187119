//! The counters of a call.
//!
//! Input: the work, and the counts of the emulated driver or of a GPU's passes. Output: a device
//! that is warm for these passes; the counters of the range and of its parts in the result.

use gpuprof_model::code::costly_lines;
use gpuprof_model::measurement::CounterPass;
use gpuprof_model::protocol::CounterRange;

use crate::host::collect::cupti::SlotContent;
use crate::host::collect::emulator::{self, LaunchCounters};
use crate::host::collect::measured_work::MeasuredWork;
use crate::host::collect::named_ranges::{self, Marker};
use crate::host::collect::parts::{self, Counts, Mark};
use crate::host::collect::{activity, duration_samples};
use crate::host::error::{Error, Result};
use crate::host::run::Run;

impl Run<'_> {
    /// Launches the work on the emulated driver, and takes its counts.
    pub(super) fn emulate(&mut self, work: &mut MeasuredWork<'_>) -> Result<()> {
        emulator::take_report()?;
        let marks = self.ranges.marked(Marker::Launches, || work.launch());
        let marks = marks.map_err(|e| self.session.explain(e))?;
        let missed = emulator::missed_stream(self.session.stream.cu_stream());
        self.complete_launches()?;
        let counted = emulator::take_report()?;
        self.check_starts(counted.starts, &marks)?;
        self.take_emulated(counted, &marks);
        self.check_streams(missed)?;
        self.check_stops(&marks)
    }

    fn take_emulated(&mut self, found: LaunchCounters, marks: &[Mark]) {
        let LaunchCounters { launches, timeline, counted, code, checks, .. } = found;
        let Counts { counters, hardware, estimate } =
            Counts::over(parts::inside(&launches, &counted));
        let each = self.request.range == CounterRange::Launch;
        self.result.parts = parts::of_range(&launches, &counted, each);
        // As on a GPU, launches that are counted one by one have no named ranges around them.
        if !each {
            let of_marks = parts::in_marks(marks, &launches, &counted);
            self.result.parts.extend(parts::of_named(marks, &of_marks));
        }
        self.result.launches = launches;
        self.result.timeline = timeline;
        self.result.counters = counters;
        self.result.hardware = hardware;
        self.result.estimate = estimate;
        self.result.costly = costly_lines(&code);
        self.result.code = code;
        self.result.checks = checks;
    }

    /// Refuses work on a stream that the measured one has not waited for.
    fn check_streams(&self, missed: Option<u64>) -> Result<()> {
        let Some(stream) = missed else { return Ok(()) };
        let mut launches = self.result.launches.iter();
        let launch = launches.find(|launch| launch.stream == Some(stream));
        let kernel = launch.map(|launch| launch.kernel.as_str());
        Err(Error::failed(activity::uncovered(kernel, 0)))
    }

    /// Fails if there are launches in NVTX ranges that a `cuProfilerStop` left out.
    fn check_stops(&self, marks: &[Mark]) -> Result<()> {
        let within = |at: usize| parts::outer_nvtx(marks).any(|mark| mark.launches.contains(&at));
        let mut launches = self.result.launches.iter().enumerate();
        match launches.any(|(at, launch)| launch.outside == within(at)) {
            true if self.request.nvtx.is_some() => Err(named_ranges::starts_the_profiler()),
            true | false => Ok(()),
        }
    }

    /// Launches the work until the device is warm.
    pub(crate) fn warm_up(&mut self, work: &mut MeasuredWork<'_>) -> Result<()> {
        work.restore()?;
        self.marks = self.ranges.marked(Marker::Names, || work.launch())?;
        self.complete_launches()?;
        self.observe(work)?;
        duration_samples::warm_up_only(self.session, &self.request.sampling, work)
    }

    /// Takes the counts of each launch, or of the closure and of each of its named ranges.
    pub(crate) fn take_counts(
        &mut self,
        pass: CounterPass,
        counted: &[Counts],
        content: SlotContent,
    ) {
        let (whole, parts) = match (content, counted) {
            (SlotContent::Closure { whole: true, .. }, [closure, named @ ..]) => {
                (closure.clone(), parts::of_named(&self.marks, named))
            }
            (SlotContent::Closure { whole: false, .. }, named) => {
                let outer = self.marks.iter().zip(named).filter(|(mark, _)| mark.outer_nvtx);
                let outer = Counts::over_ranges(outer.map(|(_, counted)| counted));
                (outer, parts::of_named(&self.marks, named))
            }
            _ => {
                let parts = parts::of_range(&self.result.launches, counted, true);
                (Counts::over(parts::inside(&self.result.launches, counted)), parts)
            }
        };
        self.result.hardware = whole.hardware;
        self.result.parts = parts;
        self.result.counter_pass = Some(pass);
    }
}
