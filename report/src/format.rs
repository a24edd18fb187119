//! The formats by the names that `--format` takes.
//!
//! Input: a format, and what it needs beside a run. Output: the report that writes it.

use clap::ValueEnum;
use gpuprof_analysis::gate::run::Gate;
use gpuprof_model::exit_code::ExitCode;

use super::Report;
use super::benchmark::{Bmf, GithubActionBenchmark};
use super::csv::Csv;
use super::github::GithubAnnotations;
use super::html::Html;
use super::json::Json;
use super::json_lines::JsonLines;
use super::junit::Junit;
use super::markdown::Markdown;
use super::table::Table;
use super::trace::ChromeTrace;

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: |$terms:ident| $report:expr;)*) => {
        /// The formats that `report` and `compare` write.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
        pub enum Format {
            $($(#[$doc])* $name,)*
        }

        impl Format {
            /// Every format.
            pub fn all() -> &'static [Self] {
                Self::value_variants()
            }

            /// The report of this format.
            pub fn report(self, terms: Terms) -> Box<dyn Report> {
                match self {
                    $(Self::$name => {
                        let make = |$terms: Terms| $report;
                        Box::new(make(terms))
                    })*
                }
            }
        }
    };
}

// A format is a file of this folder and a row here.
formats! {
    /// For people.
    #[default]
    Table: |terms| terms.screen.table();
    /// The run document.
    Json: |_terms| Json;
    /// One JSON object a line.
    JsonLines: |terms| JsonLines { exit_code: terms.exit_code };
    /// Tidy, one row per configuration and metric.
    Csv: |_terms| Csv;
    /// For a job summary.
    Markdown: |_terms| Markdown;
    /// One page with charts, to open in a browser.
    Html: |_terms| Html;
    /// `JUnit` XML.
    Junit: |terms| Junit { gate: terms.gate };
    /// GitHub annotations at the kernels' lines.
    Github: |_terms| GithubAnnotations;
    /// Where the time of a run went, as spans for Perfetto.
    ChromeTrace: |_terms| ChromeTrace;
    /// Bencher Metric Format.
    Bmf: |_terms| Bmf;
    /// Of the action of that name: what is better when smaller.
    GithubActionBenchmark: |_terms| GithubActionBenchmark;
}

/// What a format may need beside the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// How standard output is shown.
    pub screen: Screen,
    /// How the run ended, where that is to be told.
    pub exit_code: Option<ExitCode>,
    /// What decides the exit code.
    pub gate: Gate,
}

/// How standard output is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen {
    /// Whether to colour.
    pub colour: bool,
    /// Columns of the terminal, where it is one.
    pub width: Option<u16>,
}

impl Screen {
    /// The table for people that fits it.
    pub fn table(self) -> Table {
        Table { colour: self.colour, width: self.width }
    }
}
