//! Text for people on standard output; untrusted text is made safe.
//!
//! Input: lines, some with names and messages from files, archives and other programs. Output: the
//! same lines without terminal control characters and commands of CI runners
//! ([`gpuprof_model::text::printable`]). Colours stay only if the caller says that it set them;
//! such a caller makes untrusted text printable first. All text for people goes through this module
//! or `console`; machine-readable formats (JSON, CSV) have their own escapes.

use std::io::{self, Write};

use gpuprof_model::text::{printable_in_colour, printable_whole};

use crate::wrap::wrapped;

/// The extra indent of the rest of a broken line.
const DEEPER: usize = 4;

/// Shows the output of `write` on `out`, without colours, in lines of up to `width`.
///
/// # Errors
/// Errors of `out`.
pub fn shown_within(
    out: &mut dyn Write,
    width: Option<u16>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut printable = PrintableOutput::new(out).within(width);
    write(&mut printable)?;
    printable.flush()
}

/// Shows the output of `write` on `out`, without colours.
///
/// # Errors
/// Errors of `out`.
pub fn show_plain(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut printable = PrintableOutput::new(out);
    write(&mut printable)?;
    printable.flush()
}

/// Shows the output of `write` on `out`, with its colours, all of which are ours.
///
/// # Errors
/// Errors of `out`.
pub fn shown_in_colour(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut printable = PrintableOutput { safe: printable_in_colour, ..PrintableOutput::new(out) };
    write(&mut printable)?;
    printable.flush()
}

/// A writer that buffers whole lines; a flush writes an unfinished one.
pub struct PrintableOutput<'o> {
    inner: &'o mut dyn Write,
    line: Vec<u8>,
    safe: fn(&str) -> String,
    width: Option<u16>,
}

impl<'o> PrintableOutput<'o> {
    /// Shows text on `inner`, without colours.
    pub fn new(inner: &'o mut dyn Write) -> Self {
        Self { inner, line: Vec::new(), safe: printable_whole, width: None }
    }

    /// Breaks lines of plain text between words at `width`; the rest of a line is indented further
    /// than its start.
    #[must_use]
    pub fn within(self, width: Option<u16>) -> Self {
        Self { width, ..self }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = (self.safe)(&String::from_utf8_lossy(&line));
        let width = self.width.filter(|width| text.trim_end().chars().count() > (*width).into());
        let Some(width) = width else { return self.inner.write_all(text.as_bytes()) };
        let (start, end) = (text.trim_start_matches(' '), &text[text.trim_end().len()..]);
        let indent = text.len() - start.len();
        let rest = wrapped(start.trim_end(), Some(width), indent, indent + DEEPER);
        write!(self.inner, "{:indent$}{rest}{end}", "")
    }
}

impl Write for PrintableOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_line()?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_long_are_broken_between_words_and_others_are_left() {
        let text = "name  is short\n    a description of a metric, in several words, and a name_that_is_far_too_long\n";
        let write = |width| {
            let mut out = Vec::new();
            shown_within(&mut out, width, |out| out.write_all(text.as_bytes())).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(None), text);
        assert_eq!(
            write(Some(40)),
            "name  is short\n    a description of a metric, in\n        several words, and a\n        \
             name_that_is_far_too_long\n"
        );
        assert!(write(Some(40)).lines().all(|line| line.chars().count() <= 40));
    }

    #[test]
    fn lines_are_escaped_even_if_written_in_pieces() {
        for cut in 0..20 {
            let text = "\u{1b}[1mé\u{1b}[0m\u{1b}[2J\n::error::é".as_bytes();
            let mut shown = Vec::new();
            let write = |out: &mut dyn Write| {
                out.write_all(&text[..cut])?;
                out.write_all(&text[cut..])
            };
            shown_in_colour(&mut shown, write).unwrap();
            assert_eq!(String::from_utf8(shown).unwrap(), "\u{1b}[1mé\u{1b}[0m\n: :error::é");
            let mut plain = Vec::new();
            let write = |out: &mut dyn Write| {
                out.write_all(&text[..cut])?;
                out.write_all(&text[cut..])
            };
            super::show_plain(&mut plain, write).unwrap();
            assert_eq!(String::from_utf8(plain).unwrap(), "é\n: :error::é");
        }
    }
}
