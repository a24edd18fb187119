//! Hand-written PTX: instructions that compilers emit rarely, and refused ones.

use crate::common::Bench;
use gpuprof_emulator::device::{Device, LaunchConfig};

/// A module with one kernel `k(u64 out)` with this body; `%rd1` is `out + 4 × %tid.x` and `%r1` is
/// `%tid.x`.
fn kernel(outside: &str, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{outside}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n\
         ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;\n\
         {body}\nret;\n}}\n"
    )
}

fn run(outside: &str, body: &str, threads: u32) -> (Vec<i32>, Bench) {
    let mut bench = Bench::new(&kernel(outside, body));
    let out = bench.upload(&vec![0u32; threads as usize]);
    bench.launch("k", 1, threads, &[&out]);
    (bench.ints(out, threads as usize), bench)
}

fn refusal(outside: &str, body: &str) -> String {
    Device::default().load(&kernel(outside, body)).unwrap_err().to_string()
}

#[test]
fn an_indexed_branch_takes_every_lane_to_its_target() {
    let body = "rem.u32 %r2, %r1, 3; mov.u32 %r3, 0;\nT: .branchtargets A, B, C;\nbrx.idx %r2, T;\n\
                A: add.u32 %r3, %r3, 10; bra.uni E;\nB: add.u32 %r3, %r3, 200;\nC: add.u32 %r3, %r3, 3000;\n\
                E: activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r4, 10000, %r3; st.global.b32 [%rd1], %r3;";
    let (got, mut bench) = run("", body, 64);
    // All lanes meet again after the branch.
    assert!((0..64).all(|i| got[i] == 32 * 10000 + [10, 3200, 3000][i % 3]));
    let record = &bench.device.take_launches()[0];
    assert_eq!(record.counter("ptx__branches_divergent.sum"), Some(2));
    // Two cases share code, so ptxas decides which lanes store together.
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), None);
}

#[test]
fn a_function_that_returns_early_returns_to_its_callers() {
    let function = ".func (.param .b32 r) f(.param .b32 a) { .reg .pred %p; .reg .b32 %x<3>;\n\
        ld.param.b32 %x0, [a]; setp.lt.u32 %p, %x0, 8; mov.u32 %x1, 7; @%p st.param.b32 [r], %x1; @%p ret;\n\
        add.u32 %x1, %x0, 100; st.param.b32 [r], %x1; ret; }";
    let body = "setp.lt.u32 %p1, %r1, 16; mov.u32 %r3, 0; @!%p1 bra E;\n\
        { .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r1; call.uni (q0), f, (p0); ld.param.b32 %r3, [q0]; }\n\
        E: add.u32 %r3, %r3, 1; st.global.b32 [%rd1], %r3;";
    let (got, _) = run(function, body, 32);
    let expected = |i: i32| match i {
        0..8 => 8,
        8..16 => i + 101,
        _ => 1,
    };
    assert_eq!(got, (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn two_scopes_can_have_labels_of_one_name() {
    // CUTLASS's barrier wait, inlined twice.
    let wait = |last: u32| {
        format!(
            "{{ .reg .pred P1;\nLAB_WAIT: add.u32 %r2, %r2, 1; setp.lt.u32 P1, %r2, {last};\n\
             @!P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}}\n"
        )
    };
    let inner = "{ add.u32 %r2, %r2, 100; { bra DONE; } DONE: }\nDONE: ";
    let body = format!(
        "mov.u32 %r2, 0; {}{}bra DONE; {inner} st.global.u32 [%rd1], %r2;",
        wait(5),
        wait(9)
    );
    assert_eq!(run("", &body, 1).0, [9]);
    let lists = "{ T: .branchtargets A, B; brx.idx 1, T; A: add.u32 %r2, %r2, 1;\nB: }\n\
                 { T: .branchtargets A, C; brx.idx 1, T; A: add.u32 %r2, %r2, 10; }\n\
                 C: st.global.u32 [%rd1], %r2;";
    assert_eq!(run("", &format!("mov.u32 %r2, 0; {lists}"), 1).0, [0]);
}

#[test]
fn a_call_takes_the_prototype_of_its_own_scope() {
    let functions = ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a];\n\
                     add.u32 %x, %x, 7; st.param.b32 [r], %x; ret; }\n.func g() { ret; }";
    let body = "mov.u64 %rd2, g; { p: .callprototype _ (); call %rd2, (), p; }\n\
        { .param .b32 q; .param .b32 t; st.param.b32 [q], %r1; mov.u64 %rd2, f;\n\
        p: .callprototype (.param .b32 _) _ (.param .b32 _); call (t), %rd2, (q), p;\n\
        ld.param.b32 %r2, [t]; }\nst.global.u32 [%rd1], %r2;";
    assert_eq!(run(functions, body, 2).0, [7, 8]);
}

#[test]
fn invalid_declarations_and_words_are_refused_with_their_lines() {
    for (outside, body, expected) in [
        ("", "\n.reg .b32 s;\n.shared .b32 s;", "second definition of 's' at line 10"),
        ("", ".reg .b32 %r<3>;", "second definition of '%r<3>' at line 8"),
        ("", "{ .local .align 3 .b8 l[4]; }", "alignment 3 is no power of two at line 8"),
        (
            ".func f();\n.func f(.param .b32 a);",
            "",
            "'f' has other parameters than at line 4 at line 5",
        ),
        ("\n.shared .b8 s[];", "", "variable 's' has no size and is not '.extern' at line 5"),
        (".shared .u32 s = 1;", "", "variable 's' cannot have an initial value at line 4"),
        (".global .f32 v = 1;", "", "an initial value does not fit its type at line 4"),
        (
            "",
            "setp.ltu.u32 %p1, %r1, %r2;",
            "'setp.ltu.u32' has a comparison that its type does not have at line 8",
        ),
        ("", "ld.nc.u32 %r1, [%rd1];", "'ld.nc.u32' is not an instruction of PTX at line 8"),
        ("", "bar.sync 16;", "barrier 16; a block has barriers 0 to 15 at line 8"),
    ] {
        assert_eq!(refusal(outside, body), expected);
    }
}

#[test]
fn a_second_definition_is_refused_with_its_line() {
    let twice = ".func f() { ret; }\n.entry k() { ret; }";
    assert_eq!(refusal(twice, ""), "second definition of 'k' at line 6");
    assert_eq!(
        refusal(".func f();\n.func f();\n.func f() { ret; }\n.func f() { ret; }", ""),
        "second definition of 'f' at line 7"
    );
}

#[test]
fn deep_nesting_is_refused_with_its_line() {
    let nested =
        |open: &str, close: &str| format!("{}{}", open.repeat(60_000), close.repeat(60_000));
    let deep = "text is nested too deeply at line 8";
    assert_eq!(refusal("", &nested("{", "}")), deep);
    assert_eq!(refusal("", &format!("mov.b64 {}, 1;", nested("{", "}"))), deep);
    assert_eq!(refusal("", &format!("mov.b32 %r1{}, 1;", "|%r1".repeat(60_000))), deep);
    let initial = format!(".global .u32 a[1] = {};", nested("{", "}"));
    assert_eq!(refusal(&initial, ""), "text is nested too deeply at line 4");
}

#[test]
fn generic_accesses_count_in_the_space_they_reach() {
    let shared = ".shared .align 4 .b8 buffer[256];";
    let body = "mov.u64 %rd2, buffer; cvta.shared.u64 %rd3, %rd2; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4;\n\
        st.b32 [%rd5], %r1; setp.lt.u32 %p1, %r1, 16; selp.b64 %rd6, %rd5, %rd1, %p1;\n\
        isspacep.shared %p2, %rd6; ld.b32 %r2, [%rd6]; selp.b32 %r3, 100, 0, %p2; add.u32 %r2, %r2, %r3; st.b32 [%rd1], %r2;";
    let (got, mut bench) = run(shared, body, 32);
    assert!((0..32).all(|i| got[i as usize] == if i < 16 { i + 100 } else { 0 }));
    let record = &bench.device.take_launches()[0];
    for (name, value) in [
        ("smsp__sass_inst_executed_op_shared_st.sum", 1),
        ("smsp__sass_inst_executed_op_shared_ld.sum", 1),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 2),
        ("smsp__sass_inst_executed_op_global_ld.sum", 1),
        ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 2),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 4),
    ] {
        assert_eq!(record.counter(name), Some(value), "{name}");
    }
}

#[test]
fn a_request_without_active_lanes_counts_nothing() {
    let body = "setp.eq.u32 %p1, %r1, 99; @%p1 st.global.b32 [%rd1], %r1;";
    let (_, mut bench) = run("", body, 32);
    let record = &bench.device.take_launches()[0];
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), Some(0));
    assert_eq!(record.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), Some(0));
    // Seven instructions, of which the store was off for every thread.
    assert_eq!(record.counter("ptx__inst_executed.sum"), Some(7));
    assert_eq!(record.counter("ptx__thread_inst_executed.sum"), Some(7 * 32));
    assert_eq!(record.counter("ptx__thread_inst_executed_pred_on.sum"), Some(6 * 32));
}

#[test]
fn a_consumer_warp_reads_values_of_a_producer_warp() {
    let shared = ".shared .align 4 .b8 buffer[128];";
    let body = "and.b32 %r2, %r1, 31; shl.b32 %r2, %r2, 2; mov.u32 %r3, buffer; add.u32 %r2, %r2, %r3;\n\
        setp.lt.u32 %p1, %r1, 32; @%p1 bra CONSUME;\nst.shared.b32 [%r2], %r1; bar.arrive 3, 64; bra.uni END;\n\
        CONSUME: bar.sync 3, 64; ld.shared.b32 %r4, [%r2]; st.global.b32 [%rd1], %r4;\nEND:";
    let (got, _) = run(shared, body, 64);
    assert_eq!(got[..32], (32..64).collect::<Vec<_>>());
}

#[test]
fn a_warp_that_waits_in_a_loop_lets_the_others_run() {
    let shared = ".shared .align 4 .b32 flag;";
    let body = "mov.u32 %r3, flag; mov.u32 %r2, 0; st.shared.b32 [%r3], %r2; bar.sync 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra SET;\n\
        WAIT: ld.volatile.shared.b32 %r2, [%r3]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; st.global.b32 [%rd1], %r2; bra.uni END;\n\
        SET: mov.u32 %r2, 5; st.volatile.shared.b32 [%r3], %r2;\nEND:";
    let (got, _) = run(shared, body, 64);
    assert_eq!(got[..32], [5; 32]);
}

#[test]
fn warps_that_have_exited_do_not_hold_up_a_barrier() {
    let body = "setp.ge.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0; st.global.b32 [%rd1], %r1;";
    let (got, _) = run("", body, 96);
    assert_eq!(got[..40], (0..40).collect::<Vec<_>>());
}

#[test]
fn a_barrier_that_part_of_a_warp_reaches_is_a_fault() {
    let body =
        "setp.lt.u32 %p1, %r1, 4; @%p1 bra B; bra.uni E;\nB: bar.sync 0;\nE: mov.u32 %r2, 0;";
    let text = kernel("", body);
    let mut bench = Bench::new(&text);
    let fault = bench.fault("k", 1, 32, &[&0u64]);
    assert_eq!(
        fault,
        "kernel 'k' at PTX line 9, block (0,0,0), thread (0,0,0): only 4 of the 32 running threads of warp 0 reach this \
         barrier: it is in code on which they diverge; 28 of the others are at PTX line 10. Move it out of the branch, or let all threads \
         take the same way"
    );
    let body = "setp.lt.u32 %p1, %r1, 4; @%p1 bra B;\nbar.sync 0; bra.uni E;\nB: bar.sync 0;\nE: mov.u32 %r2, 0;";
    let fault = Bench::new(&kernel("", body)).fault("k", 1, 32, &[&0u64]);
    assert!(fault.contains("at PTX line 9, ") || fault.contains("at PTX line 10, "), "{fault}");
    assert!(fault.contains("on which they diverge; "), "{fault}");
}

#[test]
fn a_deadlock_names_the_exchange_and_not_the_barrier_after_it() {
    let body = "setp.lt.u32 %p1, %r1, 16; @!%p1 bra E;\n\
                shfl.sync.down.b32 %r2, %r1, 8, 31, -1;\nE: bar.sync 0;\nst.global.b32 [%rd1], %r2;";
    let fault = Bench::new(&kernel("", body)).fault("k", 1, 32, &[&0u64]);
    assert_eq!(
        fault,
        "kernel 'k' at PTX line 9, block (0,0,0), thread (0,0,0): lanes 0x0000ffff of warp 0 wait at this .sync \
         instruction with member mask 0xffffffff for lanes 0xffff0000, which went past it and wait at PTX line 10: the \
         mask must name only lanes that come here, or all lanes that it names must come"
    );
    // Lanes behind the barrier's branch wait for those at the barrier: it is to blame.
    let body = "setp.lt.u32 %p1, %r1, 16; @!%p1 bra E;\nbar.sync 0;\n\
                E: shfl.sync.down.b32 %r2, %r1, 8, 31, -1;\nst.global.b32 [%rd1], %r2;";
    let fault = Bench::new(&kernel("", body)).fault("k", 1, 32, &[&0u64]);
    assert!(
        fault.contains("only 16 of the 32 running threads of warp 0 reach this barrier"),
        "{fault}"
    );
}

#[test]
fn a_shuffle_gets_no_value_from_an_exited_lane() {
    let reads = "shfl.sync.down.b32 %r2, %r1, 8, 31, 0xffffffff; st.global.b32 [%rd1], %r2;";
    let nothing: Vec<i32> =
        (0..20).map(|lane| if lane < 12 { lane + 8 } else { 0x7fc0_dead }).collect();
    let (got, _) = run("", &format!("setp.ge.u32 %p1, %r1, 20; @%p1 exit; {reads}"), 32);
    assert_eq!(got[..20], nothing);
    // Nor does a lane that the block never had; beyond the last lane, a lane keeps its own value.
    let (got, _) = run("", reads, 20);
    assert_eq!(got, nothing);
    let (got, _) = run("", reads, 32);
    let whole: Vec<i32> = (0..32).map(|lane| if lane < 24 { lane + 8 } else { lane }).collect();
    assert_eq!(got, whole);
}

#[test]
fn a_parameter_is_read_at_a_negative_offset_from_a_register() {
    let text = kernel("", "").replace(
        "add.s64 %rd1, %rd0, %rd1;",
        "add.s64 %rd1, %rd0, %rd1; mov.b64 %rd2, out; add.s64 %rd2, %rd2, 16; \
         ld.param.u64 %rd3, [%rd2+-16]; sub.s64 %rd3, %rd3, %rd0; st.global.b32 [%rd1], %rd3;",
    );
    let mut bench = Bench::new(&text);
    let out = bench.upload(&[1u32; 32]);
    bench.launch("k", 1, 32, &[&out]);
    assert_eq!(bench.ints(out, 32), [0; 32]);
}

#[test]
fn a_negative_offset_from_a_parameter_is_refused() {
    assert!(refusal("", "ld.param.u64 %rd2, [out+-8];").contains("beyond the end of parameter"));
}

/// As a GPU counts: a word that all lanes load or store at once counts once.
#[test]
fn bytes_of_an_access_are_the_distinct_ones() {
    // Lanes in groups of 1 << shift read one word each.
    for (shift, bytes) in [(5, 4), (4, 8), (1, 64), (0, 128)] {
        let body = format!(
            "shr.u32 %r2, %r1, {shift}; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd2, %rd0, %rd2;\n\
             ld.global.u32 %r3, [%rd2]; bar.warp.sync -1; st.global.u32 [%rd0], %r3;"
        );
        let record = run("", &body, 32).1.device.take_launches().remove(0);
        let counter = |op| record.counter(&format!("smsp__sass_data_bytes_mem_global_op_{op}.sum"));
        assert_eq!((counter("ld"), counter("st")), (Some(bytes), Some(4)), "{shift}");
    }
}

#[test]
fn lanes_without_remaining_work_are_not_waited_for() {
    let (got, _) = run(
        "",
        "setp.lt.u32 %p1, %r1, 4; @%p1 bra B; bra.uni E;\n\
         B: bar.sync 0; activemask.b32 %r2; st.global.b32 [%rd1], %r2;\nE:",
        32,
    );
    assert_eq!((got[3], got[4]), (0xf, 0));
}

#[test]
fn lanes_that_wait_at_a_barrier_let_the_others_leave_first() {
    // Both sides end with work; the first one runs into the barrier.
    let (got, _) = run(
        "",
        "setp.lt.u32 %p1, %r1, 4; @%p1 bra B;\n\
         bar.sync 0; activemask.b32 %r2; st.global.b32 [%rd1], %r2; ret;\n\
         B: mov.u32 %r2, 7; st.global.b32 [%rd1], %r2;",
        32,
    );
    assert_eq!((got[3], got[4]), (7, -16));
}

#[test]
fn lanes_that_share_an_early_exit_do_not_wait_for_those_at_a_barrier() {
    // if (tid == 14 || tid != 25) { out = 7; exit } bar.sync; out = 9
    let (got, _) = run(
        "",
        "mov.u32 %r2, 7; setp.eq.u32 %p1, %r1, 14; @%p1 bra EXIT; setp.eq.u32 %p1, %r1, 25;\n\
         @%p1 bra WORK;\nEXIT: st.global.b32 [%rd1], %r2; exit;\n\
         WORK: bar.sync 1; mov.u32 %r2, 9; st.global.b32 [%rd1], %r2;",
        32,
    );
    assert!((0..32).all(|i| got[i] == if i == 25 { 9 } else { 7 }), "{got:?}");
}

#[test]
fn a_barrier_for_more_threads_than_come_is_a_deadlock() {
    let mut bench = Bench::new(&kernel("", "bar.sync 2, 128;"));
    let fault = bench.fault("k", 1, 64, &[&0u64]);
    assert!(
        fault.ends_with("thread (0,0,0): deadlock: 2 warps wait at barrier 2 for 128 threads"),
        "{fault}"
    );
}

#[test]
fn warps_may_meet_at_one_barrier_from_two_places_and_not_at_two() {
    let two = |first: &str, second: &str| {
        format!(
            "setp.lt.u32 %p1, %r1, 32; @%p1 bra B;\n{first};\nbra.uni E;\nB:\n{second};\n\
             E: mov.u32 %r2, 7; st.global.b32 [%rd1], %r2;"
        )
    };
    let (got, _) = run("", &two("bar.sync 0", "bar.sync 0"), 64);
    assert_eq!(got, [7; 64]);
    let fault = |body: &str| Bench::new(&kernel("", body)).fault("k", 1, 64, &[&0u64]);
    let stuck = fault(&two("bar.sync 1", "bar.sync 2"));
    assert!(
        stuck.ends_with(
            "deadlock: 1 warp waits at barrier 2 at PTX line 12 while 1 warp waits at barrier 1 at PTX line 9"
        ),
        "{stuck}"
    );
    // A count of all threads is the same as none.
    for (first, second) in [
        ("bar.sync 0, 64", "bar.sync 0"),
        ("bar.red.popc.u32 %r3, 0, 64, %p1", "bar.red.or.pred %p1, 0, %p1"),
    ] {
        assert_eq!(run("", &two(first, second), 64).0, [7; 64], "{first}, {second}");
    }
    let unequal = fault(&two("bar.sync 0, 32", "bar.sync 0"));
    assert!(
        unequal.ends_with(
            "warps arrive at barrier 0 with different thread counts: for all threads at PTX line 12, and for \
             32 threads at PTX line 9"
        ),
        "{unequal}"
    );
}

#[test]
fn predicates_are_combined_negated_and_constant() {
    let operands = ["%p1", "!%p1", "%p2", "!%p2", "0", "1"];
    let value = |operand: &str, thread: i32| match operand {
        "%p1" => thread & 1 != 0,
        "!%p1" => thread & 1 == 0,
        "%p2" => thread & 2 != 0,
        "!%p2" => thread & 2 == 0,
        constant => constant == "1",
    };
    let begin = "and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0; and.b32 %r2, %r1, 2;\n\
        setp.ne.u32 %p2, %r2, 0;\n";
    let end = "selp.u32 %r2, 1, 0, %p3; st.global.b32 [%rd1], %r2;";
    for a in operands {
        let (got, _) = run("", &format!("{begin}not.pred %p3, {a};\n{end}"), 32);
        assert!((0..4).all(|i| (got[i as usize] == 1) != value(a, i)), "not {a}");
        for (op, b) in ["and", "or", "xor"].into_iter().flat_map(|op| operands.map(|b| (op, b))) {
            let (got, _) = run("", &format!("{begin}{op}.pred %p3, {a}, {b};\n{end}"), 32);
            let wanted = |i| match op {
                "and" => value(a, i) & value(b, i),
                "or" => value(a, i) | value(b, i),
                _ => value(a, i) ^ value(b, i),
            };
            assert!((0..4).all(|i| (got[i as usize] == 1) == wanted(i)), "{op} {a}, {b}: {got:?}");
        }
    }
}

#[test]
fn a_reduction_and_a_plain_barrier_do_not_meet() {
    let two = |first: &str, second: &str| {
        format!(
            "setp.lt.u32 %p1, %r1, 32; @%p1 bra B;\n{first};\nbra.uni E;\nB:\n{second};\n\
             E: mov.u32 %r2, 7; st.global.b32 [%rd1], %r2;"
        )
    };
    let fault = |body: &str| Bench::new(&kernel("", body)).fault("k", 1, 64, &[&0u64]);
    let reduces = "bar.red.popc.u32 %r3, 0, 64, %p1";
    let found = fault(&two(reduces, "bar.sync 0"));
    assert!(
        found.ends_with(
            "warps meet at barrier 0 by unlike instructions: one at PTX line 12, which does not, and \
             one at PTX line 9, which reduces. A GPU ends the kernel with \
             CUDA_ERROR_ILLEGAL_INSTRUCTION: let all warps reduce (bar.red), or use another barrier"
        ),
        "{found}"
    );
    for (first, second) in [
        ("bar.sync 0", "bar.red.or.pred %p1, 0, 64, %p1"),
        ("barrier.red.and.pred %p1, 0, %p1", "barrier.sync 0"),
        (reduces, "bar.arrive 0, 64"),
    ] {
        let found = fault(&two(first, second));
        assert!(found.contains("by unlike instructions"), "{first}, {second}: {found}");
    }
    // The same barrier for all, one after the other; two barriers, each of one kind.
    for (first, second) in [
        (reduces, reduces),
        (
            "bar.red.popc.u32 %r3, 0, %p1; bar.sync 0; bar.red.or.pred %p1, 0, %p1",
            "bar.red.popc.u32 %r3, 0, %p1; bar.sync 0; bar.red.or.pred %p1, 0, %p1",
        ),
        ("bar.red.popc.u32 %r3, 1, 32, %p1", "bar.sync 0, 32"),
    ] {
        assert_eq!(run("", &two(first, second), 64).0, [7; 64], "{first}, {second}");
    }
}

#[test]
fn halves_are_loaded_converted_and_stored() {
    let body = "cvt.rn.f32.u32 %r2, %r1; mul.f32 %r2, %r2, 0f3E800000; cvt.rn.f16.f32 %h1, %r2; st.global.b16 [%rd1], %h1;\n\
        ld.global.b16 %h2, [%rd1]; cvt.f32.f16 %r3, %h2; st.global.f32 [%rd1], %r3;";
    let (got, _) = run("", body, 32);
    assert!((0..32).all(|i| f32::from_bits(got[i] as u32) == i as f32 * 0.25));
}

#[test]
fn special_registers_and_clocks_are_deterministic() {
    let body = "mov.u32 %r2, %clock; mov.u32 %r3, %laneid; mov.u32 %r4, %warpid; mad.lo.u32 %r3, %r4, 100, %r3;\n\
        mov.u32 %r5, %lanemask_lt; popc.b32 %r5, %r5; mad.lo.u32 %r3, %r5, 1000, %r3; st.global.b32 [%rd1], %r3;";
    let (got, _) = run("", body, 64);
    assert!((0..64).all(|i| got[i as usize] == i / 32 * 100 + i % 32 * 1001));
    assert_eq!(
        run("", "mov.u32 %r2, %clock; st.global.b32 [%rd1], %r2;", 64).0[32],
        run("", "mov.u32 %r2, %clock; st.global.b32 [%rd1], %r2;", 64).0[32]
    );
}

#[test]
fn unsupported_instructions_are_refused_by_name_and_line() {
    for (outside, body, expected) in [
        (
            "",
            "wgmma.fence.sync.aligned;",
            "unsupported PTX instruction 'wgmma.fence.sync.aligned' at line 8",
        ),
        (
            "",
            "\ntex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}];",
            "unsupported PTX instruction 'tex.2d.v4.f32.f32' at line 9",
        ),
        ("", "add.rz.f16 %h1, %h2, %h3;", "unsupported PTX instruction 'add.rz.f16' at line 8"),
        (
            "",
            "add.rn.relu.f32 %r1, %r2, %r3;",
            "unsupported PTX instruction 'add.rn.relu.f32' at line 8",
        ),
        (
            "",
            "ld.global.L1::cache_hint.b32 %r1, [%rd1], %rd2;",
            "unsupported PTX instruction 'ld.global.L1::cache_hint.b32' at line 8",
        ),
        ("", "mov.u32 %r1, %pm0;", "unsupported special register '%pm0' at line 8"),
        (
            "",
            "mov.u32 %r1, %clusterid.w;",
            "unsupported register '%clusterid', neither declared nor a special register at line 8",
        ),
        (
            ".extern .func (.param .b32 r) malloc(.param .b64 a);",
            "call.uni malloc;",
            "unsupported call of 'malloc', which the module does not define at line 8",
        ),
        (
            "",
            "call %rd1, ();",
            "unsupported call through '%rd1', which is no pointer of 64 bits with a prototype or \
             targets at line 8",
        ),
        ("", "bra NOWHERE;", "unknown label 'NOWHERE' at line 8"),
        ("", "bra L; { L: }", "label 'L' is in a scope that the branch is outside of at line 8"),
        ("", "L: L:", "second definition of 'L' at line 8"),
        ("", "add.u32 %r1, %rd1, 1;", "operand '%rd1' is not a register of 32 bits at line 8"),
        ("", "add.u32 %r1, %r2;", "'add.u32' takes 3 operands but has 2 at line 8"),
        (
            ".extern .global .b32 elsewhere;",
            "ld.global.b32 %r1, [elsewhere];",
            "unsupported variable 'elsewhere' (it is defined in another module) at line 8",
        ),
        (
            ".global .texref t;",
            "mov.u64 %rd2, t;",
            "unsupported variable 't' (it is a texture, sampler or surface) at line 8",
        ),
    ] {
        assert_eq!(refusal(outside, body), expected);
    }
}

#[test]
fn more_local_memory_than_a_thread_can_have_is_refused() {
    assert_eq!(
        refusal("", ".local .b8 depot[600000];"),
        "kernel 'k' has 600000 bytes of local memory a thread; the limit is 524288 at line 5"
    );
}

#[test]
fn an_unsupported_kernel_does_not_affect_others() {
    let text = "\
        .version 8.0\n.target sm_80\n.address_size 64\n\
        .file 1 \"./src/lib.rs\"\n\
        .func f() {\n.loc 1 12 5\nwgmma.fence;\nret;\n}\n\
        .visible .entry good() { ret; }\n\
        .visible .entry bad() {\n.loc 1 30 1\ncall.uni f;\nret;\n}\n";
    let module = Device::default().load(text).unwrap();
    assert!(module.kernel("good").is_some() && module.refusal("good").is_none());
    assert!(module.kernel("bad").is_none() && module.refusal("worse").is_none());
    assert_eq!(
        module.refusal("bad").unwrap().to_string(),
        "the emulator does not support this: PTX instruction 'wgmma.fence', in 'f' at src/lib.rs:12:5 (PTX line 7)"
    );
}

#[test]
fn a_function_may_have_any_number_of_registers() {
    // A chain of registers in a loop, with values that are carried, and one from before the loop
    // that is only mentioned before the chain.
    const COUNT: u32 = 40_000;
    let chain: String =
        (1..COUNT).map(|at| format!("mad.lo.u32 %v{at}, %v{}, 3, %v0;\n", at - 1)).collect();
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<3>; .reg .b32 %v<{COUNT}>; .reg .b32 %s<6>; .reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [out]; mov.u32 %s0, %tid.x; mov.u32 %s1, 0; mov.u32 %s2, 0;\n\
         mov.u32 %s4, 5; mov.u32 %s5, 11;\nLOOP:\nadd.u32 %s1, %s1, %s5; add.u32 %s1, %s1, %s4;\nadd.u32 %v0, %s0, %s2;\n{chain}\
         add.u32 %s1, %s1, %v{};\nadd.u32 %s4, %s2, 7; add.u32 %s2, %s2, 1;\n\
         setp.lt.u32 %p1, %s2, 2; @%p1 bra LOOP;\n\
         mad.wide.u32 %rd1, %s0, 4, %rd1; st.global.u32 [%rd1], %s1;\nret;\n}}\n",
        COUNT - 1
    );
    let mut bench = Bench::new(&text);
    let out = bench.upload(&[0u32; 32]);
    let record = bench.launch("k", 1, 32, &[&out]);
    assert_eq!(record.counter("smsp__sass_inst_executed_op_global_st.sum"), None);
    let expected: Vec<u32> = (0..32_u32)
        .map(|thread| {
            let round = |at: u32| {
                let first = thread + at;
                (1..COUNT).fold(first, |v, _| v.wrapping_mul(3).wrapping_add(first))
            };
            [5, 7].into_iter().zip(0..).fold(0, |sum: u32, (carried, at)| {
                sum.wrapping_add(11 + carried).wrapping_add(round(at))
            })
        })
        .collect();
    assert_eq!(bench.download(out, 32, u32::from_le_bytes), expected);
}

#[test]
fn more_constants_than_there_are_slots_are_refused() {
    let moves = |count: u32| {
        (0..count).map(|at| format!("add.u32 %r1, %r1, {};\n", 1000 + at)).collect::<String>()
    };
    assert!(Device::default().load(&kernel("", &moves(30_000))).is_ok());
    assert_eq!(
        refusal("", &moves(33_000)),
        "unsupported PTX: more than 32767 constants of one width at line 5"
    );
}

#[test]
fn more_static_shared_memory_than_a_kernel_may_have_is_refused() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .shared .align 4 .b8 tile[61440];\n\
        .visible .entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r1, tile;\nst.shared.b32 [%r1], 1;\nret;\n}\n";
    let mut device = Device::default();
    let module = device.load(text).unwrap();
    let config = LaunchConfig { grid: [1; 3], block: [32, 1, 1], shared_bytes: 0 };
    let error = device.launch(module.kernel("k").unwrap(), config, &[], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel 'k' cannot be launched: 61440 bytes of static shared memory exceed the limit of 49152; \
         only dynamic shared memory can be larger"
    );
}

#[test]
fn versions_and_targets_that_are_too_new_are_refused() {
    let load = |text: &str| Device::default().load(text).unwrap_err().to_string();
    assert_eq!(
        load(".version 99.0\n.target sm_90\n.address_size 64\n"),
        "unsupported PTX version 99.0: the emulator knows versions up to 9.5"
    );
    assert_eq!(
        load(".version 8.8\n.target sm_100\n.address_size 64\n"),
        "unsupported '.target sm_100': the emulated device is sm_90"
    );
}

#[test]
fn a_failed_assertion_is_reported_with_the_message_and_place_that_it_names() {
    let outside = ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
        .global .align 1 .b8 message[6] = {97, 32, 60, 32, 98, 0};\n.global .align 1 .b8 file[5] = {97, 46, 114, 115, 0};";
    let body = "setp.ne.u32 %p1, %r1, 37; @%p1 bra END;\n\
        { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;\n\
        mov.u64 %rd2, message; st.param.b64 [p0], %rd2; mov.u64 %rd3, file; st.param.b64 [p1], %rd3;\n\
        st.param.b32 [p2], 57; st.param.b64 [p3], %rd3; st.param.b64 [p4], 1;\n\
        call.uni __assertfail, (p0, p1, p2, p3, p4); }\nEND:";
    let mut bench = Bench::new(&kernel(outside, body));
    let out = bench.upload(&[0u32; 64]);
    let fault = bench.fault("k", 1, 64, &[&out]);
    assert_eq!(fault, "kernel 'k' at a.rs:57, block (0,0,0), thread (37,0,0): a < b");
}

/// The sum of two halves, computed exactly and rounded once by hand.
const SUMS: [(&str, u32, u32, u32); 5] = [
    // 1 + 2⁻¹¹ is a tie, which goes to the even 1; 2048 + 1 is one too; each half has its own.
    ("f16x2", 0x3c00_6800, 0x1000_3c00, 0x3c00_6800),
    // The smallest subnormals are not flushed, and nothing is carried from one half to the other.
    ("f16x2", 0x0001_ffff, 0x0001_0001, 0x0002_7fff),
    ("f16x2", 0x7bff_8000, 0x7bff_0000, 0x7c00_0000),
    // 256 + 1 is a tie of bf16; 1.0078125 + 2⁻⁸ is a tie that rounds up.
    ("bf16x2", 0x4380_3f81, 0x3f80_3b80, 0x4380_3f82),
    ("bf16x2", 0x0001_c000, 0x0001_4000, 0x0002_0000),
];

#[test]
fn atomic_additions_of_halves_round_each_half_and_flush_none() {
    for (ty, old, added, sum) in SUMS {
        for (space, at) in [("global", "%rd1"), ("shared", "%rd2")] {
            let body = format!(
                "mov.u64 %rd2, cell; mov.b32 %r2, {old}; mov.b32 %r3, {added};\n\
                 st.{space}.b32 [{at}], %r2;\n\
                 atom.relaxed.gpu.{space}.add.noftz.{ty} %r4, [{at}], %r3;\n\
                 ld.{space}.b32 %r5, [{at}]; sub.u32 %r4, %r4, %r2; add.u32 %r5, %r5, %r4;\n\
                 st.global.b32 [%rd1], %r5;"
            );
            let (got, _) = run(".shared .align 4 .b32 cell;", &body, 1);
            assert_eq!(got[0].cast_unsigned(), sum, "{old:x} + {added:x} of {ty} in {space}");
        }
    }
}

#[test]
fn an_atomic_addition_of_one_half_leaves_its_neighbour() {
    // Lane i adds 1.0 to half i % 2 of the first word; 32 lanes make 16.0 of each.
    for (ty, one, sixteen) in [("f16", 0x3c00, 0x4c00_4c00), ("bf16", 0x3f80, 0x4180_4180)] {
        let body = format!(
            "and.b32 %r2, %r1, 1; mul.wide.u32 %rd2, %r2, 2; add.s64 %rd2, %rd0, %rd2;\n\
             mov.b16 %h1, {one}; red.gpu.global.add.noftz.{ty} [%rd2], %h1;"
        );
        let (got, mut bench) = run("", &body, 32);
        assert_eq!(got[0].cast_unsigned(), sixteen);
        // As ptxas makes it: the word is loaded, and exchanged until no lane came in between. How
        // often depends on other warps.
        assert_eq!(requests(&mut bench), [Some(1), None, Some(0)]);
    }
    let said = refusal("", "atom.global.add.f16x2 %r2, [%rd1], %r1;");
    assert!(said.contains("unsupported PTX instruction 'atom.global.add.f16x2'"), "{said}");
}

#[test]
fn a_compare_and_swap_of_16_bits_leaves_its_neighbour() {
    // Half i is i, and lane i makes i + 100 of it where it is even.
    let place = "mul.wide.u32 %rd2, %r1, 2; add.s64 %rd3, %rd0, %rd2;\n\
        cvt.u16.u32 %h1, %r1; and.b16 %h2, %h1, 0xfffe; add.u16 %h3, %h1, 100;\n";
    let shared = "mov.u64 %rd4, cells; add.s64 %rd4, %rd4, %rd2;\n";
    let swaps = [("global", "%rd3", [Some(2), None, Some(0)]), ("shared", "%rd4", [Some(0); 3])];
    for (space, at, swaps) in swaps {
        let body = format!(
            "{place}{shared}st.{space}.b16 [{at}], %h1;\n\
             atom.acq_rel.cta.{space}.cas.b16 %h4, [{at}], %h2, %h3;\n\
             ld.{space}.b16 %h5, [{at}]; cvt.u32.u16 %r2, %h4; cvt.u32.u16 %r3, %h5;\n\
             shl.b32 %r3, %r3, 16; or.b32 %r2, %r2, %r3; bar.warp.sync -1;\n\
             st.global.b32 [%rd1], %r2;"
        );
        let (got, mut bench) = run(".shared .align 4 .b8 cells[32];", &body, 16);
        for (i, &got) in (0..).zip(&got) {
            let after = if i % 2 == 0 { i + 100 } else { i };
            assert_eq!(got, after << 16 | i, "half {i} in {space}");
        }
        // In global memory the word is loaded before it is swapped, and the half after that.
        assert_eq!(requests(&mut bench), swaps);
    }
    let said = refusal("", "atom.global.exch.b16 %h2, [%rd1], %h1;");
    assert!(said.contains("unsupported PTX instruction 'atom.global.exch.b16'"), "{said}");
}

/// Requests to global memory, as far as the hardware has them: loads, atomics and reductions.
fn requests(bench: &mut Bench) -> [Option<u64>; 3] {
    let record = &bench.device.take_launches()[0];
    ["ld", "atom", "red"]
        .map(|op| record.counter(&format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum")))
}

#[test]
fn a_register_that_a_block_does_not_write_is_zero() {
    // Block 0 writes all of them, and block 1 none.
    let body = "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra E;\n\
        mov.u32 %r3, 7; mov.u64 %rd3, 50; setp.eq.u32 %p2, %r2, 0;\n\
        E: cvt.u32.u64 %r4, %rd3; add.u32 %r3, %r3, %r4; @%p2 add.u32 %r3, %r3, 100;\n\
        mul.wide.u32 %rd4, %r2, 128; add.s64 %rd4, %rd1, %rd4; st.global.b32 [%rd4], %r3;";
    let mut bench = Bench::new(&kernel("", body));
    let out = bench.upload(&[1_u32; 64]);
    bench.launch("k", 2, 32, &[&out]);
    assert_eq!(bench.ints(out, 64), [[157; 32], [0; 32]].concat());
}
