//! Input: the text of a file. Output: its lines of prose: comments, messages and Markdown, without
//! the code in them.

/// The kinds of prose, in the order of their limits in `english`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A line of a comment in Rust.
    Comment,
    /// A string of three words or more in Rust.
    Message,
    /// A line of a Markdown file.
    Markdown,
}

/// A line of prose.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Its kind.
    pub kind: Kind,
    /// Its number in the file.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// The prose of a Rust file: comments outside of their code blocks, and strings.
pub fn read_rust(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        let mut add =
            |kind, text: &str| lines.push(Line { kind, number: index + 1, text: text.to_owned() });
        let Some(body) = line.trim_start().strip_prefix("//") else {
            fenced = false;
            strings(line).filter(|it| it.split_whitespace().count() >= 3).for_each(|it| {
                add(Kind::Message, it);
            });
            continue;
        };
        let body = body.trim_start_matches(['/', '!']).trim();
        if body.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !body.is_empty() {
            add(Kind::Comment, body);
        }
    }
    lines
}

/// The prose of a Markdown file: everything outside of its code blocks.
pub fn read_markdown(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") && !line.trim().is_empty() {
            let text = line.to_owned();
            lines.push(Line { kind: Kind::Markdown, number: index + 1, text });
        }
    }
    lines
}

/// The contents of the string literals that begin and end on `line`.
fn strings(line: &str) -> impl Iterator<Item = &str> {
    let mut quotes = Vec::new();
    let mut escaped = false;
    for (at, character) in line.char_indices() {
        if character == '"' && !escaped {
            quotes.push(at);
        }
        escaped = character == '\\' && !escaped;
    }
    let pairs: Vec<_> = quotes.chunks_exact(2).map(|pair| (pair[0] + 1, pair[1])).collect();
    pairs.into_iter().map(|(begin, end)| &line[begin..end])
}

#[test]
fn prose_is_found_and_code_is_not() {
    let line = |kind, number, text: &str| Line { kind, number, text: text.to_owned() };
    let rust = "//! A module.\n/// ```\n/// let x = 1;\n/// ```\nlet y = \"two words\";\n\
                fail(\"it says \\\"no\\\" here\"); // trailing\n    // Done.\n";
    let expected = [
        line(Kind::Comment, 1, "A module."),
        line(Kind::Message, 6, "it says \\\"no\\\" here"),
        line(Kind::Comment, 7, "Done."),
    ];
    assert_eq!(read_rust(rust), expected);
    let markdown = "# Title\n\n```sh\nrun it\n```\n    indented\n- item\n";
    let expected = [line(Kind::Markdown, 1, "# Title"), line(Kind::Markdown, 7, "- item")];
    assert_eq!(read_markdown(markdown), expected);
}
