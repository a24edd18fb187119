//! The order of series in a report: failed series come first, then changed ones.
//!
//! Input: a run. Output: its series; equal ones stay in the order of the run.

use gpuprof_model::comparison::Outcome;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::verdict::{Judgement, Weight};

/// How soon a reader needs a series, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Failed,
    Changed,
    Undecided,
    Settled,
}

/// The series of `run`, the most urgent first.
pub fn failures_first(run: &Run) -> Vec<&SeriesResult> {
    let mut all: Vec<&SeriesResult> = run.series.iter().collect();
    all.sort_by_cached_key(|series| urgency(series));
    all
}

fn urgency(series: &SeriesResult) -> Urgency {
    // A launch that the device refuses is part of many sweeps.
    let broken = series.configurations.iter().any(|row| row.status.weight() == Weight::Bad);
    let verdict = series.judgements.iter().map(Judgement::weight).max().unwrap_or(Weight::Fine);
    match verdict {
        _ if broken => Urgency::Failed,
        Weight::Bad => Urgency::Failed,
        _ if series.changes.iter().any(|change| moved(change.outcome)) => Urgency::Changed,
        Weight::Doubtful | Weight::Warning => Urgency::Undecided,
        Weight::Fine => Urgency::Settled,
    }
}

fn moved(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Worse | Outcome::Better | Outcome::Changed | Outcome::Missing => true,
        Outcome::Same | Outcome::New | Outcome::Inconclusive | Outcome::Incomparable => false,
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_model::metric::Catalogue;
    use gpuprof_model::threshold::Threshold;

    use super::*;
    use crate::fixture;
    use crate::gate::judge::Baseline;

    fn named(name: &str, mut series: SeriesResult) -> SeriesResult {
        series.id.kernel = name.to_owned();
        series
    }

    fn judged(condition: &str) -> SeriesResult {
        let mut series = fixture::series(vec![fixture::emulated(64, 1024)]);
        let threshold = Threshold::parse(condition).unwrap();
        let (catalogue, none) = (Catalogue::built_in(), Baseline::none());
        let rows = &series.configurations;
        series.judgements =
            vec![fixture::judge(&catalogue, &threshold, "attribute", rows, None, &none)];
        series
    }

    #[test]
    fn failed_series_come_first_and_passed_series_last() {
        let crashed = fixture::series(vec![fixture::emulated(64, 1024), fixture::failed(2)]);
        let refused = fixture::series(vec![fixture::emulated(64, 1024), fixture::invalid(2)]);
        let run = fixture::run(
            "r",
            vec![
                named("holds", judged("ptx_instructions >= 1")),
                named("refused", refused),
                named("violated", judged("ptx_instructions <= 1")),
                named("open", judged("best duration <= 1 us")),
                named("crashed", crashed),
            ],
        );
        let order: Vec<&str> =
            failures_first(&run).into_iter().map(|series| &*series.id.kernel).collect();
        assert_eq!(order, ["violated", "crashed", "open", "holds", "refused"]);
    }
}
