//! Untrusted text, escaped for its destination: names of kernels, axis values, paths, thresholds,
//! and messages of other programs.
//!
//! Input: any text. Output: text that means itself in its destination, and cannot act there. The
//! terminal's rules are those of [`gpuprof_model::text::printable()`], and hold everywhere else as
//! well, since every format may be shown on one.

use gpuprof_model::text::printable;

/// Characters that start a formula in a spreadsheet (OWASP, "CSV injection"), and their full-width
/// forms.
const FORMULA: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', '\u{feff}'];

/// Follows a character so that GitHub links nothing: a zero-width space, which Renovate puts after
/// `@`.
const APART: &str = "&#8203;";

/// A text cell of CSV. An apostrophe precedes a text that a spreadsheet would take for a formula,
/// unless all of it is a number. The writer adds quotes.
pub(super) fn csv(text: &str) -> String {
    let mut text = printable(text);
    if text.starts_with(FORMULA) && text.parse::<f64>().is_err() {
        text.insert(0, '\'');
    }
    text
}

/// The message of a workflow command, by `packages/core/src/command.ts` of GitHub's toolkit.
pub(super) fn github_message(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command, by the same.
pub(super) fn github_property(text: &str) -> String {
    github_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text of an XML document: characters that XML 1.0 knows no way to write are left out. Markup is
/// the writer's business.
pub(super) fn xml(text: &str) -> String {
    // Production 2, `Char`; the other characters it excludes are removed as control characters.
    printable(text).replace(['\u{fffe}', '\u{ffff}'], "")
}

/// Text inside a table cell, a heading or a list item of GitHub-flavoured Markdown, on one line of
/// it: no markup, HTML, link, reference, mention or emoji comes of it.
pub(super) fn markdown(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // GitHub reads mathematics between two.
            '$' => out.push_str("&#36;"),
            '\n' => out.push_str("<br>"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '^' => {
                out.push('\\');
                out.push(c);
            }
            // The space is behind `src/lib.rs:100`, so that the place can be copied.
            ':' if [":100", ":1234"].iter().any(|emoji| out.ends_with(emoji)) => {
                out.push_str(APART);
                out.push(':');
            }
            c => out.push(c),
        }
        let links = match c {
            '@' => true,
            '#' => rest.starts_with(|c: char| c.is_ascii_alphanumeric()),
            ':' => rest.starts_with("//") || before != Some(':') && names_emoji(rest),
            '.' => out.to_ascii_lowercase().ends_with("www."),
            '-' => out.to_ascii_lowercase().ends_with("gh-"),
            _ => false,
        };
        if links {
            out.push_str(APART);
        }
        before = Some(c);
    }
    out
}

/// [`markdown`] at the beginning of a paragraph, where it must not start a list, heading or rule
/// either.
pub(super) fn markdown_paragraph(text: &str) -> String {
    let text = markdown(text);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('-' | '+' | '=') if digits == 0 => format!("\\{text}"),
        _ => text,
    }
}

/// Whether `rest`, which follows a colon, is `name:` as of an emoji. A number is the line of a
/// place, such as `src/lib.rs:12: `.
fn names_emoji(rest: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let after = rest.trim_start_matches(name);
    let named = &rest[..rest.len() - after.len()];
    named.contains(|c: char| !c.is_ascii_digit())
        && after.starts_with(':')
        && !after.starts_with("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_place_can_be_copied_and_is_never_an_emoji() {
        for (text, expected) in [
            ("most by src/lib.rs:31: 8 of 9", "most by src/lib.rs:31: 8 of 9"),
            ("src/lib.rs:100:8, src/lib.rs:2100:8", "src/lib.rs:100&#8203;:8, src/lib.rs:2100:8"),
            ("src/lib.rs:1234: 8 of 9", "src/lib.rs:1234&#8203;: 8 of 9"),
            ("a :shipit: b", "a :&#8203;shipit: b"),
        ] {
            assert_eq!(markdown(text), expected);
        }
    }
}
