use super::*;
use crate::metric::{Definition, Formula, legacy};

#[test]
fn names_are_unique_and_formulas_name_known_metrics() {
    let catalogue = Catalogue::built_in();
    let names: Vec<_> = catalogue.own().map(|metric| &metric.name).collect();
    for (position, metric) in catalogue.own().enumerate() {
        assert!(!names[..position].contains(&&metric.name), "{}", metric.name);
        for name in metric.formula().into_iter().flat_map(Formula::names) {
            assert!(catalogue.find(name).is_some(), "{} uses the unknown {name}", metric.name);
        }
    }
}

#[test]
fn a_derived_metric_needs_the_counters_of_its_operands() {
    let catalogue = Catalogue::built_in();
    let names = |name: &str| catalogue.hardware_names(&catalogue.find(name).unwrap());
    assert_eq!(names("occupancy"), ["sm__warps_active.avg.pct_of_peak_sustained_active"]);
    assert_eq!(names("most_bank_conflicts_ld").len(), 4);
    assert!(names("duration").is_empty() && names("ptx_instructions").is_empty());
    // Counter passes do not count by instruction.
    let counts = |name: &str| catalogue.counts_instructions(&catalogue.find(name).unwrap());
    assert!(names("bank_conflicts").is_empty() && counts("bank_conflicts"));
    assert!(!counts("most_bank_conflicts_ld") && !counts("ptx_instructions"));
}

#[test]
fn on_hardware_only_counters_of_patched_instructions_are_exact() {
    let catalogue = Catalogue::built_in();
    let classes = |name: &str| {
        let metric = catalogue.find(name).unwrap();
        [true, false].map(|emulated| catalogue.class_on(&metric, emulated))
    };
    for exact in [
        "load_sectors_per_request",
        "store_sectors_per_request",
        "global_sectors",
        "global_load_efficiency",
        "gld_efficiency",
        "gst_transactions_per_request",
        "branch_efficiency",
        "bank_conflicts",
        "registers",
        "ptx_instructions",
    ] {
        assert_eq!(classes(exact), [Class::Exact; 2], "{exact}");
    }
    let raw = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    assert_eq!(classes(raw), [Class::Exact, Class::Noisy]);
    assert_eq!(classes("most_bank_conflicts_st"), [Class::Exact, Class::Noisy]);
    assert_eq!(classes("duration"), [Class::Noisy; 2]);
    // Nothing that is called exact in the catalogue rests on a counter that does not repeat, but
    // L1's own.
    let all = catalogue.own().map(|metric| Metric::clone(metric)).chain(legacy());
    for metric in all.filter(|m| m.class == Class::Exact) {
        let names = catalogue.hardware_names(&metric);
        let raw = names.iter().any(|name| name.starts_with("l1tex__"));
        assert_eq!(catalogue.class_on(&metric, false) == Class::Noisy, raw, "{}", metric.name);
    }
}

#[test]
fn an_unknown_name_gets_its_nearest() {
    let catalogue = Catalogue::built_in();
    assert_eq!(
        catalogue.unknown("througput"),
        "no metric is named `througput`: did you mean `throughput`?"
    );
    assert_eq!(
        catalogue.unknown("lts__t_sector_hit_rate"),
        "`lts__t_sector_hit_rate` needs a roll-up or a submetric, such as `.sum` of a counter or `.pct` of a ratio; \
         `cargo gpuprof metrics --describe lts__t_sector_hit_rate` lists its own"
    );
    assert_eq!(catalogue.all_unknown(["duration", "waves"]), None);
    assert_eq!(
        catalogue.all_unknown(["througput", "waves", "ocupancy", "througput"]).unwrap(),
        "no metric is named `througput`: did you mean `throughput`?\n\
         no metric is named `ocupancy`: did you mean `occupancy`?"
    );
}

#[test]
fn metrics_of_a_run_keep_their_direction_and_known_ones_stay() {
    let catalogue = Catalogue::built_in()
        .with_recorded("r_loads", Unit::Bytes, Direction::Higher, Class::Exact)
        .with_recorded("r_loads", Unit::Count, Direction::Lower, Class::Noisy)
        .with_recorded("duration", Unit::Count, Direction::Higher, Class::Exact);
    let metric = catalogue.find("r_loads").unwrap();
    assert_eq!((metric.unit, metric.direction), (Unit::Bytes, Direction::Higher));
    assert_eq!(catalogue.class_on(&metric, false), Class::Exact);
    assert!(catalogue.hardware_names(&metric).is_empty());
    assert_eq!(catalogue.find("duration").unwrap().unit, Unit::Nanoseconds);
    let message = catalogue.unknown("r_lods");
    assert!(message.ends_with("did you mean `r_loads`?"), "{message}");
    assert!(Catalogue::built_in().find("r_loads").is_none());
}

#[test]
fn two_catalogues_give_one_name_two_meanings_at_once() {
    let defined = |formula: &str, unit| {
        let definition = Definition {
            name: "t_work".into(),
            formula: formula.into(),
            unit,
            direction: Direction::Lower,
            description: None,
        };
        Catalogue::built_in().with_definitions(&[definition]).unwrap()
    };
    let (one, other) = (defined("2 * bytes", Unit::Bytes), defined("1 / duration", Unit::Ratio));
    let metrics = [&one, &other].map(|catalogue| catalogue.find("t_work").unwrap());
    assert_eq!(metrics.each_ref().map(|m| m.unit), [Unit::Bytes, Unit::Ratio]);
    assert_eq!(metrics.each_ref().map(|m| m.class), [Class::Exact, Class::Noisy]);
    assert_eq!(
        metrics.map(|m| m.formula().unwrap().text().to_owned()),
        ["2 * bytes", "1 / duration"]
    );
    assert!(Catalogue::built_in().find("t_work").is_none());
}

#[test]
fn every_name_has_the_direction_of_the_counter_it_stands_for() {
    let catalogue = Catalogue::built_in();
    let all = catalogue.own().map(|metric| Metric::clone(metric)).chain(legacy());
    let (mut compared, mut wrong) = (0, Vec::new());
    for metric in all.chain(crate::metric::launch_facts()) {
        let counted = catalogue.counted(&metric);
        let Some(counter) = by_rule(&counted, None) else { continue };
        if metric.direction != counter.direction {
            wrong.push(format!("{} stands for {counted}: {:?}", metric.name, counter.direction));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 150, "{compared}");
}

#[test]
fn every_counter_of_an_old_name_has_a_direction_in_the_table() {
    let formulas: Vec<_> = legacy().filter_map(|metric| metric.formula().cloned()).collect();
    for name in formulas.iter().flat_map(Formula::names) {
        let family = crate::metric::direction_by_family(name).unwrap_or_default();
        assert!(!family.contains("no row"), "{name}: {family}");
    }
}

#[test]
fn a_sum_has_the_direction_of_its_operands() {
    let catalogue = Catalogue::built_in();
    let all = catalogue.own().map(|metric| Metric::clone(metric)).chain(legacy());
    let mut wrong = Vec::new();
    for metric in all {
        let Some(formula) = metric.formula().filter(|f| !f.text().contains(['/', '-'])) else {
            continue;
        };
        let operands = formula.names().into_iter().filter_map(|name| catalogue.find(name));
        let directions: Vec<Direction> = operands.map(|operand| operand.direction).collect();
        let same = directions.windows(2).all(|pair| pair[0] == pair[1]);
        let expected = if same { directions[0] } else { Direction::Neither };
        // A duration in cycles: neither side of the product is better for being large. A unit of
        // the GPU is not a sum.
        let summed = metric.name != "sm_cycles" && metric.unit != Unit::GpuUnit;
        if metric.direction != expected && summed {
            wrong.push(format!("{} adds up {:?}", metric.name, formula.names()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
