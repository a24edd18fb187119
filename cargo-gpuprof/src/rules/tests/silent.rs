//! Kernels on which rules must stay silent, though their counters look like a fault.

use super::*;

#[test]
fn the_buffer_of_printf_is_not_spilled() {
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
fn a_broadcast_needs_no_padding() {
    let conflicts = |bytes: f64| {
        let values = [
            ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 400.0),
            ("smsp__sass_inst_executed_op_shared_ld.sum", 100.0),
            ("smsp__sass_data_bytes_mem_shared_op_ld.sum", bytes),
            ("bank_conflicts_ld", 300.0),
        ];
        piece(&advise(&values), "bank-conflicts-ld").is_some()
    };
    assert_eq!((conflicts(1_600.0), conflicts(12_800.0)), (false, true));
}
