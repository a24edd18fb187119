//! Foreign text, from other programs, files and names, made safe to show on a terminal and in the
//! log of a CI job.
//!
//! Input: any text. Output: the same text without characters that could steer a terminal, change
//! the direction of reading, or be taken by a CI runner as our command.

use std::fmt::Write;

/// The escape character.
const ESC: char = '\u{1b}';

/// `text`, which may have several lines, made safe to show:
///
/// - Control characters except line breaks and tabs, and the sequences of a terminal, are left out.
/// - Characters that change the direction of reading, and the line and paragraph separators, are
///   written as `\u{202e}`: two names that differ only in them stay two names.
/// - A line cannot begin with `::`, and no word with `##[` or `##word[`, which the runners of
///   GitHub, Azure and TeamCity read as commands: a blank separates them.
pub fn printable(text: &str) -> String {
    let mut out = printable_whole(text);
    out.truncate(out.trim_end().len());
    out
}

/// [`printable`] on a single line: a line break is written as `\n`, a tab as a blank.
pub fn one_line(text: &str) -> String {
    printable(&printable(text).replace('\n', "\\n").replace('\t', " "))
}

/// [`printable`] with the blanks and line breaks that `text` ends with.
pub fn printable_whole(text: &str) -> String {
    neutral(text, false)
}

/// [`printable_whole`] for text that we coloured: sequences that only set colours and weights stay.
/// So would foreign ones, so we make text [`printable`] before we colour it.
pub fn printable_in_colour(text: &str) -> String {
    neutral(text, true)
}

/// The contents of a line so far.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Blank,
    Colon,
    Text,
}

fn neutral(text: &str, keep_styles: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line = Line::Blank;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == ESC {
            let (sequence, after) = rest.split_at(sequence_length(rest));
            if keep_styles && is_style(sequence) {
                out.push_str(sequence);
            }
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => line = Line::Blank,
            '\t' => {}
            c if c.is_control() => continue,
            ':' if line == Line::Colon => out.push(' '),
            '[' if out.trim_end_matches(|c: char| c.is_ascii_alphabetic()).ends_with("##") => {
                out.push(' ');
            }
            _ => {}
        }
        line = match (line, c) {
            (Line::Blank, ':') => Line::Colon,
            (Line::Blank, c) if c.is_whitespace() => Line::Blank,
            _ => Line::Text,
        };
        if redirects(c) {
            // A `String` takes whatever is written.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The bytes of the sequence that `text` begins with. ECMA-48: a control sequence is ESC, `[`,
/// parameters, and a final byte from `@` to `~`; of other sequences only the ESC is taken.
fn sequence_length(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return ESC.len_utf8() };
    let last = parameters.char_indices().find(|(_, c)| ('@'..='~').contains(c) || *c == '\n');
    match last {
        Some((at, '\n')) => 2 + at,
        Some((at, c)) => 2 + at + c.len_utf8(),
        None => text.len(),
    }
}

/// Whether a control sequence only selects colours and weights (SGR).
fn is_style(sequence: &str) -> bool {
    let parameters = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    parameters.is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b';'))
}

/// Whether a character steers a terminal or changes the direction of reading, which displayed
/// foreign text must not do. Line breaks and tabs count.
pub fn steers(c: char) -> bool {
    c.is_control() || redirects(c)
}

/// Whether a character changes the direction of the text around it, or ends a line invisibly.
/// Unicode Standard Annex 9, and the separators U+2028 and U+2029.
fn redirects(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_control_sequences_are_removed() {
        assert_eq!(printable("\u{1b}[1;31mred\u{1b}[0m\r\n\tend \u{7}\u{1b}c\n"), "red\n\tend c");
        assert_eq!(printable("cut off \u{1b}[3"), "cut off");
        assert_eq!(printable("cut off \u{1b}[3\nnext"), "cut off \nnext");
    }

    #[test]
    fn characters_that_change_the_text_direction_are_escaped() {
        assert_eq!(printable("a\u{202e}b\u{2028}c"), "a\\u{202e}b\\u{2028}c");
    }

    #[test]
    fn no_line_is_a_command_of_a_ci_runner() {
        assert_eq!(printable("x\n \u{1b}[0m::error::y"), "x\n : :error::y");
        assert_eq!(printable(":\u{7}:warning"), ": :warning");
        assert_eq!(printable("a ##[error]b ##vso[c] ##\u{7}[d]"), "a ## [error]b ##vso [c] ## [d]");
        assert_eq!(printable("saxpy::kernels::saxpy ## x"), "saxpy::kernels::saxpy ## x");
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(one_line("a\r\n::error::b\tc"), "a\\n: :error::b c");
    }

    #[test]
    fn colours_are_removed_and_blanks_kept() {
        assert_eq!(printable_whole(" \u{1b}[8mhidden\u{1b}[31m \n"), " hidden \n");
    }

    #[test]
    fn only_colours_of_ours_are_kept() {
        assert_eq!(
            printable_in_colour("\u{1b}[1;32m* 5\u{1b}[0m\u{1b}[2J"),
            "\u{1b}[1;32m* 5\u{1b}[0m"
        );
    }

    /// Text of the characters that matter here, and of any others.
    fn hostile() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "::", ":", "##", "[", "\u{1b}", "\u{1b}[", "m", "31", "\n", "\r", "\t", " ", "error",
            "\u{202e}", "\u{2028}", "\u{9b}", "\u{7f}", "\u{0}", "x",
        ]);
        let parts = prop::collection::vec(parts, 0..16).prop_map(|parts| parts.concat());
        prop_oneof![3 => parts, 1 => any::<String>()]
    }

    /// Whether `text` holds a control character, or begins a line with a command.
    fn acts(text: &str) -> bool {
        text.chars().any(|c| c.is_control() && c != '\n' && c != '\t' || redirects(c))
            || text.lines().any(|line| line.trim_start().starts_with("::"))
    }

    /// Whether `text` holds `##[` or `##word[`.
    fn commands(text: &str) -> bool {
        let word = |rest: &str| {
            rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[')
        };
        text.split("##").skip(1).any(word)
    }

    proptest! {
        #[test]
        fn printable_text_contains_no_commands(text in hostile()) {
            let shown = printable(&text);
            prop_assert!(!acts(&shown) && !commands(&shown), "{shown:?}");
            prop_assert_eq!(&printable(&shown), &shown, "twice is once");
            let line = one_line(&text);
            prop_assert!(!acts(&line) && !commands(&line), "{line:?}");
            prop_assert!(!line.contains(['\n', '\t']), "{line:?}");
            let mut coloured = printable_in_colour(&text);
            prop_assert!(!commands(&coloured), "{coloured:?}");
            while let Some(at) = coloured.find(ESC) {
                let length = sequence_length(&coloured[at..]);
                prop_assert!(is_style(&coloured[at..at + length]), "{coloured:?}");
                coloured.replace_range(at..at + length, "");
            }
            prop_assert!(!acts(&coloured), "{coloured:?}");
        }
    }
}
