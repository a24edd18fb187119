//! Durations of launches, estimated by the emulated driver's model.
//!
//! Input: the driver's report. Output: one estimate for all launches of a range. An estimate is no
//! measurement: it has an interval, and the version of the model that made it.

use crate::units::Nanoseconds;
use serde::{Deserialize, Serialize};

crate::words! {
    /// A resource that limits a launch, by the model.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Limit = Launch {
        /// The slots in which warps issue instructions.
        Issue = "issue",
        /// One kind of execution unit.
        Pipe = "pipe",
        /// Dependences between instructions, barriers, and too few warps to hide them.
        Latency = "latency",
        /// L1 and the units in front of it.
        L1 = "l1",
        /// The banks of shared memory.
        Shared = "shared",
        /// The bandwidth of L2.
        L2 = "l2",
        /// The bandwidth of device memory.
        Dram = "dram",
        /// Atomics.
        Atomics = "atomics",
        /// How fast blocks start.
        Dispatch = "dispatch",
        /// Multiprocessors that are empty while the last blocks run.
        Tail = "tail",
        /// The launch itself.
        Launch = "launch",
    }
}

/// A limit, and its share of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitShare {
    /// The limit.
    pub limit: Limit,
    /// The time that it alone would take, over the duration.
    pub share: f64,
}

/// The estimated duration of the launches of a range, which run one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Nanoseconds.
    pub duration_ns: Nanoseconds,
    /// The lower end of the interval in which a measured duration lies in 90 % of kernels, in
    /// nanoseconds.
    pub low_ns: Nanoseconds,
    /// Its upper end, in nanoseconds.
    pub high_ns: Nanoseconds,
    /// The limits of the duration, the largest share first.
    pub limits: Vec<LimitShare>,
    /// The version of the model: durations of different versions are not compared.
    pub model: u32,
    /// The product that the duration is for, such as `H200`.
    pub chip: String,
    /// Whether the chip's constants were measured on it, and not taken from published figures.
    pub characterised: bool,
    /// Whether the occupancy counts the registers that ptxas assigned. If not, registers limit no
    /// occupancy in it.
    #[serde(default)]
    pub registers_known: bool,
    /// Whether the instructions are those of the machine code that ptxas made. If not, they follow
    /// from the PTX by rules.
    #[serde(default)]
    pub machine_code_known: bool,
}

/// The model of an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EstimateModel {
    /// As [`Estimate::model`].
    pub model: u32,
    /// As [`Estimate::chip`].
    pub chip: String,
    /// As [`Estimate::characterised`]; if not, nothing was checked on hardware.
    pub characterised: bool,
    /// As [`Estimate::registers_known`].
    #[serde(default)]
    pub registers_known: bool,
    /// As [`Estimate::machine_code_known`].
    #[serde(default)]
    pub machine_code_known: bool,
}

impl Estimate {
    /// Its model.
    pub fn by(&self) -> EstimateModel {
        let Self { model, characterised, registers_known, machine_code_known, .. } = *self;
        let chip = self.chip.clone();
        EstimateModel { model, chip, characterised, registers_known, machine_code_known }
    }

    /// The largest limit.
    pub fn class(&self) -> Option<Limit> {
        self.limits.first().map(|first| first.limit)
    }

    /// The estimate of both, one after the other: durations add, and so do the ends of the
    /// intervals, since errors of one model go in one direction.
    #[must_use]
    pub fn join(mut self, next: Self) -> Self {
        let duration_ns = self.duration_ns + next.duration_ns;
        let limit_time = |estimate: &Self, limit: Limit| -> f64 {
            let found = estimate.limits.iter().find(|share| share.limit == limit);
            found.map_or(0.0, |found| found.share * estimate.duration_ns.0)
        };
        let mut limits: Vec<Limit> =
            self.limits.iter().chain(&next.limits).map(|share| share.limit).collect();
        limits.sort_unstable();
        limits.dedup();
        let share = |limit| (limit_time(&self, limit) + limit_time(&next, limit)) / duration_ns.0;
        let mut limits: Vec<LimitShare> =
            limits.into_iter().map(|limit| LimitShare { limit, share: share(limit) }).collect();
        limits.sort_by(|one, other| other.share.total_cmp(&one.share));
        self.limits = limits;
        self.duration_ns = duration_ns;
        self.low_ns += next.low_ns;
        self.high_ns += next.high_ns;
        self.registers_known &= next.registers_known;
        self.machine_code_known &= next.machine_code_known;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(duration_ns: f64, limits: &[(Limit, f64)]) -> Estimate {
        let limits = limits.iter().map(|&(limit, share)| LimitShare { limit, share });
        Estimate {
            duration_ns: Nanoseconds(duration_ns),
            low_ns: Nanoseconds(duration_ns / 2.0),
            high_ns: Nanoseconds(duration_ns * 2.0),
            limits: limits.collect(),
            model: 1,
            chip: "H200".to_owned(),
            characterised: false,
            registers_known: true,
            machine_code_known: true,
        }
    }

    #[test]
    fn limits_of_several_launches_are_weighted_by_duration() {
        let long = estimate(3000.0, &[(Limit::Dram, 0.8), (Limit::Launch, 0.2)]);
        let short = estimate(1000.0, &[(Limit::Launch, 0.9), (Limit::Latency, 0.1)]);
        let both = long.join(short);
        assert_eq!(
            [both.duration_ns, both.low_ns, both.high_ns].map(|time| time.0),
            [4000.0, 2000.0, 8000.0]
        );
        let shares: Vec<(Limit, f64)> =
            both.limits.iter().map(|share| (share.limit, share.share)).collect();
        let expected = [(Limit::Dram, 0.6), (Limit::Launch, 0.375), (Limit::Latency, 0.025)];
        for ((limit, share), (expected_limit, expected_share)) in shares.into_iter().zip(expected) {
            assert_eq!(limit, expected_limit);
            assert!((share - expected_share).abs() < 1e-12, "{limit:?} {share}");
        }
        assert_eq!(both.class(), Some(Limit::Dram));
    }
}
