//! The catalogue: the known metrics, and their operands.
//!
//! Input: a name. Output: its unit, direction, class and origin, and the counters it needs. A
//! catalogue is a value: [`Catalogue::built_in`] is the common one; reading definitions or a stored
//! run makes another catalogue from it. Two catalogues in one process may define a name
//! differently.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::each_once::each_once;
use crate::metric::attributes::DEVICE_ATTRIBUTE;
use crate::metric::entry::{Class, Direction, Metric, Origin};
use crate::metric::other_profilers::{self, Legacy};
use crate::metric::{attributes, built_in_table, groups, launch, links, perfworks};
use crate::quantity::Unit;
use crate::suggest::did_you_mean;

/// The metrics that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// Those of our table, in its order.
    pub(super) own: Arc<[Arc<Metric>]>,
    /// Those that sections and configuration files define, by name.
    pub(super) defined: BTreeMap<String, Arc<Metric>>,
    /// Those that a stored run holds and nothing else knows, by name.
    recorded: BTreeMap<String, Arc<Metric>>,
    /// The chip that defines the counters, if one is chosen.
    chip: Option<String>,
    /// The directions that files set, and the file of each, by the counter of the metric.
    pub(super) directions: BTreeMap<String, (Direction, String)>,
}

impl Catalogue {
    /// The built-in metrics: our table, launch facts and device attributes by Nsight Compute's
    /// names, names of other profilers, and any hardware counter by its PerfWorks name.
    pub fn built_in() -> Self {
        Self {
            own: built_in_table::metrics().map(Arc::new).collect(),
            defined: BTreeMap::new(),
            recorded: BTreeMap::new(),
            directions: BTreeMap::new(),
            chip: None,
        }
    }

    /// This catalogue as it is on `chip`, which may count the metric of an old name differently.
    #[must_use]
    pub fn on_chip(&self, chip: &str) -> Self {
        Self { chip: Some(chip.to_owned()), ..self.clone() }
    }

    /// This catalogue and the metric `name` as a stored run holds it. What is known stays as it is.
    #[must_use]
    pub fn with_recorded(
        mut self,
        name: &str,
        unit: Unit,
        direction: Direction,
        class: Class,
    ) -> Self {
        if self.find(name).is_none() {
            let metric = Metric {
                name: name.to_owned().into(),
                unit,
                direction,
                direction_set: None,
                class,
                origin: Origin::Recorded,
                description: "a metric of a stored run".into(),
            };
            self.recorded.insert(name.to_owned(), Arc::new(metric));
        }
        self
    }

    /// This catalogue with the direction that a stored run holds of the metric `name`, if a file
    /// set it when the run was made and none does now.
    #[must_use]
    pub fn with_recorded_direction(mut self, name: &str, direction: Direction) -> Self {
        if let Some(metric) = self.find(name).filter(|metric| metric.direction_set.is_none()) {
            let counted = self.counted(&metric);
            self.directions.insert(counted, (direction, "a stored run".to_owned()));
        }
        self
    }

    /// The metric called `name`.
    pub fn find(&self, name: &str) -> Option<Arc<Metric>> {
        let held = self.own.iter().find(|metric| metric.name == name);
        let held = held.or_else(|| self.defined.get(name)).or_else(|| self.recorded.get(name));
        let by_rule = || by_rule(name, self.chip.as_deref()).map(Arc::new);
        let found = held.cloned().or_else(by_rule)?;
        Some(self.directed(found))
    }

    /// `metric` with the direction that a file has set for it or for another name of the same.
    pub(super) fn directed(&self, mut metric: Arc<Metric>) -> Arc<Metric> {
        if !self.directions.is_empty()
            && let Some((direction, file)) = self.directions.get(&self.counted(&metric))
        {
            let metric = Arc::make_mut(&mut metric);
            metric.direction = *direction;
            metric.direction_set = Some(file.clone().into());
        }
        metric
    }

    /// The subject of `metric`: the name of the counter or launch fact that it is a multiple of, or
    /// its own. Names of one subject share it.
    pub(super) fn counted(&self, metric: &Metric) -> String {
        let own = || launch::by_its_short_name(&metric.name).unwrap_or(&metric.name).to_owned();
        match &metric.origin {
            Origin::Hardware(name) => name.to_string(),
            Origin::Derived(formula) => {
                let operand = formula.multiple_of().and_then(|name| {
                    let defined = self.defined.get(name).map(|metric| Metric::clone(metric));
                    defined.or_else(|| built_in(name))
                });
                operand.map_or_else(own, |operand| self.counted(&operand))
            }
            _ => own(),
        }
    }

    /// The metrics of our table, in its order.
    pub fn own(&self) -> impl Iterator<Item = &Arc<Metric>> {
        self.own.iter()
    }

    /// The metrics that sections and configuration files define, by name.
    pub fn defined(&self) -> impl Iterator<Item = &Arc<Metric>> {
        self.defined.values()
    }

    /// The definitions of sections and configuration files, and the directions that these set, a
    /// line each.
    pub fn definitions(&self) -> String {
        let defined = self.defined().map(|metric| {
            let formula = metric.formula().map_or("", |formula| formula.text());
            let (unit, direction) = (metric.unit.symbol(), metric.direction.words());
            format!("{}: {formula} [{unit}], {direction}", metric.name)
        });
        let directions = self.directions.iter();
        let directions =
            directions.map(|(name, (direction, _))| format!("{name}: {}", direction.words()));
        defined.chain(directions).collect::<Vec<_>>().join("\n")
    }

    /// The PerfWorks names that CUPTI must collect on a GPU so that `metric` has a value there.
    pub fn hardware_names(&self, metric: &Metric) -> Vec<Cow<'static, str>> {
        match &metric.origin {
            Origin::Hardware(name) => vec![name.clone()],
            Origin::Emulator if !metric.name.starts_with("ptx__") => vec![metric.name.clone()],
            Origin::Derived(formula) => {
                let operands = formula.names().into_iter().filter_map(|name| self.find(name));
                each_once(operands.flat_map(|operand| self.hardware_names(&operand)))
            }
            _ => Vec::new(),
        }
    }

    /// Whether `metric` has a value on a GPU only where its machine instructions are counted.
    pub fn counts_instructions(&self, metric: &Metric) -> bool {
        self.is_made_of(metric, &|leaf| leaf.origin == Origin::Instructions)
    }

    /// Whether `metric` is made of the energy of a launch.
    pub fn needs_energy(&self, metric: &Metric) -> bool {
        self.is_made_of(metric, &|leaf| leaf.origin == Origin::Energy)
    }

    /// Whether `metric` is made of the migrations of managed memory.
    pub fn needs_unified_memory(&self, metric: &Metric) -> bool {
        self.is_made_of(metric, &|leaf| leaf.origin == Origin::UnifiedMemory)
    }

    /// Whether the links of the device give `metric` its value, or say why it has none.
    pub fn needs_links(&self, metric: &Metric) -> bool {
        self.is_made_of(metric, &|leaf| match &leaf.origin {
            Origin::Device => !leaf.name.starts_with(DEVICE_ATTRIBUTE),
            Origin::Hardware(counter) => links::counts_nvlink(counter),
            _ => false,
        })
    }

    /// Whether `metric`, or an operand of its formula at any depth, `is` so.
    fn is_made_of(&self, metric: &Metric, is: &dyn Fn(&Metric) -> bool) -> bool {
        let Origin::Derived(formula) = &metric.origin else { return is(metric) };
        let mut operands = formula.names().into_iter().filter_map(|name| self.find(name));
        operands.any(|operand| self.is_made_of(&operand, is))
    }

    /// The attributes of the device that `metric` is made of, by their names behind
    /// [`DEVICE_ATTRIBUTE`].
    pub fn device_attributes(&self, metric: &Metric) -> Vec<String> {
        match &metric.origin {
            Origin::Device => {
                metric.name.strip_prefix(DEVICE_ATTRIBUTE).map(str::to_owned).into_iter().collect()
            }
            Origin::Derived(formula) => {
                let operands = formula.names().into_iter().filter_map(|name| self.find(name));
                operands.flat_map(|operand| self.device_attributes(&operand)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How `metric` repeats on the emulated driver, or on hardware. They differ for what is made of
    /// L1's own counters (`l1tex__t_…`): the emulator counts them, hardware reads them in several
    /// passes.
    pub fn class_on(&self, metric: &Metric, emulated: bool) -> Class {
        let repeats = |name: &Cow<'_, str>| perfworks::repeats_on_hardware(name);
        let steady = || self.hardware_names(metric).iter().all(repeats);
        if metric.class == Class::Exact && !emulated && !steady() {
            Class::Noisy
        } else {
            metric.class
        }
    }

    /// The message for a name that no metric has, with the nearest names.
    pub fn unknown(&self, name: &str) -> String {
        if let Some(Legacy::Refused(reason)) = other_profilers::find(name, None) {
            return format!("`{name}`, a metric of other profilers, has no equivalent: {reason}");
        }
        if let Some(metrics) = groups::group(name) {
            return format!("`{name}` is a group, not one metric; it holds {}", metrics.join(", "));
        }
        let rolled_up = || self.find(&format!("{name}.sum")).is_some();
        if name.contains("__") && !name.contains('.') && rolled_up() {
            return format!(
                "`{name}` needs a roll-up or a submetric, such as `.sum` of a counter or `.pct` of \
                 a ratio; `cargo gpuprof metrics --describe {name}` lists its own"
            );
        }
        let held = self.own().chain(self.defined()).chain(self.recorded.values());
        let facts: Vec<Metric> = launch::launch_facts()
            .chain(links::link_facts())
            .chain(attributes::attributes())
            .chain(other_profilers::legacy())
            .collect();
        let names = held.map(|metric| &*metric.name).chain(facts.iter().map(|m| &*m.name));
        let near = did_you_mean(name, names)
            .unwrap_or_else(|| "see `cargo gpuprof metrics` for the names".to_owned());
        format!("no metric is named `{name}`: {near}")
    }

    /// The messages for all of `names` that no metric has, one a line; none if every one is known.
    pub fn all_unknown<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
        let unknown = names.into_iter().filter(|name| self.find(name).is_none());
        let messages = each_once(unknown.map(|name| self.unknown(name)));
        (!messages.is_empty()).then(|| messages.join("\n"))
    }
}

/// The metric that the driver or CUPTI has under `name`, or that another profiler has, by the
/// counters of `chip`.
fn by_rule(name: &str, chip: Option<&str>) -> Option<Metric> {
    let translated = || match other_profilers::find(name, chip)? {
        Legacy::Translated(metric) => Some(metric),
        Legacy::Refused(_) => None,
    };
    launch::find(name).or_else(|| perfworks::find(name)).or_else(translated)
}

/// The metric that every catalogue has under `name`.
pub fn built_in(name: &str) -> Option<Metric> {
    built_in_table::find(name).or_else(|| by_rule(name, None))
}

/// Whether a metric of our table is called `name`.
pub fn is_own(name: &str) -> bool {
    built_in_table::holds(name)
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
