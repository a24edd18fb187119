//! What is wrong with accesses to shared memory, and what is not.

use crate::common::Bench;
use gpuprof_emulator::device::{Checks, Device, LaunchError};
use gpuprof_emulator::machine::Holds;

/// A module with one kernel `k` of two shared arrays of 256 bytes, with this body. `%r1` is the
/// thread's number, and `%r2` four times that.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 a[256];\n\
         .shared .align 4 .b8 b[256];\n.visible .entry k() {{\n.reg .pred %p<8>; .reg .b16 %h<4>; \
         .reg .b32 %r<16>; .reg .b64 %rd<4>;\nmov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; \
         mov.u32 %r6, a; mov.u32 %r3, b;\n{body}\nret;\n}}\n"
    )
}

fn launch(bench: &mut Bench, blocks: u32, threads: u32) -> Option<String> {
    match bench.try_launch("k", [blocks, 1, 1], [threads, 1, 1], 0, &[]) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some(format!("{}: {}", fault.kind, fault.message)),
        Err(error) => panic!("{error}"),
    }
}

/// What is wrong with a block of so many threads.
fn wrong(body: &str, threads: u32) -> Option<String> {
    launch(&mut Bench::new(&kernel(body)), 1, threads)
}

#[track_caller]
fn right(body: &str, threads: u32) {
    assert_eq!(wrong(body, threads), None);
}

/// Every thread writes its word of `a`.
const FILL: &str = "st.shared.b32 [%r2], %r1;\n";
/// Every thread reads the word of the thread 32 further on, in a ring of 64.
const READ_ON: &str = "xor.b32 %r4, %r2, 128; ld.shared.b32 %r5, [%r4];\n";

#[test]
fn a_read_of_what_another_warp_writes_needs_a_barrier_between() {
    let at_once = format!("{FILL}{READ_ON}");
    assert!(wrong(&at_once, 64).expect("a race").starts_with("race"));
    assert_eq!(
        wrong(&format!("{at_once}setp.eq.u32 %p1, %r5, 0;\n@%p1 bra E;\nE:"), 64).as_deref(),
        Some(
            "race: kernel 'k' at PTX line 10, block (0,0,0), thread (0,0,0): reads 4 bytes of \
             shared memory at 0x80, which thread (32,0,0) wrote at PTX line 9: a race; a barrier \
             (bar.sync; in Rust block::sync(), in CUDA C++ __syncthreads()) must order the two"
        )
    );
    let unwritten =
        format!("{READ_ON}bar.sync 0;\n{FILL}setp.eq.u32 %p1, %r5, 0;\n@%p1 bra E;\nE:");
    assert_eq!(
        wrong(&unwritten, 64).as_deref(),
        Some(
            "uninitialised: kernel 'k' at PTX line 9, block (0,0,0), thread (0,0,0): reads 4 bytes \
             of shared memory at 0x80, which no thread of the block has written: on a GPU its \
             value is undefined. Write it first, with a barrier before others read it; the value decides \
             a branch or an exit at PTX line 13"
        )
    );
    let again =
        format!("{FILL}bar.sync 0;\n{READ_ON}add.u32 %r5, %r5, 7;\nst.shared.b32 [%r2], %r5;");
    assert_eq!(
        wrong(&again, 64).as_deref(),
        Some(
            "race: kernel 'k' at PTX line 11, block (0,0,0), thread (32,0,0): reads 4 bytes of \
             shared memory at 0x0, which thread (0,0,0) wrote at PTX line 13: a race; a barrier \
             (bar.sync; in Rust block::sync(), in CUDA C++ __syncthreads()) must order the two"
        )
    );
    right(&format!("{FILL}bar.sync 0;\n{READ_ON}"), 64);
    right(&again.replace("add.u32", "bar.sync 0; add.u32"), 64);
}

#[test]
fn a_barrier_of_some_warps_orders_only_those_that_wait_at_it() {
    let third = format!(
        "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra R;\n{FILL}bar.sync 1, 64;\nbra E;\n\
         R: add.u32 %r4, %r2, -256; ld.shared.b32 %r5, [%r4];\nE:"
    );
    assert!(wrong(&third, 96).expect("a race").starts_with("race"));
    right(
        &third.replace("bar.sync 1, 64", "bar.sync 1, 96").replace("R:", "R: bar.sync 1, 96;"),
        96,
    );
    let producer = format!(
        "{FILL}bar.sync 0;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra P;\n{READ_ON}bar.sync 1, 64;\n\
         bra E;\nP: bar.arrive 1, 64;\nadd.u32 %r4, %r1, 7;\nst.shared.b32 [%r2], %r4;\nE:"
    );
    assert!(wrong(&producer, 64).expect("a race").starts_with("race"));
    right(&producer.replace("bar.arrive", "bar.sync"), 64);
    // The consumer waits for the writes of the producer before its arrival.
    let sound = "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra P;\nbar.sync 1, 64;\nxor.b32 %r4, %r2, 128;\n\
                 ld.shared.b32 %r5, [%r4]; bar.arrive 2, 64;\nbra E;\nP: st.shared.b32 [%r2], %r1;\n\
                 bar.arrive 1, 64;\nbar.sync 2, 64;\nst.shared.b32 [%r2], %r2;\nE:";
    right(sound, 64);
}

#[test]
fn a_plain_update_by_several_threads_suggests_an_atomic() {
    let update = "ld.shared.b32 %r5, [a];\nadd.u32 %r5, %r5, 1;\nst.shared.b32 [a], %r5;\n";
    let begin = "mov.u32 %r7, 0; st.shared.b32 [a], %r7;\nbar.sync 0;\n";
    let found = |place: &str| {
        let body =
            format!("{begin}.loc 1 7 5\n{}", update.replace("add", &format!("{place}\nadd")));
        let text = format!("{}.file 1 \"src/lib.rs\"\n", kernel(&body));
        launch(&mut Bench::new(&text), 1, 64).expect("a race")
    };
    let one_line = found(".loc 1 7 9");
    assert!(one_line.contains(" at src/lib.rs:7:5: a race; a barrier"), "{one_line}");
    assert!(one_line.ends_with("(atom; in Rust `fetch_add`, in CUDA C++ atomicAdd)"), "{one_line}");
    let two_lines = found(".loc 1 8 5");
    assert!(two_lines.ends_with("in CUDA C++ __syncthreads())"), "{two_lines}");
}

#[test]
fn a_write_after_the_read_of_another_warp_needs_a_barrier() {
    let body = format!(
        "{FILL}bar.sync 0;\nld.shared.b32 %r5, [a+4];\nsetp.ne.u32 %p1, %r1, 32;\n@%p1 bra E;\n\
         st.shared.b32 [a+4], %r1;\nE:"
    );
    let found = wrong(&body, 64).expect("a race");
    assert!(found.contains("thread (32,0,0): writes 4 bytes of shared memory at 0x4, which thread (0,0,0) read at PTX line 11: a race"), "{found}");
    right(&body.replace("setp.ne", "bar.sync 0; setp.ne"), 64);
}

#[test]
fn two_warps_may_write_the_same_value_and_no_other() {
    right("mov.u32 %r4, 5; st.shared.b32 [a+8], %r4;", 64);
    let found = wrong("shr.u32 %r4, %r1, 5; st.shared.b32 [a+8], %r4;", 64).expect("a race");
    assert!(found.starts_with("race") && found.contains("(31,0,0)") | found.contains("(0,0,0)"));
}

#[test]
fn lanes_of_one_warp_need_a_barrier_of_the_warp() {
    let next = "xor.b32 %r4, %r2, 4; ld.shared.b32 %r5, [%r4];";
    let found = wrong(&format!("{FILL}{next}"), 32).expect("a race");
    assert!(
        found.contains("which thread (1,0,0) wrote at PTX line 9: a race; a barrier must order the two, since the lanes"),
        "{found}"
    );
    right(&format!("{FILL}bar.warp.sync 0xffffffff;\n{next}"), 32);
    let shuffle = "shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffffffff;\n";
    right(&format!("{FILL}{shuffle}{next}"), 32);
    // A warp's barrier orders nothing for another warp.
    assert!(wrong(&format!("{FILL}bar.warp.sync 0xffffffff;\n{READ_ON}"), 64).is_some());
}

#[test]
fn an_exchange_orders_the_lanes_of_its_members_alone() {
    // Each eight lanes meet, then each lane reads another's word.
    let mask = "and.b32 %r4, %r1, 24; mov.u32 %r5, 255; shl.b32 %r7, %r5, %r4;\n";
    let meet = |mask: &str| format!("bar.warp.sync {mask};\n");
    let read = |apart: u32| format!("xor.b32 %r4, %r2, {apart}; ld.shared.b32 %r5, [%r4];\n");
    let begin = format!("{mask}{FILL}{}", meet("%r7"));
    right(&format!("{begin}{}", read(28)), 32);
    let found = wrong(&format!("{begin}{}", read(32)), 32).expect("a race");
    assert!(found.contains("thread (0,0,0): reads 4 bytes of shared memory at 0x20"), "{found}");
    let shuffle = "shfl.sync.bfly.b32 %r8, %r1, 1, 6175, %r7;\n";
    assert!(wrong(&format!("{mask}{FILL}{shuffle}{}", read(124)), 32).is_some());
    right(&format!("{mask}{FILL}{shuffle}{}", read(4)), 32);
    // Those of the next eight know them once all have met.
    right(&format!("{begin}{}{}", meet("-1"), read(124)), 32);
    // Half of a warp meets in each arm.
    let arms = format!(
        "{FILL}setp.lt.u32 %p1, %r1, 16;\n@%p1 bra LOW;\nbar.warp.sync 0xffff0000;\nbra E;\nLOW:\n\
         bar.warp.sync 0xffff;\nE:\n"
    );
    assert!(wrong(&format!("{arms}{}", read(124)), 32).is_some());
    right(&format!("{arms}{}", read(60)), 32);
    // A write after a read.
    let write = |apart: u32| {
        format!(
            "{FILL}bar.warp.sync -1;\n{mask}{}{}xor.b32 %r4, %r2, 4; st.shared.b32 [%r4], %r7;",
            read(apart),
            meet("%r7")
        )
    };
    right(&write(4), 32);
    assert!(wrong(&write(64), 32).is_some());
}

/// Lanes read the word at 4. The lane of `%p2` writes it next.
const LAST_READER: [(&str, &str); 4] = [
    ("all at once, and the first writes", "ld.shared.b32 %r5, [a+4]; setp.eq.u32 %p2, %r1, 0;"),
    ("all at once, and the last writes", "ld.shared.b32 %r5, [a+4]; setp.eq.u32 %p2, %r1, 31;"),
    (
        "in groups of eight",
        "shr.u32 %r4, %r1, 3; shl.b32 %r4, %r4, 2; ld.shared.b32 %r5, [%r4]; \
      setp.eq.u32 %p2, %r1, 15;",
    ),
    (
        "one after the other",
        "setp.eq.u32 %p1, %r1, 3; setp.eq.u32 %p2, %r1, 5; \
      @%p1 ld.shared.b32 %r5, [a+4]; @%p2 ld.shared.b32 %r5, [a+4];",
    ),
];

#[test]
fn the_last_reader_of_a_warp_hides_no_earlier_reader() {
    let write = "@%p2 st.shared.b32 [a+4], 77;";
    for (how, read) in LAST_READER {
        let found = wrong(&format!("{FILL}bar.sync 0;\n{read}\n{write}"), 32);
        let found = found.unwrap_or_else(|| panic!("{how}"));
        assert!(found.contains("writes 4 bytes of shared memory at 0x4"), "{found}");
        right(&format!("{FILL}bar.sync 0;\n{read}\nbar.warp.sync -1;\n{write}"), 32);
    }
    // Lanes 3 and 5 meet, before or after lane 5 reads.
    let (_, read) = LAST_READER[3];
    let meet = "or.pred %p3, %p1, %p2; @!%p3 bra B; bar.warp.sync 0x28; B:\n";
    right(&format!("{FILL}bar.sync 0;\n{read}\n{meet}{write}"), 32);
    let between = read.replace("[a+4]; @%p2", &format!("[a+4];\n{meet}@%p2"));
    right(&format!("{FILL}bar.sync 0;\n{between}\n{write}"), 32);
}

/// A block of three warps. Thread 1 writes the word at 4, executes a fence and sets the flag at 0,
/// the second warp waits for the flag and reads the word, and the third executes `other`.
fn with_flag(other: &str) -> String {
    format!(
        "setp.eq.u32 %p2, %r1, 1; mov.u32 %r7, 0;\n@%p2 st.shared.b32 [a], %r7;\n\
         @%p2 st.shared.b32 [a+4], %r7;\nbar.sync 0;\nsetp.ge.u32 %p1, %r1, 32; @%p1 bra READERS;\n\
         @!%p2 bra E;\nst.shared.b32 [a+4], 77;\nfence.acq_rel.cta;\n\
         st.volatile.shared.b32 [a], 1;\nbra E;\n\
         READERS:\nsetp.ge.u32 %p1, %r1, 64; @%p1 bra OTHER;\n\
         POLL:\nld.volatile.shared.b32 %r5, [a];\nsetp.ne.u32 %p1, %r5, 1; @%p1 bra POLL;\n\
         ld.shared.b32 %r5, [a+4];\nbra E;\nOTHER:\n{other}\nE:"
    )
}

#[test]
fn a_fence_and_a_flag_order_only_threads_that_read_the_flag() {
    let read = "ld.shared.b32 %r5, [a+4];";
    let found = wrong(&with_flag(read), 96).expect("a race");
    assert!(found.contains("which thread (1,0,0) wrote"), "{found}");
    right(&with_flag("bra POLL;"), 96);
    // Many poll with a relaxed atomic, and execute no fence afterwards.
    let atomic = "atom.shared.or.b32 %r5, [a], 0;\nsetp.ne.u32 %p1, %r5, 1; @%p1 bra OTHER;\n";
    right(&with_flag(&format!("{atomic}{read}")), 96);
}

#[test]
fn atomics_race_with_plain_accesses_alone() {
    let zero =
        "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, 0; @!%p1 st.shared.b32 [a+16], %r4;\nbar.sync 0;\n";
    let add = "red.shared.add.u32 [a+16], 1;\n";
    right(&format!("{zero}{add}bar.sync 0;\nld.shared.b32 %r5, [a+16];"), 96);
    let found = wrong(&format!("{zero}{add}ld.shared.b32 %r5, [a+16];"), 96).expect("a race");
    assert!(
        found.contains(
            "thread (0,0,0): reads 4 bytes of shared memory at 0x10, which thread (31,0,0) wrote"
        ),
        "{found}"
    );
    // Updates of several warps hide neither later accesses nor earlier ones.
    let adds = add.repeat(3);
    let store = "setp.ne.u32 %p1, %r1, 70; @!%p1 st.shared.b32 [a+16], %r1;\n";
    right(&format!("{zero}{adds}bar.sync 0;\n{store}bar.sync 0;\n{adds}"), 96);
    let load = "setp.ne.u32 %p1, %r1, 70; @!%p1 ld.shared.b32 %r5, [a+16];\n";
    let later = |plain: &str| format!("{zero}{adds}bar.sync 0;\n{plain}{adds}");
    for racy in [format!("{zero}{adds}{store}"), later(store), later(load)] {
        let found = wrong(&racy, 96).expect("a race");
        assert!(found.contains("a race") && found.contains("(70,0,0)"), "{found}");
    }
    let unset = wrong(add, 32).expect("no value");
    assert!(unset.starts_with("uninitialised") && unset.contains("updates 4 bytes"), "{unset}");
    // A lock, a flag: an operation that orders memory orders the accesses around it.
    right(
        &format!("{FILL}fence.acq_rel.cta;\nbar.warp.sync 0xffffffff;\nld.shared.b32 %r5, [a];"),
        64,
    );
}

#[test]
fn an_update_does_not_hide_the_plain_write_before_it() {
    let zero = "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, 0; @!%p1 st.shared.b32 [a+16], %r4;\n";
    let first_lanes = "and.b32 %r4, %r1, 31; setp.eq.u32 %p2, %r4, 0;\n";
    let add = "@%p2 red.shared.add.u32 [a+16], 1;\n";
    let racy = format!("{zero}{first_lanes}{add}{add}");
    let found = wrong(&racy, 96).expect("a race");
    assert!(found.contains("thread (32,0,0): updates 4 bytes of shared memory at 0x10"), "{found}");
    assert!(found.contains("which thread (0,0,0) wrote"), "{found}");
    right(&racy, 32);
    right(&format!("{zero}bar.sync 0;\n{first_lanes}{add}{add}"), 96);
    right(&format!("{zero}{first_lanes}{add}bar.sync 0;\n{add}"), 32);
}

#[test]
fn bytes_of_one_word_belong_to_their_threads() {
    let bytes = "cvt.u16.u32 %h1, %r1; st.shared.u8 [%r1], %h1;\n";
    right(bytes, 64);
    // Threads 32 and 31 are in two warps, and one word holds neither alone.
    right(&format!("{bytes}ld.shared.u8 %h2, [%r1];"), 64);
    let next = "add.u32 %r4, %r1, 1; min.u32 %r4, %r4, 62; ld.shared.u8 %h2, [%r4];";
    assert!(wrong(&format!("{bytes}{next}"), 64).is_some());
    right(&format!("{bytes}bar.sync 0;\n{next}"), 64);
    // Words with bytes that were never written, as in structures, may be copied.
    right("mov.u16 %h1, 1; st.shared.u8 [%r2], %h1; ld.shared.b32 %r5, [%r2];", 32);
}

#[test]
fn an_index_beyond_one_array_does_not_reach_the_next() {
    let found = wrong("st.shared.b32 [%r2+4], %r1;", 64).expect("a fault");
    assert_eq!(
        found,
        "out_of_bounds: kernel 'k' at PTX line 9, block (0,0,0), thread (63,0,0): writes 4 bytes of \
         shared memory at 0x100, just past the end of a shared array of 256 bytes: check the \
         index against the array's length"
    );
    let updated = wrong(&format!("{FILL}bar.sync 0;\nred.shared.add.u32 [%r2+4], 1;"), 64);
    assert!(updated.is_some_and(|found| found.contains("just past the end of a shared array")));
    // The second array lies in the banks that it has on hardware.
    right("add.u32 %r3, %r3, %r2; st.shared.b32 [%r3], %r1;", 64);
    let (mut bench, body) = (Bench::new(&kernel("mov.u32 %r4, %total_smem_size;")), [1, 1, 1]);
    assert!(bench.try_launch("k", body, body, 0, &[]).is_ok());
    assert_eq!(bench.module.kernel("k").map(|kernel| kernel.static_shared()), Some(512));
}

#[test]
fn checks_can_be_selected() {
    let (text, blocks) = (
        kernel(
            "mov.u32 %r4, %ctaid.x; setp.ne.u32 %p1, %r4, 17; @%p1 ret; ld.shared.b32 %r5, [%r2]; bar.sync %r5;",
        ),
        20,
    );
    for (checks, seen) in [(Checks::ALL, true), (Checks::default(), false), (Checks::NONE, false)] {
        let mut device = Device::default().with_host_threads(1).with_checks(checks);
        let module = device.load(&text).expect("it loads");
        let mut bench = Bench { device, module };
        assert_eq!(launch(&mut bench, blocks, 32).is_some(), seen, "{checks:?}");
        assert_eq!(launch(&mut bench, 18, 32).is_some(), checks != Checks::NONE, "the last one");
    }
}

#[test]
fn each_kind_of_check_is_selected_on_its_own() {
    let unwritten = kernel("ld.shared.b32 %r5, [%r2]; bar.sync %r5;");
    let race = kernel("st.shared.b32 [a], %r1;");
    let only_init = Checks { init: true, ..Checks::NONE };
    let only_race = Checks { race: true, ..Checks::NONE };
    let found = |text: &str, checks| {
        let mut device = Device::default().with_host_threads(1).with_checks(checks);
        let module = device.load(text).expect("it loads");
        launch(&mut Bench { device, module }, 1, 64).is_some()
    };
    for (checks, init, races) in [
        (only_init, true, false),
        (only_race, false, true),
        (Checks::ALL, true, true),
        (Checks::NONE, false, false),
    ] {
        assert_eq!(found(&unwritten, checks), init, "{checks:?}");
        assert_eq!(found(&race, checks), races, "{checks:?}");
    }
}

/// Every lane stores to `p`, as the instruction in the braces does it.
fn stores(instruction: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.const .align 4 .b8 c[256];\n\
         .visible .entry k(.param .u64 p) {{\n.reg .b32 %r<4>; .reg .b64 %rd<6>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n\
         add.s64 %rd3, %rd1, %rd2;\n{instruction}\nret;\n}}\n"
    )
}

/// What is wrong with such a store to an argument that the kernel takes to read only, or not.
fn argument(instruction: &str, read_only: bool) -> Option<String> {
    let mut bench = Bench::new(&stores(instruction));
    let x = bench.upload(&[7_u32; 32]);
    let holds = Holds::Argument { name: "x".to_owned(), read_only };
    bench.device.memory.label(x, holds).unwrap();
    let outcome = bench.try_launch("k", [1; 3], [32, 1, 1], 0, &[&x]);
    let kept = bench.ints(x, 32) == [7; 32];
    match outcome {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => {
            assert!(kept, "nothing is stored");
            Some(format!("{}: {}", fault.kind, fault.message))
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn read_only_arguments_are_not_stored_to() {
    let whole = "st.global.u32 [%rd3], %r1;";
    let ways = [
        whole,
        "st.global.u16 [%rd3], 1;",
        "st.u32 [%rd3], %r1;",
        "red.global.add.u32 [%rd3], 1;",
        "atom.global.exch.b32 %r2, [%rd3], 5;",
    ];
    for way in ways {
        assert_eq!(argument(way, false), None, "{way}");
        let found = argument(way, true).unwrap_or_else(|| panic!("{way}"));
        assert!(found.starts_with("read_only: ") && found.contains("into `x`"), "{found}");
    }
    assert_eq!(
        argument(whole, true).as_deref(),
        Some(
            "read_only: kernel 'k' at PTX line 10, block (0,0,0), thread (0,0,0): writes 4 bytes of \
             global memory at 0x700000010200, 0 bytes into `x`, which the kernel takes to read \
             only: let it take `x` as `*mut`, or write elsewhere"
        )
    );
    assert_eq!(argument("ld.global.u32 %r2, [%rd3];", true), None);
}

#[test]
fn a_read_beyond_a_constant_table_names_constant_memory() {
    let found = argument("mov.u32 %r2, c; ld.const.u32 %r3, [c+4096];", false).expect("a fault");
    assert!(found.contains("reads 4 bytes of constant memory at 0x7"), "{found}");
}

#[test]
fn a_constant_variable_is_not_stored_to() {
    let found = argument("mov.u64 %rd4, c; cvta.const.u64 %rd5, %rd4; st.u32 [%rd5], %r1;", false)
        .expect("a fault");
    assert!(found.contains("0 bytes into 'c', which is constant"), "{found}");
}

#[test]
fn the_other_side_of_a_race_is_another_thread() {
    let fill = "setp.eq.u32 %p0, %r1, 0;\n@%p0 st.shared.b32 [%r6], 9;\nbar.sync 0;\n";
    let of_lanes = |first: u32, second: u32, body: &str| {
        format!(
            "{fill}setp.eq.u32 %p1, %r1, {first}; setp.eq.u32 %p2, %r1, {second};\n\
             @%p1 ld.shared.b32 %r5, [%r6];\n@%p2 ld.shared.b32 %r5, [%r6];\n{body}"
        )
    };
    let write = "@%p2 st.shared.b32 [%r6], 3;";
    let found = wrong(&of_lanes(5, 7, write), 32).expect("a race");
    let of_warp = "which several threads of its warp read, one of them at PTX line 14: a race";
    assert!(found.contains("thread (7,0,0): writes") && found.contains(of_warp), "{found}");
    // The first warp reads and sleeps, the second reads, and another thread of the first writes.
    let write = "nanosleep.u32 9;\n".repeat(600) + "@%p0 st.shared.b32 [%r6], 3;";
    let found = wrong(&of_lanes(3, 40, &write), 64).expect("a race");
    let of_block = "which threads of several warps read, one of them at PTX line 13: a race";
    assert!(found.contains("writes 4 bytes") && found.contains(of_block), "{found}");
}
