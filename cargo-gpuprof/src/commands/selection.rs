//! Which series and configurations the command line and the configuration file select.

use gpuprof_model::filter::Subject;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{ExitCode, Filters};

use super::settings::{Layers, Settings};
use crate::options::{SUBCOMMANDS, SelectionOptions};
use gpuprof_engine::plan::{Override, Selection, parse_overrides};
use gpuprof_system::error::{Failure, Result};

/// The series and configurations that a command line names.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// Clauses over the annotated ones.
    pub series: Vec<String>,
    /// The filters.
    pub filters: Filters,
}

impl From<&SelectionOptions> for Named {
    fn from(options: &SelectionOptions) -> Self {
        Self { series: options.series.clone(), filters: (&options.filters).into() }
    }
}

impl Named {
    /// Refuses filters that select nothing whatever the series are.
    ///
    /// # Errors
    /// They are such (exit code 2).
    pub fn check(&self) -> Result<()> {
        let expressions = &self.filters.expressions;
        match self.filters.select(Subject::default()) {
            Ok(Some(false)) => {
                let all: Vec<String> = expressions.iter().map(|it| format!("-E '{it}'")).collect();
                let all = all.join(" ");
                Err(Failure::usage(format!("{all} can never select anything")))
            }
            Ok(Some(true) | None) | Err(_) => Ok(()),
        }
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
        sample: settings.sample.value.map(Into::into),
        seed: settings.sample_seed.value,
        max_configurations: settings.max_configs.value,
    })
}
