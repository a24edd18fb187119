//! Options of `emulate`.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_model::Checks;

/// Options of a child of `emulate` that becomes the program.
#[derive(Debug, Clone, Args)]
pub struct BecomeOptions {
    /// The number of the process that started it
    pub parent: u32,
    /// The file that it makes if the program cannot be started
    pub refused: Utf8PathBuf,
    /// The program and its arguments
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

/// Options of `emulate`.
#[derive(Debug, Clone, Args)]
pub struct EmulateOptions {
    /// Checks, separated by commas: memory, init, race, sync, all or none, as for `run`
    #[arg(long, value_name = "CHECKS", default_value_t)]
    pub check: Checks,
    /// Write the launches with all counters as CSV, one row for each kernel and launch shape
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Option<Utf8PathBuf>,
    /// Write the launches, faults and unsupported functions as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_json: Option<Utf8PathBuf>,
    /// Do not print the table of launches
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Write static CUDA runtimes to link instead of NVIDIA's into FOLDER/12 and FOLDER/13, and end
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    pub export_cudart: Option<Utf8PathBuf>,
    /// The program, found as a shell finds it, and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
