//! Options that divide a plan into slices, each for a separate machine or job.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use camino::Utf8PathBuf;
use clap::Args;

use super::word::word;
use gpuprof_engine::schedule::partition::{Method, PartitionBy};

/// The most slices of a plan.
const MOST: u32 = 100_000;

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
            format!("expected slice:M/N or hash:M/N with 1 <= M <= N <= {MOST}, such as slice:2/8")
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
        if slice > of || of.get() > MOST {
            return Err(expected());
        }
        Ok(Self { method, slice, of })
    }
}

/// Which slice of a plan to take.
#[derive(Debug, Clone, Default, Args)]
pub struct PartitionOptions {
    /// Take one of N slices, after all filters: slice:M/N balances them, hash:M/N keeps each series
    /// in its slice when others are added; `cargo gpuprof merge` combines the slices into one run
    #[arg(long, value_name = "METHOD:M/N", env = "GPUPROF_PARTITION", help_heading = "Slices")]
    pub partition: Option<Partition>,
    /// The unit that --partition distributes
    #[arg(
        long,
        value_parser = word::<PartitionBy>(),
        default_value_t,
        value_name = "UNIT",
        env = "GPUPROF_PARTITION_BY",
        help_heading = "Slices"
    )]
    pub partition_by: PartitionBy,
    /// Balance slice:M/N by how long the series took in this run: a baseline, a file with a run, or
    /// the id of a stored one; the same for every slice of a plan
    #[arg(long, value_name = "NAME|FILE|RUN", requires = "partition", help_heading = "Slices")]
    pub partition_costs: Option<String>,
}

/// The slice to measure, and its folder.
#[derive(Debug, Clone, Default, Args)]
pub struct SliceOptions {
    /// Which slice.
    #[command(flatten)]
    pub part: PartitionOptions,
    /// Folder for the slices, on a file system that all machines see: each has a folder of its own
    /// below it [default with --partition: gpuprof/slices in the target folder]
    #[arg(
        long,
        value_name = "DIR",
        env = "GPUPROF_SLICES",
        conflicts_with_all = ["save_baseline", "load_baseline"],
        help_heading = "Slices"
    )]
    pub slices: Option<Utf8PathBuf>,
}

impl SliceOptions {
    /// The measured slice; none if the run is not a slice.
    pub fn wanted(&self) -> Option<Partition> {
        self.part.partition.or(self.slices.as_ref().map(|_| Partition::WHOLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_says_which_of_how_many() {
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
