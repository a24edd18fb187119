//! The counters by name.

use super::{Claims, Counts, GenericCounts, GlobalCounts, SharedCounts};
use crate::lower::inst::{ControlOp, ExchangeOp, FloatCount, Guard, Inst, Op, TransferOp};
use crate::lower::program::Program;

/// The counters to which an instruction contributes, in addition to the instruction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Other,
    Branch,
    Barrier,
    Shuffle,
    Product,
    Float(FloatCount),
}

const FLOAT_NAMES: [&str; 6] = ["fadd", "fmul", "ffma", "dadd", "dmul", "dfma"];

pub(super) fn class(inst: &Inst) -> Class {
    let float = |count: Option<FloatCount>| count.map_or(Class::Other, Class::Float);
    match &inst.op {
        Op::Arith(op) => float(op.count()),
        Op::Float(op) => float(op.count()),
        Op::Branch { .. } if inst.guard != Guard::Always => Class::Branch,
        Op::Control(ControlOp::BranchIndexed { .. }) => Class::Branch,
        Op::Barrier(_) => Class::Barrier,
        Op::Exchange(ExchangeOp::Shuffle { .. }) => Class::Shuffle,
        Op::Mma(_) => Class::Product,
        Op::Integer(_)
        | Op::Move(_)
        | Op::Load { .. }
        | Op::Store { .. }
        | Op::Atomic(_)
        | Op::AtomicVector(_)
        | Op::Transfer(_)
        | Op::Mbarrier(_)
        | Op::Fragment(_)
        | Op::Exchange(_)
        | Op::Branch { .. }
        | Op::Control(_)
        | Op::Fence { .. }
        | Op::Sleep
        | Op::Nop => Class::Other,
    }
}

/// The operations on doubles of a thread that executes an instruction.
pub(super) fn fp64_operations(inst: &Inst) -> u64 {
    match class(inst) {
        Class::Float(FloatCount::Dfma) => 2,
        Class::Float(FloatCount::Dadd | FloatCount::Dmul) => 1,
        _ => u64::from(matches!(&inst.op, Op::Float(op) if op.divides_doubles())),
    }
}

/// The counters of a launch, in a fixed order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// Values by name.
    pub counters: Vec<(String, u64)>,
    /// The counters that differ from the hardware's, with the reasons.
    pub unclaimed: Vec<(String, String)>,
}

/// Every counter of a launch of `program`, under the names that `claims` permits.
pub fn report(program: &Program, claims: &Claims, counts: &Counts) -> Reported {
    let mut all = Reported::default();
    let mut put = |name: &str, value: u64| match claims.refusal(name, &counts.memory) {
        None => all.counters.push((name.to_owned(), value)),
        Some(reason) => all.unclaimed.push((name.to_owned(), reason.to_owned())),
    };
    put("smsp__warps_launched.sum", counts.warps);
    put("sm__ctas_launched.sum", counts.blocks);

    let memory = &counts.memory;
    let global: [(&str, GlobalCounts); 4] = [
        ("ld", memory.load),
        ("st", memory.store),
        ("red", memory.reduction),
        ("atom", memory.atomic),
    ];
    for (op, count) in global {
        // A copy is a load to L1.
        let copies = if op == "ld" { memory.copies } else { GlobalCounts::default() };
        let (requests, sectors) =
            (count.requests + copies.requests, count.sectors + count.repeated + copies.sectors);
        put(&format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"), requests);
        put(&format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"), sectors);
        // The same by patched instructions, the count that repeats on hardware.
        put(&format!("smsp__sass_inst_executed_op_global_{op}.sum"), count.requests);
        put(&format!("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{op}.sum"), count.sectors);
    }
    let (loads, stores) = (memory.generic_load, memory.generic_store);
    // Hardware counts a generic access as a global and as a shared one.
    put("smsp__sass_data_bytes_mem_global_op_ld.sum", memory.load.bytes + loads.shared_bytes);
    put("smsp__sass_data_bytes_mem_global_op_st.sum", memory.store.bytes + stores.shared_bytes);
    // Those of hardware's atomics were not compared.
    put("ptx__global_atomic_bytes.sum", memory.reduction.bytes + memory.atomic.bytes);
    let shared: [(&str, SharedCounts, GenericCounts); 2] =
        [("ld", memory.shared_load, loads), ("st", memory.shared_store, stores)];
    for (op, count, generic) in shared {
        // The counts by patched instructions: l1tex__data_pipe_lsu_wavefronts_* holds arbitration
        // on hardware too.
        let wavefronts =
            format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum");
        put(&wavefronts, count.wavefronts);
        let bytes = count.bytes + generic.global_bytes;
        put(&format!("smsp__sass_data_bytes_mem_shared_op_{op}.sum"), bytes);
        let conflicts = count.wavefronts - count.ideal;
        put(&format!("ptx__shared_bank_conflicts_op_{op}.sum"), conflicts);
        put(&format!("smsp__sass_inst_executed_op_shared_{op}.sum"), count.requests);
    }
    put("ptx__inst_executed_op_shared_atom.sum", memory.shared_atomics);

    transfers(program, counts, &mut put);
    instructions(program, counts, &mut put);
    put("ptx__local_ld.sum", memory.local_loads);
    put("ptx__local_st.sum", memory.local_stores);
    all
}

/// The counters of copies and matrices, of kernels that have any.
fn transfers(program: &Program, counts: &Counts, put: &mut impl FnMut(&str, u64)) {
    let has = |is: fn(&TransferOp) -> bool| {
        program.code.iter().any(|inst| matches!(&inst.op, Op::Transfer(op) if is(op)))
    };
    if has(|op| matches!(op, TransferOp::Copy(_))) {
        put("ptx__async_copies.sum", counts.memory.copies.requests);
        put("ptx__async_copy_sectors.sum", counts.memory.copies.sectors);
    }
    let (loads, stores) = (counts.memory.matrix_loads, counts.memory.matrix_stores);
    if has(|op| matches!(op, TransferOp::Matrix(rows) if !rows.stores)) {
        put("ptx__matrix_loads.sum", loads.requests);
        put("ptx__matrix_load_wavefronts.sum", loads.wavefronts);
        put("ptx__matrix_load_bank_conflicts.sum", loads.wavefronts - loads.ideal);
    }
    if has(|op| matches!(op, TransferOp::Matrix(rows) if rows.stores)) {
        put("ptx__matrix_stores.sum", stores.requests);
        put("ptx__matrix_store_wavefronts.sum", stores.wavefronts);
        put("ptx__matrix_store_bank_conflicts.sum", stores.wavefronts - stores.ideal);
    }
}

/// The counters that are sums over instructions.
fn instructions(program: &Program, counts: &Counts, put: &mut impl FnMut(&str, u64)) {
    let (mut warps, mut threads, mut threads_on) = (0, 0, 0);
    let (mut branches, mut barriers, mut shuffles, mut floats) = (0, 0, 0, [0; 6]);
    let mut products = None;
    for (inst, count) in program.code.iter().zip(&counts.profile) {
        warps += count.warps;
        threads += count.threads;
        threads_on += count.threads_on;
        match class(inst) {
            Class::Branch => branches += count.warps,
            Class::Barrier => barriers += count.warps,
            Class::Shuffle => shuffles += count.warps,
            Class::Product => *products.get_or_insert(0) += count.warps,
            Class::Float(float) => floats[float as usize] += count.threads_on,
            Class::Other => {}
        }
    }
    put("ptx__inst_executed.sum", warps);
    put("ptx__thread_inst_executed.sum", threads);
    put("ptx__thread_inst_executed_pred_on.sum", threads_on);
    put("ptx__branches.sum", branches);
    put("ptx__branches_divergent.sum", counts.memory.divergent_branches);
    put("ptx__barriers.sum", barriers);
    put("ptx__shuffles.sum", shuffles);
    if let Some(products) = products {
        put("ptx__matrix_products.sum", products);
    }
    for (name, value) in FLOAT_NAMES.iter().zip(floats) {
        put(&format!("ptx__thread_inst_executed_op_{name}_pred_on.sum"), value);
    }
}
