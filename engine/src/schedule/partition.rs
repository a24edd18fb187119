//! Which slice of a plan measures which configuration. Pure.
//!
//! Input: the series of a whole plan with their configurations, the cost of each if it is known,
//! and the number of slices. Output: one slice for every configuration. Every machine computes it
//! for itself, so it depends on the plan alone. `slice` is [`Assignment`], the rule for the devices
//! of one machine: series stay whole while there are as many of them as slices, and the slices are
//! balanced. `hash` takes the first eight bytes of the SHA-256 of a name, as a number with the most
//! significant byte first, modulo the number of slices. That will never change: its test vectors
//! are in the book.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::device_assignment::Assignment;

/// How a plan is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Into slices with as much to do as each other.
    Slice,
    /// By the names of what is measured, so that nothing moves when something is added.
    Hash,
}

impl Method {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Slice => "slice",
            Self::Hash => "hash",
        }
    }
}

gpuprof_model::words! {
    /// What is dealt out.
    pub enum PartitionBy = Series {
        /// Whole series, as long as there are as many as slices: only measurements of one device
        /// are compared
        Series = "series",
        /// Single configurations; for exact counts, which are the same on every machine
        Configuration = "configuration",
    }
}

/// The most slices of a plan.
const MOST_SLICES: u32 = 100_000;

/// One of the slices of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// How the plan is divided.
    pub method: Method,
    /// Which slice, from 1.
    pub slice: NonZeroU32,
    /// How many there are.
    pub of: NonZeroU32,
}

impl Partition {
    /// The only slice of a plan that is not divided.
    pub const WHOLE: Self =
        Self { method: Method::Slice, slice: NonZeroU32::MIN, of: NonZeroU32::MIN };

    /// Its position among the slices, from 0.
    pub fn position(self) -> usize {
        self.slice.get() as usize - 1
    }

    /// How many slices there are.
    pub fn slices(self) -> usize {
        self.of.get() as usize
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.method.word(), self.slice, self.of)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected slice:M/N or hash:M/N with 1 <= M <= N <= {MOST_SLICES}, such as slice:2/8"
            )
        };
        let (method, rest) = text.split_once(':').ok_or_else(expected)?;
        let method = match method {
            "slice" => Method::Slice,
            "hash" => Method::Hash,
            _ => return Err(expected()),
        };
        let (slice, of) = rest.split_once('/').ok_or_else(expected)?;
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<NonZeroU32>().ok().filter(|_| digits).ok_or_else(expected)
        };
        let (slice, of) = (number(slice)?, number(of)?);
        if slice > of || of.get() > MOST_SLICES {
            return Err(expected());
        }
        Ok(Self { method, slice, of })
    }
}

/// A series of a plan.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub id: String,
    /// Its configurations.
    pub keys: Vec<String>,
    /// The cost of a configuration, relative to those of other series.
    pub each: u64,
}

/// The slice of every configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slices {
    of: Vec<Vec<usize>>,
    /// The slices of the series without configurations.
    home: Vec<usize>,
}

impl Slices {
    /// Deals `parts` out to `count` slices.
    pub fn new(parts: &[Part], method: Method, by: PartitionBy, count: usize) -> Self {
        let counts: Vec<usize> = parts.iter().map(|part| part.keys.len()).collect();
        let costs: Vec<u64> = parts.iter().map(|part| part.each).collect();
        let of = match (method, by) {
            (Method::Slice, PartitionBy::Series) => {
                let assignment = Assignment::by_cost(&counts, &costs, count);
                let of = |(at, &count): (usize, &usize)| {
                    (0..count).map(|index| assignment.device((at, index))).collect()
                };
                counts.iter().enumerate().map(of).collect()
            }
            (Method::Slice, PartitionBy::Configuration) => {
                // Each of them as a series that cannot be parted.
                let each = parts.iter().flat_map(|part| vec![part.each; part.keys.len()]);
                let each: Vec<u64> = each.collect();
                let assignment = Assignment::by_cost(&vec![1; each.len()], &each, count);
                let mut all = (0..each.len()).map(|at| assignment.device((at, 0)));
                counts.iter().map(|&count| all.by_ref().take(count).collect()).collect()
            }
            (Method::Hash, PartitionBy::Series) => {
                let of = |part: &Part| vec![hash(&part.id, count); part.keys.len()];
                parts.iter().map(of).collect()
            }
            (Method::Hash, PartitionBy::Configuration) => {
                let of = |part: &Part| {
                    let name = |key: &String| hash(&format!("{}/{key}", part.id), count);
                    part.keys.iter().map(name).collect()
                };
                parts.iter().map(of).collect()
            }
        };
        let home = |part: &Part| match method {
            Method::Slice => 0,
            Method::Hash => hash(&part.id, count),
        };
        Self { of, home: parts.iter().map(home).collect() }
    }

    /// The positions of the configurations of a series that `slice` measures; none where it has
    /// nothing of the series.
    pub fn own(&self, series: usize, slice: usize) -> Option<Vec<usize>> {
        let of = &self.of[series];
        let own: Vec<usize> = (0..of.len()).filter(|&index| of[index] == slice).collect();
        let here = if of.is_empty() { self.home[series] == slice } else { !own.is_empty() };
        here.then_some(own)
    }

    /// The slices that have something of a series, in ascending order.
    pub fn of_series(&self, series: usize) -> Vec<usize> {
        let mut all = self.of[series].clone();
        if all.is_empty() {
            all.push(self.home[series]);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The slice of what is called `name`, of `count`.
pub fn hash(name: &str, count: usize) -> usize {
    let digest = Sha256::digest(name.as_bytes());
    let first = digest.iter().take(8).fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    usize::try_from(first % count.max(1) as u64).expect("it is below the count")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(counts: &[usize]) -> Vec<Part> {
        let part = |(at, &count): (usize, &usize)| Part {
            id: format!("p::t::k{at}"),
            keys: (0..count).map(|n| format!("n={n}")).collect(),
            each: 1,
        };
        counts.iter().enumerate().map(part).collect()
    }

    /// The test vectors of the book, which hold for ever.
    #[test]
    fn the_hash_matches_the_vectors_in_the_book() {
        let book = include_str!("../../../docs/book/src/many-machines.md");
        let vectors: Vec<Vec<&str>> = book
            .lines()
            .filter(|line| line.starts_with("| `") && line.matches('|').count() == 6)
            .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
            .collect();
        assert_eq!(vectors.len(), 5, "{vectors:?}");
        for cells in vectors {
            let [_, name, digest, of_2, of_8, of_1000, _] = cells[..] else { panic!("{cells:?}") };
            let first = &gpuprof_system::hex::hex(&Sha256::digest(name.as_bytes()))[..16];
            assert_eq!(first, digest, "{name}");
            for (count, told) in [(2, of_2), (8, of_8), (1000, of_1000)] {
                // People count from one.
                assert_eq!((hash(name, count) + 1).to_string(), told, "{name} of {count}");
            }
        }
    }

    #[test]
    fn slices_are_balanced_like_devices() {
        let counts = [5, 5, 4, 4, 4, 4, 4, 4];
        let slices = Slices::new(&parts(&counts), Method::Slice, PartitionBy::Series, 4);
        let load = |slice| {
            let own = (0..8).filter_map(|s| slices.own(s, slice));
            own.map(|own| own.len()).sum::<usize>()
        };
        assert_eq!([0, 1, 2, 3].map(load), [9, 9, 8, 8]);
        let assignment = Assignment::new(&counts, 4);
        assert!((0..8).all(|s| slices.of_series(s) == [assignment.device((s, 0))]));
    }

    /// The test vectors of the book.
    #[test]
    fn balancing_by_cost_matches_the_book() {
        let book = include_str!("../../../docs/book/src/many-machines.md");
        let rows = book.lines().filter(|line| line.matches('|').count() == 7);
        let mut rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        assert_eq!(rows.next().unwrap()[1], "series");
        let cells: Vec<Vec<&str>> = rows.skip(1).collect();
        assert_eq!(cells.len(), 5, "{cells:?}");
        let number = |text: &str| text.parse::<u64>().unwrap();
        let of = |costs: bool| {
            let part = |cells: &Vec<&str>| Part {
                id: cells[1].to_owned(),
                keys: (0..number(cells[2])).map(|n| format!("n={n}")).collect(),
                each: if costs { number(cells[3]) } else { 1 },
            };
            let parts: Vec<Part> = cells.iter().map(part).collect();
            Slices::new(&parts, Method::Slice, PartitionBy::Series, 3)
        };
        let (by_count, by_cost) = (of(false), of(true));
        let told = |slices: &Slices, at| (slices.of_series(at)[0] as u64) + 1;
        for (at, cells) in cells.iter().enumerate() {
            assert_eq!(number(cells[2]) * number(cells[3]) / 1000, number(cells[4]), "{cells:?}");
            assert_eq!(told(&by_count, at), number(cells[5]), "{cells:?}");
            assert_eq!(told(&by_cost, at), number(cells[6]), "{cells:?}");
        }
    }

    #[test]
    fn hashed_slices_are_stable_when_configurations_are_added() {
        let (few, more) = (parts(&[3, 1]), parts(&[3, 1, 7, 2]));
        for by in [PartitionBy::Series, PartitionBy::Configuration] {
            let (few, more) =
                (Slices::new(&few, Method::Hash, by, 5), Slices::new(&more, Method::Hash, by, 5));
            assert!((0..5).all(|slice| few.own(0, slice) == more.own(0, slice)));
        }
    }

    proptest! {
        #[test]
        fn slices_are_disjoint_and_make_the_whole(
            counts in prop::collection::vec(0..30_usize, 0..9), count in 1..40_usize,
            hash: bool, single: bool,
        ) {
            let method = if hash { Method::Hash } else { Method::Slice };
            let by = if single { PartitionBy::Configuration } else { PartitionBy::Series };
            let slices = Slices::new(&parts(&counts), method, by, count);
            for (series, &configurations) in counts.iter().enumerate() {
                let mut all: Vec<usize> = Vec::new();
                let mut holders = Vec::new();
                for slice in 0..count {
                    if let Some(own) = slices.own(series, slice) {
                        holders.push(slice);
                        all.extend(own);
                    }
                }
                all.sort_unstable();
                prop_assert_eq!(all, (0..configurations).collect::<Vec<_>>());
                prop_assert_eq!(&holders, &slices.of_series(series));
                prop_assert!(!holders.is_empty(), "a series without configurations is reported once");
                prop_assert!(!hash || single || holders.len() == 1);
            }
            if single && !hash {
                let load = |slice| -> usize {
                    (0..counts.len()).filter_map(|s| slices.own(s, slice)).map(|o| o.len()).sum()
                };
                let loads: Vec<usize> = (0..count).map(load).collect();
                prop_assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_partition_is_written_as_number_of_total() {
        let of = |text: &str| text.parse::<Partition>();
        let second = of("slice:2/8").unwrap();
        assert_eq!((second.method, second.position(), second.slices()), (Method::Slice, 1, 8));
        for text in ["slice:1/1", "hash:7/7", "slice:100000/100000"] {
            assert_eq!(of(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "2/8",
            "count:1/2",
            "slice:0/8",
            "slice:9/8",
            "slice:1",
            "slice:+1/2",
            "hash:1/x",
            "slice:1/100001",
            "slice: 1/2",
            "Slice:1/2",
        ] {
            assert!(of(bad).unwrap_err().starts_with("expected slice:M/N or hash:M/N"), "{bad}");
        }
    }
}
