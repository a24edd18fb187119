//! The text of the source lines that have counts, as it was when the run was made.
//!
//! Input: a source file, and the lines that have counts. Output: those lines with a margin around
//! them, in pieces.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Lines before and after a line with counts.
const MARGIN: u32 = 3;

/// The most characters that are kept of a line. A hash of the rest follows, so that two such lines
/// differ if their ends do.
const MOST_CHARACTERS: usize = 300;

/// Source text by file, as the compiler wrote its path. A file without pieces changed after the
/// build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sources(BTreeMap<String, Vec<SourceText>>);

/// A piece of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceText {
    /// The number of its first line, from 1.
    pub first: u32,
    /// Its lines.
    pub lines: Vec<String>,
}

impl Sources {
    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the lines `counted` of `file`, the content of which is `text`, and those around them.
    pub fn add(&mut self, file: &str, text: &str, counted: &BTreeSet<u32>) {
        let around = |line: &u32| line.saturating_sub(MARGIN).max(1)..=line.saturating_add(MARGIN);
        let wanted: BTreeSet<u32> = counted.iter().flat_map(around).collect();
        let lines = (1..).zip(text.lines()).filter(|(number, _)| wanted.contains(number));
        let pieces = pieces(lines.map(|(number, line)| (number, shortened(line))));
        if !pieces.is_empty() {
            self.0.insert(file.to_owned(), pieces);
        }
    }

    /// Takes that `file` changed after the build, so that its lines are not those with counts.
    pub fn add_changed(&mut self, file: &str) {
        self.0.insert(file.to_owned(), Vec::new());
    }

    /// Why no line of `file` has a text, if none has.
    #[must_use]
    pub fn missing(&self, file: &str) -> Option<&'static str> {
        match self.0.get(file).map(Vec::as_slice) {
            None => Some("its text was not available"),
            Some([]) => Some("its text changed after the build"),
            Some(_) => None,
        }
    }

    /// The files with a known text, or that changed after the build.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Takes the lines of `others`, of another part of the same run.
    pub fn join(&mut self, others: Self) {
        for (file, theirs) in others.0 {
            let ours = self.0.remove(&file).unwrap_or_default();
            let both = ours.into_iter().chain(theirs);
            let lines: BTreeMap<u32, String> =
                both.flat_map(|piece| (piece.first..).zip(piece.lines)).collect();
            self.0.insert(file, pieces(lines));
        }
    }

    /// The known lines of a file with their numbers, in order.
    pub fn lines(&self, file: &str) -> impl Iterator<Item = (u32, &str)> {
        let pieces = self.0.get(file).into_iter().flatten();
        pieces.flat_map(|piece| (piece.first..).zip(piece.lines.iter().map(String::as_str)))
    }

    /// The text of a line, if it is known.
    #[must_use]
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        let piece = self.0.get(file)?.iter().rfind(|piece| piece.first <= line)?;
        piece.lines.get((line - piece.first) as usize).map(String::as_str)
    }
}

/// `line`, or its beginning with the number of further characters and their hash (FNV-1a).
fn shortened(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(MOST_CHARACTERS) else { return line.to_owned() };
    let (start, rest) = line.split_at(end);
    let more = rest.chars().count();
    let hash = rest
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{start}… {more} more characters, {hash:08x}")
}

/// The pieces that `lines` make, which have their numbers and are in order.
fn pieces(lines: impl IntoIterator<Item = (u32, String)>) -> Vec<SourceText> {
    let mut pieces: Vec<SourceText> = Vec::new();
    for (number, line) in lines {
        match pieces.last_mut() {
            Some(last) if last.first + last.lines.len() as u32 == number => last.lines.push(line),
            _ => pieces.push(SourceText { first: number, lines: vec![line] }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_lines_are_kept_with_a_margin() {
        let text: String = (1..40).map(|line| format!("line {line}\n")).collect();
        let mut sources = Sources::default();
        sources.add("a.rs", &text, &BTreeSet::from([2, 20, 22, 90]));
        let known: Vec<u32> =
            (1..99).filter(|line| sources.line("a.rs", *line).is_some()).collect();
        assert_eq!(known, [(1..=5).collect::<Vec<u32>>(), (17..=25).collect()].concat());
        assert_eq!(sources.line("a.rs", 22), Some("line 22"));
        assert_eq!((sources.line("a.rs", 0), sources.line("b.rs", 2)), (None, None));
        sources.add("b.rs", "", &BTreeSet::from([1]));
        assert_eq!(sources.0.len(), 1);
        sources.add_changed("c.rs");
        let missing = ["a.rs", "b.rs", "c.rs"].map(|file| sources.missing(file));
        let (absent, changed) = ("its text was not available", "its text changed after the build");
        assert_eq!(missing, [None, Some(absent), Some(changed)]);
    }

    #[test]
    fn joined_source_parts_equal_the_whole() {
        let text: String = (1..40).map(|line| format!("line {line}\n")).collect();
        let of = |counted: &[u32]| {
            let mut sources = Sources::default();
            sources.add("a.rs", &text, &counted.iter().copied().collect());
            sources
        };
        let mut joined = of(&[20, 30]);
        joined.join(of(&[2, 24]));
        joined.join(Sources::default());
        assert_eq!(joined, of(&[2, 20, 24, 30]));
    }
}
