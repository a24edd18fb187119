//! What to take of the series, and how far they are searched for it.

use gpuprof_model::ParseError;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::series::selects;

use super::overrides::ParsedOverride;
use gpuprof_system::error::Failure;

/// Which series and configurations to take.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Clauses that replace the annotated ones, the configuration file's first.
    pub overrides: Vec<ParsedOverride>,
    /// Texts that keys must hold.
    pub filters: Vec<String>,
    /// Words that a filter which finds nothing may be a misspelling of.
    pub subcommands: &'static [&'static str],
    /// Whether keys must equal a filter.
    pub exact: bool,
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
            filters: Vec::new(),
            subcommands: &[],
            exact: false,
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

impl Selection {
    pub(super) fn takes(&self, key: &str) -> bool {
        selects(&self.filters, self.exact, key)
    }

    /// Whether a key of `series` can be taken: what is `false` for needs no search.
    pub(super) fn may_take(&self, series: &SeriesDescription) -> bool {
        let id = series.id.to_string();
        let in_configuration = |filter: &str| {
            let (before, point) = filter.split_once('/').unwrap_or(("", filter));
            (id.ends_with(before) && fits(point, series)) || fits(filter, series)
        };
        self.takes(&id) || self.filters.iter().any(|filter| in_configuration(filter))
    }

    /// Whether a key of `series` is taken.
    pub(super) fn takes_any(&self, series: &SeriesDescription) -> bool {
        let id = series.id.to_string();
        let taken = |point| self.takes(&format!("{id}/{point}"));
        let points = || series.space.points().take(MAX_VISITED as usize);
        self.takes(&id) || (self.may_take(series) && points().flatten().any(taken))
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
