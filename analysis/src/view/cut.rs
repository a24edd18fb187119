//! The displayed rows of a long series, unless all are requested.
//!
//! Input: a series, the rows that a view would show, and the room for rows. Output: the rows that
//! matter, in the order of the view: the best, the reference, the worst, the rows that decided a
//! threshold, the failed rows, and then the next best. If none is best, the others are equally
//! spaced.

use std::collections::HashSet;

use gpuprof_model::metric::Direction;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::verdict::Weight;

use crate::view::best;

/// The most rows that are there because they failed: the notes name the others.
const FAILED: usize = 3;

/// `most` of the rows `shown` of `series`, or all where there are no more. `metric` decides which
/// is best; `references` are compared with.
pub(super) fn rows(
    series: &SeriesResult,
    shown: &[usize],
    most: usize,
    (metric, references): (Option<&str>, &[usize]),
) -> Vec<usize> {
    if shown.len() <= most {
        return shown.to_vec();
    }
    let rows = &series.configurations;
    let ranked = metric.map(|metric| ranked(rows, metric)).unwrap_or_default();
    let chosen: HashSet<usize> = {
        let mut chosen = HashSet::new();
        let visible: HashSet<usize> = shown.iter().copied().collect();
        let ends = ranked.first().into_iter().chain(references).chain(ranked.last()).copied();
        let apart = (0..most).map(|at| shown[at * (shown.len() - 1) / (most - 1).max(1)]);
        let rest = ranked.iter().copied().chain(apart).chain(shown.iter().copied());
        for row in ends.chain(decisive(series)).chain(failed(rows)).chain(rest) {
            if chosen.len() == most {
                break;
            }
            if visible.contains(&row) {
                chosen.insert(row);
            }
        }
        chosen
    };
    shown.iter().copied().filter(|row| chosen.contains(row)).collect()
}

/// The rows that have `metric`, the best first; none if neither direction is better.
fn ranked(rows: &[ConfigurationResult], metric: &str) -> Vec<usize> {
    let lower = match best::direction(rows, metric) {
        Some(Direction::Lower) => true,
        Some(Direction::Higher) => false,
        Some(Direction::Neither) | None => return Vec::new(),
    };
    let value = |(at, row)| Some((best::value(row, metric)?, at));
    let mut valued: Vec<(f64, usize)> = rows.iter().enumerate().filter_map(value).collect();
    // Stable: of equal ones the first of the series.
    valued.sort_by(|(a, _), (b, _)| if lower { a.total_cmp(b) } else { b.total_cmp(a) });
    valued.into_iter().map(|(_, at)| at).collect()
}

/// The rows that decided a threshold which does not simply hold.
fn decisive(series: &SeriesResult) -> impl Iterator<Item = usize> {
    let doubtful = series.judgements.iter().filter(|judgement| judgement.weight() != Weight::Fine);
    let keys: HashSet<&str> = doubtful.filter_map(|j| j.configuration.as_deref()).collect();
    let rows = if keys.is_empty() { &[] } else { &series.configurations[..] };
    let decides =
        move |row: &ConfigurationResult| keys.contains(row.configuration.to_string().as_str());
    rows.iter().enumerate().filter(move |(_, row)| decides(row)).map(|(at, _)| at)
}

fn failed(rows: &[ConfigurationResult]) -> impl Iterator<Item = usize> {
    let failed = |row: &ConfigurationResult| row.status.is_failure();
    rows.iter().enumerate().filter(move |(_, row)| failed(row)).map(|(at, _)| at).take(FAILED)
}

#[cfg(test)]
mod tests {
    use gpuprof_model::metric::Catalogue;
    use gpuprof_model::threshold::Threshold;

    use super::*;
    use crate::fixture::{self, row, series};
    use crate::gate::judge::Baseline;

    /// 100 rows, of which the one at 40 is the best and the one at 99 the worst.
    fn long() -> SeriesResult {
        let value = |at: u64| 1000.0 + at.abs_diff(40) as f64;
        series((0..100).map(|at| row(at, "duration", Ok(value(at)))).collect())
    }

    fn chosen(series: &SeriesResult, most: usize, references: &[usize]) -> Vec<usize> {
        let all: Vec<usize> = (0..series.configurations.len()).collect();
        rows(series, &all, most, (Some("duration"), references))
    }

    #[test]
    fn a_cut_keeps_best_reference_and_worst_rows_first() {
        assert_eq!(chosen(&long(), 5, &[7]), [7, 39, 40, 41, 99]);
        assert_eq!(chosen(&long(), 1, &[7]), [40]);
        assert_eq!(chosen(&long(), 100, &[]).len(), 100);
    }

    #[test]
    fn a_cut_keeps_failed_and_deciding_rows() {
        let mut series = long();
        for at in [60, 61, 62, 63] {
            series.configurations[at] = fixture::failed(at as u64);
        }
        let threshold = Threshold::parse("every duration <= 1ns").unwrap();
        let (rows, none) = (&series.configurations[20..21], Baseline::none());
        let judged = fixture::judge(&Catalogue::built_in(), &threshold, "t", rows, None, &none);
        series.judgements = vec![judged];
        assert_eq!(chosen(&series, 6, &[]), [20, 40, 60, 61, 62, 99]);
    }

    #[test]
    fn a_cut_without_a_best_row_keeps_evenly_spaced_rows() {
        let all: Vec<usize> = (0..100).collect();
        assert_eq!(rows(&long(), &all, 4, (None, &[])), [0, 33, 66, 99]);
        let some: Vec<usize> = (0..50).rev().collect();
        assert_eq!(rows(&long(), &some, 2, (None, &[])), [49, 0]);
    }
}
