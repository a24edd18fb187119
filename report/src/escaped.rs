//! Foreign text, escaped for where it goes: kernels' names, axis values, paths, thresholds, and
//! what other programs said.
//!
//! Input: any text. Output: text that means itself in its destination, and cannot act there. The
//! terminal's rules are those of [`gpuprof_model::text::printable()`], and hold everywhere else as
//! well, since every format may be shown on one.

use gpuprof_model::text::printable;

/// What makes a spreadsheet take the beginning of a cell for a formula (OWASP, "CSV injection"):
/// these, and their full-width forms.
const FORMULA: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', '\u{feff}'];

/// What follows a character so that GitHub links nothing: a blank of no width, as Renovate writes
/// it behind `@`.
const APART: &str = "&#8203;";

/// A cell of CSV that is text: in front of one that a spreadsheet would take for a formula stands
/// an apostrophe, unless all of it is a number. Quotes and line breaks are the writer's business.
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
    // Production 2, `Char`; what it excludes beside these is left out as a control character.
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

/// [`markdown`] at the beginning of a paragraph, where no list, heading or rule comes of it either.
pub(super) fn markdown_paragraph(text: &str) -> String {
    let text = markdown(text);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('-' | '+' | '=') if digits == 0 => format!("\\{text}"),
        _ => text,
    }
}

/// Whether `rest`, which follows a colon, is `name:` as of an emoji.
fn names_emoji(rest: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let after = rest.trim_start_matches(name);
    after.len() < rest.len() && after.starts_with(':') && !after.starts_with("::")
}
