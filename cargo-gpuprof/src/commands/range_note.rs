//! The note on ranges of axes that are written `..`.
//!
//! Input: the series of a run and its overrides. Output: a sentence with the form that Rust has for
//! a range with its end. A command line needs no edit, so its ranges are not named.

use gpuprof_engine::plan::{Override, PlannedSeries, Selection};
use gpuprof_model::{Clause, ExitCode};

/// The most ranges that the note names.
const NAMED: usize = 3;

/// The note for the series `planned` and the overrides in `selection`; none if every range of an
/// annotation or of the configuration file has `..=`.
pub(super) fn find_old_ranges(planned: &[PlannedSeries], selection: &Selection) -> Option<String> {
    let annotated = planned.iter().flat_map(|planned| {
        let series = &planned.series;
        let place = format!("{}:{}", series.file, series.line);
        series.old_ranges.iter().map(move |clause| format!("{clause} at {place}"))
    });
    let overrides = selection.overrides.iter().map(|parsed| &parsed.change);
    let configured = overrides.filter(|change| is_configured(change)).filter_map(|change| {
        Some(format!("{} in {}", Clause::with_ends(&change.text)?, change.place))
    });
    sentence(annotated.chain(configured).collect())
}

fn is_configured(change: &Override) -> bool {
    change.code == ExitCode::Configuration
}

fn sentence(all: Vec<String>) -> Option<String> {
    let more = match all.len().saturating_sub(NAMED) {
        _ if all.is_empty() => return None,
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = all[..all.len().min(NAMED)].join("; ");
    Some(format!("axes include the end of a range; as in Rust, write ..= for that: {named}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_ranges_are_named_and_the_others_counted() {
        let all = |count: usize| (1..=count).map(|i| format!("n=1..={i} at a.rs:{i}")).collect();
        assert_eq!(sentence(all(0)), None);
        assert_eq!(
            sentence(all(1)).unwrap(),
            "axes include the end of a range; as in Rust, write ..= for that: n=1..=1 at a.rs:1"
        );
        let many = sentence(all(5)).unwrap();
        assert!(many.ends_with("; n=1..=3 at a.rs:3; and 2 more"), "{many}");
    }
}
