//! Standard error: all messages for people while a command runs.
//!
//! Input: sentences. Output: lines with the prefix of their sender. Only this module writes to
//! standard error and decides which messages `--quiet` suppresses. Writing to a closed standard
//! error loses the message and is not an error. Messages contain text of files and other programs,
//! so they are made printable as on standard output.

use std::fmt::Display;
use std::io::{self, Write};

use gpuprof_model::text::printable;

use crate::printable_output::shown_in_colour;

/// Prints a message that the user needs, even with `--quiet`.
pub fn say(text: impl Display) {
    line(format_args!("gpuprof: {text}"));
}

/// Prints a warning about the user's code.
pub fn warn(text: impl Display) {
    line(format_args!("warning: {text}"));
}

/// Prints the reason for which the command fails.
pub fn error(text: impl Display) {
    line(format_args!("error: {text}"));
}

/// Writes `text` unchanged: another program's output, or a question.
pub fn raw(text: impl Display) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

fn line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// Progress messages, which `--quiet` suppresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    quiet: bool,
}

impl Notes {
    /// Notes, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints `text`.
    pub fn say(self, text: impl Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// Prints `text` on its own line, without a prefix.
    pub fn plain(self, text: impl Display) {
        if !self.quiet {
            line(text);
        }
    }

    /// Writes the output of `show` to standard error: a report that has made its texts printable.
    pub fn show(self, show: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        // A closed standard error is not an error.
        let _ = self.must_show(show);
    }

    /// As [`show`](Self::show), for output that is available nowhere else.
    ///
    /// # Errors
    /// Standard error cannot be written.
    pub fn must_show(self, show: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.quiet { Ok(()) } else { shown_in_colour(&mut io::stderr().lock(), show) }
    }

    /// Whether progress messages are suppressed.
    pub fn quiet(self) -> bool {
        self.quiet
    }
}
