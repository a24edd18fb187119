//! Options of how results are looked at; they change nothing that is run, judged or stored.

use std::num::NonZeroUsize;

use clap::Args;
use gpuprof_model::{Expression, ParseError};

use crate::error::{Failure, Result};
use gpuprof_analysis::view::{Reference, Sort, View};

/// Which rows and columns the table shows, and what it compares.
#[derive(Debug, Clone, Default, Args)]
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
    pub top: Option<NonZeroUsize>,
    /// Mark the rows that no other beats in all of these metrics, separated by commas
    #[arg(long, value_name = "METRICS", value_delimiter = ',', help_heading = "View")]
    pub pareto: Vec<String>,
}

impl ViewOptions {
    /// The view.
    ///
    /// # Errors
    /// A text that does not follow its grammar (exit code 2).
    pub fn view(&self) -> Result<View> {
        fn read<T>(
            option: &str,
            text: Option<&String>,
            parse: impl Fn(&str) -> Result<T, ParseError>,
        ) -> Result<Option<T>> {
            let parsed =
                text.map(|text| parse(text).map_err(|e| Failure::usage(e.render(option, text))));
            parsed.transpose()
        }
        let trimmed = |names: &[String]| -> Vec<String> {
            let mut all: Vec<String> = Vec::new();
            for name in names.iter().map(|name| name.trim()) {
                if all.iter().all(|other| other != name) {
                    all.push(name.to_owned());
                }
            }
            all
        };
        Ok(View {
            best_by: self.best_by.clone(),
            reference: read("--reference", self.reference.as_ref(), Reference::parse)?,
            filter: read("--filter", self.filter.as_ref(), Expression::parse)?,
            columns: trimmed(&self.columns),
            sort: read("--sort", self.sort.as_ref(), Sort::parse)?,
            top: self.top.map(Into::into),
            pareto: trimmed(&self.pareto),
        })
    }
}
