//! The command line: clap structures only, one per subcommand.

mod arguments;
mod structure;
mod variables;

use std::ffi::OsString;

pub use arguments::{command, with_subcommand_word};
pub use structure::{Cargo, Command, Gpuprof};

/// Parses `arguments`; help, versions and errors end the process.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Gpuprof {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let mut command = variables::without_variables(command(), &variables::is_empty);
    arguments::read(&mut command, arguments.clone()).unwrap_or_else(|error| {
        variables::name_variable(error, &arguments).format(&mut command).exit()
    })
}

/// A parsed command line, for tests.
#[cfg(test)]
pub(crate) fn parsed(line: &str) -> Gpuprof {
    arguments::read(&mut command(), line.split(' ').map(Into::into))
        .unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::command as command_line;
    use super::parsed as parse;
    use super::*;
    use crate::config::{KEYS, elsewhere};
    use crate::options::{BaselineOptions, Defaults, SUBCOMMANDS};
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cargo::command().debug_assert();
    }

    #[test]
    fn every_subcommand_is_known_to_the_advice_on_filters() {
        let cargo = Cargo::command();
        let all = cargo.get_subcommands().flat_map(clap::Command::get_subcommands);
        let shown = all.filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        assert_eq!(shown.collect::<Vec<_>>(), SUBCOMMANDS);
    }

    #[test]
    fn run_is_the_default_with_or_without_cargo() {
        let direct = parse("cargo-gpuprof --series block=64..1024");
        assert!(direct.command.is_none());
        assert_eq!(direct.run.selection.series, ["block=64..1024"]);
        let by_cargo = parse("cargo-gpuprof gpuprof run -p saxpy");
        assert!(
            matches!(by_cargo.command, Some(Command::Run(run)) if run.cargo.package == ["saxpy"])
        );
    }

    #[test]
    fn options_work_before_and_after_the_subcommand() {
        for line in [
            "-q --manifest-path X list nbody",
            "--manifest-path=X -q list nbody",
            "list nbody -q --manifest-path X",
            "-qp nbody --manifest-path X list nbody",
        ] {
            let parsed = parse(&format!("cargo-gpuprof {line}")).command;
            let Some(Command::List(list)) = parsed else { panic!("{line}") };
            assert!(list.quiet, "{line}");
            assert_eq!(list.cargo.manifest_path, Some("X".into()), "{line}");
            assert_eq!(list.selection.filters.texts, ["nbody"], "{line}");
        }
        let by_cargo = parse("cargo-gpuprof gpuprof --target-dir t baseline list").command;
        assert!(matches!(by_cargo, Some(Command::Baseline(it)) if it.place.target_dir.is_some()));
        let filters =
            |line: &str| parse(&format!("cargo-gpuprof {line}")).run.selection.filters.texts;
        assert_eq!(filters("-q nbody list"), ["nbody", "list"]);
        assert_eq!(filters("--series list nbody"), ["nbody"]);
        assert_eq!(filters("-q -- list"), ["list"]);
        for subcommand in crate::options::SUBCOMMANDS.iter().filter(|it| **it != "run") {
            let matches = command_line()
                .try_get_matches_from(["cargo", "gpuprof", subcommand, "-q", "-v", "--help"]);
            let kind = matches.unwrap_err().kind();
            assert_eq!(kind, clap::error::ErrorKind::DisplayHelp, "{subcommand}");
        }
    }

    #[test]
    fn the_word_after_resume_is_a_run_or_a_filter() {
        let said = |line: &str| {
            let run = parse(&format!("cargo-gpuprof {line}")).run;
            (run.gate.resume.unwrap_or_default(), run.selection.filters.texts)
        };
        let filter = |word: &str| ("latest".to_owned(), vec![word.to_owned()]);
        assert_eq!(said("--resume stencil"), filter("stencil"));
        assert_eq!(said("--resume n=64"), filter("n=64"));
        assert_eq!(said("stencil --resume"), filter("stencil"));
        assert_eq!(said("--resume=stencil"), ("stencil".to_owned(), Vec::new()));
        for run in ["latest", "20251121T010000000Z-1", "2025", "lastest"] {
            assert_eq!(said(&format!("--resume {run}")), (run.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn release_selects_the_default_profile() {
        let profile = |line| parse(line).run.given.profile.map(|given| given.value);
        assert_eq!(profile("cargo-gpuprof --release nbody").unwrap(), Defaults::profile());
        assert_eq!(profile("cargo-gpuprof --profile dist nbody").unwrap(), "dist");
    }

    /// An option of `run` that has no key says where it belongs, so none is forgotten.
    #[test]
    fn every_option_of_run_is_a_key_or_a_known_exception() {
        let keys: Vec<String> = KEYS.iter().map(|key| key.replace('_', "-")).collect();
        let command = command_line();
        let gpuprof = command.find_subcommand("gpuprof").unwrap();
        let run = gpuprof.find_subcommand("run").unwrap();
        let given: Vec<&str> = run
            .get_arguments()
            .filter(|argument| !argument.is_hide_set())
            .filter_map(|argument| argument.get_long().or(Some(argument.get_id().as_str())))
            .collect();
        assert!(given.len() > 60, "{given:?}");
        for option in given {
            let is_key = keys.iter().any(|key| key == option);
            assert_ne!(is_key, elsewhere(option).is_some(), "--{option}");
        }
    }

    #[test]
    fn place_options_work_before_and_after_baseline_subcommands() {
        for line in ["baseline --target-dir t list", "baseline list --target-dir t"] {
            let parsed = parse(&format!("cargo-gpuprof {line}")).command;
            let of_baselines = |options: &BaselineOptions| options.place.target_dir.clone();
            let Some(Command::Baseline(options)) = &parsed else { panic!("{line}") };
            assert_eq!(of_baselines(options), Some("t".into()), "{line}");
        }
    }

    #[test]
    fn the_help_of_a_setting_ends_with_its_default() {
        let help = |command: &str, argument: &str| {
            let cargo = command_line();
            let gpuprof = cargo.find_subcommand("gpuprof").unwrap();
            let below = gpuprof.find_subcommand(command).unwrap();
            let argument = below.get_arguments().find(|it| it.get_long() == Some(argument));
            argument.unwrap().get_help().unwrap().to_string()
        };
        for command in ["run", "show-config"] {
            assert!(help(command, "timeout").ends_with(" [default: 120]"));
            assert!(help(command, "repeat").ends_with(" [default: 7..10]"));
            assert!(help(command, "cache-control").ends_with(" [default: all]"));
            assert!(help(command, "kernel-arch").ends_with(" [default: sm_80]"));
            for (option, default) in crate::options::defaults() {
                let help = help(command, option.trim_start_matches("--"));
                assert!(help.ends_with(&format!(" [default: {default}]")), "{help}");
                assert_eq!(help.matches("[default: ").count(), 1, "{help}");
            }
        }
        assert!(help("calibrate", "repeat").ends_with(" [default: 20]"));
        assert!(help("archive", "kernel-arch").ends_with(" [default: sm_80]"));
    }

    #[test]
    fn help_strings_start_with_a_capital() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                if let Some(help) = argument.get_help() {
                    let help = help.to_string();
                    assert!(help.starts_with(|c: char| !c.is_lowercase()), "{help}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&command_line());
    }
}
