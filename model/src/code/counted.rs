//! Listings with counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::counts::{Counter, LineCounts};

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
    /// The calls by which functions of the user are inlined, in the order of the PTX.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<InlinedCall>,
    /// The machine code (SASS) that ptxas or the driver made of it; none without nvdisasm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<MachineLine>,
}

/// The line of the kernel that calls an inlined function: the number of the PTX line that this
/// leads to, the number of its file among those of the listing, from 1, and its line there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InlinedCall(pub u32, pub u32, pub u32);

/// A line of PTX: its number in the PTX, the number of its source file among those of the listing,
/// from 1 (0: the PTX does not say), its line there, and its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedLine(pub u32, pub u32, pub u32, pub String);

impl ListedLine {
    /// The instruction without its guard: `ld.global.f32`. Empty for a label.
    #[must_use]
    pub fn opcode(&self) -> &str {
        let word = opcode(self.3.trim_start_matches(['{', ' ']));
        if word.ends_with(':') { "" } else { word }
    }
}

/// A machine instruction: its offset in the function in bytes, the number of its line in the PTX
/// (0: the machine code does not say), the registers that hold a value there (0: nvdisasm does not
/// say), and its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineLine(pub u64, pub u32, pub u32, pub String);

impl MachineLine {
    /// The instruction without its guard: `LDG.E`.
    #[must_use]
    pub fn opcode(&self) -> &str {
        opcode(&self.3)
    }
}

/// The first word of an instruction after its guard.
fn opcode(text: &str) -> &str {
    let mut words = text.split_ascii_whitespace().skip_while(|word| word.starts_with('@'));
    words.next().unwrap_or_default().trim_end_matches(';')
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedCode {
    /// The lines.
    pub listing: Arc<Listing>,
    /// The counts of each.
    pub counts: Columns,
    /// How often warps executed each machine instruction; none if nothing counted them.
    pub executed: Option<Columns>,
}

impl CountedCode {
    /// The lines of `listing` with the counts of each.
    #[must_use]
    pub fn new(listing: impl Into<Arc<Listing>>, counts: &[LineCounts]) -> Self {
        Self { listing: listing.into(), counts: Columns::new(counts), executed: None }
    }

    /// The lines of the PTX with their counts.
    pub fn lines(&self) -> impl Iterator<Item = (&ListedLine, LineCounts)> {
        self.listing.lines.iter().zip(self.counts.rows(self.listing.lines.len()))
    }

    /// The machine instructions, and how often warps executed each, if that was counted.
    pub fn machine(&self) -> impl Iterator<Item = (&MachineLine, Option<u64>)> {
        let all = &self.listing.machine;
        let rows = self.executed.as_ref().map(|counts| counts.rows(all.len()));
        let times = move |at: usize| Some(rows.as_ref()?[at][Counter::Instructions]);
        all.iter().enumerate().map(move |(at, line)| (line, times(at)))
    }

    /// Checks that the counts are of these lines.
    ///
    /// # Errors
    /// They are of more or fewer, in words.
    pub fn fit(&self) -> Result<(), String> {
        self.counts.fit(self.listing.lines.len())?;
        self.executed.iter().try_for_each(|counts| counts.fit(self.listing.machine.len()))
    }

    /// The line of the source of a line of the listing.
    #[must_use]
    pub fn source(&self, line: &ListedLine) -> Option<SourceLine<'_>> {
        self.at(line.1, line.2)
    }

    /// The line of the kernel that calls the inlined function of a line of the listing.
    #[must_use]
    pub fn call(&self, line: &ListedLine) -> Option<SourceLine<'_>> {
        let at = self.listing.calls.binary_search_by_key(&line.0, |call| call.0).ok()?;
        let InlinedCall(_, file, line) = self.listing.calls[at];
        self.at(file, line)
    }

    fn at(&self, file: u32, line: u32) -> Option<SourceLine<'_>> {
        let file = self.listing.files.get(file.checked_sub(1)? as usize)?;
        Some(SourceLine { file, line })
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
struct ReportedCode<L> {
    #[serde(flatten)]
    listing: L,
    counts: Columns,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executed: Option<Columns>,
}

impl Serialize for CountedCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (counts, executed) = (self.counts.clone(), self.executed.clone());
        ReportedCode { listing: &*self.listing, counts, executed }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CountedCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ReportedCode { listing, counts, executed } =
            ReportedCode::<Listing>::deserialize(deserializer)?;
        let code = Self { listing: Arc::new(listing), counts, executed };
        code.fit().map_err(serde::de::Error::custom)?;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
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
            calls: vec![InlinedCall(6, 1, 9)],
            machine: vec![MachineLine(0, 4, 2, "@!P0 LDG.E R1, [R2]".into())],
        };
        let counts = |instructions| {
            let mut counts = LineCounts::default();
            counts[Counter::Instructions] = instructions;
            counts
        };
        let code = CountedCode::new(listing, &[1, 20, 300, 4000].map(counts));
        let code = CountedCode { executed: Some(Columns::new(&[counts(9)])), ..code };
        let machine: Vec<_> = code.machine().map(|(line, times)| (line.opcode(), times)).collect();
        assert_eq!(machine, [("LDG.E", Some(9))]);
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
