//! The items of a module: its functions, entries, variables, and the directives between them.
//!
//! Input: PTX without comments. Output: pieces of it.

/// A piece of a module. All of them one after the other are the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// Its kind: `entry`, `func`, `global`, `const`, `shared`; none for the module's own
    /// directives.
    pub(super) kind: Option<&'a str>,
    /// Its name.
    pub(super) name: Option<&'a str>,
    /// Its text, with the white space before it.
    pub(super) text: &'a str,
}

/// The kinds of named items.
const KINDS: [&str; 8] =
    ["entry", "func", "global", "const", "shared", "texref", "surfref", "alias"];

impl<'a> Item<'a> {
    fn parse(text: &'a str) -> Self {
        let kind = words(text).find_map(|word| {
            let word = word.strip_prefix('.')?;
            KINDS.into_iter().find(|kind| *kind == word)
        });
        let name = kind.and_then(|kind| name(text, kind));
        Self { kind: kind.filter(|_| name.is_some()), name, text }
    }

    /// Every word in it, directives and registers among them.
    pub(super) fn words(self) -> impl Iterator<Item = &'a str> {
        words(self.text)
    }

    /// Whether it is an entry point with its body: nvcc declares what is named before it is
    /// defined.
    pub(super) fn is_entry(&self) -> bool {
        self.kind == Some("entry") && self.text.contains('{')
    }

    /// Whether it is a variable in shared memory.
    pub(super) fn is_shared(&self) -> bool {
        self.kind == Some("shared")
    }
}

/// The name of an item: of a function, the word before its parameters; of a variable, the last
/// word before its size, its value or its end.
fn name<'a>(text: &'a str, kind: &str) -> Option<&'a str> {
    let at = text.find(&format!(".{kind}"))? + 1 + kind.len();
    let rest = &text[at..];
    if !matches!(kind, "entry" | "func") {
        let end = rest.find(['[', '=', ';', ','])?;
        return words(&rest[..end]).filter(|word| !word.starts_with('.')).last();
    }
    let mut rest = rest.trim_start();
    // The return value is in parentheses before the function's name.
    if let Some(returned) = rest.strip_prefix('(') {
        rest = &returned[returned.find(')')? + 1..];
    }
    words(rest).find(|word| !word.starts_with('.'))
}

/// Identifiers and directives.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$%.".contains(c)));
    parts.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Cuts a module into its items. Each ends with the `}` of its body, with a `;`, or, of a
/// directive of the module, with its line.
pub(super) fn items(code: &str) -> Vec<Item<'_>> {
    let (mut items, mut start) = (Vec::new(), 0);
    let mut scan = Scan::default();
    for (at, letter) in code.char_indices() {
        if scan.ends_item(letter, &code[start..at]) {
            items.push(Item::parse(&code[start..=at]));
            start = at + 1;
            scan = Scan::default();
        }
    }
    if start < code.len() {
        items.push(Item { kind: None, name: None, text: &code[start..] });
    }
    items
}

/// The state of the scan.
#[derive(Default)]
struct Scan {
    depth: usize,
    quoted: bool,
    /// Whether there is a `=`: braces are a value then, and no body.
    value: bool,
}

/// Directives that are a line, without a `;`.
const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];

impl Scan {
    fn ends_item(&mut self, letter: char, before: &str) -> bool {
        match letter {
            '\n' => return self.depth == 0 && is_line(before),
            '"' => self.quoted = !self.quoted,
            _ if self.quoted => {}
            '=' => self.value = true,
            '{' | '(' => self.depth += 1,
            '}' | ')' => {
                self.depth = self.depth.saturating_sub(1);
                return letter == '}' && self.depth == 0 && !self.value;
            }
            ';' => return self.depth == 0,
            _ => {}
        }
        false
    }
}

fn is_line(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| LINES.contains(&word))
}
