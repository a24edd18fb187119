//! Which series and configurations the command line and the configuration file select.

use gpuprof_model::ExitCode;

use super::settings::Layers;
use crate::options::{SUBCOMMANDS, SelectionOptions};
use gpuprof_engine::plan::{Override, Selection};

/// What to take, with the settings of the configuration file below those of its preset, and both
/// below those of the command line.
pub fn selection(options: &SelectionOptions, layers: &Layers) -> Selection {
    let of_series = layers.configs().flat_map(|(config, _)| &config.series);
    let configured = of_series.flat_map(|(key, series)| {
        series.axes.iter().map(|text| Override {
            text: text.clone(),
            place: layers.file(),
            only: Some(key.clone()),
            code: ExitCode::Configuration,
        })
    });
    let given = options.series.iter().map(|text| Override::command_line(text));
    Selection {
        overrides: configured.chain(given).collect(),
        filters: options.filters.clone(),
        subcommands: &SUBCOMMANDS,
        exact: options.exact,
        sample: layers.sample(options.sample).value.map(Into::into),
        seed: layers.sample_seed(options.sample_seed).value,
        max_configurations: layers.max_configs(options.max_configs).value,
    }
}
