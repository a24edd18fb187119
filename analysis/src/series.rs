//! The results of the configurations of a series as one.
//!
//! Input: a harness's description of a series, its request, and its rows. Output: the series, not
//! judged. A run makes it of its measurements, and `merge` of its slices'.

use std::collections::HashSet;

use gpuprof_model::language::Language;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::{ConfigurationResult, SectionColumns, SeriesResult, Status};
use gpuprof_model::{Axis, Configuration, Space};

use crate::metrics::collect;
use crate::view::columns;

/// The series that `described` says, with the metrics `asked` for, its `sections` and its rows.
pub fn assemble(
    described: &SeriesDescription,
    asked: &[String],
    sections: &[SectionColumns],
    configurations: Vec<ConfigurationResult>,
) -> SeriesResult {
    // Who names metrics for this run sees these; the annotation cannot know whether there is time.
    let columns = match asked == described.metrics {
        true => columns::choose_annotated(asked, &configurations),
        false => columns::choose(asked, &configurations),
    };
    SeriesResult {
        axes: swept_axes(&described.space, &configurations),
        columns,
        sections: sections.to_vec(),
        configurations,
        ..without_rows(described)
    }
}

/// The series that `described` says, of which nothing is known but its `configurations`: they are
/// not measured for this `reason`.
pub fn unmeasured(
    described: &SeriesDescription,
    configurations: Vec<Configuration>,
    reason: &str,
) -> SeriesResult {
    let skipped = |configuration| {
        collect::unfinished(configuration, Status::Skipped { reason: reason.to_owned() })
    };
    SeriesResult {
        configurations: configurations.into_iter().map(skipped).collect(),
        ..without_rows(described)
    }
}

fn without_rows(described: &SeriesDescription) -> SeriesResult {
    SeriesResult {
        id: described.id.clone(),
        file: described.file.clone(),
        line: described.line,
        language: Language::from_description(described),
        axes: described.space.axes.clone(),
        dependent_axes: described.space.dependent().map(str::to_owned).collect(),
        columns: Vec::new(),
        sections: Vec::new(),
        configurations: Vec::new(),
        thresholds: described.thresholds.clone(),
        judgements: Vec::new(),
        not_applicable: Vec::new(),
        changes: Vec::new(),
    }
}

/// The axes with the values that occur in `configurations`, each once.
fn swept_axes(space: &Space, configurations: &[ConfigurationResult]) -> Vec<Axis> {
    let axis = |name: &str| {
        let mut seen = HashSet::new();
        let values = configurations.iter().filter_map(|c| c.configuration.get(name));
        let values = values.filter(|value| seen.insert(*value)).cloned().collect();
        Axis { name: name.to_owned(), values }
    };
    space.names().map(axis).collect()
}
