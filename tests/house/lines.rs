//! Input: the text of a file. Output: the numbers of its prose lines that are too wide.
//!
//! Code is rustfmt's business. A table row, a code block and a link cannot be wrapped.

/// How wide a line of a comment or of a document may be.
pub const WIDTH: usize = 100;

/// Comment lines of a Rust file that are wider than [`WIDTH`].
pub fn wide_comments(text: &str) -> Vec<usize> {
    let mut block = Block::default();
    let comment = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let body = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        body.or_else(|| line.strip_prefix("//")).map(str::to_owned)
    };
    numbered(text)
        .filter(|(_, line)| match comment(line) {
            Some(body) => block.is_prose(&body) && width(line) > WIDTH,
            None => {
                block = Block::default();
                false
            }
        })
        .map(|(number, _)| number)
        .collect()
}

/// Prose lines of a Markdown file that are wider than [`WIDTH`].
pub fn wide_prose(text: &str) -> Vec<usize> {
    let mut block = Block::default();
    let wide = numbered(text).filter(|(_, line)| block.is_prose(line) && width(line) > WIDTH);
    wide.map(|(number, _)| number).collect()
}

/// The kind of a line in Markdown.
#[derive(Default)]
struct Block {
    fenced: bool,
    indented: bool,
    after_blank: bool,
}

impl Block {
    /// Whether the next line is prose: no code and no table.
    fn is_prose(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            self.fenced = !self.fenced;
            return false;
        }
        let deep = line.len() - trimmed.len() >= 4;
        self.indented = deep && (self.indented || self.after_blank);
        self.after_blank = trimmed.is_empty();
        !self.fenced && !self.indented && !trimmed.starts_with('|')
    }
}

/// The columns that a line takes without the targets of its links.
fn width(line: &str) -> usize {
    let mut rest = line;
    let mut columns = 0;
    while let Some(start) =
        ["](", "http://", "https://"].iter().filter_map(|it| rest.find(it)).min()
    {
        let target = &rest[start..];
        let end = target.find([')', ' ', '>']).unwrap_or(target.len());
        columns += rest[..start].chars().count();
        rest = &target[end..];
    }
    columns + rest.chars().count()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[test]
fn prose_is_measured_and_code_tables_and_links_are_not() {
    let long = "word ".repeat(30);
    let url = "x".repeat(100);
    let text =
        format!("{long}\n| {long} |\n```\n{long}\n```\nsee [it](https://{url})\n\n    {long}\n");
    assert_eq!(wide_prose(&text), [1]);

    let code =
        format!("let x = 1; // {long}\n/// {long}\n//! ```\n//! {long}\n//! ```\n    // {long}\n");
    assert_eq!(wide_comments(&code), [2, 6]);
}
