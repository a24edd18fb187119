//! The table of metrics, in the order `cargo gpuprof metrics` lists them.
//!
//! Input: a name. Output: the metric with this name. A new metric is a new row.

use crate::metric::entry::{
    Class::{self, Exact, Noisy},
    Direction::{self, Higher, Lower, Neither},
    Metric,
    Needs::{
        self, Declared, Derived, Emulator, Energy, Hardware, Instructions, Launch, Time,
        UnifiedMemory,
    },
    Row,
};
use crate::quantity::Unit::{
    self, Bytes, BytesPerSecond, Count, FlopPerSecond, GpuUnit, Hertz, Joules, Nanoseconds,
    Percent, Ratio,
};

/// The metrics of the table.
pub(super) fn metrics() -> impl Iterator<Item = Metric> {
    ROWS.iter().map(Row::metric)
}

/// The metric called `name`.
pub(super) fn find(name: &str) -> Option<Metric> {
    ROWS.iter().find(|row| row.name == name).map(Row::metric)
}

/// Whether a row is called `name`.
pub(super) fn holds(name: &str) -> bool {
    ROWS.iter().any(|row| row.name == name)
}

const fn metric(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    class: Class,
    needs: Needs,
    description: &'static str,
) -> Row {
    Row { name, unit, direction, class, needs, description }
}

const fn counter(name: &'static str, description: &'static str) -> Row {
    metric(name, Count, Lower, Exact, Emulator, description)
}

const fn derived(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    class: Class,
    formula: &'static str,
    description: &'static str,
) -> Row {
    metric(name, unit, direction, class, Derived(formula), description)
}

const fn migration(name: &'static str, unit: Unit, description: &'static str) -> Row {
    metric(name, unit, Lower, Noisy, UnifiedMemory, description)
}

/// `function` of how near each unit is to its peak, in the order of [`Unit::GpuUnit`]'s places.
macro_rules! of_units {
    ($function:literal) => {
        concat!(
            $function,
            "(sm__throughput.avg.pct_of_peak_sustained_elapsed, \
             l1tex__throughput.avg.pct_of_peak_sustained_active, \
             lts__throughput.avg.pct_of_peak_sustained_elapsed, \
             gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed)"
        )
    };
}

/// Bank conflicts of an operation. The emulator counts them request by request, and a GPU by
/// instruction.
macro_rules! conflicts {
    ($op:literal) => {
        concat!(
            "either(ptx__shared_bank_conflicts_op_",
            $op,
            ".sum, sass__shared_bank_conflicts_op_",
            $op,
            ".sum)"
        )
    };
}

/// The most bank conflicts that an operation can have. On a GPU both values are upper bounds: L1's
/// counter holds arbitration too, and the ideal of the patched counters is that of accesses of 4
/// bytes by threads that all read something else.
macro_rules! most_conflicts {
    ($op:literal) => {
        concat!(
            "either(ptx__shared_bank_conflicts_op_",
            $op,
            ".sum, min(l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_",
            $op,
            ".sum, smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_",
            $op,
            ".sum - max(smsp__sass_inst_executed_op_shared_",
            $op,
            ".sum, smsp__sass_data_bytes_mem_shared_op_",
            $op,
            ".sum / 128)))"
        )
    };
}

/// Every metric of our own.
const ROWS: &[Row] = &[
    metric(
        "duration",
        Nanoseconds,
        Lower,
        Noisy,
        Time,
        "time of the launch: by CUPTI, or between CUDA events; estimated without a GPU",
    ),
    metric(
        "sm_clock",
        Hertz,
        Neither,
        Noisy,
        Time,
        "SM clock measured on the device around each sample",
    ),
    metric(
        "copy_bandwidth",
        BytesPerSecond,
        Neither,
        Noisy,
        Time,
        "device-to-device copy in the same process, bytes read plus bytes written",
    ),
    metric(
        "energy",
        Joules,
        Lower,
        Noisy,
        Energy,
        "energy of the whole GPU for a launch among many, by NVML's counter",
    ),
    migration("unified_bytes_to_device", Bytes, "managed memory that moves from host to device"),
    migration("unified_bytes_to_host", Bytes, "managed memory that moves from device to host"),
    migration("unified_bytes_between_devices", Bytes, "managed memory that moves between devices"),
    migration("unified_gpu_faults", Count, "groups of page faults by kernels"),
    migration("unified_cpu_faults", Count, "page faults of the host in managed memory"),
    derived(
        "sm_cycles",
        Count,
        Lower,
        Noisy,
        "duration * sm_clock / 1e9",
        "duration in cycles of the SM clock, which a change of clocks moves less than the time",
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
        Neither,
        Exact,
        Declared,
        "bytes the annotation says the kernel must move",
    ),
    metric(
        "flops",
        Count,
        Neither,
        Exact,
        Declared,
        "floating-point operations the annotation declares",
    ),
    metric("registers", Count, Lower, Exact, Launch, "registers a thread"),
    metric("static_shared", Bytes, Lower, Exact, Launch, "static shared memory a block"),
    metric("dynamic_shared", Bytes, Lower, Exact, Launch, "dynamic shared memory a block"),
    metric("local_memory", Bytes, Lower, Exact, Launch, "local memory a thread"),
    metric(
        "spills",
        Bytes,
        Lower,
        Exact,
        Launch,
        "registers a thread that are spilled to local memory",
    ),
    metric(
        "fusable_fp32",
        Count,
        Neither,
        Exact,
        Launch,
        "32-bit additions in the kernel's PTX that take the result of a multiplication",
    ),
    metric(
        "fusable_fp64",
        Count,
        Neither,
        Exact,
        Launch,
        "64-bit additions in the kernel's PTX that take the result of a multiplication",
    ),
    metric(
        "theoretical_occupancy",
        Percent,
        Higher,
        Exact,
        Launch,
        "resident warps over the most an SM holds; with clusters, over the whole device",
    ),
    metric(
        "waves",
        Ratio,
        Neither,
        Exact,
        Launch,
        "blocks of the grid over blocks resident on the device",
    ),
    derived(
        "global_sectors",
        Count,
        Lower,
        Exact,
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum + smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum + \
         smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_red.sum + smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "32-byte sectors of all global accesses",
    ),
    derived(
        "global_bytes",
        Bytes,
        Lower,
        Exact,
        "smsp__sass_data_bytes_mem_global_op_ld.sum + smsp__sass_data_bytes_mem_global_op_st.sum + \
         either(ptx__global_atomic_bytes.sum, \
         smsp__sass_data_bytes_mem_global_op_red.sum + smsp__sass_data_bytes_mem_global_op_atom.sum)",
        "bytes that the threads of global loads, stores and atomics ask for",
    ),
    derived(
        "sectors_per_request",
        Ratio,
        Lower,
        Exact,
        "global_sectors / (smsp__sass_inst_executed_op_global_ld.sum + smsp__sass_inst_executed_op_global_st.sum + \
         smsp__sass_inst_executed_op_global_red.sum + smsp__sass_inst_executed_op_global_atom.sum)",
        "sectors a warp's global access touches; 4 for coalesced 32-bit accesses",
    ),
    derived(
        "load_sectors_per_request",
        Ratio,
        Lower,
        Exact,
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum / smsp__sass_inst_executed_op_global_ld.sum",
        "sectors a warp's global load touches; 4 for coalesced 32-bit loads",
    ),
    derived(
        "store_sectors_per_request",
        Ratio,
        Lower,
        Exact,
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum / smsp__sass_inst_executed_op_global_st.sum",
        "sectors a warp's global store touches; 4 for coalesced 32-bit stores",
    ),
    derived(
        "global_load_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * smsp__sass_data_bytes_mem_global_op_ld.sum / (32 * smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum)",
        "requested bytes over bytes of the sectors loaded",
    ),
    derived(
        "global_store_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * smsp__sass_data_bytes_mem_global_op_st.sum / (32 * smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum)",
        "requested bytes over bytes of the sectors stored",
    ),
    derived(
        "shared_wavefronts",
        Count,
        Lower,
        Exact,
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "wavefronts of shared loads and stores",
    ),
    derived(
        "bank_conflicts",
        Count,
        Lower,
        Exact,
        "bank_conflicts_ld + bank_conflicts_st",
        "wavefronts of shared accesses beyond those that their width needs",
    ),
    derived(
        "bank_conflicts_ld",
        Count,
        Lower,
        Exact,
        conflicts!("ld"),
        "bank conflicts of shared loads",
    ),
    derived(
        "bank_conflicts_st",
        Count,
        Lower,
        Exact,
        conflicts!("st"),
        "bank conflicts of shared stores",
    ),
    derived(
        "most_bank_conflicts_ld",
        Count,
        Lower,
        Exact,
        most_conflicts!("ld"),
        "bank conflicts of shared loads; on a GPU at most so many, from counter passes alone",
    ),
    derived(
        "most_bank_conflicts_st",
        Count,
        Lower,
        Exact,
        most_conflicts!("st"),
        "bank conflicts of shared stores; on a GPU at most so many, from counter passes alone",
    ),
    derived(
        "warp_efficiency",
        Percent,
        Higher,
        Exact,
        "100 * smsp__sass_thread_inst_executed.sum / (32 * smsp__sass_inst_executed.sum)",
        "threads active in an executed instruction of the machine code, over 32",
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
        "conditional PTX branches at which a warp split",
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
    metric("smsp__warps_launched.sum", Count, Neither, Exact, Emulator, "warps launched"),
    metric("sm__ctas_launched.sum", Count, Neither, Exact, Emulator, "blocks launched"),
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
    counter("smsp__sass_inst_executed_op_global_ld.sum", "global loads executed by warps"),
    counter("smsp__sass_inst_executed_op_global_st.sum", "global stores executed by warps"),
    counter("smsp__sass_inst_executed_op_global_red.sum", "global reductions executed by warps"),
    counter("smsp__sass_inst_executed_op_global_atom.sum", "global atomics executed by warps"),
    counter(
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "sectors that the instructions of global loads ask for",
    ),
    counter(
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
        "sectors that the instructions of global stores ask for",
    ),
    counter(
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_red.sum",
        "sectors that the instructions of global reductions ask for",
    ),
    counter(
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "sectors that the instructions of global atomics ask for",
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
    counter(
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "wavefronts of shared loads",
    ),
    counter(
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "wavefronts of shared stores",
    ),
    metric(
        "smsp__sass_data_bytes_mem_shared_op_ld.sum",
        Bytes,
        Lower,
        Exact,
        Emulator,
        "bytes requested by the threads of shared loads",
    ),
    metric(
        "smsp__sass_data_bytes_mem_shared_op_st.sum",
        Bytes,
        Lower,
        Exact,
        Emulator,
        "bytes requested by the threads of shared stores",
    ),
    counter("ptx__shared_bank_conflicts_op_ld.sum", "bank conflicts of shared loads"),
    counter("ptx__shared_bank_conflicts_op_st.sum", "bank conflicts of shared stores"),
    metric(
        "sass__shared_bank_conflicts_op_ld.sum",
        Count,
        Lower,
        Exact,
        Instructions,
        "bank conflicts of shared loads, by counts of each machine instruction",
    ),
    metric(
        "sass__shared_bank_conflicts_op_st.sum",
        Count,
        Lower,
        Exact,
        Instructions,
        "bank conflicts of shared stores, by counts of each machine instruction",
    ),
    counter("smsp__sass_inst_executed_op_shared_ld.sum", "warp requests of shared loads"),
    counter("smsp__sass_inst_executed_op_shared_st.sum", "warp requests of shared stores"),
    counter("ptx__inst_executed_op_shared_atom.sum", "warp requests of shared atomics"),
    counter("ptx__async_copies.sum", "warp requests of copies from global to shared memory"),
    counter("ptx__async_copy_sectors.sum", "sectors of global memory that such copies read"),
    counter("ptx__matrix_loads.sum", "loads of matrices from shared memory by warps"),
    counter("ptx__matrix_products.sum", "products of matrices (mma) by warps"),
    counter("ptx__matrix_load_wavefronts.sum", "passes over the banks by loads of matrices"),
    counter("ptx__matrix_load_bank_conflicts.sum", "bank conflicts of loads of matrices"),
    counter("ptx__matrix_stores.sum", "stores of matrices to shared memory by warps"),
    counter("ptx__matrix_store_wavefronts.sum", "passes over the banks by stores of matrices"),
    counter("ptx__matrix_store_bank_conflicts.sum", "bank conflicts of stores of matrices"),
    counter("ptx__inst_executed.sum", "PTX instructions executed by warps"),
    counter("ptx__thread_inst_executed.sum", "PTX instructions executed by threads"),
    counter(
        "ptx__thread_inst_executed_pred_on.sum",
        "PTX instructions executed by threads with a true guard",
    ),
    counter("ptx__branches.sum", "conditional PTX branches executed by warps"),
    counter("ptx__branches_divergent.sum", "conditional PTX branches at which a warp split"),
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
    counter("ptx__global_atomic_bytes.sum", "bytes of global atomics"),
    counter("ptx__local_ld.sum", "warp requests of local loads"),
    counter("ptx__local_st.sum", "warp requests of local stores"),
    metric(
        "occupancy",
        Percent,
        Higher,
        Noisy,
        Hardware("sm__warps_active.avg.pct_of_peak_sustained_active"),
        "warps active over the most an SM holds, achieved",
    ),
    metric(
        "dram_throughput",
        Percent,
        Higher,
        Noisy,
        Hardware("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
        "DRAM throughput over its peak",
    ),
    derived(
        "limited_by",
        GpuUnit,
        Neither,
        Noisy,
        of_units!("largest"),
        "the unit that is nearest its peak: sm, l1, l2 or dram",
    ),
    derived(
        "limited_by_percent",
        Percent,
        Higher,
        Noisy,
        "max(sm__throughput.avg.pct_of_peak_sustained_elapsed, \
             max(l1tex__throughput.avg.pct_of_peak_sustained_active, \
             max(lts__throughput.avg.pct_of_peak_sustained_elapsed, \
             gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed)))",
        "percent of its peak that this unit reaches",
    ),
    derived(
        "limited_next",
        GpuUnit,
        Neither,
        Noisy,
        of_units!("next_largest"),
        "the unit that is second nearest its peak",
    ),
    derived(
        "limited_next_percent",
        Percent,
        Higher,
        Noisy,
        of_units!("second"),
        "percent of its peak that the second unit reaches",
    ),
    metric(
        "sm_throughput",
        Percent,
        Higher,
        Noisy,
        Hardware("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        "SM throughput over its peak",
    ),
    metric(
        "l1_hit_rate",
        Percent,
        Higher,
        Noisy,
        Hardware("l1tex__t_sector_hit_rate.pct"),
        "sectors found in L1",
    ),
    metric(
        "l2_hit_rate",
        Percent,
        Higher,
        Noisy,
        Hardware("lts__t_sector_hit_rate.pct"),
        "sectors found in L2",
    ),
    metric(
        "ipc",
        Ratio,
        Higher,
        Noisy,
        Hardware("sm__inst_executed.avg.per_cycle_active"),
        "instructions a cycle and SM",
    ),
];
