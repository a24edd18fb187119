//! Foreign text: what other programs wrote, made safe to show.
//!
//! Input: a reason that may hold the tail of a process' stderr. Output: the same text without
//! what could steer or colour a terminal, so that no report has to think of it again.

/// `text`, often the tail of a process' stderr, without what could steer or colour a terminal.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_end().chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // ECMA-48: a control sequence is ESC, `[`, parameters, and a final byte from `@` to
            // `~`.
            if chars.as_str().starts_with('[') {
                chars.next();
                chars.find(|c| ('@'..='~').contains(c));
            }
        } else if !c.is_control() || matches!(c, '\n' | '\t') {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        assert_eq!(printable("\u{1b}[1;31mred\u{1b}[0m\r\n\tend \u{7}\u{1b}c\n"), "red\n\tend c");
        assert_eq!(printable("cut off \u{1b}[3"), "cut off ");
    }
}
