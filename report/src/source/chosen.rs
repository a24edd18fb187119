//! The configuration of a series that is shown next to its source.

use gpuprof_analysis::view::View;
use gpuprof_analysis::view::best;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::verdict::Weight;

/// A configuration with counts by line.
pub(crate) struct Chosen<'s> {
    /// The configuration.
    pub(crate) row: &'s ConfigurationResult,
    /// Why it is this one, in words.
    pub(crate) why: String,
}

/// The configuration of `series`, as `view` shows it, that violates a threshold with a costly line;
/// else the best, else the first with counts by line.
pub(crate) fn chosen<'s>(series: &'s SeriesResult, view: &View) -> Option<Chosen<'s>> {
    let rows = &series.configurations;
    let counted = |row: &&ConfigurationResult| !row.code.is_empty();
    let violated = series.judgements.iter().filter(|judgement| judgement.weight() == Weight::Bad);
    let violated = violated.filter(|judgement| judgement.costly.is_some());
    for judgement in violated {
        let key = judgement.configuration.as_deref();
        let mut of_key = rows.iter().filter(|row| Some(&*row.configuration.to_string()) == key);
        if let Some(row) = of_key.find(counted) {
            return Some(Chosen { row, why: format!("it violates `{}`", judgement.threshold) });
        }
    }
    let best = view.headline(series).and_then(|metric| best::best(rows, metric));
    if let Some(row) = best.map(|best| &rows[best]).filter(counted) {
        return Some(Chosen { row, why: "the best".to_owned() });
    }
    let row = rows.iter().find(counted)?;
    Some(Chosen { row, why: "the first".to_owned() })
}
