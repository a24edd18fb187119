//! The energy of a launch, by NVML's counter of the whole GPU.
//!
//! Input: a launch that is repeated back to back, and the counter. Output: joules a launch, with
//! the resolution that the counter has, or why there are none. The counter changes at intervals of
//! its own (100 ms on an H200), and a call that reads it takes milliseconds (3.4 ms there). So
//! another thread reads it, the device does not wait for that, and a span begins and ends at a
//! change. Caches are as the launches leave them. If inputs are restored between launches, another
//! span measures that alone, and it is subtracted.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_model::measurement::Energy;
use gpuprof_model::protocol::Sampling;

use super::duration_samples;
use super::measured_work::MeasuredWork;
use crate::host::driver::nvml::EnergyCounter;
use crate::host::error::Result;
use crate::host::session::Session;

/// How long a batch of launches takes at least: the device is idle for some 10 µs between two.
const BATCH: Duration = Duration::from_millis(10);

/// How long launches run before a span: power and clocks rise.
const SETTLING: Duration = Duration::from_millis(300);

/// How long a span takes at least.
const SPAN: Duration = Duration::from_secs(1);

/// A span ends once its energy is known to this share.
const RESOLUTION: f64 = 0.01;

/// How long a span takes at most.
const LONGEST: Duration = Duration::from_secs(10);

/// How long the counter may stay the same while launches run.
const UNCHANGED: Duration = Duration::from_secs(2);

/// The pause between two reads of the counter.
const PAUSE: Duration = Duration::from_millis(1);

/// The energy of launches by the counter.
#[derive(Debug, Clone, PartialEq)]
enum Reading {
    Known(Span),
    /// Nothing, and why.
    Unknown(String),
}

/// The energy of launches between two changes of the counter.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    /// Of one launch, in joules.
    joules: f64,
    /// How far that may be off, in joules.
    resolution: f64,
    launches: f64,
    took: Duration,
}

/// A change of the counter.
#[derive(Debug, Clone, Copy)]
struct Change {
    /// When the last read began that did not show it.
    before: Duration,
    /// When the first one ended that did.
    after: Duration,
    millijoules: u64,
}

/// The messages of the thread that reads the counter.
enum Heard {
    Change(Change),
    /// The counter cannot be read, and why.
    Failed(String),
}

/// Warms up and measures the energy of a call of the work.
///
/// # Errors
/// The first error of a launch or of the driver.
pub(crate) fn measure(
    session: &Session,
    sampling: &Sampling,
    work: &mut MeasuredWork<'_>,
) -> Result<Energy> {
    duration_samples::warm_up_only(session, sampling, work)?;
    let watch = session.watch(sampling.nvml.as_deref());
    let counter = match watch.as_ref().map(|watch| watch.borrow().energy_counter()) {
        Ok(Ok(counter)) => counter,
        Ok(Err(reason)) => return Ok(Energy::Unavailable(reason)),
        Err(reason) => return Ok(Energy::Unavailable(reason.clone())),
    };
    let slowed = || watch.as_ref().ok()?.borrow_mut().slowed();
    let _quiet = session.quiet.window()?;
    // What happened before is not of these launches.
    slowed();
    let mut whole = span(session, counter, &mut || {
        work.restore()?;
        work.launch()
    })?;
    if work.restores_inputs() {
        whole = match (whole, span(session, counter, &mut || work.restore())?) {
            (Reading::Known(whole), Reading::Known(restoring)) => without(whole, restoring),
            (Reading::Unknown(reason), _) | (_, Reading::Unknown(reason)) => {
                Reading::Unknown(reason)
            }
        };
    }
    if let Some(reason) = slowed() {
        let reason = format!("the GPU was throttled by {reason} while its energy was measured");
        whole = Reading::Unknown(reason);
    }
    Ok(match whole {
        Reading::Known(Span { joules, resolution, launches, took }) => {
            Energy::Measured { joules, resolution, launches: launches as u64, took_ns: took.into() }
        }
        Reading::Unknown(reason) => Energy::Unavailable(reason),
    })
}

/// `whole`, which restores inputs before each launch, without that.
fn without(whole: Span, restoring: Span) -> Reading {
    let joules = whole.joules - restoring.joules;
    let resolution = whole.resolution + restoring.resolution;
    if joules <= resolution {
        return Reading::Unknown(format!(
            "restoring the inputs takes {:.3e} J of the {:.3e} J of each launch, and the counter \
             does not resolve the rest; `reset = once` in the annotation restores nothing",
            restoring.joules, whole.joules
        ));
    }
    Reading::Known(Span { joules, resolution, ..whole })
}

/// The energy of a call of `work`, which is repeated until the counter says.
fn span(
    session: &Session,
    counter: EnergyCounter,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Reading> {
    let mut launch = |count: u64| {
        (0..count).try_for_each(|_| work())?;
        session.context.synchronize()?;
        Result::Ok(())
    };
    let batch = batch(&mut launch)?;
    let begin = Instant::now();
    thread::scope(|scope| {
        // Dropped when the span ends, which ends the other thread.
        let (_goes_on, stops) = channel::<()>();
        let (tell, heard) = channel();
        scope.spawn(move || read_changes(counter, begin, &stops, &tell));
        let mut record = Record::default();
        loop {
            launch(batch)?;
            record.launched(batch, begin.elapsed());
            if let Some(reading) = record.hear(heard.try_iter()) {
                return Ok(reading);
            }
        }
    })
}

/// How many launches take [`BATCH`].
fn batch(launch: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
    let mut batch = 1;
    loop {
        let begin = Instant::now();
        launch(batch)?;
        if begin.elapsed() >= BATCH {
            return Ok(batch);
        }
        batch *= 2;
    }
}

/// Tells of the changes of the counter until the other end is gone.
fn read_changes(
    counter: EnergyCounter,
    begin: Instant,
    stops: &Receiver<()>,
    tell: &Sender<Heard>,
) {
    let mut before = begin.elapsed();
    let mut last: Option<u64> = None;
    loop {
        let began = begin.elapsed();
        let read = counter.read();
        let after = begin.elapsed();
        let heard = match read {
            Err(reason) => Some(Heard::Failed(reason)),
            Ok(now) => match last.replace(now) {
                Some(last) if now < last => {
                    Some(Heard::Failed("NVML's energy counter went back".to_owned()))
                }
                Some(last) if now > last => {
                    Some(Heard::Change(Change { before, after, millijoules: now }))
                }
                Some(_) | None => None,
            },
        };
        before = began;
        let sent = heard.map_or(Ok(()), |heard| tell.send(heard));
        if sent.is_err() || stops.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// The launches and the changes of the counter so far.
#[derive(Default)]
struct Record {
    /// How many launches had ended, and when, in order.
    progress: Vec<(Duration, u64)>,
    /// The changes after the launches had settled.
    first: Option<Change>,
    last: Option<Change>,
}

impl Record {
    fn launched(&mut self, batch: u64, now: Duration) {
        let before = self.progress.last().map_or(0, |(_, launches)| *launches);
        self.progress.push((now, before + batch));
    }

    /// Takes the readings `heard`, and returns the result if they suffice.
    fn hear(&mut self, heard: impl Iterator<Item = Heard>) -> Option<Reading> {
        for heard in heard {
            match heard {
                Heard::Failed(reason) => return Some(Reading::Unknown(reason)),
                Heard::Change(change) if change.before < SETTLING => {}
                Heard::Change(change) => {
                    self.first.get_or_insert(change);
                    self.last = Some(change);
                }
            }
        }
        let now = self.progress.last()?.0;
        let silence = now - self.last.map_or(Duration::ZERO, |last| last.after).min(now);
        if silence >= UNCHANGED && self.progress.len() > 4 {
            let seconds = silence.as_secs();
            return Some(Reading::Unknown(format!(
                "NVML's energy counter did not change in {seconds} s"
            )));
        }
        let span = self.between(self.first?, self.last?)?;
        let known = span.resolution <= RESOLUTION * span.joules;
        match (span.took >= SPAN && known) || span.took >= LONGEST {
            true if span.resolution >= span.joules => Some(Reading::Unknown(format!(
                "a launch takes too long for NVML's energy counter: it was read for {} s",
                span.took.as_secs()
            ))),
            true => Some(Reading::Known(span)),
            false => None,
        }
    }

    /// The energy from one change to another.
    fn between(&self, first: Change, last: Change) -> Option<Span> {
        let [begin, end] = [first, last].map(|it| (it.before + it.after) / 2);
        let launches = self.launches_at(end)? - self.launches_at(begin)?;
        let took = end - begin;
        if took.is_zero() || launches <= 0.0 {
            return None;
        }
        let joules = (last.millijoules - first.millijoules) as f64 / 1e3 / launches;
        // Half of the time in which each change may have come, a launch at each end, and the last
        // digit of both values.
        let unsure = [first, last].map(|it| (it.after - it.before) / 2);
        let unsure = (unsure[0] + unsure[1]).as_secs_f64() / took.as_secs_f64() + 2.0 / launches;
        let resolution = joules * unsure + 2e-3 / launches;
        Some(Span { joules, resolution, launches, took })
    }

    /// How many launches had ended at a time, between two that are known.
    fn launches_at(&self, at: Duration) -> Option<f64> {
        let after = self.progress.partition_point(|(known, _)| *known < at);
        let &(end, launches) = self.progress.get(after)?;
        let begun = after.checked_sub(1).and_then(|at| self.progress.get(at));
        let (begin, before) = begun.copied().unwrap_or_default();
        let share = (at - begin).as_secs_f64() / (end - begin).as_secs_f64();
        Some(before as f64 + share * (launches - before) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches that take so many microseconds and microjoules.
    #[derive(Clone, Copy)]
    struct Launches {
        micros: u64,
        microjoules: u64,
    }

    impl Launches {
        /// Readings like an H200's: its counter changes every 100 ms, and a read takes 3.4 ms.
        fn reading(self) -> Reading {
            self.by_counter(|at, joules| (joules * at as f64 * 1e3) as u64)
        }

        /// The same with another `counter`, given the microsecond of its change and the watts.
        fn by_counter(self, counter: impl Fn(u64, f64) -> u64) -> Reading {
            const INTERVAL: u64 = 100_000;
            const READ: u64 = 3_400;
            let watts = self.microjoules as f64 / self.micros as f64;
            let batch = 10_000_u64.div_ceil(self.micros);
            let (mut record, mut now, mut read) = (Record::default(), 0, READ);
            let mut last = counter(0, watts / 1e6);
            loop {
                now += batch * self.micros;
                record.launched(batch, Duration::from_micros(now));
                let mut heard = Vec::new();
                while read <= now {
                    let shown = counter((read - READ / 2) / INTERVAL * INTERVAL, watts / 1e6);
                    let [before, after] = [read.saturating_sub(2 * READ), read];
                    let [before, after] = [before, after].map(Duration::from_micros);
                    match shown {
                        millijoules if millijoules > last => {
                            heard.push(Heard::Change(Change { before, after, millijoules }));
                        }
                        shown if shown < last => heard.push(Heard::Failed("back".to_owned())),
                        _ => {}
                    }
                    last = shown;
                    read += READ;
                }
                if let Some(reading) = record.hear(heard.into_iter()) {
                    return reading;
                }
            }
        }

        fn span(self) -> Span {
            match self.reading() {
                Reading::Known(span) => span,
                Reading::Unknown(reason) => panic!("{reason}"),
            }
        }
    }

    fn launches(micros: u64, microjoules: u64) -> Launches {
        Launches { micros, microjoules }
    }

    #[test]
    fn the_energy_of_a_launch_is_measured_between_two_counter_changes() {
        for (micros, microjoules) in [(5, 1_000), (62, 26_000), (3_342, 1_600_000)] {
            let span = launches(micros, microjoules).span();
            let off = (span.joules - microjoules as f64 / 1e6).abs();
            assert!(off <= span.resolution, "{span:?} and not {microjoules} µJ");
            assert!(span.resolution <= RESOLUTION * span.joules, "{span:?}");
            assert!(span.took >= SPAN && span.took < 2 * SPAN, "{span:?}");
        }
    }

    #[test]
    fn few_long_launches_end_with_a_coarse_resolution() {
        let span = launches(1_500_000, 750_000_000).span();
        assert!(span.took >= LONGEST && span.took < LONGEST * 2, "{span:?}");
        assert!((span.joules - 750.0).abs() <= span.resolution, "{span:?}");
        assert!(span.resolution > 0.2 * span.joules, "{span:?}");
        let Reading::Unknown(reason) = launches(20_000_000, 9_000_000_000).reading() else {
            panic!("it is known");
        };
        assert!(reason.starts_with("a launch takes too long"), "{reason}");
    }

    #[test]
    fn energy_of_restoring_inputs_is_subtracted() {
        let (whole, restoring) = (launches(12, 3_000).span(), launches(5, 1_000).span());
        let Reading::Known(alone) = without(whole, restoring) else { panic!("unknown") };
        assert!((alone.joules - 0.002).abs() <= alone.resolution, "{alone:?}");
        assert_eq!(alone.resolution, whole.resolution + restoring.resolution);
        let Reading::Unknown(reason) = without(restoring, restoring) else { panic!("known") };
        assert!(reason.starts_with("restoring the inputs takes "), "{reason}");
    }

    #[test]
    fn a_stuck_or_decreasing_counter_gives_no_energy() {
        let of = |counter: &dyn Fn(u64, f64) -> u64| match launches(62, 26_000).by_counter(counter)
        {
            Reading::Unknown(reason) => reason,
            Reading::Known(span) => panic!("{span:?}"),
        };
        assert_eq!(of(&|_, _| 5), "NVML's energy counter did not change in 2 s");
        assert_eq!(of(&|at, _| 9_000_000 - at), "back");
    }
}
