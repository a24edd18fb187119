//! What to take of the series, and how far they are searched for it.

use gpuprof_model::ParseError;
use gpuprof_model::protocol::SeriesDescription;

use super::overrides::Override;
use crate::error::Failure;
use crate::options::Defaults;

/// Which series and configurations to take.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Clauses that replace the annotated ones, the configuration file's first.
    pub overrides: Vec<Override>,
    /// Texts that keys must hold.
    pub filters: Vec<String>,
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
            exact: false,
            sample: None,
            seed: 0,
            max_configurations: Defaults::max_configs(),
        }
    }
}

/// The most combinations that are looked at for those that a series keeps.
pub(super) const MAX_VISITED: u64 = 1 << 24;

impl Selection {
    pub(super) fn takes(&self, key: &str) -> bool {
        self.filters.is_empty()
            || self
                .filters
                .iter()
                .any(|f| if self.exact { key == f } else { key.contains(f.as_str()) })
    }
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
