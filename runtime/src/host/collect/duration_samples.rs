//! Pass 0 on a GPU: samples of the device's own time, or of CUDA events where CUPTI records none.
//!
//! Input: a closure that queues the launches of one sample, and the rules of sampling. Output:
//! every sample with the SM clock around it. No counters are collected meanwhile. Warm-up lasts
//! until duration and clock are steady: the first launches of a process take several times as long.
//! With a cold cache, twice the L2 is read before each sample; that also keeps the device busy
//! while the launch is queued, so the sample holds no launch latency. Inputs that a launch changes
//! are restored before that.

use std::path::Path;
use std::thread;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use gpuprof_model::measurement::{Timer, Timing};
use gpuprof_model::protocol::{MeasureRequest, Sampling};

use super::activity::{SampleRecorder, Sampled};
use super::clock::ClockProbe;
use super::convergence::{WINDOW, median};
use super::flush;
use super::launches::LaunchTimes;
use super::measured_work::MeasuredWork;
use super::throttling::{self, SampleSource};
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// Two windows with medians that differ by less than this are steady.
const STEADY: f64 = 0.01;

/// The part of the least warm-up that remains for a process that has just kept the device busy with
/// another configuration, since the clocks are up and only the kernel's first launches differ; and
/// for a process that counts. Counters did not differ after a fifth (H100, `docs/claims.md`).
const SHORT_WARM_UP: f64 = 0.2;

struct Sampler<'a, 'w> {
    session: &'a Session,
    clock: ClockProbe,
    /// Records the device's own times; without it, CUDA events give the time.
    recorder: Option<SampleRecorder<'a>>,
    /// Why there is no recorder, though one was wanted.
    no_device_times: Option<String>,
    cold: bool,
    work: &'a mut MeasuredWork<'w>,
}

impl<'a, 'w> Sampler<'a, 'w> {
    fn new(
        session: &'a Session,
        sampling: &Sampling,
        work: &'a mut MeasuredWork<'w>,
    ) -> Result<Self> {
        let clock = ClockProbe::load(&session.stream)?;
        Ok(Self {
            session,
            clock,
            recorder: None,
            no_device_times: None,
            cold: sampling.cold_cache,
            work,
        })
    }

    /// Takes the device's own times from now on, if CUPTI records them: of all work, or of that
    /// `inside` of the range, in the order of the calls.
    fn record(&mut self, cupti: Option<&Path>, inside: Option<&'a [bool]>) -> Result<()> {
        match SampleRecorder::begin(self.session, cupti, inside) {
            Ok(recorder) => self.recorder = Some(recorder),
            Err(reason) if inside.is_some() => {
                return Err(Error::failed(format!(
                    "the work in the range (cuProfilerStart, or --nvtx) cannot be timed: {reason}"
                )));
            }
            Err(reason) => self.no_device_times = Some(reason),
        }
        Ok(())
    }

    /// The device's own time of the sample that has just ended, if it is recorded.
    fn recorded(&mut self) -> Result<Option<f64>> {
        let Some(recorder) = &mut self.recorder else { return Ok(None) };
        match recorder.duration()? {
            Sampled::Duration(nanoseconds) => return Ok(Some(nanoseconds)),
            Sampled::Early => {}
            Sampled::Unrecorded => {
                self.recorder = None;
                self.no_device_times = Some("CUPTI records none of the measured work".to_owned());
            }
        }
        Ok(None)
    }

    fn waits(&self) -> bool {
        self.recorder.as_ref().is_some_and(SampleRecorder::waits)
    }

    /// One sample: nanoseconds and the SM clock around it.
    fn sample(&mut self) -> Result<(f64, Option<f64>)> {
        let waited = self.waits();
        let taken = self.sample_once()?;
        if self.waits() == waited { Ok(taken) } else { self.sample_once() }
    }

    /// Prepares the work, launches it and times that.
    fn sample_once(&mut self) -> Result<(f64, Option<f64>)> {
        self.work.prepare(self.cold, || self.session.flush())?;
        let stream = &self.session.stream;
        self.clock.start()?;
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        if self.waits() {
            stream.synchronize()?;
        }
        self.work.launch()?;
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        self.clock.stop()?;
        stream.synchronize()?;
        let nanoseconds = match self.recorded()? {
            Some(nanoseconds) => nanoseconds,
            None => f64::from(start.elapsed_ms(&end)?) * 1e6,
        };
        Ok((nanoseconds, self.clock.hertz()?))
    }
}

/// Warms up, takes samples, and reports on both and on the times of the launches in a sample.
/// `inside` says which of the work is timed, if not all is.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn time(
    session: &Session,
    request: &MeasureRequest,
    inside: Option<&[bool]>,
    work: &mut MeasuredWork<'_>,
) -> Result<(Timing, LaunchTimes)> {
    let sampling = &request.sampling;
    let mut sampler = Sampler::new(session, sampling, work)?;
    sampler.record(request.cupti.as_deref(), inside)?;
    let warm = session.warm.replace(true);
    let mut timing = warm_up(&mut sampler, sampling, if warm { SHORT_WARM_UP } else { 1.0 })?;
    if let Some(recorder) = &mut sampler.recorder {
        recorder.forget_times();
    }
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
    timing.no_device_times = sampler.no_device_times;
    let mut times = LaunchTimes::default();
    if let Some(recorder) = sampler.recorder {
        times = recorder.end()?;
        timing.timer = Timer::Device;
    }
    Ok((timing, times))
}

/// Warms up and takes no samples, for a pass that collects counters.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn warm_up_only(
    session: &Session,
    sampling: &Sampling,
    work: &mut MeasuredWork<'_>,
) -> Result<()> {
    let mut sampler = Sampler::new(session, sampling, work)?;
    warm_up(&mut sampler, sampling, SHORT_WARM_UP).map(drop)
}

/// Takes samples until they are steady, for at least this `part` of the least warm-up.
fn warm_up(sampler: &mut Sampler<'_, '_>, sampling: &Sampling, part: f64) -> Result<Timing> {
    let start = Instant::now();
    let least = sampling.min_warmup_ns * part;
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
        timing.warmup_ns = start.elapsed().into();
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
