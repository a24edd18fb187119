//! Filters: options of every subcommand that takes series.

use std::str::FromStr;

use clap::Args;
use gpuprof_model::{FilterExpression, Filters, ParseError, Pattern};

/// The series and configurations to take.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterOptions {
    /// Take the series and configurations with this text in their key; one with * or ? is a pattern
    #[arg(id = "filters", value_name = "FILTER")]
    pub texts: Vec<String>,
    /// Take whole names instead: kernel, package::kernel, package::target::kernel, or one of these
    /// with /axis=value,…
    #[arg(long, requires = "filters", help_heading = "Series")]
    pub exact: bool,
    /// Take the configurations of this expression, such as 'series(kme*) & !axis(n > 1M)'; several
    /// are joined by |
    #[arg(short = 'E', long = "filterset", value_name = "EXPRESSION", help_heading = "Series")]
    #[arg(value_parser = read::<FilterExpression>)]
    pub filterset: Vec<FilterExpression>,
    /// Leave out the series that this pattern matches: a name, with * for any characters and ? for
    /// one
    #[arg(long, value_name = "PATTERN", value_parser = read::<Pattern>, help_heading = "Series")]
    pub exclude_series: Vec<Pattern>,
}

/// The value of an option, or a message with its place.
fn read<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseError| error.render("the command line", text))
}

impl From<&FilterOptions> for Filters {
    fn from(options: &FilterOptions) -> Self {
        let FilterOptions { texts, exact, filterset, exclude_series } = options.clone();
        Self { texts, exact, expressions: filterset, excluded: exclude_series }
    }
}
