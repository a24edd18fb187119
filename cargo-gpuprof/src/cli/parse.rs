//! Reading the command line, and the variables that stand for options.
//!
//! Input: arguments, with or without cargo's word. Output: what they say. A variable that is
//! set to nothing is as good as none: that is how CI clears one, or hands on an input that nobody
//! filled in.

use std::env;
use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::structure::{Cargo, Gpuprof};
use crate::options::{CALIBRATE_REPEAT, defaults};

/// What `arguments` say; help, versions and errors end the process.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Gpuprof {
    let empty = |name: &std::ffi::OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    let mut command = without_variables(command(), &empty);
    let matches = command.try_get_matches_from_mut(with_subcommand_word(arguments));
    let parsed = matches.and_then(|matches| Cargo::from_arg_matches(&matches));
    let Cargo::Gpuprof(parsed) = parsed.unwrap_or_else(|e| e.format(&mut command).exit());
    parsed
}

/// The command line, in which the help of an option that is a setting ends with its default.
pub fn command() -> Command {
    with_defaults(Cargo::command(), &defaults())
}

fn with_defaults(command: Command, defaults: &[(&'static str, String)]) -> Command {
    let argument = |argument: Arg| {
        let option = argument.get_long().map(|long| format!("--{long}"));
        let default = defaults.iter().find(|(of, _)| option.as_deref() == Some(of));
        match (default, argument.get_help()) {
            (Some((_, default)), Some(help)) if argument.get_default_values().is_empty() => {
                let help = format!("{help} [default: {default}]");
                argument.help(help)
            }
            _ => argument,
        }
    };
    command.mut_args(argument).mut_subcommands(|below| match below.get_name() {
        // It times more often than `run`.
        "calibrate" => {
            let own = [("--repeat", CALIBRATE_REPEAT.to_string())];
            with_defaults(below, &[&own, defaults].concat())
        }
        _ => with_defaults(below, defaults),
    })
}

/// `command` and everything below it, without the variables that `empty` tells.
fn without_variables(command: Command, empty: &impl Fn(&std::ffi::OsStr) -> bool) -> Command {
    let argument = |argument: Arg| match argument.get_env().is_some_and(empty) {
        true => argument.env(None::<&'static str>),
        false => argument,
    };
    command.mut_args(argument).mut_subcommands(|below| without_variables(below, empty))
}

/// Puts the word `gpuprof` in where the executable is started without cargo.
pub fn with_subcommand_word(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<_> = args.into_iter().collect();
    if args.get(1).is_none_or(|word| word != "gpuprof") {
        args.insert(1.min(args.len()), "gpuprof".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_empty_is_none() {
        let variables = |command: &Command| {
            let gpuprof = command.find_subcommand("gpuprof").unwrap();
            let doctor = gpuprof.find_subcommand("doctor").unwrap();
            let names = doctor.get_arguments().filter_map(Arg::get_env);
            names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let all = variables(&Cargo::command());
        assert!(all.contains(&"GPUPROF_CUPTI".to_owned()), "{all:?}");
        let left = variables(&without_variables(Cargo::command(), &|name| name == "GPUPROF_CUPTI"));
        assert_eq!(left.len() + 1, all.len());
        assert!(!left.contains(&"GPUPROF_CUPTI".to_owned()), "{left:?}");
    }
}
