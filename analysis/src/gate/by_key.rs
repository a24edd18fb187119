//! The rows of a series by their configurations: two runs are joined in linear time.
//!
//! Input: the rows of one side. Output: the row of a configuration, the first where a damaged
//! document holds it twice.

use std::collections::HashMap;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::run::ConfigurationResult;

/// The rows of a series by their configurations.
pub(crate) struct ByKey<'r>(HashMap<&'r Configuration, &'r ConfigurationResult>);

impl<'r> ByKey<'r> {
    /// Indexes `rows` by their configurations.
    pub(crate) fn new(rows: &'r [ConfigurationResult]) -> Self {
        let mut all = HashMap::with_capacity(rows.len());
        for row in rows {
            all.entry(&row.configuration).or_insert(row);
        }
        Self(all)
    }

    /// The row of the configuration that `row` is of, on this side.
    pub(crate) fn get(&self, row: &ConfigurationResult) -> Option<&'r ConfigurationResult> {
        self.at(&row.configuration)
    }

    /// The row of a configuration.
    pub(crate) fn at(&self, configuration: &Configuration) -> Option<&'r ConfigurationResult> {
        self.0.get(configuration).copied()
    }

    /// Whether this side has the configuration that `row` is of.
    pub(crate) fn has(&self, row: &ConfigurationResult) -> bool {
        self.0.contains_key(&row.configuration)
    }
}
