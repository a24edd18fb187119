//! A message as cargo shows rustc's.

use std::fmt::{self, Write};

use super::{Diagnostic, Note, Severity, Span};

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// ```text
/// error: identifier "foo" is undefined
///   --> kernels/scan.cu:12:9
///    |
/// 12 |     x[0] = foo;
///    |            ^
/// ```
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As rustc does, all numbers of a message are as wide as the widest.
        let spans = self.notes.iter().filter_map(|note| note.span.as_ref()).chain(&self.span);
        let width = spans.map(|it| it.place.line.to_string().len()).max().unwrap_or(1);
        write!(f, "{}", self.severity)?;
        if let Some(number) = self.number {
            write!(f, "[{number}]")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(span) = &self.span {
            write_span(f, span, width)?;
        }
        self.notes.iter().try_for_each(|note| write_note(f, note, width))
    }
}

fn write_note(f: &mut fmt::Formatter<'_>, note: &Note, width: usize) -> fmt::Result {
    match &note.span {
        Some(span) => {
            write!(f, "\nnote: {}", note.message)?;
            write_span(f, span, width)
        }
        None => write!(f, "\n{:width$} = note: {}", "", note.message),
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, span: &Span, width: usize) -> fmt::Result {
    let Span { place, text } = span;
    write!(f, "\n{:width$}--> {place}", "")?;
    let Some(text) = text else { return Ok(()) };
    write!(f, "\n{:width$} |\n{:width$} | {text}", "", place.line)?;
    let Some(column) = place.column else { return Ok(()) };
    // A tab stays a tab, so that the caret stands below its character however wide tabs are.
    let before = text.chars().take(column.saturating_sub(1) as usize);
    let mut indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
    while indent.chars().count() + 1 < column as usize {
        indent.push(' ');
    }
    write!(f, "\n{:width$} | {indent}^", "")
}

/// The text of `diagnostics`, with an empty line between two.
pub(in crate::cuda_cpp) fn rendered(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let between = if at == 0 { "" } else { "\n\n" };
        let _ = write!(text, "{between}{diagnostic}");
    }
    text
}
