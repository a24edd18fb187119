//! Speed of light: how near each unit is to its peak, and its largest constituent.
//!
//! Input: a configuration and the sections of its series, whose columns have the breakdown of a
//! throughput. Output: the units with their constituents, the largest first.

use std::cmp::Ordering;

use gpuprof_model::run::{ConfigurationResult, SectionColumns};

use crate::view::best::value;

/// A metric in percent of a peak.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Its label.
    pub label: String,
    /// The metric.
    pub metric: String,
    /// Its value.
    pub percent: f64,
}

/// A unit of the GPU, with the constituents of its throughput.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The unit and its throughput.
    pub unit: Share,
    /// The parts that have values, the largest first; empty if no section has a breakdown.
    pub parts: Vec<Share>,
}

/// The throughputs, with the names that people give their units.
const UNITS: [(&str, &str); 5] = [
    ("SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("Memory", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L1", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    ("L2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
];

/// All units together that move data: no unit by itself.
const TOGETHER: &str = "Memory";

/// The units of which `row` has the throughput.
pub fn limits(row: &ConfigurationResult, sections: &[SectionColumns]) -> Vec<Limit> {
    let unit = |(label, metric): (&str, &str)| {
        let unit = share(row, label, metric)?;
        Some(Limit { parts: parts(row, metric, sections), unit })
    };
    UNITS.into_iter().filter_map(unit).collect()
}

/// The unit that is nearest its peak, and the one after it.
pub fn nearest(limits: &[Limit]) -> Option<(&Share, Option<&Share>)> {
    let units = limits.iter().map(|limit| &limit.unit).filter(|unit| unit.label != TOGETHER);
    let mut units: Vec<&Share> = units.collect();
    units.sort_by(|a, b| largest_first(a, b));
    let (first, rest) = units.split_first()?;
    Some((first, rest.first().copied()))
}

fn share(row: &ConfigurationResult, label: &str, metric: &str) -> Option<Share> {
    let percent = value(row, metric)?;
    Some(Share { label: label.to_owned(), metric: metric.to_owned(), percent })
}

fn parts(row: &ConfigurationResult, metric: &str, sections: &[SectionColumns]) -> Vec<Share> {
    let columns = sections.iter().flat_map(|section| &section.columns);
    let broken_down = columns.filter(|column| column.name == metric).map(|c| &c.largest_of);
    let Some(of) = broken_down.max_by_key(|of| of.len()) else { return Vec::new() };
    let mut parts: Vec<Share> =
        of.iter().filter_map(|(label, metric)| share(row, label, metric)).collect();
    parts.sort_by(largest_first);
    parts
}

fn largest_first(a: &Share, b: &Share) -> Ordering {
    b.percent.total_cmp(&a.percent)
}

#[cfg(test)]
mod tests {
    use gpuprof_model::run::SectionColumn;

    use super::*;
    use crate::fixture::measured;

    fn section() -> SectionColumns {
        let of = |name: &str| (name.replace("__", " "), format!("{name}.pct"));
        SectionColumns {
            id: "SpeedOfLight".into(),
            title: "Speed of light".into(),
            needs: None,
            columns: vec![SectionColumn {
                label: "SM: most".into(),
                name: UNITS[0].1.into(),
                largest_of: ["sm__alu", "sm__fma", "sm__lsu"].map(of).into(),
            }],
            sampled: Vec::new(),
            tables: Vec::new(),
        }
    }

    #[test]
    fn parts_of_a_unit_are_sorted_by_size() {
        let values = [(UNITS[0].1, 40.0), ("sm__alu.pct", 10.0), ("sm__fma.pct", 40.0)];
        let found = limits(&measured(64, &values), &[section()]);
        assert_eq!(found.len(), 1);
        let labels: Vec<&str> = found[0].parts.iter().map(|part| &*part.label).collect();
        assert_eq!(labels, ["sm fma", "sm alu"]);
    }

    #[test]
    fn the_nearest_limit_is_a_unit_not_all_of_memory() {
        let row = measured(64, &[(UNITS[0].1, 40.0), (UNITS[1].1, 90.0), (UNITS[4].1, 88.0)]);
        let found = limits(&row, &[]);
        let (first, second) = nearest(&found).unwrap();
        assert_eq!((&*first.label, first.percent), ("DRAM", 88.0));
        assert_eq!(second.unwrap().label, "SM");
        assert_eq!(nearest(&limits(&measured(64, &[]), &[])), None);
    }
}
