//! Counters over the time of one call of what is measured, by CUPTI's PM sampling.
//!
//! Input: the counters, and a call. Output: the samples from the first to the last in which a
//! multiprocessor was active, or why there are too few. The samples are of the whole device; each
//! in which the GPU switched contexts is marked.

use std::ops::Range;
use std::time::{Duration, Instant};

use gpuprof_cupti::pm_sampling::{PmSample, PmSampler, PmSamplingError};
use gpuprof_model::over_time::{CounterSample, CountersOverTime, SampledCounter};
use gpuprof_model::protocol::{OverTimeRequest, Sampling};
use gpuprof_model::timeline::TimeSpan;

use crate::host::collect::measured_work::MeasuredWork;
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// Above zero while a multiprocessor is active.
const ACTIVE: &str = "sm__cycles_active.avg";

/// Above zero in an interval in which the GPU switched contexts. Not every chip has it.
const SWITCHED: &str = "gpu__gr_cycles_active_cmd_ctxsw.sum";

/// The shortest interval, in nanoseconds. An H200 loses samples at a tenth of it.
const SHORTEST: u64 = 1_000;

/// About how many samples a call has.
const SAMPLES: u64 = 100;

/// How many samples a call has at least, or its counters say nothing about its course.
const FEWEST: usize = 10;

/// Samples a call of the work, with caches as cold as for times.
///
/// # Errors
/// CUPTI's, and those of the work.
pub(crate) fn collect(
    session: &Session,
    request: &OverTimeRequest,
    sampling: &Sampling,
    work: &mut MeasuredWork<'_>,
) -> Result<CountersOverTime> {
    let prepare = |work: &mut MeasuredWork<'_>| {
        work.prepare(sampling.cold_cache, || session.flush())?;
        session.stream.synchronize().map_err(Error::from)
    };
    let call = |work: &mut MeasuredWork<'_>| {
        work.launch()?;
        session.context.synchronize().map_err(|e| session.explain(e.into()))
    };
    call(work)?;
    let _quiet = session.quiet.window()?;
    prepare(work)?;
    let begun = Instant::now();
    call(work)?;
    let took = begun.elapsed();
    let profiler = session.profiler(&request.cupti)?;
    let names = request.counters.iter().map(|counter| counter.name.as_str());
    let names: Vec<&str> = [ACTIVE, SWITCHED].into_iter().chain(names).collect();
    let mut every = |interval| -> Result<Samples> {
        let (api, target) = (profiler.api, &profiler.target);
        let mut sampler = PmSampler::enable(api, target, &session.context, &names, interval)
            .map_err(explained)?;
        let mut sampled = || -> Result<Vec<PmSample>> {
            prepare(work)?;
            sampler.start().map_err(explained)?;
            call(work)?;
            sampler.stop().map_err(explained)
        };
        // The GPU switches contexts during the first one, to set itself up.
        sampled()?;
        let all = sampled()?;
        Ok(Samples { interval, metrics: sampler.metrics().to_vec(), all })
    };
    let mut samples = every(interval(took))?;
    let active = samples.active().len();
    if active < FEWEST && samples.interval > SHORTEST {
        // Most of the call was the host's.
        samples = every(interval(Duration::from_nanos(samples.interval * active as u64)))?;
    }
    Ok(samples.keep(request))
}

/// An interval of 1, 2 or 5 times a power of ten, in nanoseconds, with which a call that `took` so
/// long has about [`SAMPLES`].
fn interval(took: Duration) -> u64 {
    let wanted = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / SAMPLES;
    let powers = (3..18).map(|power| 10_u64.pow(power));
    let mut all = powers.flat_map(|power| [1, 2, 5].map(|step| step * power));
    all.find(|interval| *interval >= wanted).unwrap_or(SHORTEST)
}

/// The samples of a call, of the whole device and of the time around the call too.
struct Samples {
    /// Nanoseconds between two.
    interval: u64,
    metrics: Vec<String>,
    all: Vec<PmSample>,
}

impl Samples {
    /// The positions of the samples from the first activity to the last.
    fn active(&self) -> Range<usize> {
        let active = |sample: &PmSample| self.is_above_zero(ACTIVE, sample);
        let first = self.all.iter().position(active);
        let last = self.all.iter().rposition(active);
        first.zip(last).map_or(0..0, |(first, last)| first..last + 1)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric == name)
    }

    fn is_above_zero(&self, name: &str, sample: &PmSample) -> bool {
        self.position(name).is_some_and(|at| sample.values.get(at).is_some_and(|it| *it > 0.0))
    }

    /// The counters of `request` in the samples of the call.
    fn keep(&self, request: &OverTimeRequest) -> CountersOverTime {
        let active = self.active();
        let missing = match &self.all[active.clone()] {
            [] => "no multiprocessor was active in any sample".to_owned(),
            _ if active.end == self.all.len() => "the GPU lost the last samples".to_owned(),
            few if few.len() < FEWEST => {
                format!("the call is shorter than {FEWEST} samples of {} µs", SHORTEST / 1_000)
            }
            kept => return self.over_time(request, kept),
        };
        CountersOverTime::missing(missing)
    }

    fn over_time(&self, request: &OverTimeRequest, kept: &[PmSample]) -> CountersOverTime {
        let has = |counter: &&SampledCounter| self.position(&counter.name).is_some();
        let counters: Vec<_> = request.counters.iter().filter(has).cloned().collect();
        let since = |time: u64| time.saturating_sub(kept[0].start);
        let value = |sample: &PmSample, counter: &SampledCounter| {
            let value = sample.values.get(self.position(&counter.name)?)?;
            value.is_finite().then_some(*value)
        };
        let sample = |sample: &PmSample| CounterSample {
            time: TimeSpan { start_ns: since(sample.start), end_ns: since(sample.end) },
            values: counters.iter().map(|counter| value(sample, counter)).collect(),
            context_switch: self.is_above_zero(SWITCHED, sample),
        };
        let samples = kept.iter().map(sample).collect();
        CountersOverTime { interval_ns: self.interval, counters, samples, missing: None }
    }
}

fn explained(error: PmSamplingError) -> Error {
    match error {
        PmSamplingError::Target(error) => Error::cupti(error),
        error => Error::failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_model::quantity::Unit;

    use super::*;

    /// The samples of 1 µs with these values of [`ACTIVE`], of [`SWITCHED`] and of `read`.
    fn kept(values: &[[f64; 3]]) -> CountersOverTime {
        let counter = |name: &str| SampledCounter {
            name: name.to_owned(),
            label: name.to_owned(),
            unit: Unit::Count,
        };
        let counters = vec![counter("not on this chip"), counter("read")];
        let request = OverTimeRequest { cupti: "cupti".into(), counters };
        let metrics = [ACTIVE, SWITCHED, "read"].map(str::to_owned);
        let sample = |(at, values): (u64, &[f64; 3])| PmSample {
            start: 7_000 + 1_000 * at,
            end: 8_000 + 1_000 * at,
            values: values.to_vec(),
        };
        let all = (0..).zip(values).map(sample).collect();
        Samples { interval: 1_000, metrics: metrics.to_vec(), all }.keep(&request)
    }

    #[test]
    fn samples_without_activity_at_both_ends_are_dropped() {
        let mut values = vec![[0.0, 9.0, 7.0]];
        values.extend([[5.0, 0.0, 1.0]; 6]);
        values.extend([[0.0, 3.0, f64::NAN]]);
        values.extend([[5.0, 0.0, 2.0]; 6]);
        values.extend([[0.0; 3]; 4]);
        let found = kept(&values);
        assert_eq!(found.missing, None);
        assert_eq!(found.counters.len(), 1);
        assert_eq!(found.samples.len(), 13);
        assert_eq!(found.samples[0].time, TimeSpan { start_ns: 0, end_ns: 1_000 });
        let switched: Vec<bool> = found.samples.iter().map(|it| it.context_switch).collect();
        assert_eq!(switched.iter().position(|it| *it), Some(6));
        assert_eq!(switched.iter().filter(|it| **it).count(), 1);
        let read: Vec<_> = found.values(0).collect();
        assert_eq!((read[0], read[6], read[12]), (Some(1.0), None, Some(2.0)));
    }

    #[test]
    fn too_few_or_lost_samples_are_refused_with_the_reason() {
        let why = |values: &[[f64; 3]]| kept(values).missing.expect("a reason");
        assert!(why(&[[0.0; 3]; 20]).contains("no multiprocessor"));
        assert!(why(&[[1.0; 3]; 20]).contains("lost"));
        let mut short = vec![[1.0; 3]; 9];
        short.push([0.0; 3]);
        assert_eq!(why(&short), "the call is shorter than 10 samples of 1 µs");
    }

    #[test]
    fn a_call_gets_about_a_hundred_samples_of_at_least_1_us() {
        let of = |microseconds| interval(Duration::from_micros(microseconds));
        assert_eq!(of(3), 1_000);
        assert_eq!(of(100), 1_000);
        assert_eq!(of(101), 2_000);
        assert_eq!(of(450), 5_000);
        assert_eq!(of(1_000_000), 10_000_000);
    }
}
