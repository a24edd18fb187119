//! Call sites of inlined functions, which LLVM 22 writes into comments of PTX only.
//!
//! Input: PTX with LLVM's comments (`-Zverbose-asm`), in which `.loc 2 3 26` ends in
//! `// src/deep.rs:3:26 @[ src/lib.rs:9:12 ]`, and the module in LLVM's text form, which knows the
//! folders of these files and the functions. Output: PTX without these comments, in which the line
//! is `.loc 2 3 26, function_name …, inlined_at 1 9 12`, as nvcc writes it. PTX in which LLVM
//! wrote `inlined_at` itself only loses the comments.

use std::collections::HashMap;

use super::ir::{Ir, SourcePosition};

/// The first version of PTX that has `inlined_at`.
const SINCE: (u32, u32) = (7, 2);

/// The column at which LLVM begins comments, or further right, after a blank.
const COMMENTS: usize = 40;

/// `ptx` with the call sites of inlined functions and without LLVM's comments. `ir` is its module.
pub(super) fn applied(ptx: &str, ir: &Ir<'_>) -> String {
    let knows = ptx.contains(", inlined_at ");
    let chains = if knows { Chains::default() } else { Chains::new(ir) };
    let mut writer = Writer { files: Files::new(ptx), ..Writer::default() };
    let mut assembly = false;
    for line in ptx.lines() {
        let text = line.trim_start();
        let begins = ["// begin inline asm", "// Start of file scope inline assembly"];
        let ends = ["// end inline asm", "// End of file scope inline assembly"];
        assembly |= begins.iter().any(|begin| text.starts_with(begin));
        assembly &= !ends.iter().any(|end| text.starts_with(end));
        // Comments there are the user's. A path may contain text that looks like a comment.
        if assembly || text.starts_with(".file") {
            writer.line(line);
            continue;
        }
        let (code, comment) = split(line);
        match Position::parse(code) {
            _ if code.starts_with("// %bb.") || (code.is_empty() && !comment.is_empty()) => {}
            Some(at) => {
                writer.loc(code, at, chains.find_frames(writer.files.path(at.file), comment))
            }
            None => writer.line(code),
        }
    }
    writer.finish()
}

/// A line without the comment that LLVM added, and that comment.
fn split(line: &str) -> (&str, &str) {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        if column >= COMMENTS && line[at..].starts_with("//") {
            return (line[..at].trim_end(), line[at + 2..].trim());
        }
        column = if c == '\t' { column / 8 * 8 + 8 } else { column + 1 };
    }
    (line, "")
}

/// File number, line and column, as a `.loc` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Position {
    file: u32,
    line: u32,
    column: u32,
}

impl Position {
    fn parse(code: &str) -> Option<Self> {
        let mut numbers = code.trim_start().strip_prefix(".loc")?.split_whitespace();
        let mut next = || numbers.next()?.trim_end_matches(',').parse().ok();
        Some(Self { file: next()?, line: next()?, column: next()? })
    }
}

/// A place, and the function that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    place: SourcePosition,
    function: String,
}

/// The call sites of a module.
#[derive(Debug, Default)]
struct Chains {
    /// By the innermost file and LLVM's comment, frames with the innermost first: none if the
    /// comment has several meanings.
    known: HashMap<(String, String), Vec<Frame>>,
}

impl Chains {
    fn new(ir: &Ir<'_>) -> Self {
        let mut known: HashMap<_, Vec<Frame>> = HashMap::new();
        for node in ir.inlined() {
            let (mut frames, mut comment, mut next) = (Vec::new(), String::new(), Some(node));
            // A chain of inlining is short; the limit guards against a text that names itself.
            while let Some(location) =
                next.filter(|_| frames.len() < 256).and_then(|node| ir.location(node))
            {
                let SourcePosition { line, column, .. } = location.place;
                let separator = if frames.is_empty() { "" } else { " @[ " };
                comment += &format!("{separator}{}:{line}", location.name);
                if column != 0 {
                    comment += &format!(":{column}");
                }
                let function = location.function.to_owned();
                frames.push(Frame { place: location.place, function });
                next = location.inlined_at;
            }
            let Some(first) = frames.first() else { continue };
            comment += &" ]".repeat(frames.len() - 1);
            let frames_of = known.entry((first.place.file.clone(), comment));
            let frames_of = frames_of.or_insert_with(|| frames.clone());
            if *frames_of != frames {
                frames_of.clear();
            }
        }
        Self { known }
    }

    /// The frames of a `.loc` in `file`, innermost first; none if nothing was inlined.
    fn find_frames(&self, file: Option<&str>, comment: &str) -> &[Frame] {
        let key = file.map(|file| (file.to_owned(), comment.to_owned()));
        key.and_then(|key| self.known.get(&key)).map_or(&[], Vec::as_slice)
    }
}

/// The `.file` table.
#[derive(Debug, Default)]
struct Files {
    paths: HashMap<u32, String>,
    numbers: HashMap<String, u32>,
    /// The lines of files that LLVM needed no number for.
    added: String,
}

impl Files {
    fn new(ptx: &str) -> Self {
        let mut files = Self::default();
        for line in ptx.lines() {
            let file = line.trim_start().strip_prefix(".file").and_then(|file| {
                let (number, rest) = file.split_once('"')?;
                let path = rest.split('"').next()?;
                Some((number.trim().parse().ok()?, path.strip_prefix("./").unwrap_or(path)))
            });
            if let Some((number, path)) = file {
                files.add(number, path);
            }
        }
        files
    }

    fn add(&mut self, number: u32, path: &str) {
        self.paths.insert(number, path.to_owned());
        self.numbers.entry(path.to_owned()).or_insert(number);
    }

    fn path(&self, number: u32) -> Option<&str> {
        self.paths.get(&number).map(String::as_str)
    }

    fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.paths.keys().max().map_or(1, |last| last + 1);
        self.add(number, path);
        self.added += &format!("\t.file\t{number} \"{path}\"\n");
        number
    }
}

/// PTX as it is written.
#[derive(Debug, Default)]
struct Writer {
    text: String,
    files: Files,
    /// The names of functions.
    names: Vec<String>,
    /// The call sites by the last `.loc` of each position in this function.
    said: HashMap<Position, Vec<Position>>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        if line.starts_with('{') {
            self.said.clear();
        }
        self.text += line;
        self.text.push('\n');
    }

    /// Writes a `.loc`, which is `code` as LLVM wrote it, with the call sites among `frames`. Each
    /// of them must have a `.loc` before.
    fn loc(&mut self, code: &str, at: Position, frames: &[Frame]) {
        let outer = frames.iter().skip(1).filter(|frame| frame.place.line != 0);
        let sites: Vec<(Position, &str)> = outer
            .map(|Frame { place, function }| {
                let file = self.files.number(&place.file);
                (Position { file, line: place.line, column: place.column }, function.as_str())
            })
            .collect();
        let callers: Vec<Position> = sites.iter().map(|(site, _)| *site).collect();
        for (depth, (site, function)) in sites.iter().enumerate().rev() {
            let callers = &callers[depth + 1..];
            if self.said.get(site).is_none_or(|said| said != callers) {
                let Position { file, line, column } = site;
                self.located(&format!("\t.loc\t{file} {line} {column}"), function, callers);
                self.said.insert(*site, callers.to_vec());
            }
        }
        let function = frames.first().map_or("", |frame| &frame.function);
        self.located(code, function, &callers);
        self.said.insert(at, callers);
    }

    fn located(&mut self, code: &str, function: &str, callers: &[Position]) {
        self.text += code;
        if let Some(Position { file, line, column }) = callers.first() {
            let known = self.names.iter().position(|name| name == function);
            let number = known.unwrap_or(self.names.len());
            if known.is_none() {
                self.names.push(function.to_owned());
            }
            self.text += &format!(
                ", function_name $L__info_string{number}, inlined_at {file} {line} {column}"
            );
        }
        self.text.push('\n');
    }

    fn finish(self) -> String {
        if self.names.is_empty() {
            return self.text;
        }
        let mut text = raised(&self.text) + &self.files.added + "\t.section\t.debug_str\n\t{\n";
        for (number, name) in self.names.iter().enumerate() {
            let bytes: Vec<String> = name.bytes().chain([0]).map(|byte| byte.to_string()).collect();
            text += &format!("$L__info_string{number}:\n.b8 {}\n", bytes.join(","));
        }
        text + "\t}\n"
    }
}

/// `ptx` of a version that has `inlined_at`.
fn raised(ptx: &str) -> String {
    let version = ptx.lines().find_map(|line| line.strip_prefix(".version "));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let old = version.filter(|version| {
        let version = version.split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        version.is_some_and(|version| version < SINCE)
    });
    match old {
        Some(old) => ptx.replacen(
            &format!(".version {old}\n"),
            &format!(".version {}.{}\n", SINCE.0, SINCE.1),
            1,
        ),
        None => ptx.to_owned(),
    }
}

#[cfg(test)]
#[path = "inlining_tests.rs"]
mod tests;
