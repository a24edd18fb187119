//! JSON that is safe to show in a terminal or in the log of a CI job.
//!
//! Input: a value. Output: its JSON. Characters that steer a terminal or change the direction of
//! text, and commands of Azure's and TeamCity's runners, are escaped (`\u202e`), so parsers read
//! the same value.

use std::io::{self, Write};

use gpuprof_model::text::steers;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Writes `value` on one line, with a line break.
///
/// # Errors
/// `out` could not be written.
pub fn line(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        &mut *out,
        PrintableFormatter(CompactFormatter),
    ))?;
    writeln!(out)
}

/// Writes `value` indented, with a line break.
///
/// # Errors
/// `out` could not be written.
pub fn indented(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        &mut *out,
        PrintableFormatter(PrettyFormatter::new()),
    ))?;
    writeln!(out)
}

/// A formatter that writes printable texts.
struct PrintableFormatter<F>(F);

/// Forwards calls to the inner formatter.
macro_rules! as_within {
    ($($method:ident($($argument:ident: $type:ty)?);)*) => {$(
        fn $method<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.0.$method(writer $(, $argument)?)
        }
    )*};
}

impl<F: Formatter> Formatter for PrintableFormatter<F> {
    as_within! {
        begin_array(); end_array(); begin_array_value(first: bool); end_array_value();
        begin_object(); end_object(); begin_object_key(first: bool); end_object_key();
        begin_object_value(); end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let (mut from, mut before) = (0, ' ');
        for (at, c) in fragment.char_indices() {
            // All of them are one unit of UTF-16.
            if steers(c) || (before, c) == ('#', '#') {
                writer.write_all(&fragment.as_bytes()[from..at])?;
                write!(writer, "\\u{:04x}", u32::from(c))?;
                from = at + c.len_utf8();
            }
            before = c;
        }
        writer.write_all(&fragment.as_bytes()[from..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut out = Vec::new();
        line(&mut out, &value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn control_characters_are_escaped_and_survive_parsing() {
        for (text, shown) in [
            ("a\u{202e}b\u{7f}\u{9b}é", "\"a\\u202eb\\u007f\\u009bé\"\n"),
            ("\u{1b}[2J\n", "\"\\u001b[2J\\n\"\n"),
            ("##[error]#", "\"#\\u0023[error]#\"\n"),
            ("", "\"\"\n"),
        ] {
            assert_eq!(written(text), shown);
            assert_eq!(serde_json::from_str::<String>(&written(text)).unwrap(), text);
        }
    }

    #[test]
    fn nothing_else_differs_from_what_serde_writes() {
        let value =
            serde_json::json!({"a": [1, 2.5, null, [], {}], "b": {"é\"": "\\ \t", "": true}});
        let mut out = Vec::new();
        indented(&mut out, &value).unwrap();
        assert_eq!(out, format!("{value:#}\n").into_bytes());
        out.clear();
        line(&mut out, &value).unwrap();
        assert_eq!(out, format!("{value}\n").into_bytes());
    }
}
