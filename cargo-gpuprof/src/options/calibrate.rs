//! Options of `calibrate`.

use clap::Args;

use super::RunOptions;

/// The default number of processes that `calibrate` times a configuration in: ten a side.
pub const CALIBRATE_REPEAT: u32 = 20;

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateOptions {
    /// Take this stored run instead of measuring: `latest`, an id or a prefix of it, or a file
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all =
            ["export_csv", "export_html", "export_json", "export_junit", "export_markdown", "export_svg"]
    )]
    pub from: Option<String>,
    /// Assume runs with N configurations, in all their series together, instead of the measured
    /// number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub configurations: Option<u32>,
    /// The run to measure.
    #[command(flatten)]
    pub run: RunOptions,
}
