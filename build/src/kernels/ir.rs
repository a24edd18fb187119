//! LLVM's text form of a kernel module, as far as an audit needs it.
//!
//! Input: the output of `--emit=llvm-ir`. Output: the calls and atomics of each function, with
//! their places in the user's source. Unlike PTX, the text has inlined functions and the requested
//! orderings, and it is written before instruction selection, so it exists even if LLVM aborts.

use std::collections::HashMap;
use std::fmt;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourcePosition {
    /// The path, from the root of the workspace or of the file system.
    pub(super) file: String,
    /// From 1; 0 is compiler-made code.
    pub(super) line: u32,
    /// From 1.
    pub(super) column: u32,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A debug location of an instruction, or the call site of an inlined function.
#[derive(Debug)]
pub(super) struct Location<'a> {
    /// Its place.
    pub(super) place: SourcePosition,
    /// The name of its file without the folder, as LLVM's comments have it.
    pub(super) name: &'a str,
    /// The folder of its file.
    folder: &'a str,
    /// The function that it is in.
    pub(super) function: &'a str,
    /// The node of the place at which that function was inlined.
    pub(super) inlined_at: Option<&'a str>,
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
    /// Whether an instruction is a branch.
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

    /// The source position of the instruction: in the innermost function outside of Rust's library.
    pub(super) fn place(&self, instruction: &str) -> Option<SourcePosition> {
        let mut next = reference(instruction, "!dbg ");
        let mut place = None;
        // A chain of inlining is short; the limit guards against a text that names itself.
        for _ in 0..256 {
            let Some(node) = next else { break };
            let location = self.location(node)?;
            let folder = location.folder;
            let library = folder.starts_with("/rustc/") || folder.contains("/rustlib/src/rust/");
            place = Some(location.place);
            next = location.inlined_at.filter(|_| library);
        }
        place
    }

    /// The nodes of all locations in inlined functions.
    pub(super) fn inlined(&self) -> impl Iterator<Item = &'a str> {
        let inlined = |(_, value): &(&&str, &&str)| {
            value.contains("!DILocation(") && value.contains(", inlinedAt: ")
        };
        self.nodes.iter().filter(inlined).map(|(node, _)| *node)
    }

    /// The paths of all files with functions of the crate.
    pub(super) fn files_of(&self, name: &str) -> impl Iterator<Item = String> {
        let functions = self.nodes.iter().filter(|(_, value)| value.contains("!DISubprogram("));
        functions.filter_map(move |(node, _)| {
            let crate_name = self.enclosing(node, |value| value.ends_with(", scope: null)"))?;
            let path = self.file(node)?.path;
            (crate_name == name).then_some(path)
        })
    }

    /// The location of a node.
    pub(super) fn location(&self, node: &str) -> Option<Location<'a>> {
        let node = *self.nodes.get(node)?;
        let number = |key| field(node, key).and_then(|text| text.parse().ok()).unwrap_or(0);
        let scope = reference(node, "scope: ")?;
        let File { path: file, name, folder } = self.file(scope)?;
        let place = SourcePosition { file, line: number("line: "), column: number("column: ") };
        let is_function = |value: &str| value.contains("!DISubprogram(");
        let function = self.enclosing(scope, is_function).unwrap_or_default();
        Some(Location { place, name, folder, function, inlined_at: reference(node, "inlinedAt: ") })
    }

    /// The file of a scope.
    fn file(&self, scope: &str) -> Option<File<'a>> {
        let node = self.nodes.get(reference(self.nodes.get(scope)?, "file: ")?)?;
        let (name, folder) = (quoted(node, "filename: ")?, quoted(node, "directory: "));
        let folder = folder.unwrap_or_default();
        let whole = name.starts_with('/') || [".", ""].contains(&folder);
        let path = if whole { name.to_owned() } else { format!("{folder}/{name}") };
        Some(File { path, name, folder })
    }

    /// The name of the innermost scope around this one, or of itself, that is `wanted`.
    fn enclosing(&self, scope: &str, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let mut node = *self.nodes.get(scope)?;
        // Scopes lie in each other; the limit guards against a scope that contains itself.
        for _ in 0..256 {
            if wanted(node) {
                return quoted(node, "name: ");
            }
            node = self.nodes.get(reference(node, "scope: ")?)?;
        }
        None
    }
}

/// A file by its path, and as the node spells name and folder.
struct File<'a> {
    path: String,
    name: &'a str,
    folder: &'a str,
}

/// The text in quotes that follows `key`.
fn quoted<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text[text.find(key)? + key.len()..].strip_prefix('"')?.split('"').next()
}

/// The text after `key`, up to the next comma or bracket.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    rest.split([',', ')']).next()
}

/// The metadata node that follows `key`.
fn reference<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let node = field(text, key)?.trim_end();
    node.starts_with('!').then(|| node.split(' ').next().unwrap_or(node))
}
