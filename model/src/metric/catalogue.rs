//! The table of metrics, in the order `cargo gpuprof metrics` lists them.

use super::{
    Class::{Exact, Noisy},
    Direction::{Higher, Lower},
    Metric,
    Origin::{self, Declared, Derived, Emulator, Hardware, Launch, Time},
};
use crate::metric::{Class, Direction};
use crate::quantity::Unit::{
    self, Bytes, BytesPerSecond, Count, FlopPerSecond, Hertz, Nanoseconds, Percent, Ratio,
};

const fn metric(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    class: Class,
    origin: Origin,
    description: &'static str,
) -> Metric {
    Metric { name, unit, direction, class, origin, description }
}

const fn counter(name: &'static str, description: &'static str) -> Metric {
    metric(name, Count, Lower, Exact, Emulator, description)
}

const fn derived(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    class: Class,
    formula: &'static str,
    description: &'static str,
) -> Metric {
    metric(name, unit, direction, class, Derived(formula), description)
}

/// Every metric this version knows.
pub static CATALOGUE: &[Metric] = &[
    metric(
        "duration",
        Nanoseconds,
        Lower,
        Noisy,
        Time,
        "time between CUDA events around the launch",
    ),
    metric(
        "sm_clock",
        Hertz,
        Higher,
        Noisy,
        Time,
        "SM clock measured on the device around each sample",
    ),
    metric(
        "copy_bandwidth",
        BytesPerSecond,
        Higher,
        Noisy,
        Time,
        "device-to-device copy in the same process, bytes read plus bytes written",
    ),
    derived(
        "throughput",
        BytesPerSecond,
        Higher,
        Noisy,
        "bytes / duration * 1e9",
        "declared bytes over duration",
    ),
    derived(
        "throughput_of_copy",
        Percent,
        Higher,
        Noisy,
        "100 * throughput / copy_bandwidth",
        "throughput over the copy bandwidth measured in the same process",
    ),
    derived(
        "flop_rate",
        FlopPerSecond,
        Higher,
        Noisy,
        "flops / duration * 1e9",
        "declared operations over duration",
    ),
    metric(
        "bytes",
        Bytes,
        Lower,
        Exact,
        Declared,
        "bytes the annotation says the kernel must move",
    ),
    metric(
        "flops",
        Count,
        Lower,
        Exact,
        Declared,
        "floating-point operations the annotation declares",
    ),
    metric("registers", Count, Lower, Exact, Launch, "registers a thread"),
    metric("static_shared", Bytes, Lower, Exact, Launch, "static shared memory a block"),
    metric("dynamic_shared", Bytes, Lower, Exact, Launch, "dynamic shared memory a block"),
    metric("local_memory", Bytes, Lower, Exact, Launch, "local memory a thread"),
    metric(
        "theoretical_occupancy",
        Percent,
        Higher,
        Exact,
        Launch,
        "resident warps over the most an SM holds",
    ),
    metric(
        "waves",
        Ratio,
        Lower,
        Exact,
        Launch,
        "blocks of the grid over blocks resident on the device",
    ),
    derived(
        "global_sectors",
        Count,
        Lower,
        Exact,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum + l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum + \
         l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum + l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "32-byte sectors of all global accesses",
    ),
    derived(
        "load_sectors_per_request",
        Ratio,
        Lower,
        Exact,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "sectors a warp's global load touches; 4 for coalesced 32-bit loads",
    ),
    derived(
        "store_sectors_per_request",
        Ratio,
        Lower,
        Exact,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        "sectors a warp's global store touches; 4 for coalesced 32-bit stores",
    ),
    derived(
        "global_load_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * smsp__sass_data_bytes_mem_global_op_ld.sum / (32 * l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum)",
        "requested bytes over bytes of the sectors loaded",
    ),
    derived(
        "global_store_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * smsp__sass_data_bytes_mem_global_op_st.sum / (32 * l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum)",
        "requested bytes over bytes of the sectors stored",
    ),
    derived(
        "shared_wavefronts",
        Count,
        Lower,
        Exact,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "wavefronts of shared loads and stores",
    ),
    derived(
        "bank_conflicts",
        Count,
        Lower,
        Exact,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum + \
         l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "extra wavefronts of shared loads and stores",
    ),
    derived(
        "ptx_instructions",
        Count,
        Lower,
        Exact,
        "ptx__inst_executed.sum",
        "PTX instructions executed by warps",
    ),
    derived(
        "ptx_warp_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * ptx__thread_inst_executed.sum / (32 * ptx__inst_executed.sum)",
        "threads active in an executed PTX instruction, over 32",
    ),
    derived(
        "ptx_branch_divergence",
        Percent,
        Lower,
        Exact,
        "100 * ptx__branches_divergent.sum / ptx__branches.sum",
        "conditional PTX branches whose warp split",
    ),
    derived(
        "ptx_fp32_flops",
        Count,
        Lower,
        Exact,
        "ptx__thread_inst_executed_op_fadd_pred_on.sum + ptx__thread_inst_executed_op_fmul_pred_on.sum + \
         2 * ptx__thread_inst_executed_op_ffma_pred_on.sum",
        "32-bit floating-point operations, a fused multiply-add counting twice",
    ),
    derived(
        "ptx_fp64_flops",
        Count,
        Lower,
        Exact,
        "ptx__thread_inst_executed_op_dadd_pred_on.sum + ptx__thread_inst_executed_op_dmul_pred_on.sum + \
         2 * ptx__thread_inst_executed_op_dfma_pred_on.sum",
        "64-bit floating-point operations, a fused multiply-add counting twice",
    ),
    counter("smsp__warps_launched.sum", "warps launched"),
    counter("sm__ctas_launched.sum", "blocks launched"),
    counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "warp requests of global loads"),
    counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "warp requests of global stores"),
    counter(
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        "warp requests of global reductions",
    ),
    counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "warp requests of global atomics"),
    counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors requested by global loads"),
    counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors requested by global stores"),
    counter(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        "sectors requested by global reductions",
    ),
    counter(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "sectors requested by global atomics",
    ),
    metric(
        "smsp__sass_data_bytes_mem_global_op_ld.sum",
        Bytes,
        Lower,
        Exact,
        Emulator,
        "bytes requested by the threads of global loads",
    ),
    metric(
        "smsp__sass_data_bytes_mem_global_op_st.sum",
        Bytes,
        Lower,
        Exact,
        Emulator,
        "bytes requested by the threads of global stores",
    ),
    counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefronts of shared loads"),
    counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "wavefronts of shared stores"),
    counter(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "bank conflicts of shared loads",
    ),
    counter(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "bank conflicts of shared stores",
    ),
    counter("smsp__sass_inst_executed_op_shared_ld.sum", "warp requests of shared loads"),
    counter("smsp__sass_inst_executed_op_shared_st.sum", "warp requests of shared stores"),
    counter("ptx__inst_executed_op_shared_atom.sum", "warp requests of shared atomics"),
    counter("ptx__inst_executed.sum", "PTX instructions executed by warps"),
    counter("ptx__thread_inst_executed.sum", "PTX instructions executed by threads"),
    counter(
        "ptx__thread_inst_executed_pred_on.sum",
        "PTX instructions executed by threads whose guard held",
    ),
    counter("ptx__branches.sum", "conditional PTX branches executed by warps"),
    counter("ptx__branches_divergent.sum", "conditional PTX branches whose warp split"),
    counter("ptx__barriers.sum", "barriers executed by warps"),
    counter("ptx__shuffles.sum", "shuffles executed by warps"),
    counter("ptx__thread_inst_executed_op_fadd_pred_on.sum", "32-bit additions by threads"),
    counter("ptx__thread_inst_executed_op_fmul_pred_on.sum", "32-bit multiplications by threads"),
    counter(
        "ptx__thread_inst_executed_op_ffma_pred_on.sum",
        "32-bit fused multiply-adds by threads",
    ),
    counter("ptx__thread_inst_executed_op_dadd_pred_on.sum", "64-bit additions by threads"),
    counter("ptx__thread_inst_executed_op_dmul_pred_on.sum", "64-bit multiplications by threads"),
    counter(
        "ptx__thread_inst_executed_op_dfma_pred_on.sum",
        "64-bit fused multiply-adds by threads",
    ),
    counter("ptx__local_ld.sum", "warp requests of local loads"),
    counter("ptx__local_st.sum", "warp requests of local stores"),
    metric(
        "occupancy",
        Percent,
        Higher,
        Noisy,
        Hardware,
        "warps active over the most an SM holds, achieved",
    ),
    metric("dram_throughput", Percent, Higher, Noisy, Hardware, "DRAM throughput over its peak"),
    metric("sm_throughput", Percent, Higher, Noisy, Hardware, "SM throughput over its peak"),
    metric("l1_hit_rate", Percent, Higher, Noisy, Hardware, "sectors found in L1"),
    metric("l2_hit_rate", Percent, Higher, Noisy, Hardware, "sectors found in L2"),
    metric("ipc", Ratio, Higher, Noisy, Hardware, "instructions a cycle and SM"),
];
