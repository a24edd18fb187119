//! Metrics by the names of other profilers: nvprof's, the Compute Visual Profiler's, and those of
//! Nsight Compute's that CUPTI does not have.
//!
//! Input: a name such as `gld_efficiency`, and the chip where that is known. Output: a metric
//! derived from today's counters, or the reason why there is none. The table is
//! `other_profilers.txt`, next to this file.

use std::sync::LazyLock;

use crate::metric::entry::{Class, Direction, Metric, Origin};
use crate::metric::formula::Formula;
use crate::metric::{built_in_table, launch, perfworks};
use crate::quantity::Unit;

const TEXT: &str = include_str!("other_profilers.txt");

/// The translation of an old name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Legacy {
    /// It is this metric now.
    Translated(Metric),
    /// Nothing equals it, for this reason.
    Refused(&'static str),
}

/// The translation of `name`, if it is an old one; `chip` may count it differently.
pub(super) fn find(name: &str, chip: Option<&str>) -> Option<Legacy> {
    let row = rows().find(|row| row.is_called(name))?;
    let of_chip = chip.and_then(|chip| rows().find(|row| row.name == name && row.is_for(chip)));
    Some(row.meaning(of_chip.map(|row| row.rest)))
}

/// The metrics that old names were translated to, by name.
pub fn legacy() -> impl Iterator<Item = Metric> {
    sorted().into_iter().filter_map(|row| match row.meaning(None) {
        Legacy::Translated(metric) => Some(metric),
        Legacy::Refused(_) => None,
    })
}

/// The old names that nothing equals, each with the reason, by name. One that ends with `*` stands
/// for all that begin so.
pub fn legacy_refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    sorted().into_iter().filter_map(|row| match row.meaning(None) {
        Legacy::Refused(reason) => Some((row.name, reason)),
        Legacy::Translated(_) => None,
    })
}

/// One line of the table.
struct Row {
    name: &'static str,
    /// The chips that it is for, by how their names begin; none if it is for all.
    chips: Option<&'static str>,
    rest: &'static str,
}

/// The lines of the table, without comments and blank ones: parsed once, since every name of a
/// metric that is nothing else is looked up here.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let lines = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let (name, rest) = line.split_once(" | ").unwrap_or((line, ""));
        let (name, chips) =
            name.split_once(" @ ").map_or((name, None), |(name, chips)| (name, Some(chips)));
        Row { name, chips, rest }
    };
    lines.map(row).collect()
});

fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// The lines that are for all chips, by name.
fn sorted() -> Vec<&'static Row> {
    let mut all: Vec<&Row> = rows().filter(|row| row.chips.is_none()).collect();
    all.sort_by_key(|row| row.name);
    all
}

impl Row {
    /// Whether it defines `name` on any chip.
    fn is_called(&self, name: &str) -> bool {
        let begins = self.name.strip_suffix('*');
        self.chips.is_none() && begins.map_or(self.name == name, |begins| name.starts_with(begins))
    }

    /// Whether it applies to `chip`, and only to chips with this prefix.
    fn is_for(&self, chip: &str) -> bool {
        self.chips.is_some_and(|chips| chips.split(' ').any(|begins| chip.starts_with(begins)))
    }

    /// The meaning of the line, with the chip's own formula if there is one. The table is a
    /// constant, which a test reads as a whole, so an invalid line is a bug.
    fn meaning(&self, of_chip: Option<&'static str>) -> Legacy {
        let Self { name, rest, .. } = self;
        let fields: Vec<&'static str> = rest.split(" | ").collect();
        let parsed = |text| {
            Formula::parse(text).unwrap_or_else(|e| panic!("other_profilers.txt: {name}: {e}"))
        };
        match fields[..] {
            ["-", reason] => Legacy::Refused(reason),
            ["=", other] => {
                let metric = find_built_in(other)
                    .unwrap_or_else(|| panic!("other_profilers.txt: {name}: {other}"));
                let origin = Origin::Derived(parsed(other));
                Legacy::Translated(Metric { name: (*name).into(), origin, ..metric })
            }
            [unit, better, formula, description] => {
                let formula = parsed(of_chip.unwrap_or(formula));
                Legacy::Translated(Metric {
                    name: (*name).into(),
                    unit: match unit {
                        "count" => Unit::Count,
                        "ratio" => Unit::Ratio,
                        "%" => Unit::Percent,
                        "B" => Unit::Bytes,
                        "B/s" => Unit::BytesPerSecond,
                        other => panic!("other_profilers.txt: {name}: no unit `{other}`"),
                    },
                    direction: match better {
                        "lower" => Direction::Lower,
                        "higher" => Direction::Higher,
                        "none" => Direction::Neither,
                        other => panic!("other_profilers.txt: {name}: no direction `{other}`"),
                    },
                    direction_set: None,
                    class: class_of(&formula),
                    origin: Origin::Derived(formula),
                    description: description.into(),
                })
            }
            _ => panic!("other_profilers.txt: {name} | {rest}"),
        }
    }
}

/// The built-in metric called `name`.
fn find_built_in(name: &str) -> Option<Metric> {
    let of_driver = || launch::find(name).or_else(|| perfworks::find(name));
    built_in_table::find(name).or_else(of_driver).or_else(|| match find(name, None)? {
        Legacy::Translated(metric) => Some(metric),
        Legacy::Refused(_) => None,
    })
}

/// What is made of exact counts alone is exact.
fn class_of(formula: &Formula) -> Class {
    let metric = |name: &str| built_in_table::find(name).or_else(|| perfworks::find(name));
    let exact = |name: &str| metric(name).is_some_and(|m| m.class == Class::Exact);
    if formula.names().into_iter().all(exact) { Class::Exact } else { Class::Noisy }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metric::{Catalogue, group};

    #[test]
    fn every_line_of_the_table_parses_and_names_are_unique() {
        let names: BTreeSet<_> = rows().map(|row| (row.name, row.chips)).collect();
        assert_eq!(rows().count(), names.len(), "a name comes twice");
        assert!(names.len() > 300, "{}", names.len());
        let catalogue = Catalogue::built_in();
        for metric in legacy() {
            let named = metric.formula().unwrap().names().join(" ");
            let counted = !catalogue.hardware_names(&metric).is_empty()
                || catalogue.counts_instructions(&metric);
            assert!(named.contains("__") || counted, "{named}");
            assert_eq!(*catalogue.find(&metric.name).unwrap(), metric);
        }
        for row in rows().filter(|row| row.chips.is_some()) {
            assert!(matches!(find(row.name, None), Some(Legacy::Translated(_))), "{}", row.name);
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
    fn an_old_name_without_an_equivalent_is_refused_with_the_reason() {
        let catalogue = Catalogue::built_in();
        assert!(catalogue.find("cf_issued").is_none());
        assert_eq!(
            catalogue.unknown("cf_issued"),
            "`cf_issued`, a metric of other profilers, has no equivalent: issues are not counted by pipe \
             any more; cf_executed counts what was executed"
        );
    }

    #[test]
    fn an_old_name_may_have_another_formula_on_a_chip() {
        let all = Catalogue::built_in();
        let of = |catalogue: &Catalogue, name: &str| {
            let metric = catalogue.find(name).unwrap();
            catalogue.hardware_names(&metric).join(" ")
        };
        let [hopper, volta] = ["GH100", "GV100"].map(|chip| all.on_chip(chip));
        let fp16 = "half_precision_fu_utilization";
        assert!(of(&all, fp16).contains("pipe_fma_type_fp16."));
        assert_eq!(of(&hopper, fp16), of(&all, fp16));
        assert!(of(&volta, fp16).contains("pipe_fp16."));
        // By way of another name as well.
        assert_eq!(of(&all.on_chip("GB202"), "dram_reads"), "dram__sectors_op_read.sum");
    }

    #[test]
    fn spellings_and_prefixes_of_old_names_are_resolved() {
        let catalogue = Catalogue::built_in();
        let metric = catalogue.find("l2_l1_read_throughput").unwrap();
        let other = catalogue.find("l2_tex_read_throughput").unwrap();
        assert_eq!(metric.formula().unwrap().text(), "l2_tex_read_throughput");
        assert_eq!((metric.unit, metric.direction), (other.unit, other.direction));
        assert!(catalogue.find("nvlink__dev0Id").is_none());
        let said = catalogue.unknown("nvlink__dev0Id");
        assert!(
            said.starts_with("`nvlink__dev0Id`, a metric of other profilers, has no"),
            "{said}"
        );
    }

    #[test]
    fn every_name_of_the_guides_is_a_metric_or_refused_with_the_reason() {
        let catalogue = Catalogue::built_in();
        let lines = include_str!("guide_names.txt").lines();
        let names: Vec<&str> =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(names.len() > 200, "{}", names.len());
        let known = |name: &str| {
            catalogue.find(name).is_some()
                || group(name).is_some()
                || matches!(find(name, None), Some(Legacy::Refused(_)))
        };
        let unknown: Vec<&str> = names.into_iter().filter(|name| !known(name)).collect();
        assert_eq!(unknown, [""; 0]);
    }
}
