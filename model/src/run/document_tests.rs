use super::*;
use crate::axis::AxisValue;
use crate::code::{Counter, LineCounts, ListedLine};
use crate::measurement::Source;
use crate::metric::{Class, Direction};
use crate::quantity::Unit;
use serde_json::{Value, json};

const REASON: &str = "it is a hardware counter, which needs a GPU";

fn metric(value: Result<f64, &str>) -> MetricResult {
    MetricResult {
        value: value.map_err(str::to_owned),
        unstable: false,
        unit: Unit::Count,
        direction: Direction::Lower,
        direction_set: false,
        class: Class::Exact,
        source: Source::Emulated,
        interval: None,
        statistics: None,
        processes: Vec::new(),
        perturbation: None,
    }
}

fn row(block: u64, metrics: Metrics) -> ConfigurationResult {
    ConfigurationResult {
        configuration: Configuration(vec![("block".into(), AxisValue::Int(block))]),
        device: None,
        status: Status::Finished,
        metrics,
        timings: Vec::new(),
        estimate: None,
        occupancy_limiter: None,
        launches: Vec::new(),
        timeline: None,
        parts: Vec::new(),
        costly: Vec::new(),
        code: Vec::new(),
        source: None,
        over_time: None,
        buffer_bytes: None,
        inputs: None,
        setup_ns: None,
        verified: true,
        largest_error: None,
        verification: None,
        unverified: None,
        checks: None,
        retried: None,
        failed_attempts: Vec::new(),
    }
}

/// A row with two values, of which half of the other metrics are absent.
fn usual(block: u64) -> ConfigurationResult {
    let of = |name: &'static str, value| (name, metric(value));
    row(
        block,
        [of("a", Ok(1.0)), of("b", Err(REASON)), of("c", Ok(3.0)), of("d", Err("no"))].into(),
    )
}

fn series(configurations: Vec<ConfigurationResult>) -> SeriesResult {
    SeriesResult {
        id: SeriesId::new("p", "t", "k"),
        file: "src/lib.rs".into(),
        line: 1,
        language: None,
        axes: Vec::new(),
        dependent_axes: Vec::new(),
        columns: vec!["a".into()],
        sections: Vec::new(),
        configurations,
        thresholds: Vec::new(),
        judgements: Vec::new(),
        not_applicable: Vec::new(),
        changes: Vec::new(),
    }
}

fn written(series: &SeriesResult) -> Value {
    serde_json::to_value(series).unwrap()
}

fn read(document: &Value) -> SeriesResult {
    serde_json::from_str(&document.to_string()).unwrap()
}

fn refusal(document: &Value) -> String {
    serde_json::from_str::<SeriesResult>(&document.to_string()).unwrap_err().to_string()
}

#[test]
fn common_data_of_rows_is_written_once() {
    let document = written(&series((1..4).map(usual).collect()));
    assert_eq!(document["absent"], json!([{"b": REASON, "d": "no"}]));
    let traits =
        json!({"unit": "count", "direction": "lower", "class": "exact", "source": "emulated"});
    assert_eq!(document["metrics"]["a"], traits);
    for row in document["configurations"].as_array().unwrap() {
        assert_eq!(row["metrics"], json!({"a": {"value": 1.0}, "c": {"value": 3.0}}));
        assert_eq!(row["absent"], 0);
    }
    assert_eq!(document.to_string().matches(REASON).count(), 1);
}

#[test]
fn rows_that_differ_are_unchanged_after_reading() {
    let mut all: Vec<_> = (1..4).map(usual).collect();
    // Another unit, a different reason, a value that is not steady, and a row that did not finish.
    all[0].metrics.get_mut("a").unwrap().unit = Unit::Bytes;
    all[1].metrics.get_mut("d").unwrap().value = Err("another".into());
    all[2].metrics.get_mut("d").unwrap().unstable = true;
    all[2].metrics.get_mut("b").unwrap().class = Class::Noisy;
    all.push(row(9, Metrics::default()));
    let series = series(all);
    let document = written(&series);
    assert_eq!(read(&document), series);
    assert_eq!(document["configurations"][3]["absent"], Value::Null);
    // A writer that sorts keys puts the rows before the data they refer to.
    assert!(document.to_string().find("configurations") < document.to_string().find("\"metrics\""));
    let mut text = serde_json::to_vec(&series).unwrap();
    assert_eq!(serde_json::from_slice::<SeriesResult>(&text).unwrap(), series);
    text.pop();
    assert!(serde_json::from_slice::<SeriesResult>(&text).is_err());
}

#[test]
fn the_code_of_kernels_is_written_once() {
    let code = |count| {
        let line = ListedLine(3, 1, 7, "ret;".into());
        let (kernel, files) = ("k".to_owned(), vec!["src/lib.rs".to_owned()]);
        let listing = Listing { kernel, files, lines: vec![line], ..Listing::default() };
        vec![CountedCode::new(listing, &[LineCounts([count; Counter::ALL.len()])])]
    };
    let row = |block| ConfigurationResult { code: code(block), ..usual(block) };
    let series = series((1..4).map(row).collect());
    let document = written(&series);
    assert_eq!(document["listings"][0]["lines"], json!([[3, 1, 7, "ret;"]]));
    assert_eq!(document["listings"].as_array().unwrap().len(), 1);
    let again = read(&document);
    assert_eq!(again, series);
    let [first, second] = [0, 1].map(|at| &again.configurations[at].code[0].listing);
    assert!(Arc::ptr_eq(first, second));
    let mut other = document;
    other["configurations"][1]["code"][0]["listing"] = 1.into();
    assert_eq!(refusal(&other), "block=2 has the listing 1 of 1");
    other["configurations"][1]["code"][0] = json!({"listing": 0, "counts": {"bytes": [2, 1]}});
    assert_eq!(refusal(&other), "block=2 has the counts of 2 lines for a listing of 1");
}

#[test]
fn rows_in_memory_refer_to_the_same_names_and_reasons() {
    let mut made = series((1..4).map(usual).collect());
    let mut shared = SharedRows::default();
    made.configurations
        .iter_mut()
        .for_each(|row| shared.keep_once(&mut row.metrics, &mut row.code));
    for series in [&made, &read(&written(&made))] {
        let [first, rest @ ..] = series.configurations.as_slice() else { panic!("no rows") };
        for row in rest {
            assert!(Arc::ptr_eq(row.metrics.absent(), first.metrics.absent()));
            let names = |row: &ConfigurationResult| row.metrics.clone().shared_mut().0.as_ptr();
            assert_eq!(names(row), names(first));
        }
        assert_eq!(first.metrics.own().count(), 2, "only what has a value is the row's own");
        let names: Vec<&str> = first.metrics.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }
}

#[test]
fn a_direction_that_changes_leaves_the_tables_shared() {
    let mut run = crate::run::Run {
        schema_version: crate::run::SCHEMA_VERSION,
        id: "x".into(),
        provenance: crate::run::Provenance::default(),
        series: vec![series(
            (1..4).map(|at| row(at, [("duration", metric(Err("no")))].into())).collect(),
        )],
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    };
    run.series[0] = read(&written(&run.series[0]));
    let rows = |run: &crate::run::Run| run.series[0].configurations.clone();
    for row in run.series.iter_mut().flat_map(|series| &mut series.configurations) {
        row.metrics.get_mut("duration").unwrap().direction = Direction::Higher;
        row.metrics.divide();
    }
    run.directed_by(&crate::metric::Catalogue::built_in());
    let rows = rows(&run);
    assert!(rows.iter().all(|row| row.metrics["duration"].direction == Direction::Lower));
    assert!(Arc::ptr_eq(rows[0].metrics.absent(), rows[2].metrics.absent()));
}

#[test]
fn rows_of_version_1_are_read() {
    let mut document = written(&series((1..3).map(usual).collect()));
    document.as_object_mut().unwrap().remove("metrics");
    document.as_object_mut().unwrap().remove("absent");
    for row in document["configurations"].as_array_mut().unwrap() {
        row["metrics"] = serde_json::to_value(&usual(1).metrics).unwrap();
        row.as_object_mut().unwrap().remove("absent");
    }
    assert_eq!(read(&document), series((1..3).map(usual).collect()));
}

#[test]
fn rows_with_dangling_references_are_refused() {
    let document = written(&series(vec![usual(64)]));
    let with = |pointer: &str, value: Value| {
        let mut document = document.clone();
        *document.pointer_mut(pointer).unwrap() = value;
        refusal(&document)
    };
    for (pointer, value, told) in [
        ("/configurations/0/absent", json!(7), "block=64 has the table 7 of 1"),
        ("/metrics", json!({"b": null}), "invalid type: null"),
        ("/metrics", json!({}), "the series has no unit of b"),
        ("/configurations/0/metrics", json!({"z": {"value": 1.0}}), "neither z of block=64 nor"),
        ("/configurations/0/metrics", json!({"b": {"value": 1.0}}), "block=64 has b twice"),
        ("/configurations/0/metrics/a", json!({"value": 1.0, "unit": "B"}), "needs its `unit`"),
        ("/configurations/0/metrics/a", json!({}), "a of block=64: a metric needs either"),
    ] {
        let refusal = with(pointer, value);
        assert!(refusal.contains(told), "{told}: {refusal}");
    }
}

#[test]
fn a_duplicate_metric_is_refused() {
    let text = written(&series(vec![usual(64)])).to_string();
    let once = "\"a\":";
    assert!(text.contains(once), "{text}");
    let at = text.find(once).unwrap();
    let twice = format!("{}{once}{{\"value\":1.0}},{}", &text[..at], &text[at..]);
    let refusal = serde_json::from_str::<SeriesResult>(&twice).unwrap_err().to_string();
    assert!(refusal.starts_with("the metric a is there twice"), "{refusal}");
}
