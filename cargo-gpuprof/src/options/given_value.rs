//! A value that the user gave.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// A value of an option, or of the environment variable that sets the option.
#[derive(Debug, Clone)]
pub struct GivenValue<T> {
    /// The value.
    pub value: T,
    /// Whether the environment has it.
    pub by_variable: bool,
}

impl<T> From<T> for GivenValue<T> {
    fn from(value: T) -> Self {
        Self { value, by_variable: false }
    }
}

impl<T> GivenValue<T> {
    /// The value that `matches` have of the argument `id`: the user's, not a default.
    pub(super) fn new(matches: &ArgMatches, id: &str, read: impl Fn() -> T) -> Option<Self> {
        let known = matches.ids().any(|known| known == id);
        let by_variable = match known.then(|| matches.value_source(id)).flatten()? {
            ValueSource::EnvVariable => true,
            ValueSource::CommandLine => false,
            _ => return None,
        };
        Some(Self { value: read(), by_variable })
    }
}
