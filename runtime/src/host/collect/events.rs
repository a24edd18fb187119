//! Pass 0 on a GPU: un-profiled samples by CUDA events.
//!
//! Input: a closure that queues the launches of one sample, and the rules of sampling. Output:
//! every sample with the SM clock around it. Warm-up lasts until duration and clock are steady: the
//! first launches of a process take several times as long. With a cold cache, twice the L2 is read
//! before each sample; that also keeps the device busy while the launch is queued, so the sample
//! holds no launch latency. Inputs that a launch changes are restored before that.

use std::thread;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use gpuprof_model::measurement::Timing;
use gpuprof_model::protocol::Sampling;

use super::clock::ClockProbe;
use super::convergence::{WINDOW, median};
use super::flush;
use super::throttling::{self, SampleSource};
use crate::host::error::Result;
use crate::host::session::Session;

/// Two windows with medians that differ by less than this are steady.
const STEADY: f64 = 0.01;

/// What is left of the least warm-up where this process has just kept the device busy with another
/// configuration: the clocks are up, and only the kernel's own first launches are to be got over.
const ALREADY_WARM: f64 = 0.2;

/// What is done for a sample.
trait Steps {
    /// Queues the restoring of the inputs.
    fn reset(&mut self) -> Result<()>;
    /// Queues the flush of the L2.
    fn flush(&mut self) -> Result<()>;
    /// Queues the launches and waits for them: nanoseconds and the SM clock around them.
    fn time(&mut self) -> Result<(f64, Option<f64>)>;
}

/// One sample. What is put back lies in the L2, so the cache is emptied after that.
fn sample(steps: &mut impl Steps, cold: bool) -> Result<(f64, Option<f64>)> {
    steps.reset()?;
    if cold {
        steps.flush()?;
    }
    steps.time()
}

struct Sampler<'a> {
    session: &'a Session,
    clock: ClockProbe,
    cold: bool,
    reset: &'a mut dyn FnMut() -> Result<()>,
    launch: &'a mut dyn FnMut() -> Result<()>,
}

impl<'a> Sampler<'a> {
    fn new(
        session: &'a Session,
        sampling: &Sampling,
        reset: &'a mut dyn FnMut() -> Result<()>,
        launch: &'a mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let clock = ClockProbe::load(&session.stream)?;
        Ok(Self { session, clock, cold: sampling.cold_cache, reset, launch })
    }

    /// One sample: nanoseconds and the SM clock around it.
    fn sample(&mut self) -> Result<(f64, Option<f64>)> {
        let cold = self.cold;
        sample(self, cold)
    }
}

impl Steps for Sampler<'_> {
    fn reset(&mut self) -> Result<()> {
        (self.reset)()
    }

    fn flush(&mut self) -> Result<()> {
        self.session.flush()
    }

    fn time(&mut self) -> Result<(f64, Option<f64>)> {
        let stream = &self.session.stream;
        self.clock.start()?;
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        (self.launch)()?;
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        self.clock.stop()?;
        stream.synchronize()?;
        Ok((f64::from(start.elapsed_ms(&end)?) * 1e6, self.clock.hertz()?))
    }
}

/// Warms up, takes samples, and reports on both. Before each launch, `reset` queues the restoring
/// of its inputs.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn time(
    session: &Session,
    sampling: &Sampling,
    reset: &mut dyn FnMut() -> Result<()>,
    launch: &mut dyn FnMut() -> Result<()>,
) -> Result<Timing> {
    let mut sampler = Sampler::new(session, sampling, reset, launch)?;
    let mut timing = warm_up(&mut sampler, sampling)?;
    timing.flush_bytes =
        if sampling.cold_cache { flush::bytes(session.device.l2_bytes) } else { 0 };
    let watch = session.watch(sampling.nvml.as_deref());
    timing.unwatched = watch.as_ref().err().cloned();
    let mut source = SampleSource {
        quiet: &session.quiet,
        take: &mut || sampler.sample(),
        slowed: &mut || watch.as_ref().ok()?.borrow_mut().slowed(),
        pause: &mut thread::sleep,
    };
    throttling::sample(sampling, &mut source, &mut timing)?;
    Ok(timing)
}

/// Warms up and takes no samples, for a pass that collects counters. Before each launch, `reset`
/// puts its inputs back.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn warm_up_only(
    session: &Session,
    sampling: &Sampling,
    reset: &mut dyn FnMut() -> Result<()>,
    launch: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    warm_up(&mut Sampler::new(session, sampling, reset, launch)?, sampling).map(drop)
}

fn warm_up(sampler: &mut Sampler<'_>, sampling: &Sampling) -> Result<Timing> {
    let start = Instant::now();
    let warm = sampler.session.warm.replace(true);
    let least = sampling.min_warmup_ns * if warm { ALREADY_WARM } else { 1.0 };
    let mut timing = Timing::default();
    let mut last: Option<(f64, Option<f64>)> = None;
    loop {
        let (mut durations, mut clocks) = (Vec::new(), Vec::new());
        for _ in 0..WINDOW {
            let (duration, clock) = sampler.sample()?;
            durations.push(duration);
            clocks.extend(clock);
        }
        timing.warmup_launches += WINDOW as u32;
        timing.warmup_ns = start.elapsed().as_nanos() as f64;
        let now = (median(&mut durations), (!clocks.is_empty()).then(|| median(&mut clocks)));
        let close = |a: f64, b: f64| (a - b).abs() <= STEADY * a.max(b);
        timing.warmup_steady = last.is_some_and(|(duration, clock)| {
            let clock_steady = match (clock, now.1) {
                (Some(before), Some(after)) => close(before, after),
                _ => true,
            };
            close(duration, now.0) && clock_steady
        });
        last = Some(now);
        let enough = timing.warmup_ns >= least && timing.warmup_steady;
        if enough || timing.warmup_ns >= sampling.max_warmup_ns {
            return Ok(timing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<&'static str>);

    impl Steps for Log {
        fn reset(&mut self) -> Result<()> {
            self.0.push("reset");
            Ok(())
        }

        fn flush(&mut self) -> Result<()> {
            self.0.push("flush");
            Ok(())
        }

        fn time(&mut self) -> Result<(f64, Option<f64>)> {
            self.0.push("time");
            Ok((1.0, None))
        }
    }

    #[test]
    fn inputs_are_put_back_before_the_cache_is_emptied_and_nothing_of_it_is_timed() {
        let steps = |cold| {
            let mut log = Log::default();
            sample(&mut log, cold).unwrap();
            log.0
        };
        assert_eq!(steps(true), ["reset", "flush", "time"]);
        assert_eq!(steps(false), ["reset", "time"]);
    }
}
