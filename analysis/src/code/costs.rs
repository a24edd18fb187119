//! The lines of which the accesses, branches or FP64 operations cost more, or less, than before.

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::code::{CountedCode, Counter, LineCounts, SourceLine};
use gpuprof_model::quantity::grouped;

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

/// A cost of accesses or branches, which is a rate times the number of requests or branches.
struct Cost {
    words: &'static str,
    of: Counter,
    times: Counter,
    /// The words of the rate, and how many units it has for each `of`.
    rate: (&'static str, u64),
}

const COSTS: [Cost; 3] = [
    Cost {
        words: "sectors",
        of: Counter::Sectors,
        times: Counter::Requests,
        rate: (" sectors a request", 1),
    },
    Cost {
        words: "wavefronts",
        of: Counter::Wavefronts,
        times: Counter::Requests,
        rate: (" wavefronts a request", 1),
    },
    Cost {
        words: "divergent branches",
        of: Counter::DivergentBranches,
        times: Counter::Branches,
        rate: ("% divergent", 100),
    },
];

impl Cost {
    /// The size of the change at `line` and its words: those of the rate, or of the totals if the
    /// number of requests or branches changed more. None for a small change of the totals.
    fn change(
        &self,
        (kind, line): (Kind, &SourceLine<'_>),
        [before, after]: [&LineCounts; 2],
    ) -> Option<(f64, String)> {
        let (words, units) = self.rate;
        let amounts = [before, after].map(|counts| (units * counts[self.of]) as f64);
        if !differs(amounts) {
            return None;
        }
        let times = [before, after].map(|counts| counts[self.times].max(1) as f64);
        let rates = [amounts[0] / times[0], amounts[1] / times[1]];
        let accesses = format!("the {} of {line}", kind.words());
        let text = if relative_change(rates) > relative_change(times) {
            format!("{accesses} went {}{words}", from_to(rates))
        } else {
            let all = self.words;
            let subject = match kind {
                Kind::Branches => format!("the {all} of {line}"),
                _ => format!("the {all} of {accesses}"),
            };
            format!(
                "{subject} went {}",
                from_to([before, after].map(|counts| counts[self.of] as f64))
            )
        };
        Some(((amounts[0] - amounts[1]).abs(), text))
    }

    /// The size and the words of the cost of a new `line`.
    fn of_new(
        &self,
        (kind, line): (Kind, &SourceLine<'_>),
        counts: &LineCounts,
    ) -> Option<(f64, String)> {
        let amount = counts[self.of];
        let (size, all) = (grouped(amount as f64, 0), self.words);
        let text = format!("the {} of {line} are new, with {size} {all}", kind.words());
        (amount > 0).then_some(((self.rate.1 * amount) as f64, text))
    }
}

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
    let mut costs: Vec<(f64, String)> = Vec::new();
    for (old_line, new_line) in matched {
        for kind in [Kind::Loads, Kind::Stores, Kind::Atomics, Kind::Branches] {
            let (Some(before), Some(after)) =
                (before.get(&(old_line.clone(), kind)), after.get(&(new_line.clone(), kind)))
            else {
                continue;
            };
            let place = (kind, new_line);
            costs.extend(COSTS.iter().filter_map(|cost| cost.change(place, [before, after])));
        }
    }
    let earlier: BTreeMap<&SourceLine<'_>, &SourceLine<'_>> =
        matched.iter().map(|(old, new)| (new, old)).collect();
    // Without the texts it is not known which lines are new.
    let files: BTreeSet<&str> = matched.iter().map(|(_, new)| new.file).collect();
    for ((line, kind), counts) in &after {
        if files.contains(line.file) && !earlier.contains_key(line) {
            costs.extend(COSTS.iter().filter_map(|cost| cost.of_new((*kind, line), counts)));
        }
    }
    let (mut before, after) = (old.by_source(), new.by_source());
    let after = after.into_iter().filter_map(|(line, counts)| Some((line?, counts)));
    for (line, counts) in after.filter(|(line, _)| files.contains(line.file)) {
        let old_line = earlier.get(&line).copied().unwrap_or(&line).clone();
        let known = earlier.contains_key(&line);
        let old_counts = before.remove(&Some(old_line)).filter(|_| known).unwrap_or_default();
        for (words, of) in AMOUNTS {
            let amounts = [of(&old_counts), of(&counts)].map(|amount| amount as f64);
            if differs(amounts) {
                let text = format!("the {words} of {line} went {}", from_to(amounts));
                costs.push(((amounts[0] - amounts[1]).abs(), text));
            }
        }
    }
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    costs.into_iter().take(MOST).map(|(_, text)| text).collect()
}

/// Whether two values differ enough for a sentence.
fn differs(values: [f64; 2]) -> bool {
    relative_change(values) >= 0.05
}

/// The difference of two values as a share of the larger one.
fn relative_change([from, to]: [f64; 2]) -> f64 {
    if from == to { 0.0 } else { (from - to).abs() / from.max(to) }
}

fn from_to(values: [f64; 2]) -> String {
    let [from, to] = values.map(|value| grouped(value, usize::from(value.fract() != 0.0)));
    format!("from {from} to {to}")
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
