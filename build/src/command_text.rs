//! `--verbose`: a command as it could be typed into a shell.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::process::Command;

use gpuprof_system::console;

/// Prints `command` to standard error where that is asked for.
pub(super) fn command(command: &Command, verbose: bool) {
    if verbose {
        console::say(format_args!("running {}", line(command)));
    }
}

/// The variables that the command sets, its program and its arguments.
fn line(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let words = [command.get_program()].into_iter().chain(command.get_args());
    variables.chain(words.map(|word| quoted(word).into_owned())).collect::<Vec<_>>().join(" ")
}

/// A word, in single quotes where a shell would read more into it.
fn quoted(word: &OsStr) -> Cow<'_, str> {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''").replace('\u{1f}', r"'$'\x1f''")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_is_quoted_for_the_shell() {
        let mut command = Command::new("cargo");
        command.args(["rustc", "--config", "a=\"it's\""]).env("A", "x y").env_remove("B");
        command.env("C", "1\u{1f}2");
        assert_eq!(line(&command), r#"A='x y' C='1'$'\x1f''2' cargo rustc --config 'a="it'\''s"'"#);
    }
}
