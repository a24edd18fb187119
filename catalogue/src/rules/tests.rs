use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use gpuprof_analysis::advice::{AdviceContext, of_series};
use gpuprof_analysis::fixture::{h200, measured, series};
use gpuprof_model::ExitCode;
use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::language::Language;
use gpuprof_model::measurement::{DeviceRecord, OccupancyLimiter};
use gpuprof_model::metric::Class;
use gpuprof_model::run::ConfigurationResult;
use proptest::prelude::*;

use super::*;
use crate::sections::Sections;

mod cases;
mod golden;
mod silent;

/// The built-in metrics and rules.
static PARSED: LazyLock<(Catalogue, Vec<Rule>)> = LazyLock::new(|| {
    let known = Sections::built_in().unwrap().catalogue().clone();
    let rules = built_in(&known).unwrap();
    (known, rules)
});

fn known() -> Catalogue {
    PARSED.0.clone()
}

fn rules() -> Vec<Rule> {
    PARSED.1.clone()
}

/// A chip that is slow at FP64.
fn device() -> DeviceRecord {
    let attributes = [("single_to_double_precision_perf_ratio".to_owned(), 64)].into();
    DeviceRecord { attributes, ..h200() }
}

/// A row with values that are all of the class `class`; the names of facts set the limiter of
/// occupancy.
fn row(values: &[(&str, f64)], class: Class) -> ConfigurationResult {
    let mut row = measured(64, values);
    for (name, _) in values {
        row.metrics.get_mut(name).unwrap().class = class;
    }
    let limits = |fact: &str| values.contains(&(fact, 1.0));
    row.occupancy_limiter = [
        ("occupancy_limited_by_warps", OccupancyLimiter::Warps),
        ("occupancy_limited_by_blocks", OccupancyLimiter::Blocks),
        ("occupancy_limited_by_registers", OccupancyLimiter::Registers),
        ("occupancy_limited_by_shared_memory", OccupancyLimiter::SharedMemory),
        ("occupancy_limited_by_clusters", OccupancyLimiter::Clusters),
    ]
    .into_iter()
    .find_map(|(fact, limiter)| limits(fact).then_some(limiter));
    row
}

fn said_of(row: ConfigurationResult) -> Vec<Advice> {
    let (rules, catalogue, device) = (rules(), known(), device());
    let terms = AdviceContext { rules: &rules, catalogue: &catalogue, device: Some(&device) };
    of_series(&series(vec![row]), &terms)
}

fn advise(values: &[(&str, f64)]) -> Vec<Advice> {
    said_of(row(values, Class::Exact))
}

fn piece<'a>(all: &'a [Advice], rule: &str) -> Option<&'a Advice> {
    all.iter().find(|piece| piece.rule == rule)
}

const MEMORY: &str = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
const SECTORS: [(&str, f64); 4] = [
    ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 1000.0),
    ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", 0.0),
    ("smsp__sass_inst_executed_op_global_ld.sum", 100.0),
    ("smsp__sass_data_bytes_mem_global_op_ld.sum", 3200.0),
];

#[test]
fn an_estimated_gain_is_limited_by_other_units() {
    // Nine tenths of the sectors are wasted, and memory is busy all the time; but the pipelines
    // need 95% of it anyway.
    let sm = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
    let all = advise(&[&SECTORS[..], &[(MEMORY, 100.0), (sm, 95.0)]].concat());
    let gain = piece(&all, "uncoalesced-ld").unwrap().gain;
    assert_eq!(gain, Some(Gain::Time { percent: 5.0 }));
    let all = advise(&[&SECTORS[..], &[(MEMORY, 50.0), (sm, 20.0)]].concat());
    let gain = piece(&all, "uncoalesced-ld").unwrap().gain;
    assert_eq!(gain, Some(Gain::Time { percent: 45.0 }));
    // Without the time the gain is unknown; the use is reported.
    let gain = piece(&advise(&SECTORS), "uncoalesced-ld").unwrap().gain;
    assert_eq!(gain, Some(Gain::Use { percent: 90.0 }));
}

#[test]
fn a_noisy_counter_must_exceed_its_noise() {
    let values = |achieved: f64| {
        [
            ("theoretical_occupancy", 80.0),
            ("sm__warps_active.avg.pct_of_peak_sustained_active", achieved),
        ]
    };
    let of = |achieved: f64, class| {
        let all = said_of(row(&values(achieved), class));
        piece(&all, "occupancy-achieved").is_some()
    };
    assert!(of(69.0, Class::Exact) && !of(69.0, Class::Noisy));
    assert!(of(50.0, Class::Noisy));
}

#[test]
fn a_rule_with_missing_counters_is_silent_and_names_them() {
    assert_eq!(advise(&[("launch__block_size", 64.0)]), []);
    let (rules, catalogue) = (rules(), known());
    let terms = AdviceContext { rules: &rules, catalogue: &catalogue, device: None };
    let series = series(vec![row(&[("theoretical_occupancy", 50.0)], Class::Exact)]);
    let rule = rules.iter().find(|rule| rule.id == "occupancy-achieved").unwrap();
    let missing = gpuprof_analysis::advice::missing(rule, &series, &terms);
    assert_eq!(missing, ["sm__warps_active.avg.pct_of_peak_sustained_active"]);
}

#[test]
fn rules_request_only_counters_of_the_chip() {
    let rules = rules();
    let hopper = metrics(&rules, Some("GH100"));
    let gmma = "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio";
    assert!(hopper.iter().any(|metric| metric == gmma) && hopper.len() > 60, "{hopper:?}");
    let ampere = metrics(&rules, Some("GA102"));
    assert!(!ampere.iter().any(|metric| metric == gmma));
    assert!(hopper.iter().all(|metric| !metric.starts_with("occupancy_limited_by")));
    assert!(hopper.iter().all(|metric| !metric.starts_with("ptx__thread")), "{hopper:?}");
}

fn wrong_rule(change: (&str, &str)) -> String {
    let whole = include_str!("../../rules/bank-conflicts.toml");
    assert!(whole.contains(change.0), "{}", change.0);
    let text = whole.replacen(change.0, change.1, 1);
    let failure = file::parse(&text, "own.toml", &known()).unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    failure.message
}

#[test]
fn an_invalid_rule_is_reported_with_file_line_and_remedy() {
    let told = |from: &str, to: &str| wrong_rule((from, to));
    let text = told("share >= 10\"", "share => 10\"");
    assert!(text.contains("expected a comparison\n  --> own.toml:4\n"), "{text}");
    assert!(text.contains("compare it: share >= 10"), "{text}");
    let text = told("share >= 10\"", "shore >= 10\"");
    assert_eq!(text, "own.toml:4: `shore` is not a name of this rule: did you mean `share`?");
    let text = told("{ways:1}", "{ways:one}");
    assert!(text.contains("--> own.toml:5\n") && text.contains("write {name}"), "{text}");
    let text = told("\"shared_wavefronts\"", "\"shared_wavefrons\"");
    let expected = "own.toml:17: no metric is named `shared_wavefrons`: did you mean";
    assert!(text.starts_with(expected), "{text}");
    let text = told("[\"l1\"]", "[\"l3\"]");
    assert_eq!(text, "own.toml:8: no unit is named `l3`: sm, l1, l2 or dram");
    let text = told("conflicts lower", "conflicts less");
    assert!(text.starts_with("own.toml:9: `tried_by` is a name and the way"), "{text}");
    let text = told("certainty = \"likely\"", "certainty = \"sure\"");
    assert!(text.contains("own.toml is not a valid rule") && text.contains("line 7"), "{text}");
    assert!(text.contains("help: cargo gpuprof rules block-size"), "{text}");
    let text = told("ways = \"wavefronts / requests\"", "ways = \"2 * ways\"");
    assert!(text.contains("`ways` depends on itself"), "{text}");
    let text = told("id = \"bank-conflicts-$key\"", "id = \"measured-gain\"");
    assert!(text.contains("own.toml:2: `measured-gain`: this is what a series is said"), "{text}");
}

#[test]
fn unknown_languages_and_names_in_remedies_are_refused() {
    let with =
        |table: &str| wrong_rule(("[inputs]\n", &format!("[remedy_in]\n{table}\n[inputs]\n")));
    let text = with("cudo = \"Pad it.\"");
    assert_eq!(text, "own.toml:13: no language is named `cudo`: did you mean `cuda`?");
    let text = with("ptx = \"{shore}\"");
    assert_eq!(text, "own.toml:13: `shore` is not a name of this rule: did you mean `share`?");
}

/// The advice of the rule `id` for a kernel in `language` with configurations that have `values`.
fn remedy(id: &str, values: &[(&str, f64)], language: Option<Language>) -> String {
    let (rules, catalogue, device) = (rules(), known(), device());
    let terms = AdviceContext { rules: &rules, catalogue: &catalogue, device: Some(&device) };
    let rows = vec![row(values, Class::Exact)];
    let series = gpuprof_model::run::SeriesResult { language, ..series(rows) };
    let pieces = of_series(&series, &terms);
    let piece = pieces.iter().find(|piece| piece.rule == id).expect("the rule speaks");
    piece.remedy.clone().expect("it has a remedy")
}

#[test]
fn a_remedy_names_functions_of_the_kernels_language() {
    let op = |op: &str| format!("ptx__thread_inst_executed_op_{op}_pred_on.sum");
    let [add, mul, fused] = ["fadd", "fmul", "ffma"].map(op);
    let counts = [(add.as_str(), 40.0), (mul.as_str(), 40.0), (fused.as_str(), 20.0)];
    let values = [&counts[..], &[("fusable_fp32", 1.0)]].concat();
    let fma = |language| remedy("fma-fp32", &values, language);
    let all = "Fuse them; the result is then rounded once and not twice.";
    assert_eq!(fma(Some(Language::MachineCode)), all);
    for (language, names) in [
        (Language::Rust, "mul_add"),
        (Language::Cuda, "--fmad"),
        (Language::CudaOxide, "CUDA_OXIDE_NO_FMA"),
        (Language::Ptx, "fma.rn"),
    ] {
        let told = fma(Some(language));
        assert!(told.starts_with(all) && told.contains(names), "{told}");
        let others = ["mul_add", "--fmad", "CUDA_OXIDE_NO_FMA", "fma.rn"];
        let strays = others.iter().filter(|other| **other != names && told.contains(*other));
        assert_eq!(strays.count(), 0, "{told}");
    }
    let told = fma(None);
    assert!(told.contains("In Rust, ") && told.contains("In CUDA C++, "), "{told}");
    // Only some of this family have words for languages.
    let registers = [("theoretical_occupancy", 50.0), ("occupancy_limited_by_registers", 1.0)];
    let told = remedy("occupancy-registers", &registers, Some(Language::Cuda));
    assert!(told.contains("__launch_bounds__(THREADS, BLOCKS)"), "{told}");
    let shared = [("theoretical_occupancy", 50.0), ("occupancy_limited_by_shared_memory", 1.0)];
    let told = remedy("occupancy-shared_memory", &shared, Some(Language::Cuda));
    assert!(told.ends_with("smaller blocks that share less."), "{told}");
}

#[test]
fn a_workspace_adds_rules_and_replaces_ours() {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    assert_eq!(load(root, None, &known()).unwrap().len(), rules().len());
    fs::create_dir_all(root.join(FOLDER)).unwrap();
    let write = |name: &str, text: &str| fs::write(root.join(FOLDER).join(name), text).unwrap();
    let own = "id = \"small-grid\"\nname = \"n\"\nwhen = \"blocks < 4\"\nmessage = \"{blocks}\"\n\
               certainty = \"possible\"\n[inputs]\nblocks = \"launch__grid_size\"\n";
    write("own.toml", own);
    let all = load(root, None, &known()).unwrap();
    assert_eq!(all.len(), rules().len());
    let small = all.iter().find(|rule| rule.id == "small-grid").unwrap();
    assert_eq!(small.written_in, format!("{FOLDER}/own.toml:1"));
    write("twice.toml", own);
    let failure = load(root, None, &known()).unwrap_err();
    assert!(failure.message.contains("twice.toml: a rule `small-grid` is in"), "{failure}");
    let failure = load(root, Some(&root.join("none")), &known()).unwrap_err();
    assert!(failure.message.contains("cannot read") && failure.message.contains("--rules"));
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => Just(0.0),
        6 => 0.0..200.0_f64,
        3 => 0.0..1e12_f64,
        1 => -1e3..0.0_f64,
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_values_make_a_rule_panic_or_print_nan(
        numbers in prop::collection::vec(any_value(), 200),
    ) {
        let rules = rules();
        let names: BTreeSet<&str> =
            rules.iter().flat_map(Rule::metrics).flatten().map(String::as_str).collect();
        let values: Vec<(&str, f64)> =
            names.into_iter().zip(numbers.iter().copied().cycle()).collect();
        for piece in advise(&values) {
            prop_assert!(!piece.message.contains("NaN") && !piece.message.contains("inf "));
            match piece.gain {
                Some(Gain::Time { percent } | Gain::Use { percent }) => {
                    prop_assert!((0.0..=100.0).contains(&percent), "{piece:?}");
                }
                Some(Gain::Measured { factor, .. }) => prop_assert!(factor.is_finite()),
                None => {}
            }
        }
    }
}

/// The names of a rule with what is read of them, for messages of tests.
fn by_name<'v>(values: &[(&'v str, f64)]) -> BTreeMap<&'v str, f64> {
    values.iter().copied().collect()
}
