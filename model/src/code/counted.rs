//! Listings with counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::counts::LineCounts;

/// The PTX lines of a kernel and of the device functions that it can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listing {
    /// The kernel's name in its module.
    pub kernel: String,
    /// The source files, as the compiler wrote their paths.
    pub files: Vec<String>,
    /// The lines with instructions and labels, in the order of the PTX.
    pub lines: Vec<ListedLine>,
}

/// A line of PTX: its number in the PTX, the number of its source file among those of the listing,
/// from 1 (0: the PTX does not say), its line there, and its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedLine(pub u32, pub u32, pub u32, pub String);

impl ListedLine {
    /// The instruction without its guard: `ld.global.f32`. Empty for a label.
    #[must_use]
    pub fn opcode(&self) -> &str {
        let text = self.3.trim_start_matches(['{', ' ']);
        let mut words = text.split_ascii_whitespace().skip_while(|word| word.starts_with('@'));
        let word = words.next().unwrap_or_default().trim_end_matches(';');
        if word.ends_with(':') { "" } else { word }
    }
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine<'a> {
    /// The file, as the compiler wrote its path.
    pub file: &'a str,
    /// From 1.
    pub line: u32,
}

impl fmt::Display for SourceLine<'_> {
    /// `src/lib.rs:12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A kernel's code and its counts, summed over the launches of a measured range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCode {
    /// The lines.
    pub listing: Arc<Listing>,
    /// The counts of each.
    pub counts: Columns,
}

impl CountedCode {
    /// The lines of the PTX with their counts.
    pub fn lines(&self) -> impl Iterator<Item = (&ListedLine, LineCounts)> {
        self.listing.lines.iter().zip(self.counts.rows(self.listing.lines.len()))
    }

    /// The line of the source of a line of the listing.
    #[must_use]
    pub fn source(&self, line: &ListedLine) -> Option<SourceLine<'_>> {
        let file = self.listing.files.get(line.1.checked_sub(1)? as usize)?;
        Some(SourceLine { file, line: line.2 })
    }

    /// The counts of each line of the source, and of all PTX without one.
    #[must_use]
    pub fn by_source(&self) -> BTreeMap<Option<SourceLine<'_>>, LineCounts> {
        let mut lines = BTreeMap::new();
        for (line, counts) in self.lines() {
            *lines.entry(self.source(line)).or_default() += counts;
        }
        lines
    }
}

/// The form in which a pass reports its code.
#[derive(Serialize, Deserialize)]
struct Told<L> {
    #[serde(flatten)]
    listing: L,
    counts: Columns,
}

impl Serialize for CountedCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Told { listing: &*self.listing, counts: self.counts.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CountedCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Told { listing, counts } = Told::<Listing>::deserialize(deserializer)?;
        counts.fit(listing.lines.len()).map_err(serde::de::Error::custom)?;
        Ok(Self { listing: Arc::new(listing), counts })
    }
}

#[cfg(test)]
mod tests {
    use super::super::counts::Counter;
    use super::*;

    #[test]
    fn an_opcode_is_the_first_word_after_the_guard() {
        let opcode = |text: &str| ListedLine(1, 0, 0, text.into()).opcode().to_owned();
        assert_eq!(opcode("@%p1 bra $end;"), "bra");
        assert_eq!(opcode("@!%p2 ld.global.f32 %f1, [%rd1];"), "ld.global.f32");
        assert_eq!(opcode("{ mul.f16 h,a,b; }"), "mul.f16");
        assert_eq!((opcode("ret;"), opcode("$L__BB0_2:")), ("ret".into(), String::new()));
    }

    #[test]
    fn lines_of_the_source_have_the_sum_of_their_ptx() {
        let line = |number, file, at| ListedLine(number, file, at, "nop;".into());
        let listing = Listing {
            kernel: "k".into(),
            files: vec!["src/lib.rs".into()],
            lines: vec![line(4, 1, 7), line(5, 1, 8), line(6, 1, 7), line(7, 0, 0)],
        };
        let counts = |instructions| {
            let mut counts = LineCounts::default();
            counts[Counter::Instructions] = instructions;
            counts
        };
        let counts = Columns::new(&[1, 20, 300, 4000].map(counts));
        let code = CountedCode { listing: Arc::new(listing), counts };
        let told = |(line, counts): (Option<SourceLine<'_>>, LineCounts)| {
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            (line, counts[Counter::Instructions])
        };
        let told: Vec<_> = code.by_source().into_iter().map(told).collect();
        let expected = [("", 4000), ("src/lib.rs:7", 301), ("src/lib.rs:8", 20)];
        assert_eq!(told, expected.map(|(line, count)| (line.to_owned(), count)));
        let text = serde_json::to_string(&code).unwrap();
        assert_eq!(serde_json::from_str::<CountedCode>(&text).unwrap(), code);
        let short = text.replace("[7,0,0,\"nop;\"]", "").replace("],]", "]]");
        let refused = serde_json::from_str::<CountedCode>(&short).unwrap_err().to_string();
        assert_eq!(refused, "the counts of 4 lines for a listing of 3");
    }
}
