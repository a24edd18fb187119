//! `ldmatrix`, `cp.async` and `mbarrier`: their results, the threads that wait, and their faults.

use crate::common::Bench;
use gpuprof_emulator::device::{Device, LaunchRecord};

/// A module with one kernel `k(u64 out, u64 in)`; `%rd1` is `out + 4 × %tid.x`, `%rd2` is `in`,
/// `%r1` is `%tid.x` and `%r2` the address of the shared array.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[2048];\n\
         .shared .align 8 .b64 bar;\n\
         .visible .entry k(.param .u64 out, .param .u64 in) {{\n\
         .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;\n\
         ld.param.u64 %rd0, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n\
         mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;\n\
         {body}\nret;\n}}\n"
    )
}

/// The 32-bit words after a launch of one block, and its counters. `in` holds 0, 1, 2, …
fn run(body: &str, threads: u32) -> (Vec<i32>, LaunchRecord) {
    let mut bench = Bench::new(&kernel(body));
    let out = bench.upload(&vec![0u32; threads as usize]);
    let input = bench.upload(&(0..1024u32).collect::<Vec<_>>());
    let record = bench.launch("k", 1, threads, &[&out, &input]);
    (bench.ints(out, threads as usize), record)
}

fn fault(body: &str, threads: u32) -> String {
    let mut bench = Bench::new(&kernel(body));
    let out = bench.upload(&vec![0u32; threads as usize]);
    let input = bench.upload(&(0..1024u32).collect::<Vec<_>>());
    bench.fault("k", 1, threads, &[&out, &input])
}

fn refusal(body: &str) -> String {
    Device::default().load(&kernel(body)).unwrap_err().to_string()
}

/// Fills the array with its own offsets: word `i` holds `4 i`, four words a lane.
const FILL: &str = "mov.u32 %r20, %r1; FILL: shl.b32 %r21, %r20, 2; add.u32 %r22, %r2, %r21;\n\
    st.shared.b32 [%r22], %r21; add.u32 %r20, %r20, 32; setp.lt.u32 %p7, %r20, 512; @%p7 bra FILL;\n\
    bar.sync 0;";

/// Fills with halves: half `i` holds `i`.
const HALVES: &str = "mov.u32 %r20, %r1; FILL: shl.b32 %r21, %r20, 1; shl.b32 %r23, %r20, 2; add.u32 %r22, %r2, %r23;\n\
    add.u32 %r24, %r21, 1; shl.b32 %r24, %r24, 16; or.b32 %r24, %r24, %r21; st.shared.b32 [%r22], %r24;\n\
    add.u32 %r20, %r20, 32; setp.lt.u32 %p7, %r20, 512; @%p7 bra FILL; bar.sync 0;";

#[test]
fn a_lane_gets_two_neighbours_of_a_row_of_each_matrix() {
    // Row r of matrix m begins at half 64 m + 8 r: the matrices follow each other.
    let body = format!(
        "{HALVES}\nshl.b32 %r3, %r1, 4; add.u32 %r3, %r2, %r3;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r3];\n\
         st.global.b32 [%rd1], %r6;"
    );
    let (got, record) = run(&body, 32);
    let of = |lane: i32| 2 * 64 + lane / 4 * 8 + lane % 4 * 2;
    assert_eq!(got, (0..32).map(|lane| of(lane) | (of(lane) + 1) << 16).collect::<Vec<_>>());
    for (name, value) in [
        ("ptx__matrix_loads.sum", 1),
        ("ptx__matrix_load_wavefronts.sum", 4),
        ("ptx__matrix_load_bank_conflicts.sum", 0),
    ] {
        assert_eq!(record.counter(name), Some(value), "{name}");
    }
    assert_eq!(record.counter("ptx__async_copies.sum"), None);
}

#[test]
fn transposed_a_lane_gets_two_neighbours_of_a_column() {
    // Rows 128 bytes apart, so that all eight rows lie in the same banks.
    let body = format!(
        "{HALVES}\nshl.b32 %r3, %r1, 7; add.u32 %r3, %r2, %r3;\n\
         ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {{%r4}}, [%r3];\nst.global.b32 [%rd1], %r4;"
    );
    // Only the first eight lanes name rows: the others may hold any address.
    let (got, record) = run(&body, 32);
    let of = |row: i32, column: i32| row * 64 + column;
    let pair = |lane: i32| of(lane % 4 * 2, lane / 4) | of(lane % 4 * 2 + 1, lane / 4) << 16;
    assert_eq!(got, (0..32).map(pair).collect::<Vec<_>>());
    assert_eq!(record.counter("ptx__matrix_load_wavefronts.sum"), Some(8));
    assert_eq!(record.counter("ptx__matrix_load_bank_conflicts.sum"), Some(7));
}

#[test]
fn a_matrix_needs_all_lanes_and_rows_of_16_bytes_in_shared_memory() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];";
    let half = format!("{FILL} mov.u32 %r3, %r2; setp.lt.u32 %p1, %r1, 16; @%p1 {load}");
    assert!(fault(&half, 32).ends_with("ldmatrix needs all 32 lanes of the warp"));
    let odd = format!("{FILL} add.u32 %r3, %r2, 8; {load}");
    assert!(fault(&odd, 32).ends_with("which is not a multiple of 16"));
    let generic = "mov.b64 %rd3, %rd2; ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%rd3];";
    assert!(fault(generic, 32).ends_with("the rows of ldmatrix lie outside of shared memory"));
    assert!(refusal("ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r4}, [%r3];").contains("m8n16"));
}

/// Each lane copies 16 bytes of `in`, then `wait` is done.
fn copied(size: &str, wait: &str) -> String {
    format!(
        "shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3; add.s64 %rd3, %rd2, %rd3;\n\
         setp.lt.u32 %p1, %r1, 3; selp.b32 %r9, 6, 16, %p1;\n\
         cp.async.cg.shared.global.L2::128B [%r4], [%rd3], 16{size};\n{wait}\n\
         xor.b32 %r5, %r1, 1; shl.b32 %r5, %r5, 4; add.u32 %r5, %r2, %r5; ld.shared.b32 %r6, [%r5+4];\n\
         st.global.b32 [%rd1], %r6;"
    )
}

#[test]
fn a_copy_is_visible_after_a_wait_and_a_barrier() {
    let (got, record) =
        run(&copied("", "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;"), 64);
    assert_eq!(got, (0..64).map(|lane| 4 * (lane ^ 1) + 1).collect::<Vec<_>>());
    for (name, value) in [
        ("ptx__async_copies.sum", 2),
        ("ptx__async_copy_sectors.sum", 32),
        ("smsp__sass_inst_executed_op_global_ld.sum", 0),
        ("smsp__sass_inst_executed_op_shared_st.sum", 0),
        ("smsp__sass_inst_executed_op_shared_ld.sum", 2),
    ] {
        assert_eq!(record.counter(name), Some(value), "{name}");
    }
}

#[test]
fn bytes_beyond_the_source_size_are_zero_and_are_not_read() {
    // Lanes 0 to 2 copy six bytes: of the second word the lower half.
    let (got, _) = run(&copied(", %r9", "cp.async.wait_all; bar.sync 0;"), 32);
    let word = |lane: i32| 4 * lane + 1;
    let expected = |lane: i32| if lane < 3 { word(lane) & 0xffff } else { word(lane) };
    assert_eq!(got, (0..32).map(|lane| expected(lane ^ 1)).collect::<Vec<_>>());
    // A copy of size 0, or one that its predicate disables, reads nothing, at any address.
    let body = "mov.b64 %rd3, 0; shl.b32 %r3, %r1, 3; add.u32 %r4, %r2, %r3; mov.u32 %r5, 0; setp.eq.u32 %p1, 0, 0;\n\
        cp.async.ca.shared.global [%r4], [%rd3], 4, %r5; cp.async.ca.shared.global [%r4+4], [%rd3], 4, %p1;\n\
        cp.async.wait_all; ld.shared.v2.b32 {%r6, %r7}, [%r4]; or.b32 %r6, %r6, %r7; st.global.b32 [%rd1], %r6;";
    let (got, record) = run(body, 32);
    assert_eq!(got, [0; 32]);
    assert_eq!(record.counter("ptx__async_copy_sectors.sum"), Some(0));
}

#[test]
fn a_cache_policy_of_a_copy_changes_no_result() {
    let body = "createpolicy.fractional.L2::evict_first.b64 %rd5, 0f3F800000; mov.b32 %r9, 4;\n\
        shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3; add.s64 %rd3, %rd2, %rd3;\n\
        cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r4], [%rd3], 16, %r9, %rd5;\n\
        cp.async.ca.shared.global.L2::cache_hint [%r4+8], [%rd3+8], 4, %rd5;\n\
        cp.async.wait_all; ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r4];\n\
        mad.lo.u32 %r5, %r7, 1000, %r5; add.u32 %r5, %r5, %r6; st.global.b32 [%rd1], %r5;";
    // Of the 16 bytes the first word is read, and the third is copied again.
    let expected = |lane: i32| (4 * lane + 2) * 1000 + 4 * lane;
    assert_eq!(run(body, 32).0, (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_copy_without_a_wait_is_not_visible() {
    let said = fault(&copied("", "cp.async.commit_group; bar.sync 0;"), 32);
    assert!(said.contains("which no thread of the block has written"), "{said}");
    // A wait for all groups but one does not wait for the only one.
    let said = fault(&copied("", "cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;"), 32);
    assert!(said.contains("which no thread of the block has written"), "{said}");
    // Its own lane waits, but no barrier orders it and its neighbour.
    let said = fault(&copied("", "cp.async.wait_all;"), 32);
    assert!(said.contains("a race") && said.contains("wrote at PTX line 12"), "{said}");
}

#[test]
fn a_copy_may_write_as_soon_as_it_is_issued() {
    // Each thread writes its word; the one 32 further on reads it before it is copied to.
    let body = |before: &str, after: &str| {
        format!(
            "shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3; \
             add.s64 %rd3, %rd2, %rd3;\nmov.u32 %r9, -1; st.shared.b32 [%r4], %r9;\nbar.sync 0;\n\
             xor.b32 %r5, %r3, 128; add.u32 %r5, %r2, %r5; {before}\n\
             cp.async.ca.shared.global [%r4], [%rd3], 4; cp.async.commit_group; {after}\n\
             bar.sync 0; cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r7, [%r5]; \
             st.global.b32 [%rd1], %r7;"
        )
    };
    let read = "ld.shared.b32 %r6, [%r5];";
    let (got, _) = run(&body(&format!("{read} bar.sync 0;"), ""), 64);
    assert_eq!(got, (0..64).map(|thread| thread ^ 32).collect::<Vec<_>>());
    for (before, after) in [(read, ""), ("", read)] {
        let said = fault(&body(before, after), 64);
        assert!(
            said.contains("writes 4 bytes of shared memory") && said.contains("a race"),
            "{said}"
        );
    }
}

#[test]
fn a_misplaced_copy_is_a_fault() {
    let copy = |to: &str, from: &str| {
        format!(
            "mov.b64 %rd3, {from}; add.u32 %r4, %r2, {to}; cp.async.cg.shared.global [%r4], [%rd3], 16;"
        )
    };
    assert!(fault(&copy("8", "%rd2"), 32).ends_with("which is not a multiple of 16"));
    assert!(
        fault(&copy("0", "16"), 32)
            .contains("reads 16 bytes of global memory at 0x10, a null pointer")
    );
    assert!(fault(&copy("65536", "%rd2"), 32).contains("writes 16 bytes of shared memory"));
    for refused in [
        "cp.async.cg.shared.global [%r4], [%rd3], 8;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], %r5, [%r6];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3, {%r5, %r6}], [%r7];",
    ] {
        let name = refused.split(' ').next().unwrap();
        let said = refusal(refused);
        assert!(
            said.contains(&format!("unsupported PTX instruction '{name}' at line 10")),
            "{said}"
        );
    }
}

/// A barrier for `count` arrivals, which thread 0 makes.
fn barrier(count: u32, body: &str) -> String {
    format!(
        "mov.u32 %r10, bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [%r10], {count};\n\
         bar.sync 0;\n{body}"
    )
}

#[test]
fn warps_wait_for_the_arrivals_of_all() {
    // The second warp is slow: it counts to 5000 before it arrives.
    let work = "st.shared.b32 [%r4], %r1; setp.lt.u32 %p2, %r1, 32; @%p2 bra ARRIVE; mov.u32 %r5, 0;\n\
        SLOW: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 5000; @%p3 bra SLOW;\nARRIVE:";
    for wait in [
        "mbarrier.arrive.release.cta.shared::cta.b64 %rd4, [%r10];\n\
         WAIT: mbarrier.test_wait.shared.b64 %p4, [%r10], %rd4; @!%p4 bra WAIT;",
        "mbarrier.arrive.shared.b64 _, [%r10];\n\
         WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p4, [%r10], 0, 1000; @!%p4 bra WAIT;",
    ] {
        let body = barrier(
            64,
            &format!(
                "shl.b32 %r4, %r1, 2; add.u32 %r4, %r2, %r4; {work}\n{wait}\n\
                 xor.b32 %r6, %r1, 63; shl.b32 %r6, %r6, 2; add.u32 %r6, %r2, %r6; ld.shared.b32 %r7, [%r6];\n\
                 st.global.b32 [%rd1], %r7;"
            ),
        );
        let (got, _) = run(&body, 64);
        assert_eq!(got, (0..64).map(|lane| lane ^ 63).collect::<Vec<_>>(), "{wait}");
    }
}

#[test]
fn an_arrival_orders_only_earlier_accesses() {
    let arrive = "mbarrier.arrive.shared.b64 %rd4, [%r10];\n";
    let write = "shl.b32 %r4, %r1, 2; add.u32 %r4, %r2, %r4; st.shared.b32 [%r4], %r1;\n";
    let body = |steps: &[&str]| {
        let steps = steps.concat();
        barrier(
            64,
            &format!(
                "{steps}WAIT: mbarrier.test_wait.shared.b64 %p4, [%r10], %rd4; @!%p4 bra WAIT;\n\
                 xor.b32 %r6, %r1, 63; shl.b32 %r6, %r6, 2; add.u32 %r6, %r2, %r6; \
                 ld.shared.b32 %r7, [%r6]; st.global.b32 [%rd1], %r7;"
            ),
        )
    };
    let (got, _) = run(&body(&[write, arrive]), 64);
    assert_eq!(got, (0..64).map(|thread| thread ^ 63).collect::<Vec<_>>());
    run(&body(&[arrive, write, "bar.sync 0;\n"]), 64);
    let said = fault(&body(&[arrive, write]), 64);
    assert!(said.contains("reads 4 bytes of shared memory") && said.contains("a race"), "{said}");
    // Lanes that met know each other's writes, whatever barrier has seen.
    let own = body(&[arrive, write, "bar.warp.sync -1;\n"]).replace("%r1, 63", "%r1, 1");
    let (got, _) = run(&own, 64);
    assert_eq!(got, (0..64).map(|thread| thread ^ 1).collect::<Vec<_>>());
}

#[test]
fn phases_follow_each_other_and_a_parity_names_them() {
    // One thread arrives three times; the parity of the phase that is over alternates.
    let body = barrier(
        1,
        "mov.u32 %r11, 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n\
         mbarrier.test_wait.parity.shared.b64 %p2, [%r10], 1; selp.u32 %r12, 1, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.test_wait.parity.shared.b64 %p2, [%r10], 0; selp.u32 %r12, 2, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.arrive.shared.b64 %rd4, [%r10];\n\
         mbarrier.test_wait.parity.shared.b64 %p2, [%r10], 0; selp.u32 %r12, 4, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.test_wait.parity.shared.b64 %p2, [%r10], 1; selp.u32 %r12, 8, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.arrive.shared.b64 %rd5, [%r10];\n\
         mbarrier.test_wait.shared.b64 %p2, [%r10], %rd5; selp.u32 %r12, 16, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         END: st.global.b32 [%rd1], %r11;",
    );
    assert_eq!(run(&body, 32).0[0], 1 | 4 | 16);
}

#[test]
fn a_state_holds_the_pending_arrivals() {
    let body = barrier(
        40,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n\
         mbarrier.arrive.noComplete.shared.b64 %rd4, [%r10], 7;\n\
         mbarrier.arrive.shared.b64 %rd5, [%r10];\n\
         mbarrier.pending_count.b64 %r11, %rd4; mbarrier.pending_count.b64 %r12, %rd5;\n\
         mad.lo.u32 %r11, %r11, 100, %r12; st.global.b32 [%rd1], %r11;\nEND:",
    );
    assert_eq!(run(&body, 32).0[0], 4033);
}

#[test]
fn a_phase_waits_for_the_bytes_that_it_expects() {
    let body = barrier(
        1,
        "mov.u32 %r11, 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd4, [%r10], 96;\n\
         mbarrier.test_wait.shared.b64 %p2, [%r10], %rd4; selp.u32 %r12, 1, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r10], 4;\n\
         mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r10], 96;\n\
         mbarrier.test_wait.shared.b64 %p2, [%r10], %rd4; selp.u32 %r12, 2, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r10], 4;\n\
         mbarrier.test_wait.shared.b64 %p2, [%r10], %rd4; selp.u32 %r12, 4, 0, %p2; or.b32 %r11, %r11, %r12;\n\
         END: st.global.b32 [%rd1], %r11;",
    );
    assert_eq!(run(&body, 32).0[0], 4);
}

#[test]
fn copies_arrive_at_a_barrier_when_complete() {
    let body = barrier(
        64,
        &copied(
            "",
            "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];\n\
             WAIT: mbarrier.test_wait.parity.shared.b64 %p4, [%r10], 0; @!%p4 bra WAIT;",
        ),
    );
    assert_eq!(run(&body, 64).0, (0..64).map(|lane| 4 * (lane ^ 1) + 1).collect::<Vec<_>>());
    // Without `.noinc` the barrier waits for the arrivals of the threads alone.
    let body = body.replace(
        ".noinc.shared.b64 [%r10];",
        ".shared.b64 [%r10]; mbarrier.arrive.shared.b64 %rd9, [%r10];",
    );
    assert_eq!(run(&body, 64).0, (0..64).map(|lane| 4 * (lane ^ 1) + 1).collect::<Vec<_>>());
}

#[test]
fn a_barrier_that_is_used_wrongly_is_a_fault() {
    let arrive = "mbarrier.arrive.shared.b64 %rd4, [%r10];";
    for (body, why) in [
        (
            format!(
                "mov.u32 %r10, bar; mov.b64 %rd5, 0; st.shared.b64 [%r10], %rd5; bar.sync 0; {arrive}"
            ),
            "is not initialised",
        ),
        (
            barrier(1, &format!("@%p1 mbarrier.inval.shared.b64 [%r10]; bar.sync 0; {arrive}")),
            "is not initialised",
        ),
        (barrier(0, arrive), "is initialised with a count that is not 1 to 1048575"),
        (
            barrier(40, &format!("{arrive} @%p1 mbarrier.arrive.shared.b64 %rd4, [%r10], 9;")),
            "arrives more often than the phase expects, or not at all",
        ),
        (
            barrier(1, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r10], 1048576;"),
            "expects more bytes than 1048575",
        ),
    ] {
        let said = fault(&body, 32);
        assert!(
            said.ends_with(&format!("the mbarrier at 0x1000 of shared memory {why}"))
                || said.ends_with(why),
            "{said}"
        );
    }
    assert!(
        refusal("mbarrier.arrive.shared::cluster.b64 _, [%r10];")
            .contains("'mbarrier.arrive.shared::cluster.b64'")
    );
}

/// Word `i` of the array of a kernel that stores the lanes' numbers `256 j + lane` by `stmatrix`.
fn stored_rows(count: usize, trans: &str, apart: u32) -> Vec<i32> {
    let registers: Vec<String> = (0..count).map(|at| format!("%r{}", 8 + at)).collect();
    let mut body = String::from("mov.u32 %r3, 0;\n");
    for word in 0..16 {
        body += &format!("mad.lo.u32 %r4, %r1, 64, %r2; st.shared.b32 [%r4+{}], %r3;\n", 4 * word);
    }
    body += "bar.sync 0;\n";
    for (at, register) in registers.iter().enumerate() {
        // The two halves of lane `n` are `2 n` and `2 n + 1`, of matrix `at` 64 more each.
        body += &format!(
            "shl.b32 %r4, %r1, 1; add.u32 %r4, %r4, {}; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16;\n\
             or.b32 {register}, %r4, %r5;\n",
            64 * at
        );
    }
    body += &format!(
        "mad.lo.u32 %r4, %r1, {apart}, %r2;\n\
         stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r4], {{{}}};\nbar.sync 0;\n",
        registers.join(", ")
    );
    for word in 0..16 {
        body += &format!(
            "mad.lo.u32 %r4, %r1, 64, %r2; ld.shared.b32 %r3, [%r4+{0}];\n\
             mad.wide.u32 %rd3, %r1, 64, %rd0; st.global.b32 [%rd3+{0}], %r3;\n",
            4 * word
        );
    }
    let mut bench = Bench::new(&kernel(&body));
    let out = bench.upload(&[0u32; 512]);
    let record = bench.launch("k", 1, 32, &[&out, &out]);
    let counter = |name: &str| record.counters.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(counter("ptx__matrix_stores.sum"), 1);
    // Rows 128 bytes apart begin in one bank.
    let conflicts = if apart == 128 { 7 * count as u64 } else { 0 };
    assert_eq!(counter("ptx__matrix_store_bank_conflicts.sum"), conflicts);
    let name = "smsp__sass_inst_executed_op_shared_st.sum";
    assert!(record.unclaimed.iter().any(|(known, _)| known == name), "{name} is claimed");
    bench.ints(out, 512)
}

#[test]
fn matrices_are_stored_row_by_row_or_transposed() {
    for count in [1, 2, 4] {
        for (trans, apart) in [("", 16), (".trans", 16), ("", 48), (".trans", 128), ("", 128)] {
            if apart * 8 * count > 2048 {
                continue;
            }
            let words = stored_rows(count as usize, trans, apart);
            for lane in 0..8 * count {
                for column in 0..8 {
                    let at = lane * apart + 2 * column;
                    let got = words[at as usize / 4] >> (16 * (column % 2)) & 0xffff;
                    let (matrix, row) = (lane / 8, lane % 8);
                    let (row, column) =
                        if trans.is_empty() { (row, column) } else { (column, row) };
                    let expected = 64 * matrix + 8 * row + column;
                    assert_eq!(got as u32, expected, "x{count}{trans}, row {lane}, {column}");
                }
            }
        }
    }
}

#[test]
fn movmatrix_transposes_the_halves_of_a_warp() {
    let body = "shl.b32 %r4, %r1, 1; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5;\n\
                movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r4; st.global.b32 [%rd1], %r6;";
    let (words, _) = run(body, 32);
    for (lane, word) in words.into_iter().enumerate() {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let [low, high] = [column, column + 1].map(|column| (8 * column + row) as i32);
        assert_eq!(word, low | high << 16, "lane {lane}");
    }
}

#[test]
fn undefined_halves_propagate_through_moves_of_matrices() {
    // Lane 6, with row 1 from column 4 on, reads unwritten memory.
    let start = "mov.u32 %r4, 0; setp.eq.u32 %p0, %r1, 6; @%p0 ld.shared.b32 %r4, [%r2+1024];\n";
    for lane in 0..32 {
        let end = format!("setp.eq.u32 %p1, %r1, {lane}; @%p1 st.global.b32 [%rd1], %r6;");
        let fails = |middle: &str| {
            let mut bench = Bench::new(&kernel(&format!("{start}{middle}{end}")));
            let out = bench.upload(&[0u32; 32]);
            bench.try_launch("k", [1; 3], [32, 1, 1], 0, &[&out, &out]).is_err()
        };
        // Its halves become the first of row 4 and of row 5, from column 1 on.
        let moved = fails("movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r4;\n");
        assert_eq!(moved, lane == 16 || lane == 20, "movmatrix, lane {lane}");
        let stored = fails(
            "mad.lo.u32 %r5, %r1, 16, %r2; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r4};\n\
             bar.sync 0; mad.lo.u32 %r5, %r1, 4, %r2; ld.shared.b32 %r6, [%r5];\n",
        );
        assert_eq!(stored, lane == 6, "stmatrix, lane {lane}");
    }
}

#[test]
fn stores_of_matrices_are_checked() {
    let store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%r1, %r1, %r1, %r1};";
    for (body, expected) in [
        ("mad.lo.u32 %r5, %r1, 8, %r2;", "writes 16 bytes of shared memory at 0x8"),
        ("mad.lo.u32 %r5, %r1, 16, %r2; add.u32 %r5, %r5, 1600;", "shared memory"),
        ("mov.u32 %r5, %r2; setp.eq.u32 %p0, %r1, 3; @%p0 bra END;", "stmatrix needs all 32 lanes"),
    ] {
        let said = fault(&format!("{body}\n{store}\nEND:"), 32);
        assert!(said.contains(expected), "{said}");
    }
    let race = "mad.lo.u32 %r5, %r1, 16, %r2; and.b32 %r5, %r5, 511; add.u32 %r4, %r1, 1;\n\
                and.b32 %r3, %r1, 31; mad.lo.u32 %r5, %r3, 16, %r2;\n\
                stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%r4, %r4, %r4, %r4};";
    assert!(fault(race, 64).contains("a race"), "two warps store to one tile");
}
