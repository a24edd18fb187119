//! Parses the command line.
//!
//! Input: arguments, with or without cargo's word. Output: the parsed command line.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

use super::structure::{Cargo, Gpuprof};
use crate::options::{CALIBRATE_REPEAT, RunOptions, defaults};

/// The meaning of `arguments` on the command line `command`.
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
