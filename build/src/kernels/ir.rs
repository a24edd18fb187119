//! LLVM's text form of a kernel module, as far as an audit needs it.
//!
//! Input: what `--emit=llvm-ir` writes. Output: the calls and atomics of each function with the
//! place in the user's source that each comes from. Unlike PTX, the text says which function was
//! inlined where, what an atomic was asked for, and it is written before LLVM chooses instructions:
//! so it is there also where that ends in an abort.

use std::collections::HashMap;
use std::fmt;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    file: String,
    line: u32,
    column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A module.
#[derive(Debug)]
pub(super) struct Ir<'a> {
    /// The functions that have a body.
    pub(super) functions: Vec<Function<'a>>,
    /// The text of each numbered metadata node.
    nodes: HashMap<&'a str, &'a str>,
}

/// A function with its instructions, a line each.
#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    /// The instructions.
    pub(super) lines: Vec<&'a str>,
}

impl Function<'_> {
    /// Whether an instruction decides what runs next.
    pub(super) fn branches(&self) -> bool {
        let decides = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("br i1 ") || line.starts_with("switch ")
        };
        self.lines.iter().any(decides)
    }
}

impl<'a> Ir<'a> {
    /// Reads a module.
    pub(super) fn parse(text: &'a str) -> Self {
        let mut ir = Self { functions: Vec::new(), nodes: HashMap::new() };
        let mut body: Option<Function<'a>> = None;
        for line in text.lines() {
            if let Some(function) = &mut body {
                if line.starts_with('}') {
                    ir.functions.extend(body.take());
                } else {
                    function.lines.push(line);
                }
            } else if line.starts_with("define ") {
                body = Some(Function::default());
            } else if let Some((node, value)) = line.split_once(" = ")
                && node.starts_with('!')
            {
                ir.nodes.insert(node, value);
            }
        }
        ir
    }

    /// Where in the user's source the instruction comes from: the innermost function that is not
    /// of Rust's library.
    pub(super) fn place(&self, instruction: &str) -> Option<Place> {
        let mut location = reference(instruction, "!dbg ")?;
        let mut place = None;
        // A chain of inlining is short; the limit guards against a text that names itself.
        for _ in 0..256 {
            let node = *self.nodes.get(location)?;
            let (file, folder) = self.file(reference(node, "scope: ")?)?;
            let number = |key| field(node, key).and_then(|text| text.parse().ok()).unwrap_or(0);
            place = Some(Place { file, line: number("line: "), column: number("column: ") });
            let library = folder.starts_with("/rustc/") || folder.contains("/rustlib/src/rust/");
            match reference(node, "inlinedAt: ") {
                Some(outer) if library => location = outer,
                _ => break,
            }
        }
        place
    }

    /// Path and folder of the file of a scope.
    fn file(&self, scope: &str) -> Option<(String, &'a str)> {
        let node = self.nodes.get(reference(self.nodes.get(scope)?, "file: ")?)?;
        let text = |key| field(node, key).map(|text| text.trim_matches('"'));
        let (name, folder) = (text("filename: ")?, text("directory: ").unwrap_or_default());
        let whole = name.starts_with('/') || [".", ""].contains(&folder);
        Some((if whole { name.to_owned() } else { format!("{folder}/{name}") }, folder))
    }
}

/// What follows `key`, up to the next comma or bracket.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    rest.split([',', ')']).next()
}

/// The metadata node that follows `key`.
fn reference<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let node = field(text, key)?.trim_end();
    node.starts_with('!').then(|| node.split(' ').next().unwrap_or(node))
}
