//! The settings that a command line gives, or the environment in its place.
//!
//! Input: clap's matches of a subcommand. Output: one optional value per row of the settings. A
//! subcommand sets only the settings for which it has options.

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use gpuprof_build::options::BENCH;

use super::types::*;
use super::{GivenValue, Shown, settings};

macro_rules! of_a_command_line {
    ($($(#[$doc:meta])* $name:ident $option:literal:
        $type:ty => $value:ty = $default:expr;)*) => {
        /// The settings that the command line gives.
        #[derive(Debug, Clone, Default)]
        pub struct Given {
            $($(#[$doc])* pub $name: Option<GivenValue<$type>>,)*
        }

        impl FromArgMatches for Given {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                let mut given = Self {
                    $($name: <$type>::given(matches, &$option[2..].replace('-', "_")),)*
                };
                // The arguments that say a setting by another name than its own.
                let release = GivenValue::new(matches, "release", || BENCH.to_owned());
                given.profile = given.profile.or(release);
                let id = "strict_by_environment";
                let strict = GivenValue::new(matches, id, || matches.get_one(id) == Some(&true));
                given.strict = given.strict.or(strict);
                Ok(given)
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

settings!(of_a_command_line);

/// It reads arguments that the other options of a subcommand declare. A subcommand flattens it
/// before them, since clap removes each argument that an option takes.
impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
