//! The lines of which the accesses or branches cost more, or less, than before.

use std::collections::BTreeMap;

use gpuprof_model::code::{CountedCode, Counter, LineCounts, SourceLine};

/// The most lines of a kernel.
const MOST: usize = 5;

/// A kind of access, or branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Loads,
    Stores,
    Atomics,
    Branches,
}

impl Kind {
    fn of_opcode(opcode: &str) -> Option<Self> {
        match opcode.split('.').next()? {
            "ld" | "ldmatrix" | "cp" => Some(Self::Loads),
            "st" | "stmatrix" => Some(Self::Stores),
            "atom" | "red" => Some(Self::Atomics),
            "bra" | "brx" => Some(Self::Branches),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::Atomics => "atomics",
            Self::Branches => "branches",
        }
    }
}

/// A cost of each request or branch: its words, its amount, and the counter of its occurrences.
type Rate = (&'static str, fn(&LineCounts) -> u64, Counter);

const RATES: [Rate; 3] = [
    ("sectors a request", |counts| counts[Counter::Sectors], Counter::Requests),
    ("wavefronts a request", |counts| counts[Counter::Wavefronts], Counter::Requests),
    ("% divergent", |counts| 100 * counts[Counter::DivergentBranches], Counter::Branches),
];

/// The changes in words, the largest first: "the loads of src/lib.rs:31 went from 4 to 32 sectors a
/// request". `matched` has the lines that correspond to each other.
pub(super) fn changes(
    (old, new): (&CountedCode, &CountedCode),
    matched: &[(SourceLine<'_>, SourceLine<'_>)],
) -> Vec<String> {
    let (before, after) = (by_kind(old), by_kind(new));
    let mut told: Vec<(f64, String)> = Vec::new();
    for (old_line, new_line) in matched {
        for kind in [Kind::Loads, Kind::Stores, Kind::Atomics, Kind::Branches] {
            let (Some(before), Some(after)) =
                (before.get(&(old_line.clone(), kind)), after.get(&(new_line.clone(), kind)))
            else {
                continue;
            };
            for (words, of, times) in RATES {
                let rate = |counts: &LineCounts| of(counts) as f64 / counts[times].max(1) as f64;
                let (from, to) = (rate(before), rate(after));
                if (from - to).abs() >= 0.05 * from.max(to) && from != to {
                    let [a, b] = [from, to].map(number);
                    let kind = kind.words();
                    let text = format!("the {kind} of {new_line} went from {a} to {b} {words}");
                    told.push(((from - to).abs() * after[times].max(1) as f64, text));
                }
            }
        }
    }
    told.sort_by(|a, b| b.0.total_cmp(&a.0));
    told.into_iter().take(MOST).map(|(_, text)| text).collect()
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
}

fn by_kind(code: &CountedCode) -> BTreeMap<(SourceLine<'_>, Kind), LineCounts> {
    let mut all: BTreeMap<_, LineCounts> = BTreeMap::new();
    for (line, counts) in code.lines() {
        if let Some(key) = code.source(line).zip(Kind::of_opcode(line.opcode())) {
            *all.entry(key).or_default() += counts;
        }
    }
    all
}
