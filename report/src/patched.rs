//! Notes on counters that patching may have moved.
//!
//! Input: the rows of a series and the metrics that are shown. Output: a note for each reason, none
//! if every such counter is exact.

use gpuprof_model::metric::Perturbation;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::verdict::Weight;

use super::note::{Note, keys};
use gpuprof_analysis::view::best;

/// The word for such counters.
const PATCHED: &str = "patched";

/// The notes on `names` in `rows`.
pub(super) fn list_notes(rows: &[ConfigurationResult], names: &[&String]) -> Vec<Note> {
    let note = |perturbation: Perturbation| {
        let is_moved = |row: &ConfigurationResult, name: &str| {
            best::result(row, name).is_some_and(|found| found.perturbation == Some(perturbation))
        };
        let moved: Vec<&ConfigurationResult> =
            rows.iter().filter(|row| names.iter().any(|name| is_moved(row, name))).collect();
        let metrics: Vec<&str> = names
            .iter()
            .filter(|name| moved.iter().any(|row| is_moved(row, name)))
            .map(|name| name.as_str())
            .collect();
        let place = match moved.len() == rows.len() {
            true => String::new(),
            false => format!(" at {}", keys(&moved)),
        };
        (!moved.is_empty()).then(|| Note {
            label: PATCHED,
            subject: format!("{}{place}", metrics.join(", ")),
            text: format!("not exact: {}", perturbation.reason()),
            weight: Weight::Fine,
        })
    };
    [Perturbation::Divergence, Perturbation::Unknown].into_iter().filter_map(note).collect()
}
