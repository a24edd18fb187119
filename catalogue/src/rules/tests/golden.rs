//! Applies rules to an H200's counters of the examples (`tests/golden/h200-counters.json`), and
//! series rules to its times.

use gpuprof_analysis::advice::of_run;
use gpuprof_model::run::Run;

use super::*;
use gpuprof_engine::store::document;

fn counted() -> BTreeMap<String, BTreeMap<String, f64>> {
    let text = include_str!("../../../../tests/golden/h200-counters.json");
    serde_json::from_str(text).unwrap()
}

fn recorded(name: &str) -> Run {
    let path =
        Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-gpuprof/tests/golden").join(name);
    document::read(&path).unwrap()
}

#[test]
fn counters_of_the_examples_give_the_recorded_advice() {
    let mut by_kernel: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, values) in counted() {
        let values: Vec<(&str, f64)> = values.iter().map(|(name, v)| (&**name, *v)).collect();
        let kernel = key.split('/').next().unwrap().to_owned();
        let rules = advise(&values).into_iter().map(|piece| piece.rule);
        by_kernel.entry(kernel).or_default().extend(rules);
    }
    let text: Vec<String> = by_kernel
        .iter()
        .map(|(kernel, rules)| {
            format!("{kernel}: {}", rules.iter().cloned().collect::<Vec<_>>().join(", "))
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn times_of_saxpy_advise_the_best_block() {
    let run = recorded("h200-saxpy-60.json");
    let advice = of_run(&run, &rules(), &known());
    let said: Vec<&str> =
        advice.iter().flat_map(|series| &series.pieces).map(|piece| &*piece.message).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn times_of_other_examples_advise_their_best_values() {
    let run = recorded("h200-others-20.json");
    let advice = of_run(&run, &rules(), &known());
    let said: Vec<String> = advice
        .iter()
        .flat_map(|series| {
            series.pieces.iter().map(|p| format!("{}: {}", series.series.kernel, p.message))
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
