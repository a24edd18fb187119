//! Kernels with different memory accesses in machine code than in PTX, and similar kernels without
//! a difference.

use crate::common::Bench;
use gpuprof_emulator::device::LaunchRecord;
use std::collections::BTreeSet;

/// Launches 64 threads. `%rd1` is the output plus 16 bytes a thread, `%r1` the thread's index, and
/// `%rd2` the address of 16 shared bytes a thread that hold zeros.
fn launch(body: &str) -> LaunchRecord {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b64 %rd<16>;\n\
         .reg .b16 %h<2>; .shared .align 16 .b8 s[2048]; .local .align 16 .b8 depot[16];\n\
         ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mov.u32 %r0, 0;\n\
         mul.wide.u32 %rd3, %r1, 16; add.s64 %rd1, %rd1, %rd3; mov.u64 %rd2, s; add.s64 %rd2, %rd2, %rd3;\n\
         st.shared.v4.b32 [%rd2], {{%r0, %r0, %r0, %r0}}; bar.sync 0;\n{body}\nret;\n}}\n"
    );
    let mut bench = Bench::unchecked(&text);
    let out = bench.upload(&vec![0u32; 65536]);
    bench.launch("k", 1, 64, &[&out])
}

/// The counters that are not claimed, by space and operation, and their reasons.
fn unclaimed(body: &str) -> BTreeSet<(String, String)> {
    let short = |name: &str| {
        let words: Vec<&str> = name.trim_end_matches(".sum").split('_').collect();
        let space = if name.contains("shared") { "shared" } else { "global" };
        format!("{space} {}", words[words.len() - 1])
    };
    let reason = |text: &str| text.split(" (line").next().unwrap().to_owned();
    launch(body).unclaimed.iter().map(|(name, text)| (short(name), reason(text))).collect()
}

fn check(body: &str, expected: &[(&str, &str)]) {
    let expected = expected.iter().map(|(name, why)| ((*name).to_owned(), (*why).to_owned()));
    assert_eq!(unclaimed(body), expected.collect(), "{body}");
}

const DROPPED: [(&str, &str); 1] = [("global ld", "ptxas drops an unused load")];
const NARROWED: [(&str, &str); 1] = [("global ld", "ptxas narrows a load that is used in part")];
const REPEATED: [(&str, &str); 1] = [("global ld", "ptxas drops a repeated load")];
const OVERWRITTEN: [(&str, &str); 1] =
    [("global st", "ptxas drops a store that another one overwrites")];
const JOINED: [(&str, &str); 1] = [("shared ld", "ptxas joins neighbouring shared loads")];

#[test]
fn an_unused_load_is_dropped() {
    check("ld.global.b32 %r2, [%rd1];", &DROPPED);
    check("ld.global.b32 %r2, [%rd1]; add.u32 %r3, %r2, 1;", &DROPPED);
    check("ld.volatile.global.b32 %r2, [%rd1];", &[]);
    check("ld.global.b32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 1; @%p1 trap;", &[]);
}

#[test]
fn a_load_of_which_a_part_is_used_is_narrowed() {
    let load = "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];";
    check(&format!("{load} st.global.b32 [%rd1+4096], %r2;"), &NARROWED);
    let three = "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r5; st.global.b32 [%rd1+4096], %r2;";
    check(&format!("{load} {three}"), &[]);
    let wide = "ld.global.b64 %rd4, [%rd1]; cvt.u32.u64 %r2, %rd4;";
    check(&format!("{wide} st.global.b32 [%rd1+4096], %r2;"), &NARROWED);
    check(&format!("{wide} st.global.b32 [%rd1+4096], %r2; st.global.b64 [%rd1+8192], %rd4;"), &[]);
}

#[test]
fn a_word_of_a_load_that_bits_leave_out_is_narrowed() {
    let uses = [
        "shr.u64 %rd5, %rd4, 40; st.global.b64 [%rd1+4096], %rd5;",
        "and.b64 %rd5, %rd4, 15; st.global.b64 [%rd1+4096], %rd5;",
        "add.u64 %rd5, %rd4, %rd3; cvt.u32.u64 %r2, %rd5; st.global.b32 [%rd1+4096], %r2;",
        "mov.b64 {%r2, %r3}, %rd4; shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; st.global.b32 [%rd1+4096], %r4;",
        "setp.lt.s64 %p1, %rd4, 0; selp.b32 %r2, 1, 2, %p1; st.global.b32 [%rd1+4096], %r2;",
        "st.global.b16 [%rd1+4096], %rd4;",
    ];
    for part in uses {
        check(&format!("ld.global.b64 %rd4, [%rd1]; {part}"), &NARROWED);
        check(&format!("ld.volatile.global.b64 %rd4, [%rd1]; {part}"), &NARROWED);
        let shared = [("shared ld", NARROWED[0].1)];
        check(&format!("ld.shared.b64 %rd4, [%rd2]; {part}"), &shared);
        let also = "st.global.b64 [%rd1+8192], %rd4;";
        check(&format!("ld.global.b64 %rd4, [%rd1]; {part} {also}"), &[]);
    }
    let pair = "ld.global.v2.b64 {%rd4, %rd5}, [%rd1]; cvt.u32.u64 %r2, %rd4; st.global.b32 [%rd1+4096], %r2;";
    check(&format!("{pair} st.global.b64 [%rd1+8192], %rd5;"), &[]);
    check(&format!("{pair} cvt.u32.u64 %r3, %rd5; st.global.b32 [%rd1+8192], %r3;"), &NARROWED);
}

#[test]
fn half_a_word_is_loaded_alone_only_if_a_move_separates_it() {
    let load = "ld.global.b32 %r2, [%rd1];";
    let half = "mov.b32 {%h0, %h1}, %r2; st.global.b16 [%rd1+4096], %h1;";
    check(&format!("{load} {half}"), &NARROWED);
    check(&format!("{load} {half} st.global.b16 [%rd1+8192], %h0;"), &[]);
    check(&format!("{load} shr.u32 %r3, %r2, 16; st.global.b16 [%rd1+4096], %r3;"), &[]);
    check(&format!("{load} and.b32 %r3, %r2, 255; st.global.b32 [%rd1+4096], %r3;"), &[]);
}

#[test]
fn a_load_without_an_effect_is_dropped() {
    let results = [
        "mul.lo.u32 %r3, %r2, 0;",
        "mul.hi.u32 %r3, %r2, 0;",
        "xor.b32 %r3, %r2, %r2;",
        "and.b32 %r3, %r2, 0;",
        "or.b32 %r3, %r2, -1;",
        "shl.b32 %r3, %r2, 32;",
        "shr.u32 %r4, %r2, 20; shr.u32 %r3, %r4, 20;",
        "and.b32 %r4, %r2, 0xf0; and.b32 %r3, %r4, 0x0f;",
        "bfe.u32 %r3, %r2, 3, 0;",
        "shf.l.wrap.b32 %r3, %r2, %r1, 0;",
        "prmt.b32 %r3, %r2, %r1, 0x7654;",
        "dp4a.s32.s32 %r3, %r2, %r0, 5;",
        "lop3.b32 %r3, %r2, %r1, %r0, 0xcc;",
        "setp.lt.u32 %p1, %r2, 7; selp.b32 %r3, 2, 2, %p1;",
        "mov.b32 %f1, %r2; setp.equ.f32 %p1, %f1, %f1; selp.b32 %r3, 1, 2, %p1;",
        "mov.u32 %r3, 1; shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;",
        "mov.u32 %r3, 1; redux.sync.add.u32 %r4, %r2, -1;",
        "mov.u32 %r3, 1; match.any.sync.b32 %r4, %r2, -1;",
        "mov.u32 %r3, 1; setp.lt.u32 %p1, %r2, 7; vote.sync.ballot.b32 %r4, %p1, -1;",
        "mov.u32 %r3, 1; setp.lt.u32 %p1, %r2, 7; @%p1 mov.u32 %r4, 2;",
        "mov.u32 %r3, 1; setp.lt.u32 %p1, %r2, 7; @%p1 bra L; add.u32 %r4, %r1, 2; L:",
        "mov.u32 %r3, 1; setp.ne.u32 %p1, %r0, 0; @!%p1 bra L; mov.u32 %r3, %r2; L:",
        "mov.u32 %r3, 1; add.cc.u32 %r4, %r2, 1; addc.u32 %r5, %r2, 0;",
    ];
    for result in results {
        let body = format!("ld.global.b32 %r2, [%rd1]; {result} st.global.b32 [%rd1+4096], %r3;");
        check(&body, &DROPPED);
        check(&body.replace("ld.global", "ld.relaxed.gpu.global"), &DROPPED);
    }
}

#[test]
fn a_load_that_decides_about_an_effect_is_kept() {
    let effects = [
        "setp.lt.u32 %p1, %r2, 7; @%p1 bra L; st.global.b32 [%rd1+4096], %r1; L:",
        "setp.lt.u32 %p1, %r2, 7; mov.u32 %r3, 1; @%p1 mov.u32 %r3, 2; st.global.b32 [%rd1+4096], %r3;",
        "setp.lt.u32 %p1, %r2, 7; mov.u32 %r3, 1; @%p1 bra L; mov.u32 %r3, 2; L: st.global.b32 [%rd1+4096], %r3;",
        "setp.lt.u32 %p1, %r2, 7; vote.sync.ballot.b32 %r3, %p1, -1; st.global.b32 [%rd1+4096], %r3;",
        "and.b32 %r3, %r2, 12; add.u32 %r3, %r3, 1; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd4, %rd4, %rd1;\n\
         st.global.b32 [%rd4+4096], %r1;",
        "mul.lo.u32 %r3, %r2, %r1; red.global.add.u32 [%rd1+4096], %r3;",
        "sub.u32 %r3, %r2, %r2; st.global.b32 [%rd1+4096], %r3;",
    ];
    for effect in effects {
        check(&format!("ld.global.b32 %r2, [%rd1]; {effect}"), &[]);
    }
}

#[test]
fn a_load_is_not_repeated_unless_memory_may_have_changed() {
    let twice = |between: &str| {
        format!(
            "ld.global.b32 %r2, [%rd1+8]; {between} add.s64 %rd5, %rd1, 8; ld.global.b32 %r3, [%rd5];\n\
             add.u32 %r2, %r2, %r3; st.global.b32 [%rd1+4096], %r2;"
        )
    };
    check(&twice(""), &REPEATED);
    check(&twice("vote.sync.ballot.b32 %r4, %p0, -1;"), &REPEATED);
    check(&twice("st.shared.b32 [%rd2], %r2;"), &REPEATED);
    check(&twice("bar.sync 0;"), &[]);
    check(&twice("mov.u64 %rd6, %rd3; add.s64 %rd6, %rd6, %rd1; st.global.b32 [%rd6], %r2;"), &[]);
    check(
        "st.global.b32 [%rd1], %r1; ld.global.b32 %r2, [%rd1]; st.global.b32 [%rd1+64], %r2;",
        &REPEATED,
    );
}

#[test]
fn a_store_that_another_overwrites_is_dropped() {
    check("st.global.b32 [%rd1], %r1; st.global.b32 [%rd1], %r0;", &OVERWRITTEN);
    check("st.global.b32 [%rd1], %r1; bar.sync 0; st.global.b32 [%rd1], %r0;", &[]);
    check("st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+4], %r0;", &[]);
}

#[test]
fn shared_loads_of_aligned_neighbours_are_joined() {
    let both = |first: i32| {
        format!(
            "ld.shared.b32 %r2, [%rd2+{first}]; ld.shared.b32 %r3, [%rd2+{}]; add.u32 %r2, %r2, %r3;\n\
             st.global.b32 [%rd1], %r2;",
            first + 4
        )
    };
    check(&both(0), &JOINED);
    check(&both(8), &JOINED);
    check(&both(4), &[]);
    let apart = "and.b32 %r5, %r1, 31; mul.wide.u32 %rd6, %r5, 16; mov.u64 %rd7, s; add.s64 %rd7, %rd7, %rd6;\n\
                 ld.shared.b32 %r2, [%rd7]; ld.shared.b32 %r3, [%rd7+64]; add.u32 %r2, %r2, %r3;\n\
                 st.global.b32 [%rd1], %r2;";
    check(apart, &[]);
    check(
        "st.shared.b32 [%rd2], %r1; st.shared.b32 [%rd2+4], %r1;",
        &[("shared st", "ptxas joins neighbouring shared stores")],
    );
}

#[test]
fn a_loop_joins_the_shared_loads_of_its_rounds() {
    let rounds = |step: u32| {
        format!(
            "mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u64 %rd5, s;\n\
             L: ld.shared.b32 %r4, [%rd5]; add.u32 %r2, %r2, %r4; add.s64 %rd5, %rd5, {step}; add.u32 %r3, %r3, 1;\n\
             setp.lt.u32 %p1, %r3, 8; @%p1 bra L; st.global.b32 [%rd1], %r2;"
        )
    };
    check(&rounds(4), &JOINED);
    check(&rounds(64), &[]);
    let same = rounds(0).replace("%rd5, %rd5, 0", "%rd6, %rd5, 0");
    check(&same, &[("shared ld", "ptxas moves an access out of a loop")]);
}

#[test]
fn shared_memory_adds_floats_and_wide_integers_in_a_loop() {
    let looped: &[(&str, &str)] = &[("shared ld", "ptxas makes a loop of an atomic")];
    check("mov.f32 %f1, 0f3f800000; atom.shared.add.f32 %f2, [%rd2], %f1;", looped);
    check("mov.u64 %rd4, 1; atom.shared.add.u64 %rd5, [%rd2], %rd4;", looped);
    check("atom.shared.add.u32 %r2, [%rd2], 1;", &[]);
    check("mov.f32 %f1, 0f3f800000; red.global.add.f32 [%rd1], %f1;", &[]);
}

#[test]
fn counters_of_a_loop_that_waits_for_memory_are_not_claimed() {
    let reason = "lanes left a loop that waits for volatile accesses or atomics one by one, and \
                  the machine code decides in which order";
    let waits = "mov.u32 %r3, 0;\nL: st.volatile.global.b32 [%rd1], %r3; add.u32 %r3, %r3, 1;\n\
                 ld.volatile.global.b32 %r2, [%rd1]; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L; st.global.b32 [%rd1+4096], %r3;";
    check(waits, &[("global ld", reason), ("global st", reason), ("shared st", reason)]);
    let counts = "mov.u32 %r3, 0;\nL: red.global.add.u32 [%rd1], 1; add.u32 %r3, %r3, 1;\n\
                  setp.lt.u32 %p1, %r3, 8; @%p1 bra L;";
    check(counts, &[]);
}

#[test]
fn a_counted_loop_is_unrolled_for_lanes_that_leave_it_apart() {
    let rounds = |limit: &str| {
        format!(
            "mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u64 %rd5, %rd1;\n\
             L: ld.global.b32 %r2, [%rd5]; add.u32 %r4, %r4, %r2; add.s64 %rd5, %rd5, 4; add.u32 %r3, %r3, 1;\n\
             setp.lt.u32 %p1, %r3, {limit}; @%p1 bra L; st.global.b32 [%rd1], %r4;"
        )
    };
    let unrolled = "ptxas unrolls a loop that lanes leave in different rounds";
    check(&rounds("%r1"), &[("global ld", unrolled)]);
    check(&rounds("8"), &[]);
}

#[test]
fn counters_that_depend_on_the_order_of_atomics_are_not_claimed() {
    let reason = "it depends on the order of atomics";
    let ticket = "ld.param.u64 %rd5, [out]; cvta.to.global.u64 %rd5, %rd5;\n\
                  atom.global.add.u32 %r2, [%rd5], 1; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd6, %rd6, %rd5;";
    let sums = ("global atom", "ptxas adds up the lanes of an atomic on one address");
    check(&format!("{ticket} st.global.b32 [%rd6+4], %r0;"), &[("global st", reason), sums]);
    check(&format!("{ticket} st.global.b32 [%rd1+4096], %r2;"), &[sums]);
}

/// The claimed bytes of global and of shared accesses by `op` in a kernel that reads 512 bytes of
/// shared memory through a generic pointer.
fn bytes(body: &str, op: &str) -> [Option<u64>; 2] {
    let address = "cvta.shared.u64 %rd4, %rd2; ld.v2.b32 {%r2, %r3}, [%rd4]; add.u32 %r2, %r2, %r3;\n\
                   st.global.b32 [%rd1], %r2; cvta.global.u64 %rd5, %rd1;";
    let record = launch(&format!("{address}\n{body}"));
    ["global", "shared"].map(|space| {
        let name = format!("smsp__sass_data_bytes_mem_{space}_op_{op}.sum");
        record.counters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    })
}

#[test]
fn bytes_of_generic_accesses_are_global_and_shared_ones() {
    assert_eq!(bytes("", "ld"), [Some(512), Some(512)]);
    assert_eq!(
        bytes("ld.global.b32 %r3, [%rd1+64]; st.global.b32 [%rd1], %r3;", "ld")[1],
        Some(512)
    );
    // The kernel itself stores 1,024 bytes to shared and 256 to global memory.
    assert_eq!(bytes("", "st"), [Some(256), Some(1024)]);
    assert_eq!(bytes("st.b64 [%rd5+8], %rd5;", "st"), [Some(768), Some(1536)]);
    let half = "mov.b16 %h1, 1; atom.cas.b16 %h1, [%rd4], %h1, %h1; st.global.b16 [%rd1+4], %h1;";
    assert_eq!(bytes(half, "ld"), [Some(768), None]);
    let local = "cvta.local.u64 %rd6, %rd6; ld.b32 %r3, [%rd6]; st.global.b32 [%rd1+4], %r3;";
    let local = format!("mov.u64 %rd6, depot; st.local.b32 [depot], %r1; {local}");
    assert_eq!(bytes(&local, "ld"), [None, None]);
    assert_eq!(bytes(&local, "st")[1], Some(1024));
}
