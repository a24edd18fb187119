//! Pass 0 on a GPU: un-profiled samples by CUDA events.
//!
//! Input: a closure that queues the launches of one sample, and the rules of sampling. Output:
//! every sample with the SM clock around it. Warm-up goes by time, until duration and clock are
//! steady: a fresh process' first launches read several times slow. With a cold cache, twice the L2
//! is read before each sample; that also keeps the device busy while the launch is queued, so
//! the sample holds no launch latency.

use std::thread;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use gpuprof_model::measurement::Timing;
use gpuprof_model::protocol::Sampling;

use super::batches::{self, Source};
use super::clock::ClockProbe;
use super::flush;
use crate::host::error::Result;
use crate::host::session::Session;

/// Samples a window of the warm-up, or a batch, holds.
pub(super) const WINDOW: usize = 8;

/// Two windows whose medians differ by less than this are steady.
const STEADY: f64 = 0.01;

/// What is left of the least warm-up where this process has just kept the device busy with another
/// configuration: the clocks are up, and only the kernel's own first launches are to be got over.
const ALREADY_WARM: f64 = 0.2;

struct Sampler<'a> {
    session: &'a Session,
    clock: ClockProbe,
    cold: bool,
    launch: &'a mut dyn FnMut() -> Result<()>,
}

impl<'a> Sampler<'a> {
    fn new(
        session: &'a Session,
        sampling: &Sampling,
        launch: &'a mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let clock = ClockProbe::load(&session.stream)?;
        Ok(Self { session, clock, cold: sampling.cold_cache, launch })
    }

    /// One sample: nanoseconds and the SM clock around it.
    fn sample(&mut self) -> Result<(f64, Option<f64>)> {
        let stream = &self.session.stream;
        if self.cold {
            self.session.flush()?;
        }
        self.clock.start()?;
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        (self.launch)()?;
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        self.clock.stop()?;
        stream.synchronize()?;
        Ok((f64::from(start.elapsed_ms(&end)?) * 1e6, self.clock.hertz()?))
    }
}

/// Warms up, samples, and says how it went.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn time(
    session: &Session,
    sampling: &Sampling,
    launch: &mut dyn FnMut() -> Result<()>,
) -> Result<Timing> {
    let mut sampler = Sampler::new(session, sampling, launch)?;
    let mut timing = warm_up(&mut sampler, sampling)?;
    timing.flush_bytes =
        if sampling.cold_cache { flush::bytes(session.device.l2_bytes) } else { 0 };
    let watch = session.watch(sampling.nvml.as_deref());
    timing.unwatched = watch.as_ref().err().cloned();
    let mut source = Source {
        quiet: &session.quiet,
        take: &mut || sampler.sample(),
        slowed: &mut || watch.as_ref().ok()?.borrow_mut().slowed(),
        pause: &mut thread::sleep,
    };
    batches::sample(sampling, &mut source, &mut timing)?;
    Ok(timing)
}

/// Warms up and takes no samples, for a pass that collects counters.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn warm_up_only(
    session: &Session,
    sampling: &Sampling,
    launch: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    warm_up(&mut Sampler::new(session, sampling, launch)?, sampling).map(drop)
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

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// The standard error of the median over the median, from order statistics: half the distance
/// between the samples √n/2 ranks below and above the middle, which holds the median of any
/// distribution with about 68 % confidence (David and Nagaraja, Order Statistics, §7.1).
pub(super) fn relative_standard_error(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    let middle = median(&mut sorted);
    let half = sorted.len() as f64 / 2.0;
    let reach = (sorted.len() as f64).sqrt() / 2.0;
    let low = (half - reach).floor().max(0.0) as usize;
    let high = ((half + reach).ceil() as usize).min(sorted.len() - 1);
    (sorted[high] - sorted[low]) / 2.0 / middle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_samples_converge_and_scattered_ones_do_not() {
        let steady: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i % 5)).collect();
        assert!(relative_standard_error(&steady) < 0.005);
        let scattered: Vec<f64> = (0..24).map(|i| 1000.0 + 100.0 * f64::from(i % 7)).collect();
        assert!(relative_standard_error(&scattered) > 0.005);
    }

    #[test]
    fn the_error_of_normal_samples_is_near_its_theory() {
        // Quantiles of a normal distribution of standard deviation 1: the error of its median is
        // sqrt(pi/2)/sqrt(n) = 0.0396 at n = 1000.
        let samples: Vec<f64> = (0..1000)
            .map(|i| {
                100.0 + 1.702_f64.recip() * ((f64::from(i) + 0.5) / (999.5 - f64::from(i))).ln()
            })
            .collect();
        let error = relative_standard_error(&samples) * 100.0;
        assert!((0.03..0.05).contains(&error), "{error}");
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
