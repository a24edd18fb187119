//! Kernels on which rules must stay silent, though their counters look like a fault.

use super::*;

#[test]
fn local_memory_of_printf_is_not_reported_as_spills() {
    let local = |loads: f64| {
        let values = [
            ("smsp__sass_inst_executed_op_local_ld.sum", loads),
            ("smsp__sass_inst_executed_op_local_st.sum", 6.0),
        ];
        piece(&advise(&values), "local-memory").is_some()
    };
    assert_eq!((local(0.0), local(1.0)), (false, true));
}

/// All lanes read one `float4`: a GPU's counters cannot tell its wavefronts from conflicts.
#[test]
fn a_broadcast_gets_no_advice_on_padding() {
    let conflicts = |bytes: f64| {
        let values = [
            ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 400.0),
            ("smsp__sass_inst_executed_op_shared_ld.sum", 100.0),
            ("smsp__sass_data_bytes_mem_shared_op_ld.sum", bytes),
            ("most_bank_conflicts_ld", 300.0),
        ];
        piece(&advise(&values), "bank-conflicts-ld").is_some()
    };
    assert_eq!((conflicts(1_600.0), conflicts(12_800.0)), (false, true));
}

/// `(x + x) * SCALE`: as many additions as multiplications, and none takes a product.
#[test]
fn fusing_is_advised_only_if_an_addition_takes_a_product() {
    let fusable = |count: f64| {
        let values = [
            ("ptx__thread_inst_executed_op_fadd_pred_on.sum", 100.0),
            ("ptx__thread_inst_executed_op_fmul_pred_on.sum", 100.0),
            ("ptx__thread_inst_executed_op_ffma_pred_on.sum", 0.0),
            ("fusable_fp32", count),
        ];
        piece(&advise(&values), "fma-fp32").is_some()
    };
    assert_eq!((fusable(0.0), fusable(1.0)), (false, true));
}

/// A large product of matrices in 32 bits that keeps every unit busy: of each input of a rule the
/// value that such a kernel has.
fn faultless(input: &str) -> f64 {
    let is = |parts: &[&str]| parts.iter().any(|part| input.contains(part));
    match input {
        "launch__block_size" => 256.0,
        "launch__grid_size" => 132_000.0,
        "waves" => 1000.0,
        "duration" => 5e6,
        "theoretical_occupancy" => 100.0,
        "occupancy_limited_by_warps" => 1.0,
        "launch__sm_count" => 132.0,
        _ if is(&["occupancy_limited_by_", "bank_conflicts", "fusable_"]) => 0.0,
        _ if is(&["local_", "gcomp", "ilc"]) => 0.0,
        _ if is(&["op_dadd", "op_dmul", "op_dfma", "op_fadd", "op_fmul", "pipe_fp64"]) => 0.0,
        _ if is(&["op_ffma"]) => 1e9,
        "ptx_branch_divergence" => 0.0,
        _ if is(&["issue_active", "warps_active"]) && is(&["pct"]) => 95.0,
        _ if is(&["warps_active", "warps_eligible"]) => 12.0,
        _ if is(&["stalled_"]) => 0.1,
        _ if is(&["warp_latency"]) => 12.0,
        _ if is(&["efficiency"]) => 100.0,
        _ if is(&["throughput"]) => 70.0,
        _ if is(&["pipe_"]) && is(&["pct"]) => 40.0,
        _ if is(&["hit_rate"]) => 90.0,
        _ if is(&["cycles_"]) => 1000.0,
        // Four sectors and 128 bytes for each request, one wavefront for each.
        _ if is(&["sectors"]) => 4000.0,
        _ if is(&["data_bytes"]) => 128_000.0,
        _ if is(&["inst_executed_op_", "wavefronts", "requests", "branches"]) => 1000.0,
        _ => panic!("{input} has no value"),
    }
}

#[test]
fn every_rule_is_silent_on_a_kernel_without_a_fault() {
    let (rules, catalogue, device) = (rules(), known(), device());
    let terms = AdviceContext { rules: &rules, catalogue: &catalogue, device: Some(&device) };
    let inputs: BTreeSet<&str> =
        rules.iter().flat_map(Rule::metrics).flatten().map(String::as_str).collect();
    let counted = inputs.into_iter().filter(|name| !name.starts_with("device__"));
    let values: Vec<(&str, f64)> = counted.map(|name| (name, faultless(name))).collect();
    let series = series(vec![row(&values, Class::Exact)]);
    for rule in &rules {
        let missing = gpuprof_analysis::advice::missing(rule, &series, &terms);
        assert_eq!(missing, [""; 0], "{} reads nothing", rule.id);
    }
    let said: Vec<String> = of_series(&series, &terms).into_iter().map(|it| it.rule).collect();
    assert_eq!(said, [""; 0]);
}
