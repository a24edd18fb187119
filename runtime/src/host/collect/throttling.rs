//! Samples in batches: those taken while the device was slowed down are discarded and taken again.
//!
//! Input: how to take one sample, and a watch that says after each batch whether the device was
//! slowed down meanwhile. Output: samples of a device that ran at its own speed, or the state
//! `unstable` with its reason. A batch is judged as a whole: a sample of microseconds is shorter
//! than any question to the driver. Taking again is bounded; a device that stays slow is not
//! measured until it looks fast.

use std::time::{Duration, Instant};

use gpuprof_model::measurement::Timing;
use gpuprof_model::protocol::Sampling;

use super::convergence::{WINDOW, relative_standard_error};
use crate::host::error::Result;
use crate::host::runner::measure_lock::MeasureLock;

/// Batches discarded in a row before the device counts as unstable.
const MAX_CONSECUTIVE_DISCARDS: u32 = 8;

/// Batches discarded in a process before the device counts as unstable.
const MAX_DISCARDS: u32 = 40;

/// The first pause after a slowdown; each further one in a row is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A pause after which a device that did nothing meanwhile is warmed up again: its clock may have
/// fallen.
const IDLE: Duration = Duration::from_millis(5);

/// The means of taking samples.
pub(crate) struct SampleSource<'a> {
    /// Keeps other processes off the device during a batch. Between batches they continue.
    pub(crate) quiet: &'a MeasureLock,
    /// Takes one: nanoseconds and the SM clock around it.
    pub(crate) take: &'a mut dyn FnMut() -> Result<(f64, Option<f64>)>,
    /// Why the device was slowed down since the last call, if it was.
    pub(crate) slowed: &'a mut dyn FnMut() -> Option<String>,
    /// Waits for the device to recover.
    pub(crate) pause: &'a mut dyn FnMut(Duration),
}

/// Takes samples into `timing` until they have converged or a limit of `sampling` is met.
///
/// # Errors
/// The first error of a sample.
pub(crate) fn sample(
    sampling: &Sampling,
    source: &mut SampleSource<'_>,
    timing: &mut Timing,
) -> Result<()> {
    let mut spent = Duration::ZERO;
    let (mut in_a_row, mut discarded) = (0, 0);
    let limit = Duration::from(sampling.max_time_ns);
    // What happened before the first sample is not theirs.
    (source.slowed)();
    loop {
        let window = source.quiet.window()?;
        if window.waited >= IDLE {
            for _ in 0..WINDOW {
                (source.take)()?;
            }
            (source.slowed)();
        }
        let begin = Instant::now();
        let room = (sampling.max_samples as usize).saturating_sub(timing.samples_ns.len());
        let mut batch = Vec::with_capacity(WINDOW);
        while batch.len() < WINDOW.min(room.max(1)) {
            batch.push((source.take)()?);
            if spent + begin.elapsed() >= limit {
                break;
            }
        }
        let took = begin.elapsed();
        drop(window);
        if let Some(reason) = (source.slowed)() {
            timing.discarded += batch.len() as u32;
            (in_a_row, discarded) = (in_a_row + 1, discarded + 1);
            if in_a_row >= MAX_CONSECUTIVE_DISCARDS || discarded >= MAX_DISCARDS {
                timing.unstable = Some(unstable(timing.discarded, &reason));
                return Ok(());
            }
            (source.pause)((PAUSE * 2_u32.pow(in_a_row - 1)).min(LONGEST_PAUSE));
            // The clock fell while nothing ran.
            for _ in 0..WINDOW {
                (source.take)()?;
            }
            (source.slowed)();
            continue;
        }
        in_a_row = 0;
        spent += took;
        timing.samples_ns.extend(batch.iter().map(|(duration, _)| duration));
        timing.sm_clock_hz.extend(batch.iter().map(|(_, clock)| clock));
        let count = timing.samples_ns.len();
        timing.converged = count >= sampling.min_samples as usize
            && relative_standard_error(&timing.samples_ns) < sampling.relative_standard_error;
        if timing.converged || count >= sampling.max_samples as usize || spent >= limit {
            return Ok(());
        }
    }
}

fn unstable(discarded: u32, reason: &str) -> String {
    format!(
        "the GPU was throttled by {reason} during the measurement and did not recover; {discarded} \
         samples were discarded and retaken. Check `nvidia-smi -q -d PERFORMANCE,TEMPERATURE`"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use gpuprof_model::units::Nanoseconds;

    use super::*;
    use crate::host::driver::nvml::{Watch, tests::fake};

    fn sampling() -> Sampling {
        // No error is under 0: only the other limits end it.
        let relative_standard_error = 0.0;
        Sampling {
            relative_standard_error,
            min_samples: 16,
            max_samples: 64,
            ..Sampling::default()
        }
    }

    /// Samples of 100 ns on a device that is slow if `slow` holds for the number of the query; the
    /// pauses made.
    fn run(slow: impl Fn(u32) -> bool, sampling: &Sampling) -> (Timing, Vec<Duration>) {
        let (mut timing, mut pauses) = (Timing::default(), Vec::new());
        let mut batch = 0;
        let mut asked = 0;
        let samples = std::cell::Cell::new(0_u32);
        sample(
            sampling,
            &mut SampleSource {
                quiet: &MeasureLock::none(),
                take: &mut || {
                    samples.set(samples.get() + 1);
                    Ok((100.0, Some(1e9)))
                },
                slowed: &mut || {
                    asked += 1;
                    // The first question, and the one after a pause, are of no batch.
                    if samples.replace(0) == 0 || asked == 1 {
                        return None;
                    }
                    batch += 1;
                    slow(batch).then(|| "its temperature".to_owned())
                },
                pause: &mut |pause| pauses.push(pause),
            },
            &mut timing,
        )
        .unwrap();
        (timing, pauses)
    }

    #[test]
    fn an_unthrottled_device_keeps_every_sample() {
        let (timing, pauses) = run(|_| false, &sampling());
        assert_eq!((timing.samples_ns.len(), timing.discarded), (64, 0));
        assert_eq!((timing.sm_clock_hz.len(), timing.unstable), (64, None));
        assert!(pauses.is_empty());
    }

    #[test]
    fn fewer_samples_than_a_batch_are_not_exceeded() {
        let few = Sampling { min_samples: 1, max_samples: 3, ..Sampling::default() };
        assert_eq!(run(|_| false, &few).0.samples_ns.len(), 3);
        let brief = Sampling { max_time_ns: Nanoseconds(0.0), ..Sampling::default() };
        assert_eq!(run(|_| false, &brief).0.samples_ns.len(), 1);
    }

    #[test]
    fn throttled_samples_are_retaken_after_growing_pauses() {
        // Batches after a pause include the question after the warm-up, which the script counts as
        // well.
        let (timing, pauses) = run(|batch| batch <= 4, &sampling());
        assert_eq!((timing.samples_ns.len(), timing.unstable), (64, None));
        assert_eq!(timing.discarded, 16);
        assert_eq!(pauses, [50, 100].map(Duration::from_millis));
    }

    #[test]
    fn a_device_that_stays_throttled_becomes_unstable() {
        let (timing, pauses) = run(|_| true, &sampling());
        assert_eq!(timing.samples_ns, [0.0; 0]);
        assert_eq!(timing.discarded, 8 * MAX_CONSECUTIVE_DISCARDS);
        assert_eq!(pauses.len() as u32, MAX_CONSECUTIVE_DISCARDS - 1);
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
        assert_eq!(
            timing.unstable.unwrap(),
            "the GPU was throttled by its temperature during the measurement and did not recover; \
             64 samples were discarded and retaken. Check `nvidia-smi -q -d \
             PERFORMANCE,TEMPERATURE`"
        );
    }

    #[test]
    fn a_device_that_is_often_throttled_becomes_unstable() {
        let long = Sampling { max_samples: 100_000, ..sampling() };
        // Every third question that the script counts.
        let (timing, pauses) = run(|batch| batch % 3 == 0, &long);
        assert!(timing.unstable.is_some());
        assert_eq!(timing.discarded, 8 * MAX_DISCARDS);
        assert!(pauses.iter().all(|pause| *pause <= PAUSE * 2));
        assert!(!timing.samples_ns.is_empty());
    }

    #[test]
    fn samples_taken_while_nvml_reports_throttling_are_retaken() {
        let (folder, library) = fake();
        // Asked twice at the beginning, after the first batch, and after the second, which is hot.
        fs::write(folder.path().join("reasons"), "0 0 0 64 0 0").unwrap();
        let mut watch = Watch::begin(Some(&library), "GPU-1").unwrap();
        let mut timing = Timing::default();
        let mut pauses = 0;
        let mut taken = 0;
        sample(
            &sampling(),
            &mut SampleSource {
                quiet: &MeasureLock::none(),
                take: &mut || {
                    taken += 1;
                    Ok((100.0, None))
                },
                slowed: &mut || watch.slowed(),
                pause: &mut |_| pauses += 1,
            },
            &mut timing,
        )
        .unwrap();
        assert_eq!((timing.samples_ns.len(), timing.discarded, pauses), (64, 8, 1));
        assert_eq!(taken, 64 + 8 + 8, "the batch and the warm-up after the pause");
    }
}
