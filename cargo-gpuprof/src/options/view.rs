//! Options of how results are looked at; they change nothing that is run, judged or stored.

use std::num::NonZeroUsize;

use clap::Args;

use super::at_least_one::at_least_one;

/// The rows and columns of the table, and its comparisons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ViewOptions {
    /// Metric that decides which configuration is best
    #[arg(long, value_name = "METRIC", help_heading = "View")]
    pub best_by: Option<String>,
    /// Configuration that the others are compared with, such as block=256
    #[arg(long, value_name = "AXIS=VALUE,…", help_heading = "View")]
    pub reference: Option<String>,
    /// Compare and show only rows that meet this, such as 'block >= 256 && n == 16M'; all are run
    #[arg(long, value_name = "CONDITION", help_heading = "View")]
    pub filter: Option<String>,
    /// Axes and metrics to show, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "View")]
    pub columns: Vec<String>,
    /// Axis or metric to sort by, such as 'duration desc'
    #[arg(long, value_name = "NAME [desc]", help_heading = "View")]
    pub sort: Option<String>,
    /// Show only the first N rows: the best, unless --sort says otherwise
    #[arg(long, value_name = "N", help_heading = "View")]
    #[arg(value_parser = at_least_one::<NonZeroUsize>)]
    pub top: Option<NonZeroUsize>,
    /// Show everything; without it, one series fits a screen, and each of many has a few lines
    #[arg(long, help_heading = "View", conflicts_with = "top")]
    pub all: bool,
    /// Mark the rows that no other beats in all of these metrics, separated by commas
    #[arg(long, value_name = "METRICS", value_delimiter = ',', help_heading = "View")]
    pub pareto: Vec<String>,
}
