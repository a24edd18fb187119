//! Metrics by the names of older profilers: nvprof's and the Compute Visual Profiler's.
//!
//! Input: a name such as `gld_efficiency`. Output: a metric derived from today's counters, or
//! the reason why there is none. The table is `legacy.txt`, beside this file.

use crate::metric::entry::{Class, Direction, Metric, Origin};
use crate::metric::formula::Formula;
use crate::metric::{perfworks, table};
use crate::quantity::Unit;

const TEXT: &str = include_str!("legacy.txt");

/// What became of an old name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Legacy {
    /// It is this metric now.
    Translated(Metric),
    /// Nothing equals it, for this reason.
    Refused(&'static str),
}

/// What became of `name`, if it is an old one.
pub(super) fn find(name: &str) -> Option<Legacy> {
    rows().find(|row| row.name == name).map(|row| row.meaning())
}

/// The metrics that old names were translated to, by name.
pub fn legacy() -> impl Iterator<Item = Metric> {
    sorted().into_iter().filter_map(|row| match row.meaning() {
        Legacy::Translated(metric) => Some(metric),
        Legacy::Refused(_) => None,
    })
}

/// The old names that nothing equals, each with the reason, by name.
pub fn legacy_refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    sorted().into_iter().filter_map(|row| match row.meaning() {
        Legacy::Refused(reason) => Some((row.name, reason)),
        Legacy::Translated(_) => None,
    })
}

/// One line of the table.
struct Row {
    name: &'static str,
    line: &'static str,
}

/// The lines of the table, without comments and blank ones.
fn rows() -> impl Iterator<Item = Row> {
    let lines = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| Row { name: line.split(" | ").next().unwrap_or(line), line })
}

fn sorted() -> Vec<Row> {
    let mut all: Vec<Row> = rows().collect();
    all.sort_by_key(|row| row.name);
    all
}

impl Row {
    /// What the line says. The table is a constant, which a test reads as a whole, so a line that
    /// is not understood is a mistake of ours.
    fn meaning(&self) -> Legacy {
        let fields: Vec<&'static str> = self.line.split(" | ").collect();
        match fields[..] {
            [_, "-", reason] => Legacy::Refused(reason),
            [name, unit, better, formula, description] => {
                let formula =
                    Formula::parse(formula).unwrap_or_else(|e| panic!("legacy.txt: {name}: {e}"));
                Legacy::Translated(Metric {
                    name: name.into(),
                    unit: match unit {
                        "count" => Unit::Count,
                        "ratio" => Unit::Ratio,
                        "%" => Unit::Percent,
                        "B" => Unit::Bytes,
                        "B/s" => Unit::BytesPerSecond,
                        other => panic!("legacy.txt: {name}: no unit `{other}`"),
                    },
                    direction: match better {
                        "lower" => Direction::Lower,
                        "higher" => Direction::Higher,
                        "none" => Direction::Neither,
                        other => panic!("legacy.txt: {name}: no direction `{other}`"),
                    },
                    direction_set: None,
                    class: class_of(&formula),
                    origin: Origin::Derived(formula),
                    description: description.into(),
                })
            }
            _ => panic!("legacy.txt: {}", self.line),
        }
    }
}

/// What is made of exact counts alone is exact.
fn class_of(formula: &Formula) -> Class {
    let metric = |name: &str| table::find(name).or_else(|| perfworks::find(name));
    let exact = |name: &str| metric(name).is_some_and(|m| m.class == Class::Exact);
    if formula.names().into_iter().all(exact) { Class::Exact } else { Class::Noisy }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metric::Catalogue;

    #[test]
    fn every_line_is_understood_and_no_name_comes_twice() {
        let names: BTreeSet<&str> = rows().map(|row| row.name).collect();
        assert_eq!(rows().count(), names.len(), "a name comes twice");
        assert!(names.len() > 200, "{}", names.len());
        let catalogue = Catalogue::built_in();
        for metric in legacy() {
            assert!(!catalogue.hardware_names(&metric).is_empty(), "{}", metric.name);
            assert_eq!(*catalogue.find(&metric.name).unwrap(), metric);
        }
    }

    #[test]
    fn an_old_name_is_a_formula_over_todays_counters() {
        let catalogue = Catalogue::built_in();
        let metric = catalogue.find("flop_count_sp").unwrap();
        assert_eq!((metric.unit, metric.class), (Unit::Count, Class::Exact));
        assert_eq!(catalogue.hardware_names(&metric).len(), 3);
        let metric = catalogue.find("stall_sync").unwrap();
        assert_eq!((metric.unit, metric.direction), (Unit::Percent, Direction::Lower));
        assert_eq!(metric.class, Class::Noisy);
    }

    #[test]
    fn an_old_name_that_nothing_equals_is_refused_with_the_reason() {
        let catalogue = Catalogue::built_in();
        assert!(catalogue.find("cf_issued").is_none());
        assert_eq!(
            catalogue.unknown("cf_issued"),
            "`cf_issued`, a metric of older profilers, has no equivalent: issues are not counted by pipe \
             any more; cf_executed counts what was executed"
        );
    }
}
