//! What to take of the series, and how far they are searched for it.

use gpuprof_model::expression::Type;
use gpuprof_model::filter::Subject;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{Configuration, Filters, ParseError, SeriesId};

use super::overrides::ParsedOverride;
use gpuprof_system::error::{Failure, Result};

/// Which series and configurations to take.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Clauses that replace the annotated ones, the configuration file's first.
    pub overrides: Vec<ParsedOverride>,
    /// The filters of the command line.
    pub filters: Filters,
    /// Words that a filter which finds nothing may be a misspelling of.
    pub subcommands: &'static [&'static str],
    /// How many configurations to take of each series, spread over it; all where there is none.
    pub sample: Option<usize>,
    /// The seed of the sample.
    pub seed: u64,
    /// The most configurations the run may have.
    pub max_configurations: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            overrides: Vec::new(),
            filters: Filters::default(),
            subcommands: &[],
            sample: None,
            seed: 0,
            max_configurations: MAX_CONFIGURATIONS,
        }
    }
}

/// The most configurations of a run where nothing says otherwise.
pub const MAX_CONFIGURATIONS: usize = 100_000;

/// The most combinations to visit for the points that a series keeps.
pub(super) const MAX_VISITED: u64 = 1 << 24;

/// What is taken of one series.
pub(super) struct SeriesSelection<'s> {
    filters: &'s Filters,
    id: &'s SeriesId,
    keys: [String; 2],
    axes: Vec<(&'s str, Type)>,
    /// Whether every configuration is taken, or none; nothing if they differ.
    pub(super) all: Option<bool>,
}

impl SeriesSelection<'_> {
    /// Whether a configuration is taken.
    ///
    /// # Errors
    /// A condition of a filter without a value there.
    pub(super) fn takes(&self, point: &Configuration) -> Result<bool> {
        if let Some(all) = self.all {
            return Ok(all);
        }
        self.filters.take(&self.keys, &self.axes, point).map_err(|e| {
            Failure::usage(format!("-E has no value at {}/{point}: {}", self.id, e.message))
        })
    }
}

impl Selection {
    /// What is taken of `series`.
    pub(super) fn on<'s>(&'s self, series: &'s SeriesDescription) -> SeriesSelection<'s> {
        let (keys, axes) = (series.id.keys(), series.space.types());
        let subject = Subject { series: Some(&keys), axes: Some(&axes), ..Subject::default() };
        // No condition is evaluated without a configuration.
        let all = self.filters.select(subject).unwrap_or_default();
        SeriesSelection { filters: &self.filters, id: &series.id, keys, axes, all }
    }

    /// Whether a key of `series` can be taken: what is `false` for needs no search.
    pub(super) fn may_take(&self, series: &SeriesDescription) -> bool {
        let keys = series.id.keys();
        let Filters { texts, exact, .. } = &self.filters;
        let in_configuration = |filter: &String| {
            // A pattern has to be compared with each configuration.
            let pattern = !exact && filter.contains(['*', '?']);
            let (before, point) = filter.split_once('/').unwrap_or(("", filter));
            pattern
                || (keys.iter().any(|key| key.ends_with(before)) && fits(point, series))
                || fits(filter, series)
        };
        match self.on(series).all {
            Some(all) => all,
            None => {
                let of_texts = Filters { expressions: Vec::new(), ..self.filters.clone() };
                of_texts.take_whole(&keys) || texts.iter().any(in_configuration)
            }
        }
    }

    /// Whether a key of `series` is taken.
    pub(super) fn takes_any(&self, series: &SeriesDescription) -> bool {
        let own = self.on(series);
        let taken = |point: Configuration| own.takes(&point).unwrap_or(true);
        let points = || series.space.points().take(MAX_VISITED as usize);
        match own.all {
            Some(all) => all,
            None => self.may_take(series) && points().flatten().any(taken),
        }
    }
}

/// Whether `text` can be a part of `axis=value,axis=value` of `series`.
fn fits(text: &str, series: &SeriesDescription) -> bool {
    let space = &series.space;
    let number = |part: &str| part.chars().all(|c| c.is_ascii_digit() || c == 'x');
    let in_value = |part: &str| {
        let values = space.axes.iter().flat_map(|axis| &axis.values);
        let mut words = values.map(ToString::to_string);
        number(part) || words.any(|word| word.contains(part))
    };
    text.split(',').all(|part| match part.split_once('=') {
        // Of the first part the name may be cut off.
        Some((name, _)) => space.names().any(|axis| axis.ends_with(name)),
        None => in_value(part) || space.names().any(|axis| axis.contains(part)),
    })
}

/// That the search for configurations of `series` was given up.
pub(super) fn too_large(series: &SeriesDescription) -> Failure {
    Failure::usage(format!(
        "{} has {} combinations; the search for those that meet its conditions stopped after \
         {MAX_VISITED}. Give fewer values with --series",
        series.id,
        series.space.points().combinations()
    ))
}

/// What to say of a configuration of `series` in which an expression has no value.
pub(super) fn without_value(series: &SeriesDescription, error: &ParseError) -> Failure {
    Failure::usage(format!("{}: {error}\n  --> {}:{}", series.id, series.file, series.line))
}
