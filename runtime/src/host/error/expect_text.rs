//! The text of an `expect` in a kernel, read in the source: on the device it is a value of the
//! panic's message, and a message shows every value as `_`.
//!
//! Input: the message, and the places of the panic. Output: the text, if a source is here and its
//! line has one `expect` with a text.

use std::path::Path;
use std::{env, fs};

/// `message` with the text of the first of `places`, each a file and a line from 1, that has an
/// `expect`.
pub(crate) fn filled<'p>(
    message: &str,
    mut places: impl Iterator<Item = (&'p str, usize)>,
) -> Option<String> {
    // A `Result` shows its error, too.
    let rest = message.strip_prefix('_').filter(|rest| ["", ": _"].contains(rest))?;
    let here = env::current_dir().ok()?;
    let text = places.find_map(|(file, line)| text_in(&source_line(&here, file, line)?))?;
    Some(format!("{text}{rest}"))
}

/// A line of `file`. Its path starts at the workspace's folder, at or above the package's, `here`.
fn source_line(here: &Path, file: &str, line: usize) -> Option<String> {
    let source = here.ancestors().find_map(|it| fs::read_to_string(it.join(file)).ok())?;
    source.lines().nth(line.checked_sub(1)?).map(str::to_owned)
}

/// The text of the only `expect` of a line.
fn text_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(".expect(\"").filter(|(_, rest)| !rest.contains(".expect("))?;
    let (mut text, mut letters) = (String::new(), rest.chars());
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => text.push(letters.next().filter(|letter| ['"', '\\'].contains(letter))?),
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_only_expect_of_a_line_is_found() {
        let text = |line: &str| text_in(line);
        assert_eq!(
            text(r#"let a = b.expect("at least three");"#).as_deref(),
            Some("at least three")
        );
        assert_eq!(text(r#".expect("a \"b\" \\ c")"#).as_deref(), Some(r#"a "b" \ c"#));
        for unknown in ["a.unwrap();", "a.expect(text)", "a.expect(\"b", r#"a.expect("\n")"#] {
            assert_eq!(text(unknown), None, "{unknown}");
        }
        assert_eq!(text("a.expect(\"b\") + c.expect(\"d\")"), None);
    }

    #[test]
    fn only_value_messages_are_looked_up_if_the_source_exists() {
        // The line of this file with the text.
        let at =
            include_str!("expect_text.rs").lines().position(|it| it.contains("at least three"));
        let place = ("src/host/error/expect_text.rs", at.unwrap() + 1);
        let filled = |message, place| filled(message, [("gone.rs", 1), place].into_iter());
        assert_eq!(filled("_", place).as_deref(), Some("at least three"));
        assert_eq!(filled("_: _", place).as_deref(), Some("at least three: _"));
        assert_eq!(filled("the len is _", place), None);
        assert_eq!(filled("_", ("src/host/error/expect_text.rs", 1)), None);
    }
}
