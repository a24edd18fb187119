//! The measurement of a call, in its order.
//!
//! Input: the work, and the purpose of the call. Output: the result, with the measured values, the
//! launches, and the driver's facts on them.

use std::mem;

use gpuprof_model::measurement::PassResult;

use crate::host::collect::launched::Launched;
use crate::host::collect::measured_work::{MeasuredWork, Step};
use crate::host::collect::{duration_samples, energy, launch_facts, over_time, source_counters};
use crate::host::driver::cluster;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::Launch;
use crate::host::run::Run;
use crate::host::run::purpose::{Phase, Purpose};

impl Run<'_> {
    /// As [`Run::measure`]; `restore` queues the restoring of inputs before each timed sample.
    pub(crate) fn measure_from<R: Launched>(
        &mut self,
        restore: Option<Step<'_>>,
        mut launch: impl FnMut(&Launch) -> R,
    ) -> Result<()> {
        if self.phase != Phase::SetUp {
            return Err(Error::failed("`measure` was called twice; a pass measures one range"));
        }
        self.phase = Phase::Measuring;
        let config = self.launch_config()?;
        let log = self.launchers.log.clone();
        let (joined, session) = (mem::take(&mut self.joined), self.session);
        let mut launch = || log.first(|| joined.around(session, || launch(&config).into_result()));
        // For as long as `launch` lives.
        let restore = restore.map(|restore| restore as Step<'_>);
        self.collect(&mut MeasuredWork { restore, launch: &mut launch })?;
        self.take_logged();
        self.take_facts(&config)
    }

    /// Measures the work for the purpose of the call.
    fn collect(&mut self, work: &mut MeasuredWork<'_>) -> Result<()> {
        let (session, sampling) = (self.session, &self.request.sampling);
        match &mut self.purpose {
            Purpose::Emulation => self.emulate(work),
            Purpose::SourceCounters(wanted) => {
                source_counters::collect(session, wanted, sampling, work, &mut self.result)?;
                self.complete_launches()
            }
            Purpose::OverTime(wanted) => {
                self.result.over_time = Some(over_time::collect(session, wanted, sampling, work)?);
                self.complete_launches()
            }
            Purpose::WarmUp => self.warm_up(work),
            Purpose::CounterPass(collection) => {
                let marker = collection.marker();
                self.marks = self.ranges.marked(marker, || collection.pass(&mut [work]))?;
                Ok(())
            }
            Purpose::Energy => {
                self.launch_once(work)?;
                self.result.energy = Some(energy::measure(session, sampling, work)?);
                Ok(())
            }
            Purpose::Times => {
                self.launch_once(work)?;
                self.take_times(work)
            }
            Purpose::Refusal => {
                self.launch_once(work)?;
                Err(Error::failed("no launch is refused this time"))
            }
        }
    }

    fn launch_once(&mut self, work: &mut MeasuredWork<'_>) -> Result<()> {
        work.launch()?;
        self.complete_launches()
    }

    /// Waits for the measured launches, after which they were done once.
    pub(super) fn complete_launches(&mut self) -> Result<()> {
        self.synchronize()?;
        self.phase = Phase::Launched;
        Ok(())
    }

    /// Waits for the device; an error includes the emulated driver's report.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.session.stream.synchronize().map_err(|e| self.session.explain(e.into()))
    }

    fn take_times(&mut self, work: &mut MeasuredWork<'_>) -> Result<()> {
        let inside = self.observe(work)?;
        let (timing, times) =
            duration_samples::time(self.session, self.request, inside.as_deref(), work)?;
        self.result.timing = Some(timing);
        times.give(&mut self.result.launches);
        if self.request.sampling.copy_bandwidth {
            self.result.copy_bandwidth = self.session.copy_bandwidth()?;
        }
        Ok(())
    }

    /// The configuration of launches.
    ///
    /// # Errors
    /// A value of an axis that no launch can have.
    pub(crate) fn launch_config(&self) -> Result<Launch> {
        self.settings.resolve(&self.request.configuration, self.session.device.emulated)
    }

    /// Takes the driver's facts on the launch, without a profiler.
    pub(crate) fn take_facts(&mut self, config: &Launch) -> Result<()> {
        if let (Some(reported), Some(shape)) = (&self.reported, config.shape) {
            let cluster = config.cluster.filter(|&cluster| !cluster::is_trivial(cluster));
            self.result.facts = Some(launch_facts::read(self.session, reported, shape, cluster)?);
        }
        Ok(())
    }

    /// Checks that something was measured.
    ///
    /// # Errors
    /// That nothing was.
    pub(crate) fn check_measured(&self, kernel: &str) -> Result<()> {
        if self.phase != Phase::SetUp {
            return Ok(());
        }
        Err(Error::failed(format!(
            "`{kernel}` returned without calling `run.measure`, so there is nothing to report"
        )))
    }

    /// The result.
    ///
    /// # Errors
    /// As of [`Self::check_measured`].
    pub(crate) fn finish(self, kernel: &str) -> Result<PassResult> {
        self.check_measured(kernel)?;
        Ok(self.result)
    }
}
