//! Which series and configurations the command line and the configuration file select.

use gpuprof_model::ExitCode;

use super::settings::{Layers, resolve};
use crate::options::{Defaults, SelectionOptions};
use crate::plan::{Override, Selection};

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
    let (sample, seed) = (options.sample.map(Into::into), options.sample_seed);
    let (default, most) = (Defaults::sample_seed(), Defaults::max_configs());
    Selection {
        overrides: configured.chain(given).collect(),
        filters: options.filters.clone(),
        exact: options.exact,
        sample: resolve(layers, sample, "--sample", |c| c.sample, Defaults::sample()).value,
        seed: resolve(layers, seed, "--sample-seed", |c| c.sample_seed, default).value,
        max_configurations: resolve(
            layers,
            options.max_configs,
            "--max-configs",
            |c| c.max_configs,
            most,
        )
        .value,
    }
}
