//! Hardware counters by their PerfWorks names, beyond those of the catalogue.
//!
//! Input: `unit__counter.rollup[.submetric]`. Output: a metric whose unit and class follow from the
//! name by NVIDIA's naming rules (CUPTI guide, "Metrics Mapping" and "Metric Entities"), with the
//! direction of the counter's family ([`direction`]). CUPTI decides whether a chip has the counter,
//! before anything runs.

use crate::metric::entry::{Class, Metric, Origin};
use crate::metric::patching::is_patched;
use crate::metric::{direction, launch};
use crate::quantity::Unit;

/// The metric, if `name` is formed like a PerfWorks name.
pub(super) fn find(name: &str) -> Option<Metric> {
    let (base, suffix) = name.split_once('.')?;
    let formed =
        base.split_once("__").is_some_and(|(unit, rest)| !unit.is_empty() && !rest.is_empty());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
    let ours = base.starts_with("ptx__") || base.starts_with("sass__");
    let elsewhere = ours || launch::is_of_driver(base);
    if !formed || elsewhere || suffix.is_empty() || !name.chars().all(plain) {
        return None;
    }
    Some(Metric {
        name: name.to_owned().into(),
        unit: unit(base, suffix),
        direction: direction::classify(base, suffix).0,
        direction_set: None,
        class: class(base, suffix),
        origin: Origin::Hardware(name.to_owned().into()),
        description: "hardware counter; Nsight Compute's documentation describes it".into(),
    })
}

/// The row of the table of counter families that defines the better direction of the hardware
/// counter `name`.
pub fn direction_by_family(name: &str) -> Option<String> {
    find(name)?;
    let (base, suffix) = name.split_once('.')?;
    Some(direction::classify(base, suffix).1)
}

fn unit(base: &str, suffix: &str) -> Unit {
    let per_second = suffix.contains("per_second");
    if suffix.contains("pct") {
        Unit::Percent
    } else if base.contains("bytes") {
        if per_second { Unit::BytesPerSecond } else { Unit::Bytes }
    } else if base.contains("cycles") && per_second {
        Unit::Hertz
    } else if base.contains("time_duration") {
        Unit::Nanoseconds
    } else if suffix.contains("per_")
        || suffix.starts_with("ratio")
        || suffix.starts_with("max_rate")
    {
        Unit::Ratio
    } else {
        Unit::Count
    }
}

/// Counts of a deterministic program are exact; cycles, hits, bytes of DRAM and rates are not.
fn class(base: &str, suffix: &str) -> Class {
    const COUNTED: [&str; 4] = [
        "smsp__inst_executed",
        "smsp__thread_inst_executed",
        "smsp__warps_launched",
        "sm__ctas_launched",
    ];
    let counted = COUNTED.iter().any(|prefix| base.starts_with(prefix));
    let exact = match suffix {
        // Sums and means; which SM has the most is the scheduler's choice.
        "sum" | "avg" => counted || is_patched(base),
        // Quotients of two sums of one pass.
        "ratio" | "pct" => is_patched(base),
        _ => false,
    };
    if exact { Class::Exact } else { Class::Noisy }
}

/// Whether a GPU gives this counter to the last digit every time.
///
/// The counters of L1 are not: with ten and more passes they were seen off by up to 0.05 % on an
/// H200, since their units are read in several passes.
pub(super) fn repeats_on_hardware(name: &str) -> bool {
    let (base, suffix) = name.split_once('.').unwrap_or((name, ""));
    class(base, suffix) == Class::Exact
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::entry::Direction;

    #[test]
    fn unit_direction_and_class_follow_from_the_name() {
        let read = |name: &str| find(name).map(|m| (m.unit, m.direction, m.class)).unwrap();
        assert_eq!(
            read("dram__bytes.sum.per_second"),
            (Unit::BytesPerSecond, Direction::Higher, Class::Noisy)
        );
        assert_eq!(read("smsp__inst_executed.sum"), (Unit::Count, Direction::Lower, Class::Exact));
        assert_eq!(read("smsp__sass_average_branch_targets_threads_uniform.pct").2, Class::Exact);
        for noisy in [
            "smsp__inst_executed.max",
            "smsp__inst_executed.sum.per_cycle_active",
            "smsp__sass_inst_executed.sum.per_second",
            "smsp__thread_inst_executed_per_inst_executed.ratio",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        ] {
            assert_eq!(read(noisy).2, Class::Noisy, "{noisy}");
        }
        assert_eq!(
            read("lts__t_sector_hit_rate.pct"),
            (Unit::Percent, Direction::Higher, Class::Noisy)
        );
        assert_eq!(read("gpu__time_duration.sum").0, Unit::Nanoseconds);
        assert_eq!(read("sm__cycles_elapsed.avg.per_second").0, Unit::Hertz);
    }

    #[test]
    fn names_of_another_form_are_not_perfworks_metrics() {
        for name in [
            "duration",
            "dram__bytes",
            "dram__bytes.",
            "__x.sum",
            "ptx__x.sum",
            "sass__x.sum",
            "Dram__Bytes.sum",
        ] {
            assert!(find(name).is_none(), "{name}");
        }
    }
}
