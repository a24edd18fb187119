//! Sentences on the page: text between backticks is code there.

use maud::{Markup, html};

/// `text`, escaped, with the text between two backticks of a line as code. A backtick without
/// another one on its line stays.
pub(super) fn prose(text: &str) -> Markup {
    let (parts, rest) = parted(text);
    html! {
        @for (before, quoted) in &parts { (before) code { (quoted) } }
        (rest)
    }
}

/// The quotations in `text`, each with the text before it; and the text after the last one.
fn parted(text: &str) -> (Vec<(&str, &str)>, &str) {
    let (mut parts, mut done) = (Vec::new(), 0);
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices() {
        match (c, open) {
            ('`', Some(from)) if from + 1 < at => {
                parts.push((&text[done..from], &text[from + 1..at]));
                (done, open) = (at + 1, None);
            }
            ('`', _) => open = Some(at),
            ('\n', _) => open = None,
            _ => {}
        }
    }
    (parts, &text[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_code_and_everything_is_escaped() {
        for (text, shown) in [
            (
                "a has the best `b`, and `c` not",
                "a has the best <code>b</code>, and <code>c</code> not",
            ),
            ("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;"),
            ("it`s alone", "it`s alone"),
            ("one ` on\na line ` each", "one ` on\na line ` each"),
            ("```\n`é`", "```\n<code>é</code>"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), shown, "{text}");
        }
    }
}
