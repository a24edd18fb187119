//! The lines of which the accesses, branches or FP64 operations cost more, or less, than before.

use std::collections::{BTreeMap, BTreeSet};

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

/// A cost of a line: its words and its amount.
type Amount = (&'static str, fn(&LineCounts) -> u64);

const AMOUNTS: [Amount; 2] = [
    ("local-memory accesses", LineCounts::local_accesses),
    ("FP64 operations", |counts| counts[Counter::Fp64Operations]),
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
    let (mut before, after) = (old.by_source(), new.by_source());
    let earlier: BTreeMap<&SourceLine<'_>, &SourceLine<'_>> =
        matched.iter().map(|(old, new)| (new, old)).collect();
    // Without the texts it is not known which lines are new.
    let files: BTreeSet<&str> = matched.iter().map(|(_, new)| new.file).collect();
    let after = after.into_iter().filter_map(|(line, counts)| Some((line?, counts)));
    for (line, counts) in after.filter(|(line, _)| files.contains(line.file)) {
        let old_line = earlier.get(&line).copied().unwrap_or(&line).clone();
        let known = earlier.contains_key(&line);
        let old_counts = before.remove(&Some(old_line)).filter(|_| known).unwrap_or_default();
        for (words, of) in AMOUNTS {
            let (from, to) = (of(&old_counts), of(&counts));
            if from.abs_diff(to) as f64 >= 0.05 * from.max(to) as f64 && from != to {
                let text = format!("the {words} of {line} went from {from} to {to}");
                told.push((from.abs_diff(to) as f64, text));
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
