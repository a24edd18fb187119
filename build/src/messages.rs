//! cargo's messages of a kernel build: shows rustc's, and returns how the build ended.
//!
//! Input: a cargo command with a JSON message format. Output: rustc's own text on standard error,
//! next to cargo's progress, and whether rustc found errors. An LLVM that aborts leaves none.

use std::io::BufReader;
use std::process::{Command, Stdio};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::{DiagnosticLevel, DiagnosticSpan};
use gpuprof_model::ExitCode;

use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// How a build ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything was built.
    Well,
    /// rustc found errors at these places, and they were shown.
    WithErrors(Vec<ErrorPosition>),
    /// It failed without an error of rustc's.
    WithoutErrors,
}

/// The position of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorPosition {
    /// The file, as rustc names it.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: usize,
    /// The column, from 1.
    pub(super) column: usize,
    /// The name in the user's source there, if rustc knows no function, method or type of that
    /// name, and no macro of it with its `!`.
    pub(super) unknown: Option<String>,
}

/// rustc's codes of a method, a function and a type that it does not find; of a macro it has none.
const NOT_FOUND: [&str; 4] = ["E0599", "E0425", "E0412", "E0433"];

impl ErrorPosition {
    fn from_span(span: DiagnosticSpan, code: Option<&str>) -> Self {
        let word = || {
            let line = span.text.first()?;
            let count = line.highlight_end.checked_sub(line.highlight_start)?;
            let from = line.highlight_start.checked_sub(1)?;
            let mut rest = line.text.chars().skip(from);
            let word: String = rest.by_ref().take(count).collect();
            Some((word, rest.next() == Some('!')))
        };
        let unknown = match code {
            None => word().and_then(|(word, is_macro)| is_macro.then(|| format!("{word}!"))),
            Some(code) if NOT_FOUND.contains(&code) => word().map(|(word, _)| word),
            Some(_) => None,
        };
        Self { file: span.file_name, line: span.line_start, column: span.column_start, unknown }
    }
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
                let code = said.message.code.as_ref().map(|code| code.code.as_str());
                let own = said.message.spans.into_iter().filter(|span| span.is_primary);
                let before = places.len();
                places.extend(own.map(|span| ErrorPosition::from_span(span, code)));
                // That there is no `std` is an error of the whole crate.
                if places.len() == before {
                    let file = said.target.src_path.into_string();
                    places.push(ErrorPosition { file, line: 1, column: 1, unknown: None });
                }
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
