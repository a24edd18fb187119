//! The metric catalogue: every metric this version knows, and the formulas of the derived ones.
//!
//! Comes in: a name. Goes out: its unit, direction, class and where it can come from. Counter names
//! are PerfWorks names; `ptx__` marks counts that exist only at PTX level.

mod catalogue;
mod formula;
mod perfworks;

use serde::{Deserialize, Serialize};

use crate::quantity::Unit;

pub use catalogue::CATALOGUE;
pub use formula::{Formula, Undefined};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

impl Direction {
    /// Whether `a` is better than `b`.
    pub fn better(self, a: f64, b: f64) -> bool {
        match self {
            Self::Lower => a < b,
            Self::Higher => a > b,
        }
    }
}

/// How a metric repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A deterministic count.
    Exact,
    /// Time, and what depends on it.
    Noisy,
}

/// What a metric needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// CUDA events on a GPU.
    Time,
    /// The driver's launch facts.
    Launch,
    /// The annotation.
    Declared,
    /// An exact counter of the emulated driver; on a GPU, the hardware counter of the same name unless
    /// the name starts with `ptx__`.
    Emulator,
    /// The hardware counter of this PerfWorks name, collected by CUPTI on a GPU.
    Hardware(&'static str),
    /// A formula over other metrics.
    Derived(&'static str),
}

/// One metric of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its base unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// How it repeats.
    pub class: Class,
    /// What it needs.
    pub origin: Origin,
    /// What it is, in one line.
    pub description: &'static str,
}

/// The metric called `name`: of the catalogue, or any hardware counter by its PerfWorks name.
pub fn find(name: &str) -> Option<&'static Metric> {
    CATALOGUE.iter().find(|metric| metric.name == name).or_else(|| perfworks::find(name))
}

/// The PerfWorks names that CUPTI must collect on a GPU so that `metric` has a value there.
pub fn hardware_names(metric: &Metric) -> Vec<&'static str> {
    match metric.origin {
        Origin::Hardware(name) => vec![name],
        Origin::Emulator if !metric.name.starts_with("ptx__") => vec![metric.name],
        Origin::Derived(text) => {
            let operands =
                Formula::parse(text).map(|f| f.names().into_iter().filter_map(find).collect());
            let operands: Vec<&Metric> = operands.unwrap_or_default();
            operands.into_iter().flat_map(hardware_names).collect()
        }
        _ => Vec::new(),
    }
}

/// The message for a name that no metric has, with the nearest names.
pub fn unknown(name: &str) -> String {
    let near = crate::suggest::did_you_mean(name, CATALOGUE.iter().map(|m| m.name))
        .unwrap_or_else(|| "see `cargo gpuprof metrics` for the names".to_owned());
    format!("no metric is called `{name}`: {near}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_formulas_name_known_metrics() {
        for (position, metric) in CATALOGUE.iter().enumerate() {
            assert!(CATALOGUE[..position].iter().all(|m| m.name != metric.name), "{}", metric.name);
            if let Origin::Derived(text) = metric.origin {
                let formula =
                    Formula::parse(text).unwrap_or_else(|e| panic!("{}: {e}", metric.name));
                for name in formula.names() {
                    assert!(find(name).is_some(), "{} uses the unknown {name}", metric.name);
                }
            }
        }
    }

    #[test]
    fn a_derived_metric_needs_the_counters_of_its_operands() {
        let names = |name: &str| hardware_names(find(name).unwrap());
        assert_eq!(names("occupancy"), ["sm__warps_active.avg.pct_of_peak_sustained_active"]);
        assert_eq!(names("bank_conflicts").len(), 6);
        assert!(names("duration").is_empty() && names("ptx_instructions").is_empty());
    }

    #[test]
    fn an_unknown_name_gets_its_nearest() {
        assert_eq!(
            unknown("througput"),
            "no metric is called `througput`: did you mean `throughput`?"
        );
    }
}
