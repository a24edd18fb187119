//! NVRTC's log, read.
//!
//! Input: the log of a compile. Output: its messages, in order, with their notes and the trace of
//! instances. The form, of NVRTC 12.4 to 13.5 and of nvcc's device pass:
//!
//! ```text
//! kernels/scan.cu(3): error: expression must have class type but it has type "float"
//!   template <class T> __device__ T h(T a) { return a.foo; }
//!                                                   ^
//!           detected during:
//!             instantiation of "T h(T) [with T=float]" at line 9
//!             instantiation of "void k(T *) [with T=float]" at line 2 of gpuprof-instances
//! ```
//!
//! NVRTC 12.0 writes neither source line nor caret. A message ends at an empty line, or at the
//! start of the next one. The host's compiler, which preprocesses for nvcc, writes
//! `FILE:LINE:COLUMN:`, and source lines after their numbers and a bar.

use std::path::PathBuf;

use super::{Diagnostic, Note, Severity, Span};
use crate::cuda_cpp::program::FilePosition;

/// The content of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cuda_cpp) struct Log {
    /// Its messages.
    pub(in crate::cuda_cpp) diagnostics: Vec<Diagnostic>,
    /// Lines that are part of none: counts, hints, options that were refused.
    pub(in crate::cuda_cpp) rest: Vec<String>,
}

impl Log {
    /// Whether one of its messages is an error.
    pub(in crate::cuda_cpp) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }
}

/// The severities of messages, as logs spell them.
const SEVERITIES: [(&str, Severity); 6] = [
    ("catastrophic error", Severity::Error),
    ("fatal error", Severity::Error),
    ("error", Severity::Error),
    ("warning", Severity::Warning),
    ("note", Severity::Note),
    ("remark", Severity::Note),
];

/// Who speaks without a file and a line.
const SPEAKERS: [&str; 4] = ["At end of source", "Command-line error", "nvrtc", "ptxas fatal"];

/// Closing lines that do not belong to a message.
const CLOSING: [&str; 4] =
    ["Remark: ", "Error limit reached.", "Compilation terminated.", "Compilation aborted."];

/// Reads a log.
pub(in crate::cuda_cpp) fn log(text: &str) -> Log {
    let mut log = Log::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let Some(head) = Head::parse(lines[at]) else {
            if !lines[at].trim().is_empty() {
                log.rest.push(lines[at].trim().to_owned());
            }
            at += 1;
            continue;
        };
        let body = lines[at + 1..].iter().take_while(|line| belongs(line)).count();
        log.add(head, &lines[at + 1..=at + body]);
        at += 1 + body;
    }
    log
}

/// Whether a line continues the message above it.
fn belongs(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty() && Head::parse(line).is_none()
}

/// The first line of a message.
struct Head {
    place: Option<(PathBuf, u32)>,
    /// The column, if the line number has one.
    column: Option<u32>,
    severity: Severity,
    number: Option<u32>,
    message: String,
}

impl Head {
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with([' ', '\t']) || CLOSING.iter().any(|it| line.starts_with(it)) {
            return None;
        }
        if let Some(head) = line.match_indices("): ").find_map(|(at, _)| Self::at(line, at)) {
            return Some(head);
        }
        if let Some(head) = Self::of_the_host(line) {
            return Some(head);
        }
        let speaker = SPEAKERS.iter().find(|it| line.starts_with(**it))?;
        let (severity, number, message) = Self::split_severity(
            line[speaker.len()..].trim_start_matches([' ', ':']),
        )
        .or_else(|| {
            let text = line[speaker.len()..].trim_start_matches([' ', ':']).to_owned();
            (*speaker != "nvrtc").then_some((Severity::Error, None, text))
        })?;
        let message = match *speaker {
            "At end of source" => format!("at the end of the source: {message}"),
            _ => message,
        };
        Some(Self { place: None, column: None, severity, number, message })
    }

    /// `FILE:LINE:COLUMN: severity: message`.
    fn of_the_host(line: &str) -> Option<Self> {
        let (place, severity) = SEVERITIES.iter().find_map(|(word, severity)| {
            let at = line.find(&format!(": {word}: "))?;
            Some((&line[..at], (word, *severity)))
        })?;
        let mut parts = place.rsplitn(3, ':');
        let (column, number, file) = (parts.next()?, parts.next()?, parts.next()?);
        let text = &line[place.len() + severity.0.len() + ": ".len() + ": ".len()..];
        let missing = text.strip_suffix(": No such file or directory");
        // As NVRTC has it.
        let message = missing.map(|name| format!("cannot open source file \"{name}\""));
        Some(Self {
            place: Some((PathBuf::from(file), number.parse().ok()?)),
            column: Some(column.parse().ok()?),
            severity: severity.1,
            number: None,
            message: message.unwrap_or_else(|| text.to_owned()),
        })
    }

    /// `FILE(LINE): severity #NUMBER-D: message`, with the parenthesis at `at`.
    fn at(line: &str, at: usize) -> Option<Self> {
        let (file, number) = line[..at].rsplit_once('(')?;
        let place = (PathBuf::from(file), number.parse().ok()?);
        let (severity, number, message) = Self::split_severity(&line[at + "): ".len()..])?;
        Some(Self { place: Some(place), column: None, severity, number, message })
    }

    fn split_severity(text: &str) -> Option<(Severity, Option<u32>, String)> {
        let (word, severity) = SEVERITIES.iter().find(|(word, _)| text.starts_with(word))?;
        let rest = &text[word.len()..];
        if let Some(message) = rest.strip_prefix(": ") {
            return Some((*severity, None, message.to_owned()));
        }
        let (number, message) = rest.strip_prefix(" #")?.split_once(": ")?;
        let number = number.strip_suffix("-D").unwrap_or(number).parse().ok()?;
        Some((*severity, Some(number), message.to_owned()))
    }

    fn span(&self, body: &Body) -> Option<Span> {
        let (file, line) = self.place.clone()?;
        let place = FilePosition { file, line, column: self.column.or(body.column) };
        Some(Span { place, text: body.source.clone() })
    }
}

/// The part after the first line.
#[derive(Default)]
struct Body {
    more: Vec<String>,
    source: Option<String>,
    column: Option<u32>,
    trace: Vec<String>,
}

impl Body {
    /// The source excerpt of the host's compiler: `    3 | SOURCE`, then marks below it.
    fn of_the_host(lines: &[&str]) -> Self {
        let source = lines.first().and_then(|line| Some(line.split_once(" | ")?.1.to_owned()));
        Self { source, ..Self::default() }
    }

    fn parse(lines: &[&str]) -> Self {
        let trace = lines.iter().position(|line| line.trim_start().starts_with("detected during"));
        let (message, trace) = lines.split_at(trace.unwrap_or(lines.len()));
        let caret = message.iter().position(|line| line.trim() == "^");
        let mut body = Self { trace: traced(trace), ..Self::default() };
        let before = match caret.and_then(|caret| Some((caret, caret.checked_sub(1)?))) {
            Some((caret, source)) => {
                let indent = message[caret].chars().take_while(|it| *it != '^').count();
                body.column = u32::try_from(indent.saturating_sub(INDENT) + 1).ok();
                body.source = Some(message[source].get(INDENT..).unwrap_or_default().to_owned());
                &message[..source]
            }
            None => message,
        };
        body.more = before.iter().map(|line| line.trim().to_owned()).collect();
        body
    }
}

/// How far a source line and its caret are indented.
const INDENT: usize = 2;

/// The lines of a trace without its introduction.
fn traced(lines: &[&str]) -> Vec<String> {
    let lines = lines.iter().map(|line| line.trim());
    let lines = lines.map(|line| line.strip_prefix("detected during").unwrap_or(line).trim());
    lines.filter(|line| !matches!(*line, "" | ":")).map(Into::into).collect()
}

impl Log {
    fn add(&mut self, head: Head, body: &[&str]) {
        let body = match head.column {
            Some(_) => Body::of_the_host(body),
            None => Body::parse(body),
        };
        let span = head.span(&body);
        let mut message = head.message.clone();
        for more in &body.more {
            message.push_str("; ");
            message.push_str(more);
        }
        match self.diagnostics.last_mut().filter(|_| head.severity == Severity::Note) {
            Some(of) => of.notes.push(Note { message, span }),
            None => self.diagnostics.push(Diagnostic {
                severity: head.severity,
                number: head.number,
                message,
                span,
                notes: Vec::new(),
            }),
        }
        let Some(of) = self.diagnostics.last_mut() else { return };
        let file = head.place.map(|(file, _)| file);
        of.notes.extend(body.trace.iter().map(|line| step(line, file.as_ref())));
    }
}

/// `instantiation of "…" at line N of FILE`. Without a file it is that of the message.
fn step(line: &str, file: Option<&PathBuf>) -> Note {
    let placed = line.rsplit_once(" at line ").and_then(|(message, place)| {
        let (number, named) = match place.split_once(" of ") {
            Some((number, named)) => (number, Some(PathBuf::from(named.trim_matches('"')))),
            None => (place, None),
        };
        let place = FilePosition {
            file: named.or(file.cloned())?,
            line: number.parse().ok()?,
            column: None,
        };
        Some(Note { message: message.to_owned(), span: Some(Span { place, text: None }) })
    });
    placed.unwrap_or_else(|| Note { message: line.to_owned(), span: None })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
