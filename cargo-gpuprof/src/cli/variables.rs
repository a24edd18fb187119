//! The environment variables that set options. A field of `options/` names its variable by `env`.
//!
//! An empty variable counts as unset: CI clears variables that way, or passes an empty input on.

use std::env;
use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};

use super::arguments::{command, read};

/// Whether the variable `name` is set to nothing.
pub(super) fn is_empty(name: &OsStr) -> bool {
    env::var_os(name).is_some_and(|value| value.is_empty())
}

/// `error` with the environment variable that has the value which is refused, in place of its
/// option.
pub(super) fn name_variable(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let mut all = command();
    all.build();
    let gpuprof = all.get_subcommands().flat_map(|it| it.get_subcommands().chain([it]));
    let mut named =
        gpuprof.flat_map(Command::get_arguments).filter(|it| it.to_string() == *refused);
    let set = |argument: &Arg| argument.get_env().filter(|name| !is_empty(name)).map(Into::into);
    let Some(variable): Option<OsString> = named.find_map(set) else { return error };
    let mut without = without_variables(command(), &|name| name == variable);
    let same = |other: clap::Error| {
        other.get(ContextKind::InvalidArg) == error.get(ContextKind::InvalidArg)
    };
    if !read(&mut without, arguments.to_vec()).is_err_and(same) {
        let variable = variable.to_string_lossy().into_owned();
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// `command` and everything below it, without the variables for which `empty` holds.
pub(super) fn without_variables(command: Command, empty: &impl Fn(&OsStr) -> bool) -> Command {
    let argument = |argument: Arg| match argument.get_env().is_some_and(empty) {
        true => argument.env(None::<&'static str>),
        false => argument,
    };
    command.mut_args(argument).mut_subcommands(|below| without_variables(below, empty))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cargo;

    #[test]
    fn an_empty_variable_counts_as_unset() {
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
