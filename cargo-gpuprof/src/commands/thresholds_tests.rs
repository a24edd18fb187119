use super::*;

/// The thresholds of a series with the axes `block` and `h`, each with the layer that replaces it.
fn layered(attribute: &[&str], file: &str, line: &[&str]) -> Result<Vec<(String, Option<String>)>> {
    let attribute: Vec<String> = attribute.iter().map(|&text| text.to_owned()).collect();
    let line: Vec<String> = line.iter().map(|&text| text.to_owned()).collect();
    let series = Annotated {
        key: "saxpy::kernels::saxpy".into(),
        place: "src/lib.rs:3".into(),
        thresholds: &attribute,
        axes: vec!["block", "h"],
    };
    let config = Config::parse(file, DEFAULT_PATH.into())?;
    let preset = config.preset.contains_key("ci").then_some("ci");
    let all =
        with_replaced(&Catalogue::built_in(), &series, &Layers::new(&config, preset)?, &line)?;
    Ok(all
        .into_iter()
        .map(|placed| (placed.threshold.text, placed.replaced_by.map(String::from)))
        .collect())
}

/// Which of two thresholds remain where the second comes from a later layer.
fn remain(first: &str, second: &str) -> usize {
    let all = layered(&[first], "", &[second]).unwrap();
    all.iter().filter(|(_, replaced_by)| replaced_by.is_none()).count()
}

#[test]
fn each_layer_replaces_what_says_the_same_in_the_one_before() {
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
fn a_limit_relative_to_the_baseline_and_a_fixed_one_stay_beside_each_other() {
    assert_eq!(remain("duration <= 5 us", "duration <= baseline + 3%"), 2);
    assert_eq!(
        remain("duration <= baseline + 5%", "duration <= baseline + 3% and at least 1 us"),
        1
    );
    assert_eq!(remain("throughput >= 60% of peak", "throughput >= 1 TB/s"), 1);
}

#[test]
fn what_says_the_same_in_other_words_is_the_same() {
    assert_eq!(remain("on \"H200\" duration <= 5 us", "on 'h200' duration <= 6 us"), 1);
    assert_eq!(
        remain(
            "where block==64 and h==1 duration <= 5 us",
            "where h==1, block==64 duration <= 6 us"
        ),
        1
    );
    assert_eq!(remain("where block==64 duration <= 5 us", "where block==128 duration <= 5 us"), 2);
    assert_eq!(remain("warn duration <= 5 us", "duration <= 5 us"), 1);
    assert_eq!(remain("duration <= 5 us", "duration.p95 <= 5 us"), 2);
}

#[test]
fn an_axis_that_the_series_does_not_have_is_marked_where_it_stands() {
    let failure = layered(&[], "", &["where here==1 duration <= 5 us"]).unwrap_err();
    assert_eq!(
        failure.message,
        "saxpy::kernels::saxpy has no axis `here`\n  --> --threshold\n   |\n   | where here==1 \
         duration <= 5 us\n   |       ^^^^\n   = help: its axes are block, h; [series.\"KEY\"] in \
         .config/gpuprof.toml applies to chosen series only"
    );
}

#[test]
fn a_share_of_the_peak_of_what_is_in_percent_already_is_refused_with_what_to_write() {
    let failure = layered(&[], "", &["dram_throughput >= 60% of peak"]).unwrap_err();
    assert!(
        failure.message.ends_with("= help: it is in percent already; write >= 60%"),
        "{}",
        failure.message
    );
}
