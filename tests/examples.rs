//! The examples: each runs on the emulated driver, its results verified, its thresholds met.

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;
use serde_json::Value;

fn run(package: &str) -> Outcome {
    only(package, &[])
}

/// The kernels of `package` that `filters` choose.
fn only(package: &str, filters: &[&str]) -> Outcome {
    let arguments = [&["run", "--package", package, "--message-format", "json"], filters].concat();
    Workspace::repository().gpuprof(&arguments).exits_with(0)
}

/// Kernel, configuration, whether it was verified, and the values of `metrics`, a line each.
fn rows(outcome: &Outcome, metrics: &[&str]) -> String {
    let row = |event: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kernel, configuration) =
            (text(&event["series"]["kernel"]), text(&event["configuration"]));
        let verified = if event["verified"] == true { "verified" } else { "not verified" };
        let values: Vec<String> = metrics
            .iter()
            .map(|name| format!("{name} {}", event["metrics"][name]["value"]))
            .collect();
        format!("{kernel} {configuration} {verified}: {}\n", values.join(", "))
    };
    outcome.events_of("configuration-finished").iter().map(row).collect()
}

/// The thresholds of the run that were not met, with their verdicts.
fn unmet(outcome: &Outcome) -> Vec<String> {
    outcome
        .events_of("threshold-judged")
        .iter()
        .map(|event| &event["judgement"])
        .filter(|judgement| judgement["verdict"] != "pass")
        .map(|judgement| format!("{}: {}", judgement["threshold"], judgement["verdict"]))
        .collect()
}

#[test]
fn the_bank_conflicts_of_the_transpose_vanish_with_padding() {
    let outcome = run("transpose");
    assert_snapshot!(rows(&outcome, &["store_sectors_per_request", "bank_conflicts"]), @"
    transpose_naive block=32x4,n=1024 verified: store_sectors_per_request 32.0, bank_conflicts 0.0
    transpose_naive block=32x8,n=1024 verified: store_sectors_per_request 32.0, bank_conflicts 0.0
    transpose_naive block=32x16,n=1024 verified: store_sectors_per_request 32.0, bank_conflicts 0.0
    transpose_naive block=32x32,n=1024 verified: store_sectors_per_request 32.0, bank_conflicts 0.0
    transpose_shared block=32x4,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 1015808.0
    transpose_shared block=32x8,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 1015808.0
    transpose_shared block=32x16,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 1015808.0
    transpose_shared block=32x32,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 1015808.0
    transpose_padded block=32x4,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 0.0
    transpose_padded block=32x8,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 0.0
    transpose_padded block=32x16,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 0.0
    transpose_padded block=32x32,n=1024 verified: store_sectors_per_request 4.0, bank_conflicts 0.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn larger_blocks_of_the_reduction_need_fewer_atomics() {
    let outcome = run("reduce");
    let metrics = [
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        "ptx__shuffles.sum",
        "ptx__barriers.sum",
    ];
    assert_snapshot!(rows(&outcome, &metrics), @"
    reduce block=64,n=1048576 verified: l1tex__t_requests_pipe_lsu_mem_global_op_red.sum 2048.0, ptx__shuffles.sum 30720.0, ptx__barriers.sum 4096.0
    reduce block=128,n=1048576 verified: l1tex__t_requests_pipe_lsu_mem_global_op_red.sum 1024.0, ptx__shuffles.sum 25600.0, ptx__barriers.sum 4096.0
    reduce block=256,n=1048576 verified: l1tex__t_requests_pipe_lsu_mem_global_op_red.sum 512.0, ptx__shuffles.sum 23040.0, ptx__barriers.sum 4096.0
    reduce block=512,n=1048576 verified: l1tex__t_requests_pipe_lsu_mem_global_op_red.sum 256.0, ptx__shuffles.sum 21760.0, ptx__barriers.sum 4096.0
    reduce block=1024,n=1048576 verified: l1tex__t_requests_pipe_lsu_mem_global_op_red.sum 128.0, ptx__shuffles.sum 21120.0, ptx__barriers.sum 4096.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn larger_tiles_of_the_matrix_product_load_less() {
    let outcome = run("matmul");
    assert_snapshot!(rows(&outcome, &["global_sectors", "bank_conflicts", "ptx_fp32_flops"]), @"
    matmul TILE=8,n=256 verified: global_sectors 532480.0, bank_conflicts 0.0, ptx_fp32_flops 33554432.0
    matmul TILE=16,n=256 verified: global_sectors 270336.0, bank_conflicts 0.0, ptx_fp32_flops 33554432.0
    matmul TILE=32,n=256 verified: global_sectors 139264.0, bank_conflicts 0.0, ptx_fp32_flops 33554432.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn larger_blocks_of_the_histogram_touch_fewer_bins() {
    let outcome = run("histogram");
    assert_snapshot!(rows(&outcome, &["global_sectors", "ptx__inst_executed_op_shared_atom.sum"]), @"
    histogram block=64,n=1048576 verified: global_sectors 65536.0, ptx__inst_executed_op_shared_atom.sum 32768.0
    histogram block=128,n=1048576 verified: global_sectors 49152.0, ptx__inst_executed_op_shared_atom.sum 32768.0
    histogram block=256,n=1048576 verified: global_sectors 40960.0, ptx__inst_executed_op_shared_atom.sum 32768.0
    histogram block=512,n=1048576 verified: global_sectors 36864.0, ptx__inst_executed_op_shared_atom.sum 32768.0
    histogram block=1024,n=1048576 verified: global_sectors 34816.0, ptx__inst_executed_op_shared_atom.sum 32768.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn a_cuda_cpp_kernel_is_profiled_by_its_declaration() {
    let outcome = only("cuda-cpp", &["jacobi"]);
    let metrics = ["load_sectors_per_request", "store_sectors_per_request", "ptx__branches.sum"];
    assert_snapshot!(rows(&outcome, &metrics), @"
    jacobi block=8x32,n=1024 verified: load_sectors_per_request 5.955520495160654, store_sectors_per_request 4.0, ptx__branches.sum 65536.0
    jacobi block=16x16,n=1024 verified: load_sectors_per_request 4.948842837694751, store_sectors_per_request 4.0, ptx__branches.sum 65536.0
    jacobi block=32x8,n=1024 verified: load_sectors_per_request 4.430561824802143, store_sectors_per_request 4.0, ptx__branches.sum 65536.0
    jacobi block=64x4,n=1024 verified: load_sectors_per_request 4.430561824802143, store_sectors_per_request 4.0, ptx__branches.sum 65536.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn larger_tiles_of_the_product_on_tensor_cores_load_half_as_much() {
    let outcome = only("cuda-cpp", &["matmul"]);
    let metrics = ["ptx__matrix_products.sum", "ptx__async_copy_sectors.sum"];
    assert_snapshot!(rows(&outcome, &metrics), @"
    matmul block=256,n=512,TILE=64,T=f16 verified: ptx__matrix_products.sum 65536.0, ptx__async_copy_sectors.sum 262144.0
    matmul block=256,n=512,TILE=64,T=bf16 verified: ptx__matrix_products.sum 65536.0, ptx__async_copy_sectors.sum 262144.0
    matmul block=256,n=512,TILE=128,T=f16 verified: ptx__matrix_products.sum 65536.0, ptx__async_copy_sectors.sum 131072.0
    matmul block=256,n=512,TILE=128,T=bf16 verified: ptx__matrix_products.sum 65536.0, ptx__async_copy_sectors.sum 131072.0
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn saxpy_reads_and_writes_whole_sectors() {
    let outcome = run("saxpy");
    assert_snapshot!(rows(&outcome, &["global_load_efficiency", "ptx_fp32_flops"]), @"
    saxpy block=64,n=1048576 verified: global_load_efficiency 100.0, ptx_fp32_flops 2097152.0
    saxpy block=128,n=1048576 verified: global_load_efficiency 100.0, ptx_fp32_flops 2097152.0
    saxpy block=256,n=1048576 verified: global_load_efficiency 100.0, ptx_fp32_flops 2097152.0
    saxpy block=512,n=1048576 verified: global_load_efficiency 100.0, ptx_fp32_flops 2097152.0
    saxpy block=1024,n=1048576 verified: global_load_efficiency 100.0, ptx_fp32_flops 2097152.0
    ");
    assert_eq!(unmet(&outcome), ["\"best throughput >= 20% of peak\": \"unavailable\""]);
}

#[test]
fn rows_are_normalised_with_16_bytes_an_access() {
    let metrics = ["load_sectors_per_request", "store_sectors_per_request", "bank_conflicts"];
    for (package, expected) in [
        (
            "softmax",
            "softmax block=512,VECTORS=2,rows=256 verified: load_sectors_per_request 16.0, \
             store_sectors_per_request 16.0, bank_conflicts 0.0\n\
             softmax block=1024,VECTORS=1,rows=256 verified: load_sectors_per_request 16.0, \
             store_sectors_per_request 16.0, bank_conflicts 0.0\n",
        ),
        (
            "layer-norm",
            "layer_norm block=256,VECTORS=2,rows=256 verified: load_sectors_per_request 16.0, \
             store_sectors_per_request 16.0, bank_conflicts 0.0\n\
             layer_norm block=512,VECTORS=1,rows=256 verified: load_sectors_per_request 16.0, \
             store_sectors_per_request 16.0, bank_conflicts 0.0\n",
        ),
    ] {
        let outcome = run(package);
        assert_eq!(rows(&outcome, &metrics), expected);
        assert_eq!(unmet(&outcome), [""; 0]);
    }
}

#[test]
fn a_scan_that_waits_for_other_blocks_has_no_counts_of_a_gpu() {
    let outcome = run("scan");
    let metrics = ["global_sectors", "load_sectors_per_request", "bank_conflicts"];
    assert_snapshot!(rows(&outcome, &metrics), @"
    scan block=256,VECTORS=1,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    scan block=256,VECTORS=4,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    scan block=256,VECTORS=8,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    scan block=512,VECTORS=1,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    scan block=512,VECTORS=4,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    scan block=512,VECTORS=8,n=524288 verified: global_sectors null, load_sectors_per_request null, bank_conflicts 0.0
    ");
    let unavailable = ["load", "store"]
        .map(|op| format!("\"every {op}_sectors_per_request <= 16\": \"unavailable\""));
    assert_eq!(unmet(&outcome), unavailable);
}

#[test]
fn larger_tiles_of_the_radix_sort_store_longer_runs() {
    let outcome = run("radix-sort");
    assert_snapshot!(rows(&outcome, &["global_sectors", "store_sectors_per_request"]), @"
    radix_pass block=256,ITEMS=8,n=98304,shift=8 verified: global_sectors 48091.0, store_sectors_per_request 7.409968684759916
    radix_pass block=256,ITEMS=12,n=98304,shift=8 verified: global_sectors 40999.0, store_sectors_per_request 6.677572706935123
    radix_pass block=512,ITEMS=8,n=98304,shift=8 verified: global_sectors 37517.0, store_sectors_per_request 6.28915313225058
    radix_pass block=512,ITEMS=12,n=98304,shift=8 verified: global_sectors 33963.0, store_sectors_per_request 5.849096385542168
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn fewer_lanes_a_row_of_the_sparse_product_need_fewer_instructions() {
    let outcome = run("csr");
    assert_snapshot!(rows(&outcome, &["ptx_instructions", "load_sectors_per_request"]), @"
    csr_product LANES=4,block=128,rows=4096 verified: ptx_instructions 179712.0, load_sectors_per_request 4.23522258254717
    csr_product LANES=4,block=256,rows=4096 verified: ptx_instructions 179712.0, load_sectors_per_request 4.23522258254717
    csr_product LANES=8,block=128,rows=4096 verified: ptx_instructions 222208.0, load_sectors_per_request 2.9091796875
    csr_product LANES=8,block=256,rows=4096 verified: ptx_instructions 222208.0, load_sectors_per_request 2.9091796875
    csr_product LANES=32,block=128,rows=4096 verified: ptx_instructions 383936.0, load_sectors_per_request 2.3292915029469548
    csr_product LANES=32,block=256,rows=4096 verified: ptx_instructions 383936.0, load_sectors_per_request 2.3292915029469548
    ");
    assert_eq!(unmet(&outcome), [""; 0]);
}

#[test]
fn all_examples_are_listed() {
    let outcome = Workspace::repository().gpuprof(&["list", "--workspace"]);
    assert_eq!(outcome.transcript().trim_end(), include_str!("golden/examples.txt").trim_end());
}
