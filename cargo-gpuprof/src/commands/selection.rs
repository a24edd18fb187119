//! Which series and configurations the command line and the configuration file select.

use gpuprof_model::ExitCode;

use crate::config::Config;
use crate::options::{Defaults, SelectionOptions};
use crate::plan::{Override, Selection};

/// What to take, with the settings of the configuration file below those of its preset, and both
/// below those of the command line.
pub fn selection(options: &SelectionOptions, file: &Config, preset: Option<&Config>) -> Selection {
    let of_config = |config: &Config| -> Vec<Override> {
        let of_series = config.series.iter().flat_map(|(key, series)| {
            series.axes.iter().map(|text| Override {
                text: text.clone(),
                place: file.path.to_string(),
                only: Some(key.clone()),
                code: ExitCode::Configuration,
            })
        });
        of_series.collect()
    };
    fn of<T>(
        preset: Option<&Config>,
        file: &Config,
        of: impl Fn(&Config) -> Option<T>,
    ) -> Option<T> {
        preset.and_then(&of).or_else(|| of(file))
    }
    Selection {
        overrides: [Some(file), preset]
            .into_iter()
            .flatten()
            .flat_map(of_config)
            .chain(options.series.iter().map(|text| Override::command_line(text)))
            .collect(),
        filters: options.filters.clone(),
        exact: options.exact,
        sample: options.sample.map(Into::into).or_else(|| of(preset, file, |c| c.sample)),
        seed: options
            .sample_seed
            .or_else(|| of(preset, file, |c| c.sample_seed))
            .unwrap_or_else(Defaults::sample_seed),
        max_configurations: options
            .max_configs
            .or_else(|| of(preset, file, |c| c.max_configs))
            .unwrap_or_else(Defaults::max_configs),
    }
}
