//! Standard error: all that people are told while a command works.
//!
//! Input: sentences. Output: lines that begin with who speaks. Nothing else in this crate writes to
//! standard error, and here alone is decided what `--quiet` silences. A standard error that is
//! closed loses what is said, and ends nothing. What is said holds text of files and other
//! programs, so it is made safe as on standard output.

use std::fmt::Display;
use std::io::{self, Write};

use gpuprof_model::text::printable;

use crate::terminal::shown_in_colour;

/// Tells what the user has to know, also with `--quiet`.
pub fn say(text: impl Display) {
    line(format_args!("gpuprof: {text}"));
}

/// Tells what may be wrong with the user's code.
pub fn warn(text: impl Display) {
    line(format_args!("warning: {text}"));
}

/// Tells why the command fails.
pub fn error(text: impl Display) {
    line(format_args!("error: {text}"));
}

/// Writes `text` as it is: what others said, or a question.
pub fn raw(text: impl Display) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

fn line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// What is told of how things go: nothing with `--quiet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    quiet: bool,
}

impl Notes {
    /// Notes, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Tells `text`.
    pub fn say(self, text: impl Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// Tells `text` on a line of its own, without who speaks.
    pub fn plain(self, text: impl Display) {
        if !self.quiet {
            line(text);
        }
    }

    /// What `show` writes, on standard error: a report, which made safe what it holds.
    pub fn shown(self, show: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        // A standard error that is closed loses what is said.
        let _ = self.must_show(show);
    }

    /// As [`shown`](Self::shown), for what nobody finds elsewhere.
    ///
    /// # Errors
    /// Standard error cannot be written.
    pub fn must_show(self, show: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.quiet { Ok(()) } else { shown_in_colour(&mut io::stderr().lock(), show) }
    }

    /// Whether nothing is told.
    pub fn quiet(self) -> bool {
        self.quiet
    }
}
