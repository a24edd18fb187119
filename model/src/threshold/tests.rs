use super::*;
use crate::metric::built_in;
use crate::{AxisValue, Quantity, Space, Unit};
use proptest::prelude::*;

fn parse(text: &str) -> Threshold {
    Threshold::parse(text).unwrap_or_else(|e| panic!("{}", e.render("test", text)))
}

fn error(text: &str) -> String {
    Threshold::parse(text).unwrap_err().render("--threshold", text)
}

#[test]
fn the_forms_of_the_book_parse() {
    let t = parse("best throughput >= 60% of peak");
    assert_eq!((t.selector, t.limit), (Selector::Best, Limit::PercentOfPeak(60.0)));
    let t = parse("every duration.p95 <= 100us");
    assert_eq!(t.statistic, Statistic::P95);
    assert_eq!(t.limit, Limit::Absolute(Quantity::new(1e5, Unit::Nanoseconds)));
    let t = parse("where block==256 and n == 16M throughput > 1.5 TB/s");
    assert_eq!(
        t.selector,
        Selector::Where(vec![
            ("block".into(), AxisValue::Int(256)),
            ("n".into(), AxisValue::Int(16 << 20))
        ])
    );
    assert_eq!(t.limit, Limit::Absolute(Quantity::new(1.5e12, Unit::BytesPerSecond)));
    let t = parse("bank_conflicts == 0");
    assert_eq!((t.selector, t.comparison), (Selector::Every, Comparison::Equal));
    assert_eq!(
        parse("registers <= 1_000").limit,
        Limit::Absolute(Quantity::new(1000.0, Unit::Count))
    );
    assert_eq!(
        parse("throughput >= 900GB/s").limit,
        Limit::Absolute(Quantity::new(9e11, Unit::BytesPerSecond))
    );
    assert_eq!(
        parse("theoretical_occupancy >= 50 %").limit,
        Limit::Absolute(Quantity::new(50.0, Unit::Percent))
    );
}

#[test]
fn a_perfworks_name_keeps_its_roll_up() {
    let t = parse("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum <= 32");
    assert_eq!(t.metric, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
    assert_eq!(parse("dram__bytes.min <= 1").metric, "dram__bytes.min");
    assert_eq!(parse("dram__bytes.sum.p95 <= 1").statistic, Statistic::P95);
}

#[test]
fn the_caret_stands_under_the_mistake() {
    assert_eq!(
        error("best throughput => 60%"),
        "expected a comparison: >=, <=, >, < or ==\n  --> --threshold\n   |\n   | best throughput => 60%\n   \
         |                 ^^"
    );
    for (text, message) in [
        ("", "expected a metric"),
        ("best >= 5", "expected a metric"),
        ("duration.p99 < 5 us", "`.p99` is not a statistic"),
        ("duration < fast", "`fast` is not a number"),
        ("duration < nan us", "`nan` is not a finite number"),
        ("duration < inf", "`inf` is not a finite number"),
        ("duration < 5 uss", "unknown unit `uss`"),
        ("duration <", "expected a limit"),
        ("throughput >= 60% of roof", "expected `peak` after `of`"),
        ("where >= 5", "expected an axis name"),
        ("where block 5", "expected `==`"),
        ("registers <= 32 and more", "unexpected `and more`"),
    ] {
        assert!(error(text).starts_with(message), "{text}: {}", error(text));
    }
}

#[test]
fn a_threshold_covers_looser_ones() {
    let covers = |ours: &str, theirs: &str| parse(ours).covers(&parse(theirs));
    for (ours, theirs) in [
        ("duration <= 5 us", "duration <= 5 us"),
        ("duration <= 5 us", "on \"H100\" every duration <= 0.01 ms"),
        ("every bank_conflicts <= 8", "where block==64 bank_conflicts <= 8"),
        ("throughput >= 60% of peak", "warn throughput >= 50% of peak"),
        ("duration <= baseline + 2%", "duration <= baseline + 5% and at least 1 us"),
        ("duration < 5 us", "duration <= 5 us"),
        ("registers == 32", "registers <= 32"),
        ("waves == 2", "waves >= 1"),
    ] {
        assert!(covers(ours, theirs), "{ours}: {theirs}");
    }
    for (ours, theirs) in [
        ("duration <= 6 us", "duration <= 5 us"),
        ("on \"H100\" duration <= 5 us", "duration <= 5 us"),
        ("best duration <= 5 us", "every duration <= 5 us"),
        ("warn duration <= 5 us", "duration <= 5 us"),
        ("duration.p95 <= 5 us", "duration <= 5 us"),
        ("duration <= 5 us", "duration < 5 us"),
        ("registers == 33", "registers <= 32"),
        ("throughput >= 50% of peak", "throughput >= 60% of peak"),
        ("throughput >= 1 GB/s", "throughput >= 1% of peak"),
        ("duration <= baseline + 2% and at least 1 us", "duration <= baseline + 5%"),
    ] {
        assert!(!covers(ours, theirs), "{ours}: {theirs}");
    }
}

#[test]
fn a_limit_must_be_in_the_metrics_unit() {
    let check = |text: &str| parse(text).check(&built_in(&parse(text).metric).unwrap());
    assert!(check("duration <= 5 us").is_ok());
    assert!(check("load_sectors_per_request <= 4.5").is_ok());
    assert_eq!(
        check("duration <= 5").unwrap_err().message,
        "`duration` needs a limit in ns, us, µs, ms or s, and this is a plain number"
    );
    assert_eq!(
        check("registers <= 32 us").unwrap_err().message,
        "`registers` needs a plain number, and this is a limit in ns"
    );
    assert!(check("spills == 0").is_ok(), "nothing is nothing in every unit");
    assert!(check("limited_by == 0").is_err());
    assert!(check("registers <= 0 us").is_err());
    assert!(check("duration == 5 us").unwrap_err().message.contains("is noisy"));
    assert!(check("registers <= 60% of peak").unwrap_err().message.contains("no peak"));
}

#[test]
fn a_limit_may_be_relative_to_the_baseline() {
    let tolerance = |text: &str| match parse(text).limit {
        Limit::Baseline(Tolerance { percent, floor }) => (percent, floor.map(|f| f.value)),
        other => panic!("{other:?}"),
    };
    assert_eq!(tolerance("every duration <= baseline + 5%"), (5.0, None));
    assert_eq!(tolerance("duration<=baseline+5%"), (5.0, None));
    assert_eq!(tolerance("throughput >= baseline - 2.5 %"), (-2.5, None));
    assert_eq!(tolerance("bank_conflicts == baseline"), (0.0, None));
    assert_eq!(tolerance("duration <= baseline + 5% and at least 1 us"), (5.0, Some(1000.0)));
    assert_eq!(tolerance("duration <= baseline and at least 1us"), (0.0, Some(1000.0)));
    assert!(parse("duration <= baseline").needs_baseline());
    assert!(!parse("duration <= 5 us").needs_baseline());
}

#[test]
fn both_the_percentage_and_the_floor_must_be_exceeded() {
    let limit = |text: &str, baseline| {
        let threshold = parse(text);
        let Limit::Baseline(tolerance) = threshold.limit else { panic!("{text}") };
        tolerance.limit(baseline, threshold.comparison)
    };
    let text = "duration <= baseline + 5% and at least 1 us";
    assert_eq!(limit(text, 2_000.0), 3_000.0);
    assert_eq!(limit(text, 100_000.0), 105_000.0);
    let text = "throughput >= baseline - 10% and at least 50 GB/s";
    assert_eq!(limit(text, 1e12), 0.9e12);
    assert_eq!(limit(text, 1e11), 0.5e11);
    assert_eq!(limit("duration <= baseline - 20%", 100.0), 80.0);
    assert_eq!(limit("bank_conflicts == baseline", 7.0), 7.0);
}

#[test]
fn a_threshold_may_warn_only_and_name_a_device() {
    let t = parse("warn on \"H200\" best throughput >= 60% of peak");
    assert_eq!((t.severity, t.device.as_deref()), (Severity::Warn, Some("H200")));
    assert_eq!(t.selector, Selector::Best);
    assert!(t.applies_to_device("NVIDIA H200") && !t.applies_to_device("NVIDIA H100"));
    assert_eq!(parse("on 'gtx 1080' duration < 5 us").device.as_deref(), Some("gtx 1080"));
    let plain = parse("duration < 5 us");
    assert_eq!((plain.severity, plain.applies_to_device("any")), (Severity::Hard, true));
}

#[test]
fn baseline_errors_are_reported_in_full() {
    for (text, expected) in [
        (
            "duration <= baseline + 5",
            "a tolerance is a percentage\n  --> --threshold\n   |\n   | duration <= baseline + 5\n   \
             |                        ^\n   = help: write baseline + 5%, or baseline and at least 1 us",
        ),
        (
            "duration <= baseline +",
            "expected a percentage after `baseline`\n  --> --threshold\n   |\n   | duration <= baseline +\n   \
             |                       ^\n   = help: write baseline + 5%",
        ),
        (
            "duration <= baseline + nan%",
            "`nan` is not a finite number\n  --> --threshold\n   |\n   | duration <= baseline + nan%\n   \
             |                        ^^^",
        ),
        (
            "duration <= baseline + -5%",
            "a tolerance has one sign\n  --> --threshold\n   |\n   | duration <= baseline + -5%\n   \
             |                      ^^^^^\n   = help: write baseline + 5% or baseline - 5%",
        ),
        (
            "bank_conflicts == baseline + 5%",
            "`==` has no tolerance\n  --> --threshold\n   |\n   | bank_conflicts == baseline + 5%\n   \
             |                            ^^^^\n   = help: write == baseline, or <= baseline + 5%",
        ),
        (
            "throughput >= baseline - 100%",
            "a decrease by 100% or more always holds\n  --> --threshold\n   |\n   | throughput >= baseline - 100%\n   \
             |                        ^^^^^^\n   = help: write a percentage below 100",
        ),
        (
            "duration <= baseline + 5% and at most 1 us",
            "unexpected `and at most 1 us` after the limit\n  --> --threshold\n   |\n   \
             | duration <= baseline + 5% and at most 1 us\n   \
             |                           ^^^\n   = help: write one condition per threshold",
        ),
        (
            "duration <= baseline - 5% and at least 1 us",
            "a floor needs a tolerance that it can widen\n  --> --threshold\n   |\n   \
             | duration <= baseline - 5% and at least 1 us\n   \
             |                                        ^^^^\n   = help: write <= baseline + 5% and at least \
             1 us, or >= baseline - 5% and at least 1 GB/s",
        ),
        (
            "duration <= baseline and at least 5% of peak",
            "a floor is not a share of the peak\n  --> --threshold\n   |\n   \
             | duration <= baseline and at least 5% of peak\n   \
             |                                   ^^^^^^^^^^\n   = help: a floor is a number with a unit, such as 1 us",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn warn_and_device_errors_are_reported_in_full() {
    for (text, expected) in [
        (
            "on H200 duration < 5 us",
            "expected a device in quotes after `on`\n  --> --threshold\n   |\n   | on H200 duration < 5 us\n   \
             |    ^^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name",
        ),
        (
            "on \"H200 duration < 5 us",
            "the device has no closing quote\n  --> --threshold\n   |\n   | on \"H200 duration < 5 \
             us\n   |    ^^^^^^^^^^^^^^^^^^^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the \
             text is a part of the device's name",
        ),
        (
            "on \" \" duration < 5 us",
            "the device has no name\n  --> --threshold\n   |\n   | on \" \" duration < 5 us\n   \
             |    ^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name",
        ),
        (
            "on \"H200\" warn duration < 5 us",
            "`warn` comes first\n  --> --threshold\n   |\n   | on \"H200\" warn duration < 5 us\n   \
             |           ^^^^\n   = help: write warn on \"DEVICE\" METRIC <= LIMIT",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn a_floor_must_be_in_the_metrics_unit() {
    let check = |text: &str| parse(text).check(&built_in(&parse(text).metric).unwrap());
    assert!(check("duration <= baseline + 5% and at least 1 us").is_ok());
    assert!(check("registers <= baseline and at least 2").is_ok());
    assert_eq!(
        check("duration <= baseline + 5% and at least 2").unwrap_err().message,
        "`duration` needs a limit in ns, us, µs, ms or s, and this is a plain number"
    );
    assert!(check("duration == baseline").unwrap_err().message.contains("is noisy"));
}

proptest! {
    #[test]
    fn no_text_panics_and_spans_stay_inside(
        text in "(warn )?(on \"H)?(best|every|where |duration <= baseline )?[ -~µ]{0,24}",
    ) {
        if let Err(error) = Threshold::parse(&text) {
            prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?}");
            error.render("x", &text);
        }
    }
}

#[test]
fn thresholds_that_never_fail_or_repeat_parts_are_refused() {
    for (text, message, help) in [
        (
            "every where block==64 duration <= 1 us",
            "a threshold has one selector",
            "every or where AXIS==VALUE",
        ),
        (
            "where block==64 best duration <= 1 us",
            "a threshold has one selector",
            "every or where AXIS==VALUE",
        ),
        ("throughput >= -60% of peak", "a share of the peak is not negative", ""),
        ("throughput >= 60 of peak", "a share of the peak is a percentage", "write 60% of peak"),
        ("where dtype==\"f32 duration <= 1 us", "the value has no closing quote", ""),
    ] {
        let error = error(text);
        assert!(error.starts_with(message) && error.ends_with(help), "{error}");
    }
    let check = |text: &str| {
        let threshold = parse(text);
        threshold.check(&built_in(&threshold.metric).unwrap()).map_err(|e| e.render("x", text))
    };
    for text in ["duration >= -5 us", "throughput >= -1 GB/s"] {
        assert!(check(text).unwrap_err().contains("is never negative"), "{text}");
    }
    assert!(
        check("duration <= 5")
            .unwrap_err()
            .starts_with("`duration` needs a limit in ns, us, µs, ms or s, and")
    );
}

#[test]
fn a_word_of_an_axis_may_stand_in_quotes() {
    let plain = parse("where dtype==f16-acc and block==64 duration <= 1 us");
    let quoted = parse("where dtype==\"f16-acc\" and block == '64' duration <= 1 us");
    assert_eq!(plain.selector, quoted.selector);
}

#[test]
fn a_threshold_may_set_the_direction() {
    let grid = crate::metric::built_in("launch__grid_size").unwrap();
    let of = |text: &str| {
        let threshold = parse(text);
        (threshold.direction(&grid), threshold.wanted(&grid), threshold.check(&grid).is_ok())
    };
    use crate::metric::Direction::{Higher, Lower, Neither};
    assert_eq!(of("every launch__grid_size <= 5"), (Neither, Lower, true));
    assert_eq!(of("best launch__grid_size >= 5"), (Neither, Higher, true));
    assert_eq!(of("best launch__grid_size == 5"), (Neither, Neither, false));
    assert_eq!(of("best launch__grid_size == 5, lower is better"), (Lower, Lower, true));
    assert_eq!(of("launch__grid_size <= baseline + 5%, higher is better"), (Higher, Higher, true));
    let error = Threshold::parse("duration <= 5 us, less is better").unwrap_err();
    assert_eq!(error.message, "expected `lower is better` or `higher is better`");
    // The unit's place ends before the comma.
    let text = "duration <= 5 B, lower is better";
    let duration = crate::metric::built_in("duration").unwrap();
    let error = parse(text).check(&duration).unwrap_err();
    assert_eq!(&text[error.span.clone()], "5 B");
}

#[test]
fn near_misses_are_refused_with_the_correct_form() {
    let help = |text: &str| Threshold::parse(text).unwrap_err().help.unwrap_or_default();
    assert_eq!(help("evry duration <= 5 us"), "did you mean `every`?");
    assert_eq!(help("global_bytes <= 20,000"), "numbers have no commas: write 20000 or 20_000");
    let expected = "only axes have suffixes such as K, M and G: write 10e6";
    assert_eq!(help("global_bytes <= 10M"), expected);
    assert_eq!(help("global_bytes <= 10 M"), expected);
}

#[test]
fn a_statistic_of_a_metric_with_one_value_is_refused() {
    let checked = |text: &str| {
        let metric = crate::metric::built_in(&parse(text).metric).unwrap();
        parse(text).check(&metric).map_err(|error| (error.message, text[error.span].to_owned()))
    };
    let message = "`registers` is exact: it has one value, and no `.p95` of several".to_owned();
    assert_eq!(checked("every registers.p95 <= 32"), Err((message, ".p95".to_owned())));
    assert!(checked("global_sectors.min <= 32").is_err());
    assert_eq!(checked("duration.p95 <= 5 us"), Ok(()));
    assert_eq!(checked("registers <= 32"), Ok(()));
}

#[test]
fn limited_by_is_compared_with_units_of_the_gpu() {
    let parsed = |text: &str| {
        let threshold = Threshold::parse(text)?;
        threshold.check(&crate::metric::built_in(&threshold.metric).unwrap())?;
        Ok::<_, ParseError>(threshold)
    };
    let Limit::Absolute(limit) = parsed("every limited_by == DRAM").unwrap().limit else {
        panic!()
    };
    assert_eq!((limit.unit, limit.to_string()), (Unit::GpuUnit, "dram".to_owned()));
    let refused = |text: &str| parsed(text).unwrap_err().to_string();
    assert!(refused("every limited_by >= dram").contains("none is more than another"));
    assert!(refused("every limited_by == 4").contains("needs one of sm, l1, l2, dram"));
    assert!(refused("every registers <= l2").contains("this is a unit of the GPU"));
    let error = parsed("every limited_by == nothing").unwrap_err();
    assert_eq!(error.message, "`nothing` is none of sm, l1, l2, dram");
    assert_eq!(
        error.help.as_deref(),
        Some("limited_by is the unit that is nearest its peak: write limited_by == dram")
    );
    let error = parsed("every limited_by == dramm").unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `dram`?"));
}

#[test]
fn a_selector_without_a_configuration_names_the_value_that_the_axis_lacks() {
    let space = Space::from_clauses(&[
        "block = 64..1024",
        "zip(n = [1, 2], m = [3, 4])",
        "all = block * n",
        "tile = [16x16, 16x1]",
        "where block * m <= 512",
    ])
    .unwrap();
    let excluded = |text: &str| parse(text).selector.excluded_by(&space);
    let excluded_where = |condition: &str| excluded(&format!("where {condition} duration <= 1 us"));
    for held in ["block==64 and n==2", "all==128 and n==2"] {
        assert_eq!(excluded_where(held), None, "{held}");
    }
    for held in ["every duration <= 1 us", "best duration <= 1 us"] {
        assert_eq!(excluded(held), None, "{held}");
    }
    let together = "no configuration has these values together";
    for (condition, reason) in [
        ("block==96", "axis `block` has no value 96: it has 64, 128, 256, 512, 1024"),
        // Zipped with another value, refused by a condition, computed by no combination.
        ("tile==16", "axis `tile` has no value 16: it has 16x16, 16x1"),
        ("n==1 and m==4", together),
        ("block==512", together),
        ("all==65", together),
    ] {
        assert_eq!(excluded_where(condition).as_deref(), Some(reason));
    }
}
