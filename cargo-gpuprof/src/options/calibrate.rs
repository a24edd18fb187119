//! Options of `calibrate`.

use clap::Args;

use super::RunOptions;

/// Processes that `calibrate` times a configuration in, where nothing says otherwise: ten a side.
pub const CALIBRATE_REPEAT: u32 = 20;

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateOptions {
    /// Take this stored run instead of measuring: `latest`, an id or a prefix of it, or a file
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["export_csv", "export_html", "export_json", "export_markdown"]
    )]
    pub from: Option<String>,
    /// What to measure.
    #[command(flatten)]
    pub run: RunOptions,
}
