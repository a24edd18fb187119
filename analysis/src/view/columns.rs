//! Columns: which metrics a table shows, and which of them decides what is best.
//!
//! Input: the metrics asked for and the configurations of a series. Output: the columns in
//! order, and the *headline* metric, on which rows are compared with the best one.
//!
//! Rows that declare different work (`bytes`, `flops`) cannot be compared by what grows with the
//! work: the smallest problem would always be "best". There, rates and ratios are compared instead.

use gpuprof_model::metric::{Class, Direction, Origin, built_in};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};

use crate::view::best::{self, value};

/// What is shown, in this order, where it is to be had: on a GPU times and launch facts, on the
/// emulator counters.
const DEFAULT: [&str; 10] = [
    "duration",
    "throughput",
    "flop_rate",
    "ptx_instructions",
    "load_sectors_per_request",
    "store_sectors_per_request",
    "bank_conflicts",
    "ptx_branch_divergence",
    "theoretical_occupancy",
    "registers",
];

/// The columns of a series whose annotation or command line asks for the metrics `asked`.
///
/// They are `duration`, where there is time, and then what was asked for, whether it is to be had
/// or not. Where nothing was asked for, or nothing of it is to be had, the default columns that
/// have a value follow; `bank_conflicts` is one of them only where shared memory is accessed.
pub fn choose(asked: &[String], configurations: &[ConfigurationResult]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !columns.iter().any(|column| column == name) {
            columns.push(name.to_owned());
        }
    };
    if available("duration", configurations) {
        add("duration");
    }
    asked.iter().for_each(|name| add(name));
    if !asked.iter().any(|name| available(name, configurations)) {
        let worth_showing = |name: &&&str| match **name {
            "bank_conflicts" => positive("shared_wavefronts", configurations),
            name => available(name, configurations),
        };
        DEFAULT.iter().filter(worth_showing).for_each(|name| add(name));
    }
    columns
}

/// The column of `series` on which rows are compared with the best one.
///
/// It is `duration` where that is shown; else the first column, where rows may be compared by it
/// and its values are not all the same. `None` where there is none, or fewer than two rows have a
/// value.
pub fn headline(series: &SeriesResult) -> Option<&str> {
    let names = || series.columns.iter().map(String::as_str);
    let candidates =
        names().filter(|&n| n == "duration").chain(names().filter(|&n| n != "duration"));
    let time_or_varied = |&name: &&str| name == "duration" || varied(name, &series.configurations);
    candidates
        .filter(|name| comparable(name, &series.configurations))
        .filter(|name| values(name, &series.configurations).len() > 1)
        .find(time_or_varied)
}

/// Whether rows may be compared by `metric`: one of its directions is better, and all rows declare
/// the same work, or the metric does not grow with the work.
pub fn comparable(metric: &str, configurations: &[ConfigurationResult]) -> bool {
    let same_work = !varied("bytes", configurations) && !varied("flops", configurations);
    let directed = direction(metric, configurations) != Direction::Neither;
    directed && (same_work || !grows_with_work(metric, configurations))
}

/// Which rows hold the best value of `metric`, for marking: none where rows may not be compared by
/// it or all values are the same.
pub fn marks(metric: &str, configurations: &[ConfigurationResult]) -> Vec<bool> {
    if comparable(metric, configurations) {
        marks_of_best(metric, configurations)
    } else {
        vec![false; configurations.len()]
    }
}

/// As [`marks`], of the metric that decides, whatever the rows' work: somebody has chosen it.
pub fn marks_of_best(metric: &str, configurations: &[ConfigurationResult]) -> Vec<bool> {
    let best = best::best(configurations, metric)
        .filter(|_| varied(metric, configurations))
        .and_then(|index| value(&configurations[index], metric));
    configurations.iter().map(|c| best.is_some() && value(c, metric) == best).collect()
}

/// Which way the metric called `name` is better: as `configurations` hold it, or where none does,
/// as it is built in.
fn direction(name: &str, configurations: &[ConfigurationResult]) -> Direction {
    let built_in = || built_in(name).map(|metric| metric.direction);
    best::direction(configurations, name).or_else(built_in).unwrap_or(Direction::Neither)
}

fn grows_with_work(name: &str, configurations: &[ConfigurationResult]) -> bool {
    let of_launch = || {
        let origin = built_in(name).map(|metric| metric.origin);
        matches!(origin, Some(Origin::Launch | Origin::Device))
    };
    known(name, configurations).is_some_and(|(unit, _)| {
        matches!(unit, Unit::Count | Unit::Bytes | Unit::Nanoseconds) && !of_launch()
    })
}

/// Unit and class of the metric called `name`: as `configurations` hold it, or where none does, as
/// it is built in.
pub fn known(name: &str, configurations: &[ConfigurationResult]) -> Option<(Unit, Class)> {
    let held = configurations.iter().find_map(|row| row.metrics.get(name));
    held.map(|result| (result.unit, result.class))
        .or_else(|| built_in(name).map(|metric| (metric.unit, metric.class)))
}

fn values(name: &str, configurations: &[ConfigurationResult]) -> Vec<f64> {
    configurations.iter().filter_map(|c| value(c, name)).collect()
}

fn available(name: &str, configurations: &[ConfigurationResult]) -> bool {
    !values(name, configurations).is_empty()
}

fn positive(name: &str, configurations: &[ConfigurationResult]) -> bool {
    values(name, configurations).iter().any(|&value| value > 0.0)
}

fn varied(name: &str, configurations: &[ConfigurationResult]) -> bool {
    values(name, configurations).windows(2).any(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{emulated, gpu, series};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_gpu_shows_times_and_launch_facts() {
        let rows = [gpu(64, 1 << 20, &[100.0]), gpu(128, 1 << 20, &[90.0])];
        let expected =
            ["duration", "throughput", "flop_rate", "theoretical_occupancy", "registers"];
        assert_eq!(choose(&[], &rows), expected);
    }

    #[test]
    fn the_emulator_shows_counters_and_conflicts_only_with_shared_memory() {
        let mut row = emulated(64, 1 << 20);
        let expected = [
            "ptx_instructions",
            "load_sectors_per_request",
            "store_sectors_per_request",
            "ptx_branch_divergence",
        ];
        assert_eq!(choose(&[], std::slice::from_ref(&row)), expected);
        row.metrics.get_mut("shared_wavefronts").unwrap().value = Ok(8.0);
        assert!(choose(&[], &[row]).contains(&"bank_conflicts".to_owned()));
    }

    #[test]
    fn what_was_asked_for_is_shown_even_where_it_is_not_to_be_had() {
        let asked = names(&["dram_throughput", "waves"]);
        let rows = [gpu(64, 1 << 20, &[100.0])];
        assert_eq!(choose(&asked, &rows), ["duration", "dram_throughput", "waves"]);
        let hardware_only = names(&["dram_throughput"]);
        let rows = [emulated(64, 1 << 20)];
        assert_eq!(choose(&hardware_only, &rows)[..2], ["dram_throughput", "ptx_instructions"]);
    }

    #[test]
    fn rows_of_different_work_are_not_compared_by_duration() {
        let same = [gpu(64, 1 << 20, &[100.0]), gpu(128, 1 << 20, &[90.0])];
        assert_eq!(headline(&series(same.to_vec())), Some("duration"));
        assert_eq!(marks("duration", &same), [false, true]);
        let different = [gpu(64, 1 << 20, &[100.0]), gpu(64, 1 << 24, &[1500.0])];
        assert_eq!(headline(&series(different.to_vec())), Some("throughput"));
        assert_eq!(marks("duration", &different), [false, false]);
        assert_eq!(marks("throughput", &different), [false, true]);
    }

    #[test]
    fn one_row_has_nothing_to_be_compared_with() {
        assert_eq!(headline(&series(vec![gpu(64, 1 << 20, &[100.0])])), None);
        assert_eq!(marks("duration", &[gpu(64, 1 << 20, &[100.0])]), [false]);
    }
}
