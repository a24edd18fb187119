//! The output of `metrics --message-format json`: a JSON object a line, each with a `reason`.
//!
//! Input: what is listed or described. Output: lines that follow `docs/schema/metrics.schema.json`.

use std::io::{self, Write};

use gpuprof_model::metric::{Catalogue, Class, Direction, Metric, Origin};
use serde::Serialize;

use gpuprof_engine::cupti::Described;

/// A line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub(super) enum Line {
    /// A metric that thresholds and `--metrics` may name.
    Metric {
        /// Its name.
        name: String,
        /// Its description, for people.
        description: String,
        /// Its unit; a plain number where there is none.
        unit: Option<String>,
        /// Which way is better: `lower`, `higher` or `none`.
        better: &'static str,
        /// Whether it is exact on the emulated driver.
        exact_on_emulator: bool,
        /// Whether it is exact on a GPU.
        exact_on_gpu: bool,
        /// Its formula, if it is calculated from others.
        formula: Option<String>,
        /// The hardware counters that it takes on a GPU.
        counters: Vec<String>,
    },
    /// A counter of a chip.
    Counter {
        /// Its name.
        name: String,
        /// The chip; none where it was not asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        chip: Option<String>,
        /// `counter`, `ratio` or `throughput`.
        kind: String,
        /// NVIDIA's description; empty without CUPTI.
        description: String,
        /// The unit of the GPU that counts it.
        hardware_unit: String,
        /// The dimension of its values.
        dimension: String,
        /// Its submetrics, if it was described.
        #[serde(skip_serializing_if = "Option::is_none")]
        submetrics: Option<Vec<String>>,
        /// The passes it takes alone, if CUPTI answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        passes: Option<usize>,
    },
    /// A name that has no metric.
    Refused {
        /// The name.
        name: String,
        /// Why, for people.
        why: String,
    },
    /// A name for several metrics.
    Group {
        /// The name.
        name: String,
        /// The metrics.
        metrics: Vec<String>,
    },
    /// A chip.
    Chip {
        /// Its name.
        name: String,
    },
    /// A set of sections.
    Set {
        /// Its name.
        name: String,
        /// Its purpose, for people.
        description: String,
        /// The identifiers of its sections.
        sections: Vec<String>,
    },
    /// A section.
    Section {
        /// Its identifier.
        id: String,
        /// Its title.
        title: String,
        /// The metrics in it.
        metrics: Vec<String>,
    },
}

impl Line {
    /// A metric that `known` has.
    pub(super) fn metric(known: &Catalogue, metric: &Metric) -> Self {
        let exact = |emulated| known.class_on(metric, emulated) == Class::Exact;
        let symbol = metric.unit.symbol();
        Self::Metric {
            name: metric.name.to_string(),
            description: metric.description.to_string(),
            unit: (!symbol.is_empty()).then(|| symbol.to_owned()),
            better: match metric.direction {
                Direction::Lower => "lower",
                Direction::Higher => "higher",
                Direction::Neither => "none",
            },
            exact_on_emulator: exact(true),
            exact_on_gpu: exact(false),
            formula: match &metric.origin {
                Origin::Derived(formula) => Some(formula.text().to_owned()),
                _ => None,
            },
            counters: known.hardware_names(metric).iter().map(ToString::to_string).collect(),
        }
    }

    /// A counter as it is listed.
    pub(super) fn counter(chip: Option<&str>, counter: &Described) -> Self {
        Self::Counter {
            name: counter.name.clone(),
            chip: chip.map(str::to_owned),
            kind: counter.kind.clone(),
            description: counter.description.clone(),
            hardware_unit: counter.hw_unit.clone(),
            dimension: counter.dim_unit.clone(),
            submetrics: None,
            passes: None,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }
}

/// Writes `lines`.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(lines: impl IntoIterator<Item = Line>, out: &mut impl Write) -> io::Result<()> {
    lines.into_iter().try_for_each(|line| line.write(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemas;

    #[test]
    fn the_lines_follow_their_schema() {
        schemas::check("metrics.schema.json", &schemars::schema_for!(Line));
    }
}
