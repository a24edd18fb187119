//! C++ as words and signs.
//!
//! Input: a source. Output: its names, its numbers and each other character, without comments,
//! directives of the preprocessor, and the text of literals.

/// The words of `source`.
pub(super) fn words(source: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") || c == '#' {
            line(rest)
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' || c == '\'' {
            literal(rest, c)
        } else if is_word(c) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            words.push(&rest[..length]);
            length
        } else {
            words.extend((!c.is_whitespace()).then_some(&rest[..c.len_utf8()]));
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

/// The length of a line, with the lines that a backslash joins to it.
fn line(rest: &str) -> usize {
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    end
}

/// The length of a literal between two `quote`; if it does not end, of the first quote.
fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => break,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    quote.len_utf8()
}
