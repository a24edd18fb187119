//! `cargo gpuprof completions`: a script that completes `cargo-gpuprof`.
//!
//! Input: the command line's description and a shell. Output: the script, on standard output. It
//! completes the executable; cargo's own completion for zsh calls it for `cargo gpuprof` as well.

use std::io::Write;

use clap_complete::{Shell, generate};

use super::man::WORD;
use crate::options::CompletionsOptions;
use gpuprof_system::error::{Failure, Result};

/// The name of the executable, which runs with or without cargo's word.
const EXECUTABLE: &str = "cargo-gpuprof";

/// The function's name inside of the script for bash.
const BASH_NAME: &str = "cargo_gpuprof";

/// Writes the script.
///
/// # Errors
/// Standard output.
pub fn completions(
    options: &CompletionsOptions,
    cargo: &clap::Command,
    out: &mut impl Write,
) -> Result<()> {
    let gpuprof = cargo.find_subcommand(WORD).expect("cargo passes this word");
    let shown = gpuprof.get_subcommands().filter(|it| !it.is_hide_set());
    let mut command = clap::Command::new(EXECUTABLE)
        .version(env!("CARGO_PKG_VERSION"))
        .args(gpuprof.get_arguments())
        .subcommands(shown);
    let script = script(options.shell, &mut command);
    out.write_all(script.as_bytes()).map_err(Failure::standard_output)
}

fn script(shell: Shell, command: &mut clap::Command) -> String {
    // For bash, clap_complete 4.6.11 writes the hyphen of a name in two ways (`cargo__gpuprof` and
    // `cargo__subcmd__gpuprof`) and then offers nothing behind a subcommand.
    let name = if shell == Shell::Bash { BASH_NAME } else { EXECUTABLE };
    let mut script = Vec::new();
    generate(shell, command, name, &mut script);
    let script = String::from_utf8(script).expect("scripts are text");
    script.replace(&format!(" {BASH_NAME}\n"), &format!(" {EXECUTABLE}\n"))
}
