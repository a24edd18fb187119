//! Reports configurations that a configuration file excludes.
//!
//! Input: series as they are annotated, and a selection. Output: a sentence for each series that
//! has fewer configurations than its annotation and the command line give it, with the settings
//! that exclude them. Two revisions that are measured with one file lose the same ones, so no
//! comparison of them shows it.

use std::collections::HashSet;

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{Configuration, ExitCode};

use super::{Override, ParsedOverride, PlannedSeries, Selection, of_base, selected_of_base};

/// The configurations that the configuration file excludes from each of the series `described`, of
/// which `planned` are to be run; `sampled` is the setting of a sample, if the file has it.
pub fn left_out<'s>(
    described: impl IntoIterator<Item = &'s SeriesDescription>,
    planned: &[PlannedSeries],
    selection: &Selection,
    sampled: Option<&str>,
) -> Vec<String> {
    let of_file = |parsed: &&ParsedOverride| parsed.change.code == ExitCode::Configuration;
    let given = selection.overrides.iter().filter(|parsed| !of_file(parsed)).cloned().collect();
    let all = Selection { sample: None, ..selection.clone() };
    let annotated = Selection { overrides: given, ..all.clone() };
    let mut out = Vec::new();
    for series in described {
        let points = |selection: &Selection| {
            selected_of_base(&of_base(series.clone(), selection), selection)
        };
        let wide = points(&annotated);
        // With a sample of the command line, the axes alone are the file's.
        let ours: HashSet<Configuration> = match (selection.sample, sampled) {
            (Some(_), None) => points(&all).into_iter().collect(),
            _ => configurations_of(planned, series),
        };
        let left = wide.iter().filter(|point| !ours.contains(*point)).count();
        let key = series.id.to_string();
        let counts = |change: &&Override| {
            change.only.as_ref().is_some_and(|only| series.id.key_contains(only))
        };
        let of_file = selection.overrides.iter().filter(of_file).map(|parsed| &parsed.change);
        let axes = of_file.filter(counts);
        let mut by: Vec<String> = axes.map(describe).collect();
        by.extend(sampled.map(str::to_owned));
        if left > 0 && !by.is_empty() {
            let (count, by) = (wide.len(), by.join(", "));
            out.push(format!("{left} of {count} configurations of {key} are left out by {by}"));
        } else if wide.is_empty() && !ours.is_empty() && !by.is_empty() {
            // More than a run may have are not counted.
            let (most, by) = (selection.max_configurations, by.join(", "));
            out.push(format!(
                "of {key}, which has more than {most} configurations, some are left out by {by}"
            ));
        }
    }
    out
}

fn describe(change: &Override) -> String {
    let only = change.only.as_deref().unwrap_or_default();
    format!("`{}` of [series.\"{only}\"] in {}", change.text, change.place)
}

fn configurations_of(
    planned: &[PlannedSeries],
    series: &SeriesDescription,
) -> HashSet<Configuration> {
    let of_it = planned.iter().filter(|planned| planned.series.id == series.id);
    of_it.flat_map(|planned| planned.configurations.iter().cloned()).collect()
}
