//! The metric catalogue: every metric this version knows, and the formulas of the derived ones.
//!
//! Input: a name. Output: its unit, direction, class and where it can come from. Counter names
//! are PerfWorks names; `ptx__` marks counts that exist only at PTX level.

mod catalogue;
mod cycle;
mod defined;
mod formula;
mod launch;
mod legacy;
mod perfworks;
mod recalled;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::quantity::Unit;

pub use catalogue::CATALOGUE;
pub use cycle::cycle_among;
pub use defined::{Definition, DefinitionProblem, define, defined, redefine};
pub use formula::{Formula, Undefined};
pub use launch::{DEVICE_ATTRIBUTE, KEPT_ATTRIBUTES, LAUNCH, attributes};
pub use legacy::{legacy, legacy_refused};
pub use recalled::recall;

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

/// How a metric repeats on one device with one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// To the last digit: a count of what a deterministic program does, or made of such counts.
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
    /// An attribute of the device, told by the driver.
    Device,
    /// The annotation.
    Declared,
    /// An exact counter of the emulated driver; on a GPU, the hardware counter of the same name
    /// unless the name starts with `ptx__`.
    Emulator,
    /// The hardware counter of this PerfWorks name, collected by CUPTI on a GPU.
    Hardware(&'static str),
    /// A formula over other metrics.
    Derived(&'static str),
    /// A stored run, which does not tell how it came by its values.
    Recorded,
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
    /// How it repeats at best; [`Metric::class_on`] says how on which kind of device.
    pub class: Class,
    /// What it needs.
    pub origin: Origin,
    /// What it is, in one line.
    pub description: &'static str,
}

impl Metric {
    /// How it repeats on the emulated driver, or on hardware. They differ for what is made of L1's
    /// own counters (`l1tex__t_…`): the emulator counts them, hardware reads them in several
    /// passes.
    pub fn class_on(&self, emulated: bool) -> Class {
        let steady = || hardware_names(self).into_iter().all(perfworks::repeats_on_hardware);
        if self.class == Class::Exact && !emulated && !steady() { Class::Noisy } else { self.class }
    }
}

/// The metric called `name`: of the catalogue, a launch fact or device attribute by Nsight
/// Compute's name, one by an older profiler's name, one that was [`define`]d or [`recall`]ed, or
/// any hardware counter by its PerfWorks name.
pub fn find(name: &str) -> Option<&'static Metric> {
    let translated = || match legacy::find(name)? {
        legacy::Legacy::Translated(metric) => Some(metric),
        legacy::Legacy::Refused(_) => None,
    };
    CATALOGUE
        .iter()
        .find(|metric| metric.name == name)
        .or_else(|| launch::find(name))
        .or_else(|| perfworks::find(name))
        .or_else(translated)
        .or_else(|| defined::find(name))
        .or_else(|| recalled::find(name))
}

/// The formula of a derived metric, parsed once a process.
pub fn formula(metric: &Metric) -> Option<&'static Formula> {
    static PARSED: LazyLock<Mutex<HashMap<&'static str, &'static Formula>>> =
        LazyLock::new(Mutex::default);
    let Origin::Derived(text) = metric.origin else { return None };
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(formula) = parsed.get(text) {
        return Some(formula);
    }
    let formula: &'static Formula = Box::leak(Box::new(Formula::parse(text).ok()?));
    parsed.insert(text, formula);
    Some(formula)
}

/// The PerfWorks names that CUPTI must collect on a GPU so that `metric` has a value there.
pub fn hardware_names(metric: &Metric) -> Vec<&'static str> {
    match metric.origin {
        Origin::Hardware(name) => vec![name],
        Origin::Emulator if !metric.name.starts_with("ptx__") => vec![metric.name],
        Origin::Derived(_) => {
            let operands = formula(metric).into_iter().flat_map(Formula::names).filter_map(find);
            let mut names = Vec::new();
            for name in operands.flat_map(hardware_names) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        }
        _ => Vec::new(),
    }
}

/// The message for a name that no metric has, with the nearest names.
pub fn unknown(name: &str) -> String {
    if let Some(legacy::Legacy::Refused(reason)) = legacy::find(name) {
        return format!("`{name}`, a metric of older profilers, has no equivalent: {reason}");
    }
    if name.contains("__") && !name.contains('.') && find(&format!("{name}.sum")).is_some() {
        return format!(
            "`{name}` needs a roll-up or a submetric, such as `.sum` of a counter or `.pct` of a ratio; \
             `cargo gpuprof metrics --describe {name}` lists its own"
        );
    }
    let own = CATALOGUE.iter().map(|m| m.name).chain(defined().into_iter().map(|m| m.name));
    let own = own.chain(recalled::recalled().into_iter().map(|m| m.name));
    let facts = LAUNCH.iter().chain(attributes()).map(|m| m.name);
    let names = own.chain(facts).chain(legacy().map(|m| m.name));
    let near = crate::suggest::did_you_mean(name, names)
        .unwrap_or_else(|| "see `cargo gpuprof metrics` for the names".to_owned());
    format!("no metric is called `{name}`: {near}")
}

/// The messages for all of `names` that no metric has, one a line; none where every one is known.
pub fn all_unknown<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let mut messages: Vec<String> = Vec::new();
    for name in names.into_iter().filter(|name| find(name).is_none()) {
        let message = unknown(name);
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    (!messages.is_empty()).then(|| messages.join("\n"))
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
    fn exact_on_hardware_is_what_patched_instructions_count() {
        let classes = |name: &str| [true, false].map(|e| find(name).unwrap().class_on(e));
        for exact in [
            "load_sectors_per_request",
            "store_sectors_per_request",
            "global_sectors",
            "global_load_efficiency",
            "bank_conflicts",
            "gld_efficiency",
            "gst_transactions_per_request",
            "branch_efficiency",
            "registers",
            "ptx_instructions",
        ] {
            assert_eq!(classes(exact), [Class::Exact; 2], "{exact}");
        }
        let raw = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
        assert_eq!(classes(raw), [Class::Exact, Class::Noisy]);
        assert_eq!(classes("duration"), [Class::Noisy; 2]);
        // Nothing that is called exact in the catalogue rests on a counter that does not repeat,
        // but L1's own.
        for metric in CATALOGUE.iter().chain(legacy()).filter(|m| m.class == Class::Exact) {
            let raw = metric.name.starts_with("l1tex__t_");
            assert_eq!(metric.class_on(false) == Class::Noisy, raw, "{}", metric.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_its_nearest() {
        assert_eq!(
            unknown("througput"),
            "no metric is called `througput`: did you mean `throughput`?"
        );
        assert_eq!(
            unknown("lts__t_sector_hit_rate"),
            "`lts__t_sector_hit_rate` needs a roll-up or a submetric, such as `.sum` of a counter or `.pct` of a ratio; \
             `cargo gpuprof metrics --describe lts__t_sector_hit_rate` lists its own"
        );
        assert_eq!(all_unknown(["duration", "waves"]), None);
        assert_eq!(
            all_unknown(["througput", "waves", "ocupancy", "througput"]).unwrap(),
            "no metric is called `througput`: did you mean `throughput`?\n\
             no metric is called `ocupancy`: did you mean `occupancy`?"
        );
    }
}
