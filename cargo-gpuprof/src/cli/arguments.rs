//! Parses the command line, and the variables that set options.
//!
//! Input: arguments, with or without cargo's word. Output: the parsed command line. An empty
//! variable counts as unset: CI clears variables that way, or passes an empty input on.

use std::env;
use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

use super::structure::{Cargo, Gpuprof};
use crate::options::{CALIBRATE_REPEAT, RunOptions, defaults};

/// What `arguments` say; help, versions and errors end the process.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Gpuprof {
    let empty = |name: &OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    let arguments: Vec<_> = arguments.into_iter().collect();
    let mut command = without_variables(command(), &empty);
    read(&mut command, arguments.clone()).unwrap_or_else(|error| {
        let set = |argument: &Arg| argument.get_env().filter(|name| !empty(name)).map(Into::into);
        naming_variable(error, &arguments, &set).format(&mut command).exit()
    })
}

/// `error` with the environment variable that has the value which is refused, in place of its
/// option. `set` is the variable of an argument.
fn naming_variable(
    mut error: clap::Error,
    arguments: &[OsString],
    set: &impl Fn(&Arg) -> Option<OsString>,
) -> clap::Error {
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let mut all = command();
    all.build();
    let gpuprof = all.get_subcommands().flat_map(|it| it.get_subcommands().chain([it]));
    let mut named =
        gpuprof.flat_map(Command::get_arguments).filter(|it| it.to_string() == *refused);
    let Some(variable) = named.find_map(set) else { return error };
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

/// What `arguments` say on the command line `command`.
///
/// # Errors
/// Help, versions, and what is not understood.
pub(super) fn read(
    command: &mut Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Gpuprof, clap::Error> {
    let arguments = options_after_subcommand(command, with_subcommand_word(arguments));
    // `--resume=nbody` names a run.
    let joined = |argument: &OsString| argument.to_string_lossy().starts_with("--resume=");
    let names_run = arguments.iter().any(joined);
    let matches = command.try_get_matches_from_mut(arguments)?;
    let Cargo::Gpuprof(mut parsed) = Cargo::from_arg_matches(&matches)?;
    if !names_run {
        parsed.runs().for_each(RunOptions::take_filter_from_resume);
    }
    Ok(parsed)
}

/// The command line: the help of an option that is a setting ends with its default, and every
/// subcommand has cargo's `--quiet` and `--verbose`, also where it has nothing to keep quiet about.
pub fn command() -> Command {
    with_defaults(Cargo::command(), &defaults())
        .mut_subcommands(|gpuprof| gpuprof.mut_subcommands(with_flags_of_cargo))
}

fn with_flags_of_cargo(command: Command) -> Command {
    // Their ids are not those of the options that do something.
    let flags = [("quiet", "no-quiet-here", 'q'), ("verbose", "no-verbose-here", 'v')];
    flags.into_iter().fold(command, |command, (name, id, short)| {
        let has = command.get_arguments().any(|argument| argument.get_long() == Some(name));
        if has || command.is_hide_set() {
            return command;
        }
        let flag = Arg::new(id).long(name).short(short).action(ArgAction::SetTrue);
        command.arg(flag.hide(true).global(true).help("Nothing is built here: no effect"))
    })
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

/// `command` and everything below it, without the variables for which `empty` holds.
fn without_variables(command: Command, empty: &impl Fn(&OsStr) -> bool) -> Command {
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

/// `arguments` with the options that stand before a subcommand behind its word: `-q list nbody` is
/// `list -q nbody`. Clap would take the word for a filter of `run`.
fn options_after_subcommand(command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(gpuprof) = command.find_subcommand("gpuprof") else { return arguments };
    let first = 2.min(arguments.len());
    let mut at = first;
    while let Some(text) = arguments.get(at).and_then(|argument| argument.to_str()) {
        if text == "--" || text == "-" {
            break;
        } else if text.starts_with('-') {
            at += if takes_next(gpuprof, text) { 2 } else { 1 };
        } else {
            if gpuprof.find_subcommand(text).is_some() {
                arguments[first..=at].rotate_right(1);
            }
            break;
        }
    }
    arguments
}

/// Whether the option, or the last of the short options, `text` takes the next argument as its
/// value.
fn takes_next(gpuprof: &Command, text: &str) -> bool {
    let all = || {
        let below = gpuprof.get_subcommands().flat_map(Command::get_arguments);
        gpuprof.get_arguments().chain(below)
    };
    // An option with an optional value does not take a word that could be a subcommand.
    let takes = |argument: &Arg| {
        let least = argument.get_num_args().map_or(1, |number| number.min_values());
        argument.get_action().takes_values() && least > 0
    };
    if let Some(name) = text.strip_prefix("--") {
        return all().find(|it| it.get_long() == Some(name)).is_some_and(takes);
    }
    let mut letters = text.chars().skip(1);
    let valued = |letter| all().find(|it| it.get_short() == Some(letter)).is_some_and(takes);
    letters.find(|&letter| valued(letter)).is_some() && letters.next().is_none()
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
