//! Which series and configurations the command line and the configuration file select.

use gpuprof_model::ExitCode;
use gpuprof_model::protocol::SeriesDescription;

use super::settings::{Layers, Settings};
use crate::options::{SUBCOMMANDS, SelectionOptions};
use gpuprof_engine::plan::{Override, Selection, parse_overrides};
use gpuprof_system::error::Result;

/// The series and configurations that a command line names.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// Clauses over the annotated ones.
    pub series: Vec<String>,
    /// Texts that keys must hold.
    pub filters: Vec<String>,
    /// Whether keys must equal a filter.
    pub exact: bool,
}

impl From<&SelectionOptions> for Named {
    fn from(options: &SelectionOptions) -> Self {
        let SelectionOptions { series, filters, exact, .. } = options.clone();
        Self { series, filters, exact }
    }
}

/// What to take of the series `described`, with the clauses of the configuration file below those
/// of its preset, and both below those of the command line.
///
/// # Errors
/// A clause that does not follow the grammar.
pub fn selection<'s>(
    named: &Named,
    (layers, settings): (&Layers, &Settings),
    described: impl IntoIterator<Item = &'s SeriesDescription> + Clone,
) -> Result<Selection> {
    let of_series = layers.configs().flat_map(|(config, _)| &config.series);
    let configured = of_series.flat_map(|(key, series)| {
        series.axes.iter().map(|text| Override {
            text: text.clone(),
            place: layers.file(),
            only: Some(key.clone()),
            code: ExitCode::Configuration,
        })
    });
    let given = named.series.iter().map(|text| Override::command_line(text));
    Ok(Selection {
        overrides: parse_overrides(described, configured.chain(given).collect())?,
        filters: named.filters.clone(),
        subcommands: &SUBCOMMANDS,
        exact: named.exact,
        sample: settings.sample.value.map(Into::into),
        seed: settings.sample_seed.value,
        max_configurations: settings.max_configs.value,
    })
}
