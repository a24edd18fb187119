//! What people read on standard output, where the text of others could act.
//!
//! Input: lines, some of them with names and messages that came from files, archives and other
//! programs. Output: the same lines without what steers a terminal or is a command of a CI
//! runner ([`gpuprof_model::text::printable`]). Colours stay only where the caller says that
//! it set them, and such a caller made the text of others printable first. Everything for
//! people goes through here, or by standard error through `console`; what programs read (JSON,
//! CSV) has escapes of its own.

use std::io::{self, Write};

use gpuprof_model::text::{printable_in_colour, printable_whole};

/// Shows on `out` what `write` writes, without any colour.
///
/// # Errors
/// Those of `out`.
pub fn shown(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut terminal = Terminal::new(out);
    write(&mut terminal)?;
    terminal.flush()
}

/// Shows on `out` what `write` writes, with its colours: all of them are ours.
///
/// # Errors
/// Those of `out`.
pub fn shown_in_colour(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut terminal = Terminal { safe: printable_in_colour, ..Terminal::new(out) };
    write(&mut terminal)?;
    terminal.flush()
}

/// A writer that holds a line until all of it is known; flushed, also one that has no end.
pub struct Terminal<'o> {
    inner: &'o mut dyn Write,
    line: Vec<u8>,
    safe: fn(&str) -> String,
}

impl<'o> Terminal<'o> {
    /// Shows on `inner` what is written, without any colour.
    pub fn new(inner: &'o mut dyn Write) -> Self {
        Self { inner, line: Vec::new(), safe: printable_whole }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.inner.write_all((self.safe)(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl Write for Terminal<'_> {
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
    fn lines_are_made_safe_however_they_are_cut() {
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
            super::shown(&mut plain, write).unwrap();
            assert_eq!(String::from_utf8(plain).unwrap(), "é\n: :error::é");
        }
    }
}
