//! The configuration of a series that is shown next to its source.

use std::fmt::{self, Display, Formatter};

use gpuprof_analysis::view::View;
use gpuprof_analysis::view::best;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::verdict::Weight;

/// A configuration with counts by line.
pub(crate) struct Chosen<'s> {
    /// The configuration.
    pub(crate) row: &'s ConfigurationResult,
    /// Why it is this one.
    pub(crate) why: Why,
}

/// Why a configuration is shown next to its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// It violates this threshold.
    Violates(String),
    /// It has the best value of the deciding metric.
    Best,
    /// It is the first with counts by line that meets the filter of the view.
    Filtered,
    /// It is the first with counts by line.
    First,
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violates(threshold) => write!(f, "it violates `{threshold}`"),
            Self::Best => f.write_str("the best"),
            Self::Filtered => f.write_str("it meets the filter"),
            Self::First => f.write_str("the first"),
        }
    }
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
            return Some(Chosen { row, why: Why::Violates(judgement.threshold.to_string()) });
        }
    }
    let best = view.headline(series).and_then(|metric| best::best(rows, metric));
    let best = best.map(|best| &rows[best]).filter(counted);
    let row = best.or_else(|| rows.iter().find(counted))?;
    let why = match best {
        _ if view.filter.is_some() && (best.is_none() || rows.len() == 1) => Why::Filtered,
        Some(_) => Why::Best,
        None => Why::First,
    };
    Some(Chosen { row, why })
}
