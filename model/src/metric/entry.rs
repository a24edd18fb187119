//! One metric: its name, unit and direction, its repeatability, and its requirements.
//!
//! Input: a row of a built-in table, or a definition of a user or a stored run. Output: the value
//! that every look-up returns.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::metric::formula::Formula;
use crate::quantity::Unit;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither is better in itself: a fact, such as the size of a grid.
    #[serde(rename = "none")]
    Neither,
}

impl Direction {
    /// Whether `a` is better than `b`; never where neither direction is better.
    pub fn better(self, a: f64, b: f64) -> bool {
        match self {
            Self::Lower => a < b,
            Self::Higher => a > b,
            Self::Neither => false,
        }
    }

    /// How many times worse `value` is than `base`; `None` if neither direction is better, and if
    /// the quotient does not exist.
    pub fn times_worse(self, value: f64, base: f64) -> Option<f64> {
        let ratio = match self {
            Self::Neither => return None,
            _ if value == base => 1.0,
            Self::Lower => value / base,
            Self::Higher => base / value,
        };
        ratio.is_finite().then_some(ratio)
    }

    /// "lower is better".
    pub fn words(self) -> &'static str {
        match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
            Self::Neither => "neither direction is better",
        }
    }
}

/// How a metric repeats on one device with one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// To the last digit: a count of a deterministic program, or made of such counts.
    Exact,
    /// Time, and metrics that depend on it.
    Noisy,
}

impl Class {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Noisy => "noisy",
        }
    }
}

/// The requirements of a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// CUDA events on a GPU.
    Time,
    /// NVML's counter of a GPU's energy.
    Energy,
    /// The driver's launch facts.
    Launch,
    /// An attribute of the device or of its links, reported by the driver.
    Device,
    /// The annotation.
    Declared,
    /// An exact counter of the emulated driver; on a GPU, the hardware counter of the same name
    /// unless the name starts with `ptx__`.
    Emulator,
    /// The hardware counter of this PerfWorks name, collected by CUPTI on a GPU.
    Hardware(Cow<'static, str>),
    /// CUPTI's records of the migrations and page faults of managed memory.
    UnifiedMemory,
    /// CUPTI's counts of each machine instruction, which a process of their own collects on a GPU.
    Instructions,
    /// A formula over other metrics.
    Derived(Formula),
    /// A stored run, which does not contain the origin of its values.
    Recorded,
}

/// A metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its base unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// The file that says so, if one set the direction of a metric that is known without it.
    pub direction_set: Option<Cow<'static, str>>,
    /// How it repeats at best; `Catalogue::class_on` says how on which kind of device.
    pub class: Class,
    /// Its requirements.
    pub origin: Origin,
    /// Its description, in one line.
    pub description: Cow<'static, str>,
}

impl Metric {
    /// The formula of a derived metric.
    pub fn formula(&self) -> Option<&Formula> {
        match &self.origin {
            Origin::Derived(formula) => Some(formula),
            _ => None,
        }
    }
}

/// A metric of a built-in table, which is a constant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) direction: Direction,
    pub(super) class: Class,
    pub(super) needs: Needs,
    pub(super) description: &'static str,
}

/// An [`Origin`] as a constant has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Time,
    Energy,
    Launch,
    Device,
    Declared,
    Emulator,
    Hardware(&'static str),
    UnifiedMemory,
    Instructions,
    Derived(&'static str),
}

impl Row {
    /// The metric.
    ///
    /// # Panics
    /// A formula that does not parse. The tables are constants, which a test reads as a whole.
    pub(super) fn metric(&self) -> Metric {
        let origin = match self.needs {
            Needs::Time => Origin::Time,
            Needs::Energy => Origin::Energy,
            Needs::Launch => Origin::Launch,
            Needs::Device => Origin::Device,
            Needs::Declared => Origin::Declared,
            Needs::Emulator => Origin::Emulator,
            Needs::Hardware(name) => Origin::Hardware(name.into()),
            Needs::UnifiedMemory => Origin::UnifiedMemory,
            Needs::Instructions => Origin::Instructions,
            Needs::Derived(text) => Origin::Derived(
                Formula::parse(text).unwrap_or_else(|e| panic!("{}: {e}", self.name)),
            ),
        };
        Metric {
            name: self.name.into(),
            unit: self.unit,
            direction: self.direction,
            direction_set: None,
            class: self.class,
            origin,
            description: self.description.into(),
        }
    }
}
