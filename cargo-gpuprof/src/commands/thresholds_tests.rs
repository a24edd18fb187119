use super::*;
use gpuprof_analysis::fixture::{emulated, series};
use gpuprof_model::verdict::NotApplicable;

/// The thresholds of a series with the axes `block` and `h`, each with the layer that replaces it.
fn layered(attribute: &[&str], file: &str, line: &[&str]) -> Result<Vec<(String, Option<String>)>> {
    let conditions =
        |texts: &[&str]| texts.iter().map(|&text| text.to_owned().into()).collect::<Vec<_>>();
    let line = conditions(line);
    let run = Space::from_clauses(&["block = [64]", "h = 1..4"]).unwrap();
    let annotation = Space::from_clauses(&["block = [64, 128]", "h = 1..4"]).unwrap();
    let id = SeriesId::new("saxpy", "kernels", "saxpy");
    let series = Annotated {
        id: &id,
        place: "src/lib.rs:3".into(),
        thresholds: conditions(attribute),
        axes: vec!["block", "h"],
        spaces: vec![&run, &annotation],
    };
    let config = Config::parse(file, DEFAULT_PATH.into())?;
    let preset = config.preset.contains_key("ci").then_some("ci");
    let all =
        with_replaced(&Catalogue::built_in(), &series, &Layers::new(&config, preset)?, &line)?;
    Ok(all
        .into_iter()
        .map(|placed| (placed.own.threshold.text, placed.replaced_by.map(String::from)))
        .collect())
}

/// Which of two thresholds remain where the second comes from a later layer.
fn remain(first: &str, second: &str) -> usize {
    let all = layered(&[first], "", &[second]).unwrap();
    all.iter().filter(|(_, replaced_by)| replaced_by.is_none()).count()
}

/// A limit on the duration of the configurations that meet a condition.
fn limit_where(condition: &str) -> String {
    format!("where {condition} duration <= 5 us")
}

#[test]
fn a_threshold_on_unknown_axis_values_is_refused() {
    // The run takes one block of the two of the annotation.
    layered(&[], "", &[&limit_where("block==128")]).unwrap();
    let failure = layered(&[], "", &[&limit_where("block==129 and h==1")]).unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    assert_eq!(
        failure.message,
        "the threshold applies to no configuration: axis `block` has no value 129: it has 64\n  \
         --> --threshold\n   |\n   | where block==129 and h==1 duration <= 5 us\n   | \
         ^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
    let file = "thresholds = [\"where h==3 duration <= 5 us\"]\n";
    assert_eq!(layered(&[], file, &[]).unwrap_err().code, ExitCode::Configuration);
}

#[test]
fn each_layer_replaces_equivalent_thresholds_of_the_layer_before() {
    let file = "thresholds = [\"duration <= 6 us\"]\n\
                [preset.ci]\nthresholds = [\"every duration <= 7 us\"]\n";
    let all = layered(&["every duration <= 5 us"], file, &["duration <= 8 us"]).unwrap();
    let replaced: Vec<_> = all.iter().map(|(_, by)| by.as_deref()).collect();
    assert_eq!(
        replaced,
        [Some(".config/gpuprof.toml"), Some("preset ci"), Some("--threshold"), None]
    );
}

#[test]
fn relative_and_absolute_limits_of_a_metric_are_both_kept() {
    assert_eq!(remain("duration <= 5 us", "duration <= baseline + 3%"), 2);
    assert_eq!(
        remain("duration <= baseline + 5%", "duration <= baseline + 3% and at least 1 us"),
        1
    );
    assert_eq!(remain("throughput >= 60% of peak", "throughput >= 1 TB/s"), 1);
}

#[test]
fn equivalent_thresholds_are_equal() {
    assert_eq!(remain("on \"H200\" duration <= 5 us", "on 'h200' duration <= 6 us"), 1);
    let same = [limit_where("block==64 and h==1"), limit_where("h==1, block==64")];
    assert_eq!(remain(&same[0], &same[1]), 1);
    assert_eq!(remain(&limit_where("block==64"), &limit_where("block==128")), 2);
    assert_eq!(remain("warn duration <= 5 us", "duration <= 5 us"), 1);
    assert_eq!(remain("duration <= 5 us", "warn duration <= 4 us"), 2);
    assert_eq!(remain("duration <= 5 us", "duration.p95 <= 5 us"), 2);
}

#[test]
fn an_unknown_axis_is_refused_at_its_position() {
    let failure = layered(&[], "", &[&limit_where("here==1")]).unwrap_err();
    assert_eq!(
        failure.message,
        "saxpy::saxpy has no axis `here`\n  --> --threshold\n   |\n   | where here==1 \
         duration <= 5 us\n   |       ^^^^\n   = help: its axes are block, h; [series.\"KEY\"] in \
         .config/gpuprof.toml applies to chosen series only"
    );
}

#[test]
fn percent_of_peak_of_a_percentage_is_refused_with_the_correction() {
    let failure = layered(&[], "", &["dram_throughput >= 60% of peak"]).unwrap_err();
    assert!(
        failure.message.ends_with("= help: it is in percent already; write >= 60%"),
        "{}",
        failure.message
    );
}

/// The thresholds of a stored run stay with it, and the later of two with the same subject counts.
#[test]
fn new_thresholds_replace_equivalent_stored_ones() {
    let mut series = series(vec![emulated(64, 1 << 20)]);
    let file = || Layer::Configuration(DEFAULT_PATH.to_owned());
    let stored = [
        ("every global_sectors <= 1", Layer::Attribute),
        ("every global_bytes <= 1 B", file()),
        ("every ptx_instructions <= 1", Layer::CommandLine),
        ("every registers <= 1", Layer::CommandLine),
        ("every duration <= baseline + 9%", Layer::Attribute),
        ("every bank_conflicts <= baseline", Layer::Default),
    ];
    let silent = |(text, origin): (&str, Layer)| NotApplicable { threshold: text.into(), origin };
    series.not_applicable = stored.into_iter().map(silent).collect();
    let config = "thresholds = [\"every global_bytes <= 2 B\", \"every registers <= 2\"]";
    let config = Config::parse(config, DEFAULT_PATH.into()).unwrap();
    let layers = Layers::new(&config, None).unwrap();
    let given = [Threshold::parse("every ptx_instructions <= 3").unwrap()];
    let all = of_stored(&Catalogue::built_in(), &series, &layers, &given).unwrap();
    let texts: Vec<&str> = all.iter().map(|own| own.threshold.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "every global_sectors <= 1",
            "every duration <= baseline + 9%",
            "every global_bytes <= 2 B",
            "every registers <= 1",
            "every ptx_instructions <= 3",
        ]
    );
    series.not_applicable[0].threshold = "of a later version".into();
    let refused = of_stored(&Catalogue::built_in(), &series, &layers, &given).unwrap_err();
    assert_eq!(refused.code, ExitCode::Configuration);
    assert!(refused.message.contains("the stored thresholds of "), "{}", refused.message);
}
