//! What is said where the counters that were asked for cannot be collected: the chip does not have
//! them, or they take more passes than are allowed.
//!
//! Input: the problem, and the written metrics, which may have other names than their counters.
//! Output: the text, with the nearest names and the highest costs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use camino::Utf8Path;
use gpuprof_model::failure::{MetricRefusal, RefusedMetric};
use gpuprof_model::metric::{Catalogue, Metric};

use crate::commands::settings::Setting;
use gpuprof_catalogue::chips;
use gpuprof_engine::cupti::Cost;
use gpuprof_system::error::{Failure, Result};

/// What is wrong with counters, of which `refused` are at fault, with the nearest names that the
/// chip has, and with the metrics that were `written` where those have other names.
pub(super) fn with_nearest(
    catalogue: &Catalogue,
    (problem, refused): (String, &[RefusedMetric]),
    cupti: Option<&Utf8Path>,
    chip: Option<&str>,
    written: &BTreeSet<&str>,
) -> Result<String> {
    let Some(chip) = chip else { return Ok(problem) };
    let near = |counter: &str| chips::nearest(cupti, chip, counter);
    needed_for(catalogue, (problem, refused), written, near)
}

/// The same; `near` finds the nearest names.
pub(super) fn needed_for(
    catalogue: &Catalogue,
    (mut problem, refused): (String, &[RefusedMetric]),
    written: &BTreeSet<&str>,
    near: impl Fn(&str) -> Result<Option<String>>,
) -> Result<String> {
    let mut needed_for: BTreeMap<Cow<'_, str>, Vec<&str>> = BTreeMap::new();
    for name in written {
        for counter in catalogue.find(name).iter().flat_map(|m| catalogue.hardware_names(m)) {
            needed_for.entry(counter).or_default().push(name);
        }
    }
    for (counter, mut metrics) in needed_for {
        let base = counter.split('.').next().unwrap_or(&counter);
        let Some(found) = refused.iter().find(|metric| metric.base == base) else { continue };
        let near = match found.kind {
            MetricRefusal::UnknownMetric => near(&counter)?,
            MetricRefusal::WrongRollup => None,
        };
        metrics.retain(|name| **name != *counter);
        let metrics: Vec<String> = metrics.iter().map(|name| format!("`{name}`")).collect();
        problem.push_str(&match (metrics.as_slice(), near) {
            ([], None) => continue,
            ([], Some(near)) => format!("\n`{base}`: {near}"),
            (_, None) => format!("\n`{base}` is needed for {}", metrics.join(", ")),
            (_, Some(near)) => format!("\n`{base}` is needed for {}: {near}", metrics.join(", ")),
        });
    }
    Ok(problem)
}

/// What to say where `passes` are more than the setting `most` allows; `written` are the metrics
/// that were asked for.
pub(super) fn too_many(
    catalogue: &Catalogue,
    passes: u32,
    most: &Setting<Option<NonZeroU32>>,
    cost: Option<&Cost>,
    written: &BTreeSet<&str>,
) -> Failure {
    let limit = most.value.map_or(0, NonZeroU32::get);
    let allows = match most.on_command_line() {
        true => format!("{} allows {limit}", most.origin),
        false => format!("max-passes allows {limit} [{}]", most.origin),
    };
    let mut message = format!(
        "the counters need {passes} {} per configuration, but {allows}; nothing was started.",
        if passes == 1 { "pass" } else { "passes" }
    );
    let dearest = cost.map(Cost::dearest).unwrap_or_default();
    for metric in dearest.iter().take(3) {
        message.push_str(&format!(
            "\n  without {}: {} {}{}",
            metric.name,
            metric.without,
            if metric.without == 1 { "pass" } else { "passes" },
            metrics_over(catalogue, &metric.name, written)
        ));
    }
    message.push_str("\nAsk for fewer metrics, or raise the limit");
    Failure::usage(message)
}

/// " (as in `gld_efficiency`)", if a shorter name for the counter was written, or else if one of
/// ours exists.
fn metrics_over(catalogue: &Catalogue, counter: &str, written: &BTreeSet<&str>) -> String {
    let over = |m: &Arc<Metric>| {
        m.name != counter && catalogue.hardware_names(m).iter().any(|name| name == counter)
    };
    let asked = written.iter().filter_map(|name| catalogue.find(name)).find(over);
    let found = asked.or_else(|| catalogue.own().find(|metric| over(metric)).cloned());
    found.map_or_else(String::new, |metric| format!(" (as in `{}`)", metric.name))
}

#[cfg(test)]
mod tests {
    use gpuprof_model::metric::{Definition, Direction};

    use super::*;
    use crate::commands::settings::Origin;
    use gpuprof_engine::cupti::MetricCost;

    #[test]
    fn too_many_passes_are_refused_with_the_most_expensive_metrics() {
        let each = |name: &str, without| MetricCost { name: name.into(), alone: 1, without };
        let cost = Cost {
            refused: Vec::new(),
            passes: 9,
            each: vec![
                each("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 4),
                each("smsp__inst_executed.sum", 9),
            ],
        };
        let setting = |origin| Setting { value: NonZeroU32::new(5), origin };
        let given = setting(Origin::CommandLine("--max-passes".into()));
        let of_preset = setting(Origin::Configuration("preset ci".into()));
        let written = BTreeSet::new();
        assert_eq!(
            too_many(&Catalogue::built_in(), 9, &given, Some(&cost), &written).message,
            "the counters need 9 passes per configuration, but --max-passes allows 5; nothing was \
             started.\n  without gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed: 4 passes \
             (as in `dram_throughput`)\nAsk for fewer metrics, or raise the limit"
        );
        let definition = Definition {
            name: "c_half".into(),
            formula: "dram_throughput / 2".into(),
            unit: gpuprof_model::quantity::Unit::Percent,
            direction: Direction::Higher,
            description: None,
        };
        let catalogue = Catalogue::built_in().with_definitions(&[definition]).unwrap();
        let of_file = too_many(&catalogue, 9, &of_preset, Some(&cost), &BTreeSet::from(["c_half"]));
        for part in ["but max-passes allows 5 [preset ci]; nothing", "4 passes (as in `c_half`)"] {
            assert!(of_file.message.contains(part), "{of_file}");
        }
    }
}
