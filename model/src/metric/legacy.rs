//! Metrics by the names of older profilers: nvprof's and the Compute Visual Profiler's.
//!
//! Input: a name such as `gld_efficiency`. Output: a metric derived from today's counters, or
//! the reason why there is none. The table is `legacy.txt`, beside this file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Class, Direction, Formula, Metric, Origin};
use crate::quantity::Unit;

/// What became of an old name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Legacy {
    /// It is this metric now.
    Translated(Metric),
    /// Nothing equals it, for this reason.
    Refused(&'static str),
}

static TABLE: LazyLock<BTreeMap<&'static str, Legacy>> =
    LazyLock::new(|| include_str!("legacy.txt").lines().filter_map(row).collect());

/// What became of `name`, if it is an old one.
pub(super) fn find(name: &str) -> Option<&'static Legacy> {
    TABLE.get(name)
}

/// The metrics that old names were translated to, by name.
pub fn legacy() -> impl Iterator<Item = &'static Metric> {
    TABLE.values().filter_map(|legacy| match legacy {
        Legacy::Translated(metric) => Some(metric),
        Legacy::Refused(_) => None,
    })
}

/// The old names that nothing equals, each with the reason.
pub fn legacy_refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().filter_map(|(name, legacy)| match legacy {
        Legacy::Refused(reason) => Some((*name, *reason)),
        Legacy::Translated(_) => None,
    })
}

/// One line of the table; none for comments and blank lines. The table is a constant, which a test
/// reads as a whole, so a line that is not understood is a mistake of ours.
fn row(line: &'static str) -> Option<(&'static str, Legacy)> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let fields: Vec<&str> = line.split(" | ").collect();
    let legacy = match fields[..] {
        [_, "-", reason] => Legacy::Refused(reason),
        [name, unit, better, formula, description] => Legacy::Translated(Metric {
            name,
            unit: match unit {
                "count" => Unit::Count,
                "ratio" => Unit::Ratio,
                "%" => Unit::Percent,
                "B" => Unit::Bytes,
                "B/s" => Unit::BytesPerSecond,
                other => panic!("legacy.txt: {name}: no unit `{other}`"),
            },
            direction: if better == "lower" { Direction::Lower } else { Direction::Higher },
            class: class_of(formula),
            origin: Origin::Derived(formula),
            description,
        }),
        _ => panic!("legacy.txt: {line}"),
    };
    Some((fields[0], legacy))
}

/// What is made of exact counts alone is exact.
fn class_of(formula: &str) -> Class {
    let formula = Formula::parse(formula).unwrap_or_else(|e| panic!("legacy.txt: {e}"));
    let exact = |name: &str| super::find(name).is_some_and(|m| m.class == Class::Exact);
    if formula.names().into_iter().all(exact) { Class::Exact } else { Class::Noisy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{find, hardware_names, unknown};

    #[test]
    fn every_line_is_understood_and_no_name_comes_twice() {
        let lines = include_str!("legacy.txt").lines();
        let names: Vec<&str> = lines.filter_map(row).map(|(name, _)| name).collect();
        assert_eq!(TABLE.len(), names.len(), "a name comes twice");
        assert!(names.len() > 200, "{}", names.len());
        for metric in legacy() {
            assert!(!hardware_names(metric).is_empty(), "{}", metric.name);
            assert!(std::ptr::eq(find(metric.name).unwrap(), metric), "{}", metric.name);
        }
    }

    #[test]
    fn an_old_name_is_a_formula_over_todays_counters() {
        let metric = find("flop_count_sp").unwrap();
        assert_eq!((metric.unit, metric.class), (Unit::Count, Class::Exact));
        assert_eq!(hardware_names(metric).len(), 3);
        let metric = find("stall_sync").unwrap();
        assert_eq!((metric.unit, metric.direction), (Unit::Percent, Direction::Lower));
        assert_eq!(metric.class, Class::Noisy);
    }

    #[test]
    fn an_old_name_that_nothing_equals_is_refused_with_the_reason() {
        assert!(find("cf_issued").is_none());
        assert_eq!(
            unknown("cf_issued"),
            "`cf_issued`, a metric of older profilers, has no equivalent: issues are not counted by pipe \
             any more; cf_executed counts what was executed"
        );
    }
}
