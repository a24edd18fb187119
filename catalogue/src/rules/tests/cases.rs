//! Each rule at crafted counters: it speaks, and does not at the edge of its condition.

use super::*;

/// A rule, counters for which it gives advice, and a value of one of them for which it no longer
/// does.
type Case = (String, Vec<(String, f64)>, (String, f64));

fn case(rule: &str, values: &[(&str, f64)], edge: (&str, f64)) -> Case {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    (rule.to_owned(), values, (edge.0.to_owned(), edge.1))
}

const SM: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
const L1: &str = "l1tex__throughput.avg.pct_of_peak_sustained_active";
const L2: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
const DRAM: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";

fn of_units() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, key) in ["sm", "l1", "l2", "dram"].into_iter().enumerate() {
        let names = [SM, L1, L2, DRAM];
        let values: Vec<(&str, f64)> = names
            .iter()
            .enumerate()
            .map(|(i, n)| (*n, if i == at { 80.0 } else { 10.0 }))
            .collect();
        cases.push(case(&format!("bottleneck-{key}"), &values, (names[at], 79.9)));
    }
    let pipes = [
        ("alu", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"),
        ("fma", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"),
        ("fp64", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"),
        ("lsu", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"),
        ("xu", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"),
        ("tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
        ("cbu", "sm__inst_executed_pipe_cbu.avg.pct_of_peak_sustained_active"),
    ];
    for (key, metric) in pipes {
        cases.push(case(&format!("pipe-{key}"), &[(metric, 60.0)], (metric, 59.9)));
    }
    cases.push(case("latency-bound", &[(SM, 59.0), (MEMORY, 20.0), ("waves", 1.0)], (SM, 60.0)));
    cases
}

fn of_launches() -> Vec<Case> {
    let mut cases = vec![
        case(
            "small-grid",
            &[("launch__grid_size", 100.0), ("duration", 5000.0)],
            ("launch__grid_size", 132.0),
        ),
        case("tail-effect", &[("waves", 1.2), ("launch__grid_size", 1000.0)], ("waves", 2.0)),
        case("block-size", &[("launch__block_size", 48.0)], ("launch__block_size", 64.0)),
        case(
            "occupancy-achieved",
            &[
                ("theoretical_occupancy", 80.0),
                ("sm__warps_active.avg.pct_of_peak_sustained_active", 60.0),
            ],
            ("sm__warps_active.avg.pct_of_peak_sustained_active", 70.0),
        ),
        case(
            "issue-slots",
            &[
                (ISSUE, 59.0),
                ("smsp__warps_active.avg.per_cycle_active", 8.0),
                ("smsp__warps_eligible.avg.per_cycle_active", 1.0),
            ],
            (ISSUE, 60.0),
        ),
    ];
    for key in ["registers", "shared_memory", "blocks", "warps", "clusters"] {
        let fact = format!("occupancy_limited_by_{key}");
        let values = [("theoretical_occupancy", 79.0), (fact.as_str(), 1.0)];
        cases.push(case(&format!("occupancy-{key}"), &values, ("theoretical_occupancy", 80.0)));
    }
    let states = include_str!("../../../rules/stalls.toml").lines();
    for key in states.filter_map(|line| line.strip_prefix("[each.")?.strip_suffix(']')) {
        let stall = format!("smsp__average_warps_issue_stalled_{key}_per_issue_active.ratio");
        let latency = "smsp__average_warp_latency_per_inst_issued.ratio";
        let values = [(stall.as_str(), 3.1), (latency, 10.0), (ISSUE, 50.0)];
        cases.push(case(&format!("stall-{key}"), &values, (&stall, 3.0)));
    }
    let units = [
        ("sm", "sm", "sm"),
        ("smsp", "smsp", "smsp"),
        ("l1", "l1tex", "l1tex"),
        ("l2", "lts", "lts"),
        ("dram", "dram", "dram"),
    ];
    for (key, unit, clock) in units {
        let of = |unit: &str, rest: &str| format!("{unit}__cycles_{rest}");
        let (mean, most) = (of(unit, "active.avg"), of(unit, "active.max"));
        let elapsed = of(clock, "elapsed.avg");
        let values = [(mean.as_str(), 94.0), (most.as_str(), 100.0), (elapsed.as_str(), 100.0)];
        cases.push(case(&format!("imbalance-{key}"), &values, (&mean, 95.1)));
    }
    cases
}

fn of_memory() -> Vec<Case> {
    let mut cases = Vec::new();
    for key in ["ld", "st"] {
        let sectors = format!("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{key}.sum");
        let requests = format!("smsp__sass_inst_executed_op_global_{key}.sum");
        let bytes = format!("smsp__sass_data_bytes_mem_global_op_{key}.sum");
        let values =
            [(sectors.as_str(), 500.0), (requests.as_str(), 100.0), (bytes.as_str(), 12_800.0)];
        cases.push(case(&format!("uncoalesced-{key}"), &values, (&bytes, 12_832.0)));
        let waves = format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{key}.sum");
        let requests = format!("smsp__sass_inst_executed_op_shared_{key}.sum");
        let bytes = format!("smsp__sass_data_bytes_mem_shared_op_{key}.sum");
        let conflicts = format!("most_bank_conflicts_{key}");
        let values =
            [(waves.as_str(), 150.0), (requests.as_str(), 100.0), (conflicts.as_str(), 15.0)];
        cases.push(case(&format!("bank-conflicts-{key}"), &values, (&conflicts, 14.9)));
        let values = [
            (waves.as_str(), 100.0),
            (requests.as_str(), 100.0),
            (bytes.as_str(), 6_300.0),
            (conflicts.as_str(), 0.0),
        ];
        let global = [
            ("smsp__sass_inst_executed_op_global_ld.sum", 100.0),
            ("smsp__sass_inst_executed_op_global_st.sum", 0.0),
        ];
        let values = [&values[..], &global].concat();
        cases.push(case(&format!("narrow-shared-{key}"), &values, (&bytes, 6_400.0)));
    }
    let hits = ["l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"];
    let levels: [(&str, [f64; 5]); 3] = [
        ("l1", [90.0, 0.0, 90.0, 10.0, 10.0]),
        ("l2", [0.0, 90.0, 10.0, 90.0, 10.0]),
        ("dram", [0.0, 0.0, 10.0, 10.0, 90.0]),
    ];
    for (key, [l1_hits, l2_hits, l1, l2, dram]) in levels {
        let more = [(hits[0], l1_hits), (hits[1], l2_hits), (L1, l1), (L2, l2), (DRAM, dram)];
        let values = [&SECTORS[..], &more].concat();
        let edge = ("smsp__sass_data_bytes_mem_global_op_ld.sum", 25_600.0);
        cases.push(case(&format!("cache-{key}"), &values, edge));
    }
    let local =
        ["smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum"];
    cases.push(case("local-memory", &[(local[0], 1.0), (local[1], 0.0)], (local[0], 0.0)));
    let lossy =
        ["lts__gcomp_input_sectors.sum", "lts__average_gcomp_input_sector_success_rate.pct"];
    cases.push(case("l2-compression", &[(lossy[0], 5.0), (lossy[1], 19.0)], (lossy[1], 20.0)));
    // Every kernel of an H200's run, in memory that is not compressible.
    cases.push(case("l2-compression", &[(lossy[0], 5.0), (lossy[1], 0.1)], (lossy[1], 0.0)));
    cases
}

fn of_instructions() -> Vec<Case> {
    let mut cases = vec![
        case("divergence", &[("warp_efficiency", 74.0)], ("warp_efficiency", 75.0)),
        case(
            "divergent-branches",
            &[
                ("ptx__branches.sum", 10.0),
                ("ptx_branch_divergence", 20.0),
                ("ptx_warp_efficiency", 80.0),
            ],
            ("ptx_branch_divergence", 19.0),
        ),
    ];
    for (key, x) in [("fp32", "f"), ("fp64", "d")] {
        let of = |op: &str| format!("smsp__sass_thread_inst_executed_op_{x}{op}_pred_on.sum");
        let [add, mul, fma] = ["add", "mul", "fma"].map(of);
        let fusable = format!("fusable_{key}");
        let values = [(add.as_str(), 10.0), (mul.as_str(), 20.0), (fma.as_str(), 70.0)];
        let values = [&values[..], &[(fusable.as_str(), 1.0)]].concat();
        cases.push(case(&format!("fma-{key}"), &values, (&add, 9.0)));
    }
    let counted = |x: &str, counts: [f64; 3]| {
        let of = |(op, count): (&str, f64)| {
            (format!("smsp__sass_thread_inst_executed_op_{x}{op}_pred_on.sum"), count)
        };
        ["add", "mul", "fma"].into_iter().zip(counts).map(of).collect::<Vec<_>>()
    };
    let both = [counted("d", [0.0, 0.0, 10.0]), counted("f", [0.0, 0.0, 90.0])].concat();
    let both: Vec<(&str, f64)> = both.iter().map(|(name, count)| (&**name, *count)).collect();
    cases.push(case("fp64-slow", &both, (both[2].0, 9.0)));
    let pipe = "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active";
    let busy = [&both[..], &[(pipe, 60.0)]].concat();
    cases.push(case("fp64-busy", &busy, (pipe, 59.0)));
    cases
}

#[test]
fn each_rule_fires_and_stops_at_its_threshold() {
    let cases = [of_units(), of_launches(), of_memory(), of_instructions()].concat();
    let tried: BTreeSet<&str> = cases.iter().map(|(rule, ..)| &**rule).collect();
    let rules = rules();
    let untried: Vec<&str> =
        rules.iter().map(|rule| &*rule.id).filter(|id| !tried.contains(id)).collect();
    assert!(untried.is_empty(), "rules without a case: {untried:?}");
    for (rule, values, (moved, edge)) in &cases {
        let values: Vec<(&str, f64)> = values.iter().map(|(name, v)| (&**name, *v)).collect();
        let all = advise(&values);
        let silenced =
            rules.iter().any(|r| r.instead_of.contains(rule) && piece(&all, &r.id).is_some());
        assert!(piece(&all, rule).is_some() || silenced, "{rule} is silent at {values:?}: {all:?}");
        let mut values = by_name(&values);
        assert!(values.insert(moved, *edge).is_some(), "{rule} does not read {moved}");
        let values: Vec<(&str, f64)> = values.into_iter().collect();
        assert_eq!(piece(&advise(&values), rule), None, "{rule} speaks at {moved} = {edge}");
    }
}
