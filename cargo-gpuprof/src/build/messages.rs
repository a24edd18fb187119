//! What cargo says of a kernel build: rustc's messages are shown, and how it ended is told.
//!
//! Input: a cargo command with a JSON message format. Output: rustc's own text on standard error,
//! where cargo's progress is as well, and whether rustc found errors. An LLVM that aborts leaves
//! none.

use std::env;
use std::io::{BufReader, IsTerminal};
use std::process::{Command, Stdio};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;
use gpuprof_model::ExitCode;

use crate::console;
use crate::error::{Failure, Result};

/// How a build ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything was built.
    Well,
    /// rustc found errors, at these files and lines, and they were shown.
    WithErrors(Vec<(String, usize)>),
    /// It failed without an error of rustc's.
    WithoutErrors,
}

/// The message format in which rustc's text is as it would have been on the terminal.
pub(super) fn format() -> &'static str {
    let colour = match env::var("CARGO_TERM_COLOR").as_deref() {
        Ok("always") => true,
        Ok("never") => false,
        _ => std::io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none(),
    };
    if colour { "json-diagnostic-rendered-ansi" } else { "json" }
}

/// Runs `command` and shows rustc's messages.
///
/// # Errors
/// Cargo cannot be started or understood.
pub(super) fn show(command: &mut Command) -> Result<Ended> {
    let failed = |message: String| Failure::new(ExitCode::BuildFailed, message);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed(format!("cannot start {program}: {e}")))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    let (mut errors, mut places) = (false, Vec::new());
    for message in Message::parse_stream(BufReader::new(stdout)) {
        let message = message.map_err(|e| failed(format!("cannot read cargo's messages: {e}")))?;
        if let Message::CompilerMessage(said) = message {
            console::raw(said.message.rendered.as_deref().unwrap_or(&said.message.message));
            if said.message.level == DiagnosticLevel::Error {
                errors = true;
                let own = said.message.spans.into_iter().filter(|span| span.is_primary);
                places.extend(own.map(|span| (span.file_name, span.line_start)));
            }
        }
    }
    let status = child.wait().map_err(|e| failed(format!("cannot wait for {program}: {e}")))?;
    Ok(match (status.success(), errors) {
        (true, _) => Ended::Well,
        (false, true) => Ended::WithErrors(places),
        (false, false) => Ended::WithoutErrors,
    })
}
