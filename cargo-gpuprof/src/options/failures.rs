//! Failures of a run, and the output of its processes.

use clap::Args;

/// Options for runs in which something fails.
#[derive(Debug, Clone, Default, Args)]
pub struct FailureOptions {
    /// End after the first configuration that fails, and after the first series that violates a
    /// threshold
    #[arg(long, overrides_with = "no_fail_fast", help_heading = "Run")]
    pub fail_fast: bool,
    /// Measure the rest after a failure (the default)
    #[arg(long, overrides_with = "fail_fast", help_heading = "Run")]
    pub no_fail_fast: bool,
    /// Retry a process that failed, timed out or measured another program, up to N times for each
    /// configuration; if it then succeeds, the configuration is flaky
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub retries: Option<u32>,
    /// Let the processes write to the terminal, one at a time; messages do not repeat their output
    #[arg(long, help_heading = "Run")]
    pub no_capture: bool,
}
