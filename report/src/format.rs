//! The formats by the names that `--format` takes.
//!
//! Input: a format, and its settings. Output: the report that writes it.

use gpuprof_analysis::gate::outcome::RunOutcome;

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
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal: |$terms:ident| $report:expr;)*) => {
        gpuprof_model::words! {
            /// The formats that `report` and `compare` write.
            pub enum Format = Table {
                $($(#[doc = $doc])+ $name = $word,)*
            }
        }

        impl Format {
            /// The report of this format.
            pub fn report(self, terms: FormatSettings) -> Box<dyn Report> {
                match self {
                    $(Self::$name => {
                        let make = |$terms: FormatSettings| $report;
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
    Table "table": |terms| terms.screen.table();
    /// The run document.
    Json "json": |_terms| Json;
    /// One JSON object a line.
    JsonLines "json-lines": |terms| JsonLines { exit_code: terms.outcome.map(|outcome| outcome.exit_code) };
    /// Tidy, one row per configuration and metric.
    Csv "csv": |_terms| Csv;
    /// For a job summary.
    Markdown "markdown": |terms| Markdown { outcome: terms.outcome };
    /// One page with charts, to open in a browser.
    Html "html": |terms| Html { outcome: terms.outcome };
    /// `JUnit` XML.
    Junit "junit": |terms| Junit { outcome: terms.outcome };
    /// GitHub annotations at the kernels' lines.
    Github "github": |terms| GithubAnnotations { outcome: terms.outcome };
    /// The times of a run, as spans for Perfetto.
    ChromeTrace "chrome-trace": |_terms| ChromeTrace;
    /// Bencher Metric Format.
    Bmf "bmf": |_terms| Bmf;
    /// For the action of that name: metrics that are better when smaller.
    GithubActionBenchmark "github-action-benchmark": |_terms| GithubActionBenchmark;
}

/// The settings of formats.
#[derive(Debug, Clone, Copy, Default)]
pub struct FormatSettings {
    /// How standard output is shown.
    pub screen: Screen,
    /// The outcome of the run, if it is known.
    pub outcome: Option<RunOutcome>,
}

/// How standard output is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen {
    /// Whether to colour.
    pub colour: bool,
    /// Columns of the terminal, if it is one.
    pub width: Option<u16>,
}

impl Screen {
    /// The table for people that fits it.
    pub fn table(self) -> Table {
        Table { colour: self.colour, width: self.width }
    }
}
