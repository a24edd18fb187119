//! Columns: which metrics a table shows, and which of them decides what is best.
//!
//! Input: the metrics asked for and the configurations of a series. Output: the columns in
//! order, and the *headline* metric, on which rows are compared with the best one, or why none is.
//!
//! Rows that declare different work (`bytes`, `flops`) cannot be compared by totals that grow with
//! the work: the smallest problem would always be "best". There, rates are compared instead. A
//! ratio of counts, such as sectors per request, does not measure cost, since a row with more of
//! both has the same: it decides nothing. Without times, totals decide if no other total disagrees.

use gpuprof_model::each_once::{add_new, each_once};
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::{Class, Direction, Origin, built_in};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};

use crate::estimates::SIGN;
use crate::view::best::{self, value};

/// What is shown, in this order, if it is to be had: on a GPU times and launch facts, on the
/// emulator counters. With one axis of four digits the emulator's take 99 columns of text, and 115
/// with shared memory.
const DEFAULT: [&str; 10] = [
    "duration",
    "throughput",
    "flop_rate",
    "ptx_instructions",
    "global_sectors",
    "global_bytes",
    "sectors_per_request",
    "bank_conflicts",
    "theoretical_occupancy",
    "registers",
];

/// The cost metrics that a run without times shows next to the annotation's.
const COSTS: [&str; 2] = ["ptx_instructions", "global_sectors"];

/// The exact totals that measure the cost of a configuration, in instructions and in traffic.
pub const TOTALS: [&str; 4] =
    ["ptx_instructions", "global_sectors", "global_bytes", "shared_wavefronts"];

/// The columns of a series; `asked` are the metrics that its annotation or command line requests.
///
/// They are `duration`, if there is time, and then the requested metrics, available or not. Without
/// requests, or if none is available, the default columns that have a value follow;
/// `bank_conflicts` is one of them only if shared memory is accessed.
pub fn choose(asked: &[String], configurations: &[ConfigurationResult]) -> Vec<String> {
    let duration = available("duration", configurations).then(|| "duration".to_owned());
    let mut columns = each_once(duration.into_iter().chain(asked.iter().cloned()));
    if !asked.iter().any(|name| available(name, configurations)) {
        let worth_showing = |name: &&&str| match **name {
            "bank_conflicts" => positive("shared_wavefronts", configurations),
            name => available(name, configurations),
        };
        let default = DEFAULT.iter().filter(worth_showing);
        add_new(&mut columns, default.map(|name| (*name).to_owned()));
    }
    columns
}

/// As [`choose`], for the annotation's requests alone: without time, totals come last.
pub fn choose_annotated(
    annotated: &[String],
    configurations: &[ConfigurationResult],
) -> Vec<String> {
    let mut columns = choose(annotated, configurations);
    if !available("duration", configurations) {
        let costs = COSTS.into_iter().filter(|name| available(name, configurations));
        add_new(&mut columns, costs.map(str::to_owned));
    }
    columns
}

/// The column of `series` on which rows are compared with the best one.
///
/// It is `duration` if that is shown; else the first column, if rows may be compared by it and its
/// values are not all the same. `None` if there is none, or fewer than two rows have a value, or
/// totals disagree; [`undecided`] says which.
pub fn headline(series: &SeriesResult) -> Option<&str> {
    deciding(series).ok()
}

/// The first column of `series` with values that differ from row to row, if none decides.
pub fn first_that_differs(series: &SeriesResult) -> Option<&str> {
    let mut names = series.columns.iter().map(String::as_str);
    names.find(|name| !describes_the_launch(name) && varied(name, &series.configurations))
}

/// Why no column of `series` decides which row is best, if its rows differ.
pub fn undecided(series: &SeriesResult) -> Option<String> {
    let why = deciding(series).err()?;
    Some(format!(
        "no row is best: {}; `cargo gpuprof report --best-by METRIC` chooses by one metric",
        why?
    ))
}

/// The column that decides.
///
/// # Errors
/// Why there is none; nothing where the table shows it: no column differs from row to row.
fn deciding(series: &SeriesResult) -> Result<&str, Option<String>> {
    let rows = &series.configurations;
    let names = || series.columns.iter().map(String::as_str);
    let ordered = names().filter(|&n| n == "duration").chain(names().filter(|&n| n != "duration"));
    let several = ordered.filter(|name| values(name, rows).nth(1).is_some());
    let shown: Vec<&str> =
        several.filter(|&name| name == "duration" || varied(name, rows)).collect();
    let decides = |name: &&&str| comparable(name, rows) && !describes_the_launch(name);
    match shown.iter().find(decides) {
        Some(name) => match disagreement(name, rows) {
            None => Ok(name),
            Some(other) => Err(Some(other)),
        },
        None => {
            let mut comparable =
                shown.iter().filter(|name| direction(name, rows) != Direction::Neither);
            let Some(first) = comparable.next() else { return Err(None) };
            Err(Some(match different_work(rows) {
                Some(why) => why.to_owned(),
                None => format!("`{first}` says nothing about cost"),
            }))
        }
    }
}

/// That the best row by the exact metric `name` is not the best by every other total as well.
fn disagreement(name: &str, rows: &[ConfigurationResult]) -> Option<String> {
    if unit_and_class(name, rows)?.1 == Class::Noisy || is_estimated(name, rows) {
        return None;
    }
    let mut best = marks_of_best(name, rows);
    for other in TOTALS.iter().filter(|other| **other != name && varied(other, rows)) {
        let theirs = marks_of_best(other, rows);
        let both: Vec<bool> = best.iter().zip(&theirs).map(|(a, b)| *a && *b).collect();
        if !both.contains(&true) {
            let key = |marks: &[bool]| {
                let at = marks.iter().position(|mark| *mark)?;
                Some(rows[at].configuration.to_string())
            };
            return Some(format!(
                "{} has the best `{name}`, and {} the best `{other}`",
                key(&best)?,
                key(&theirs)?
            ));
        }
        best = both;
    }
    None
}

/// Whether rows may be compared by `metric`: one of its directions is better, it says something
/// about cost, and all rows declare the same work, or the metric does not grow with the work.
pub fn comparable(metric: &str, configurations: &[ConfigurationResult]) -> bool {
    let directed = direction(metric, configurations) != Direction::Neither;
    directed
        && !is_ratio_of_counts(metric, configurations)
        && (different_work(configurations).is_none() || !grows_with_work(metric, configurations))
}

/// Why the rows do different work: they declare it, or they declare none and the buffers of their
/// kernels differ in size.
fn different_work(configurations: &[ConfigurationResult]) -> Option<&'static str> {
    const DECLARED: [&str; 2] = ["bytes", "flops"];
    if DECLARED.iter().any(|name| varied(name, configurations)) {
        return Some("the rows declare different work, and no column is a rate of it");
    }
    let mut sizes = configurations.iter().filter_map(|row| row.buffer_bytes);
    let first = sizes.next();
    let declares = DECLARED.iter().any(|name| available(name, configurations));
    (!declares && sizes.any(|size| Some(size) != first)).then_some(
        "the rows have buffers of different sizes, and the annotation declares no work (`bytes`, \
         `flops`)",
    )
}

/// Whether `metric` is a quotient of counts: more of both is the same. For a metric that a user
/// defines, its formula decides.
fn is_ratio_of_counts(metric: &str, configurations: &[ConfigurationResult]) -> bool {
    let found = configurations.iter().find_map(|row| row.metrics.get(metric));
    found.is_some_and(|result| {
        (result.class == Class::Exact || result.perturbation.is_some())
            && result.source == Source::Derived
            && matches!(result.unit, Unit::Ratio | Unit::Percent)
            && built_in(metric).is_some()
    })
}

/// The launch parameters: no row is best for its registers.
fn describes_the_launch(name: &str) -> bool {
    built_in(name).is_some_and(|m| matches!(m.origin, Origin::Launch | Origin::Device))
}

/// Which rows hold the best value of `metric`, for marking: none if rows may not be compared by it
/// or all values are the same.
pub fn marks(metric: &str, configurations: &[ConfigurationResult]) -> Vec<bool> {
    if comparable(metric, configurations) {
        marks_of_best(metric, configurations)
    } else {
        vec![false; configurations.len()]
    }
}

/// As [`marks`], for a metric that the user chose to decide, for any work of the rows.
pub fn marks_of_best(metric: &str, configurations: &[ConfigurationResult]) -> Vec<bool> {
    let best = best::best(configurations, metric)
        .filter(|_| varied(metric, configurations))
        .and_then(|index| value(&configurations[index], metric));
    configurations.iter().map(|c| best.is_some() && value(c, metric) == best).collect()
}

/// The better direction of the metric `name`: from `configurations`, or else the built-in one.
fn direction(name: &str, configurations: &[ConfigurationResult]) -> Direction {
    let built_in = || built_in(name).map(|metric| metric.direction);
    best::direction(configurations, name).or_else(built_in).unwrap_or(Direction::Neither)
}

fn grows_with_work(name: &str, configurations: &[ConfigurationResult]) -> bool {
    unit_and_class(name, configurations).is_some_and(|(unit, _)| {
        matches!(unit, Unit::Count | Unit::Bytes | Unit::Nanoseconds) && !describes_the_launch(name)
    })
}

/// Whether values of the metric `name` are estimates.
pub fn is_estimated(name: &str, configurations: &[ConfigurationResult]) -> bool {
    let mut results = configurations.iter().filter_map(|row| row.metrics.get(name));
    results.any(|result| result.source == Source::Estimated)
}

/// The sign in front of values of `metric`; empty if they are no estimates.
pub fn estimate_sign(metric: &str, rows: &[ConfigurationResult]) -> &'static str {
    if is_estimated(metric, rows) { SIGN } else { "" }
}

/// Unit and class of the metric `name`: from `configurations`, or else the built-in ones.
pub fn unit_and_class(name: &str, configurations: &[ConfigurationResult]) -> Option<(Unit, Class)> {
    let held = configurations.iter().find_map(|row| row.metrics.get(name));
    held.map(|result| (result.unit, result.class))
        .or_else(|| built_in(name).map(|metric| (metric.unit, metric.class)))
}

fn values<'c>(
    name: &'c str,
    configurations: &'c [ConfigurationResult],
) -> impl Iterator<Item = f64> + 'c {
    configurations.iter().filter_map(move |c| value(c, name))
}

fn available(name: &str, configurations: &[ConfigurationResult]) -> bool {
    values(name, configurations).next().is_some()
}

fn positive(name: &str, configurations: &[ConfigurationResult]) -> bool {
    values(name, configurations).any(|value| value > 0.0)
}

fn varied(name: &str, configurations: &[ConfigurationResult]) -> bool {
    let mut values = values(name, configurations);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{emulated, estimated, finished, gpu, gpu_pass, point, series};

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
        let expected =
            ["ptx_instructions", "global_sectors", "global_bytes", "sectors_per_request"];
        assert_eq!(choose(&[], std::slice::from_ref(&row)), expected);
        row.metrics.get_mut("shared_wavefronts").unwrap().value = Ok(8.0);
        assert!(choose(&[], &[row]).contains(&"bank_conflicts".to_owned()));
    }

    #[test]
    fn requested_metrics_are_shown_even_without_a_value() {
        let asked = names(&["dram_throughput", "waves"]);
        let rows = [gpu(64, 1 << 20, &[100.0])];
        assert_eq!(choose(&asked, &rows), ["duration", "dram_throughput", "waves"]);
        let hardware_only = names(&["dram_throughput"]);
        let rows = [emulated(64, 1 << 20)];
        assert_eq!(choose(&hardware_only, &rows)[..2], ["dram_throughput", "ptx_instructions"]);
    }

    #[test]
    fn totals_are_shown_if_there_are_no_times() {
        let asked = names(&["load_sectors_per_request"]);
        let expected = ["load_sectors_per_request", "ptx_instructions", "global_sectors"];
        assert_eq!(choose_annotated(&asked, &[emulated(64, 1 << 20)]), expected);
        assert_eq!(choose(&asked, &[emulated(64, 1 << 20)]), expected[..1]);
        let timed = ["duration", "theoretical_occupancy"];
        let rows = [gpu(64, 1 << 20, &[100.0])];
        assert_eq!(choose_annotated(&names(&timed[1..]), &rows), timed);
    }

    /// An emulated `block=BLOCK` with these values.
    fn counted(block: u64, values: &[(&str, f64)]) -> ConfigurationResult {
        let mut row = emulated(block, 1 << 20);
        for (name, value) in values {
            row.metrics.get_mut(name).unwrap().value = Ok(*value);
        }
        row
    }

    fn series_with_columns(columns: &[&str], rows: Vec<ConfigurationResult>) -> SeriesResult {
        SeriesResult { columns: names(columns), ..series(rows) }
    }

    #[test]
    fn a_ratio_of_counts_marks_no_best_row() {
        let ratio = "store_sectors_per_request";
        let rows = [counted(32, &[(ratio, 1.5)]), counted(64, &[(ratio, 4.0)])];
        assert_eq!(marks(ratio, &rows), [false, false]);
        let only = series_with_columns(&[ratio], rows.to_vec());
        assert_eq!(headline(&only), None);
        assert_eq!(
            undecided(&only).unwrap(),
            "no row is best: `store_sectors_per_request` says nothing about cost; \
             `cargo gpuprof report --best-by METRIC` chooses by one metric"
        );
        // A total next to it decides.
        let beside = series_with_columns(&[ratio, "ptx_instructions"], rows.to_vec());
        assert_eq!(headline(&beside), Some("ptx_instructions"));
        assert_eq!(undecided(&beside), None);
    }

    #[test]
    fn totals_decide_the_best_row_if_all_agree() {
        let of = |pairs: [[f64; 2]; 2]| {
            let row = |(block, [instructions, sectors]): (u64, [f64; 2])| {
                counted(block, &[("ptx_instructions", instructions), ("global_sectors", sectors)])
            };
            series_with_columns(
                &["ptx_instructions"],
                [64, 128].into_iter().zip(pairs).map(row).collect(),
            )
        };
        assert_eq!(headline(&of([[10.0, 8.0], [12.0, 9.0]])), Some("ptx_instructions"));
        assert_eq!(headline(&of([[10.0, 8.0], [12.0, 8.0]])), Some("ptx_instructions"));
        let torn = of([[10.0, 9.0], [12.0, 8.0]]);
        assert_eq!(headline(&torn), None);
        assert_eq!(
            undecided(&torn).unwrap(),
            "no row is best: block=64,n=1048576 has the best `ptx_instructions`, and \
             block=128,n=1048576 the best `global_sectors`; \
             `cargo gpuprof report --best-by METRIC` chooses by one metric"
        );
        // What is the same everywhere needs no words.
        let same = series_with_columns(
            &["global_sectors"],
            vec![emulated(64, 1 << 20), emulated(128, 1 << 20)],
        );
        assert_eq!((headline(&same), undecided(&same)), (None, None));
    }

    #[test]
    fn rows_of_different_work_without_times_have_no_best() {
        let rows = vec![emulated(64, 1 << 20), emulated(64, 1 << 24)];
        let all = series_with_columns(&["ptx_instructions", "global_sectors"], rows);
        assert_eq!(headline(&all), None);
        assert!(undecided(&all).unwrap().contains("declare different work"));
    }

    #[test]
    fn rows_with_buffers_of_different_sizes_and_no_declared_work_have_no_best() {
        let row = |n: u64, ns: f64| {
            let mut pass = gpu_pass(64, n, &[ns]);
            (pass.declared_bytes, pass.declared_flops) = (None, None);
            pass.buffer_bytes = Some(8 * n);
            finished(point(64, n), &[pass])
        };
        let of = |rows| series_with_columns(&["duration"], rows);
        let different = of(vec![row(1000, 100.0), row(2000, 200.0)]);
        assert_eq!(headline(&different), None);
        let why = undecided(&different).unwrap();
        assert!(
            why.contains("buffers of different sizes, and the annotation declares no"),
            "{why}"
        );
        let same = of(vec![row(1000, 100.0), row(1000, 200.0)]);
        assert_eq!(headline(&same), Some("duration"));
        let mut declared = different;
        for row in &mut declared.configurations {
            let flops = gpu(64, 1024, &[1.0]).metrics.get("flops").unwrap().clone();
            row.metrics.insert("flops", flops);
        }
        assert_eq!(headline(&declared), Some("duration"), "they declare the same work");
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
    fn estimated_times_decide_which_row_is_best_even_if_a_total_disagrees() {
        let mut rows = vec![estimated(64, 1 << 20, 2000.0), estimated(128, 1 << 20, 1000.0)];
        rows[1].metrics.get_mut("global_sectors").unwrap().value = Ok(1e9);
        let of = series_with_columns(&["duration", "global_sectors"], rows);
        assert_eq!((headline(&of), undecided(&of)), (Some("duration"), None));
        assert!(is_estimated("duration", &of.configurations));
        assert!(!is_estimated("global_sectors", &of.configurations));
    }

    #[test]
    fn a_single_row_is_not_marked_best() {
        assert_eq!(headline(&series(vec![gpu(64, 1 << 20, &[100.0])])), None);
        assert_eq!(marks("duration", &[gpu(64, 1 << 20, &[100.0])]), [false]);
    }
}
