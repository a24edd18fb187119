//! Races in global memory are found, with one host thread and with four, and sound kernels are not
//! blamed.

use crate::common::Bench;
use gpuprof_emulator::device::{Checks, Device, LaunchConfig, LaunchError};

const KERNELS: &str = include_str!("fixtures/global_races.ptx");

/// The largest number of all threads, by a loop of compare-and-swap. A plain load is the first
/// guess.
const GUESS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry maximum(.param .u64 out) {
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r2, [%rd2];
AGAIN:
    mov.u32 %r3, %r2;
    max.u32 %r4, %r3, %r1;
    atom.global.cas.b32 %r2, [%rd2], %r3, %r4;
    setp.ne.u32 %p1, %r2, %r3;
    @%p1 bra AGAIN;
    ret;
}";

#[test]
fn a_load_that_a_compare_and_swap_checks_is_no_race() {
    let mut bench = Bench::new(GUESS);
    bench.device = std::mem::take(&mut bench.device).with_checks(Checks::ALL);
    let out = bench.upload(&[0_u32]);
    bench.launch("maximum", 4, 64, &[&out]);
    assert_eq!(bench.download(out, 1, u32::from_le_bytes), [63]);
    // Unchecked accesses race.
    let unchecked = GUESS.replace("%r2, [%rd2], %r3, %r4", "%r2, [%rd2], 0, %r4");
    let unchecked = unchecked.replace("@%p1 bra AGAIN;", "");
    let mut bench = Bench::new(&unchecked);
    bench.device = std::mem::take(&mut bench.device).with_checks(Checks::ALL);
    let out = bench.upload(&[0_u32]);
    assert!(bench.fault("maximum", 4, 64, &[&out]).contains("a race"));
}

/// What is wrong with two blocks of 64 threads, of which the first takes the arm of `first` and the
/// other that of `second`. `%rd2` is the address of a word, and `%r1` the thread's number.
fn wrong_in_arms(first: &str, second: &str) -> Option<String> {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [out];\n\
         cvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n\
         setp.eq.u32 %p1, %r1, 40;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra SECOND;\n{first}\nret;\n\
         SECOND:\n{second}\nret;\n}}\n"
    );
    let mut bench = Bench::new(&text);
    let out = bench.upload(&[0_u32; 64]);
    match bench.try_launch("k", [2, 1, 1], [64, 1, 1], 0, &[&out]) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some(format!("{}: {}", fault.kind, fault.message)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_update_races_with_plain_accesses_of_other_blocks_alone() {
    let (add, read) = ("red.global.add.u32 [%rd2], 1;\n", "ld.global.u32 %r3, [%rd2];\n");
    let write = "st.global.u32 [%rd2], 7;\n";
    let strong_read = "ld.volatile.global.u32 %r3, [%rd2];\n";
    let adds = add.repeat(2);
    assert_eq!(wrong_in_arms(&adds, &format!("{strong_read}{adds}")), None);
    for (first, second) in [(read, add), (write, add), (&*adds, read), (&*adds, write)] {
        let found = wrong_in_arms(first, second).unwrap_or_else(|| panic!("{first} {second}"));
        assert!(found.starts_with("race: ") && found.contains("of block (0,0,0)"), "{found}");
    }
    // The first block's plain read is not the last read. The store ends the time in which reads of
    // the allocation are only kept.
    let first = format!("st.global.u32 [%rd2+64], 1;\n{read}");
    let behind = wrong_in_arms(&first, &format!("{strong_read}{add}"));
    assert!(behind.is_some_and(|found| found.contains("of block (0,0,0) read")));
}

#[test]
fn a_launch_says_that_it_accessed_more_memory_than_is_searched_for_races() {
    // Each thread writes a word in a separate 4 KiB, a page of the records.
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out) {\n\
                .reg .b32 %r<4>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [out];\n\
                cvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n\
                mad.lo.u32 %r1, %r1, 1024, %r2;\nmad.wide.u32 %rd2, %r1, 4096, %rd1;\n\
                st.global.u32 [%rd2], %r1;\nret;\n}\n";
    let mut bench = Bench::new(text);
    bench.device = std::mem::take(&mut bench.device).with_checks(Checks::ALL);
    let out = bench.upload(&vec![0_u32; 9 << 20]);
    for (blocks, in_part) in [(8, false), (9, true), (8, false)] {
        let launched = bench.try_launch("k", [blocks, 1, 1], [1024, 1, 1], 0, &[&out]);
        assert_eq!(launched.expect("it ends").races_in_part, in_part, "{blocks}");
    }
}

#[test]
fn an_update_does_not_hide_the_plain_write_before_it() {
    let (write, add) = ("@%p1 st.global.u32 [%rd2], 7;\n", "@%p1 red.global.add.u32 [%rd2], 1;\n");
    let flag = "@%p1 st.release.gpu.global.u32 [%rd2+64], 1;\n";
    let wait = "mov.u32 %r3, 1; @!%p1 bra END; WAIT: ld.acquire.gpu.global.u32 %r3, [%rd2+64];\n\
                setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;\n";
    let barrier = "bar.sync 0;\n";
    let other_thread = "setp.eq.u32 %p2, %r1, 3; @%p2 red.global.add.u32 [%rd2], 1;\n";
    for first in [format!("{write}{add}"), format!("{write}{barrier}{other_thread}")] {
        let found = wrong_in_arms(&first, add).expect("a race");
        assert!(found.starts_with("race: ") && found.contains("thread (40,0,0) of block (0,0,0)"));
        assert!(found.contains("wrote"), "{found}");
    }
    // The flag orders the write, and the update behind it needs no order.
    assert_eq!(
        wrong_in_arms(&format!("{write}{add}{flag}{add}"), &format!("{wait}{add}END:")),
        None
    );
}

#[test]
fn a_barrier_and_a_flag_without_a_fence_order_reads_before_writes_alone() {
    let first = |access: &str, barrier: &str| {
        format!(
            "{access}\n{barrier}\nsetp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n\
             st.relaxed.gpu.global.u32 [%rd2+64], 1;\nEND:"
        )
    };
    let second = |access: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra SET;\nWAIT: ld.relaxed.gpu.global.u32 %r3, [%rd2+64];\n\
             setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;\nSET: bar.sync 1;\n{access}"
        )
    };
    let (read, write) = ("ld.global.u32 %r3, [%rd2];", "st.global.u32 [%rd2], 7;");
    assert_eq!(wrong_in_arms(&first(read, "bar.sync 0;"), &second(write)), None);
    for (before, barrier, after) in [(write, "bar.sync 0;", read), (read, "", write)] {
        let found = wrong_in_arms(&first(before, barrier), &second(after)).expect("a race");
        assert!(found.starts_with("race: "), "{found}");
    }
}

#[test]
fn the_last_reader_of_a_warp_hides_no_earlier_reader() {
    let at_once = "ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p2, %r1,";
    let reads = [
        &format!("{at_once} 0;"),
        &format!("{at_once} 31;"),
        "setp.eq.u32 %p2, %r1, 3; @%p2 ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p2, %r1, 5; \
         @%p2 ld.global.u32 %r3, [%rd2];",
    ];
    let (upper, write) = ("setp.gt.u32 %p1, %r1, 31; @%p1 ret;", "@%p2 st.global.u32 [%rd2], 77;");
    for read in reads {
        // The first store ends the time in which reads of the allocation are only kept.
        for begin in ["", "st.global.u32 [%rd2+64], 1;"] {
            let found = wrong_in_arms(&format!("{begin}{upper}{read}\n{write}"), "");
            assert!(found.is_some_and(|found| found.starts_with("race: ")), "{begin}{read}");
            let ordered = format!("{begin}{upper}{read}\nbar.warp.sync -1;\n{write}");
            assert_eq!(wrong_in_arms(&ordered, ""), None, "{begin}{read}");
        }
    }
}

#[test]
fn a_fence_and_a_flag_order_only_warps_that_read_the_flag() {
    let block = |poll: &str| {
        format!(
            "setp.gt.u32 %p1, %r1, 31; @%p1 bra READ;\nsetp.ne.u32 %p1, %r1, 0; @%p1 ret;\n\
             st.global.u32 [%rd2], 77;\nfence.acq_rel.gpu;\nst.volatile.global.u32 [%rd2+64], 1;\n\
             ret;\nREAD:\n{poll}\nld.global.u32 %r3, [%rd2];"
        )
    };
    let until_set = "setp.ne.u32 %p1, %r3, 1; @%p1 bra READ;";
    let found = wrong_in_arms(&block(""), "");
    assert!(found.is_some_and(|found| found.starts_with("race: ")));
    for look in ["ld.volatile.global.u32 %r3, [%rd2+64];", "atom.global.or.b32 %r3, [%rd2+64], 0;"]
    {
        assert_eq!(wrong_in_arms(&block(&format!("{look}\n{until_set}")), ""), None, "{look}");
    }
}

const RACY: [(&str, u32, u32); 37] = [
    ("shift_in_place", 1, 64),
    ("shift_in_place", 4, 1),
    ("stencil_in_place", 4, 64),
    // Large enough for several host threads.
    ("shift_in_place", 300, 64),
    ("stencil_in_place", 300, 64),
    ("vectors_of_the_next_block", 300, 64),
    ("sum_without_atomics", 1, 32),
    ("sum_by_leaders", 300, 64),
    ("histogram_without_atomics", 4, 64),
    ("append_without_atomics", 1, 64),
    ("append_without_atomics", 8, 1),
    ("reset_while_others_count", 4, 64),
    ("read_while_others_count", 4, 64),
    ("last_block_reads_total", 4, 64),
    ("last_block_resets_total", 4, 64),
    ("count_between_appends", 4, 1),
    ("last_block_reads_total_behind_its_own", 4, 1),
    ("last_block_resets_total_behind_its_own", 4, 64),
    ("sum_before_and_total_without_fence", 4, 64),
    ("total_behind_a_flag_without_fence", 4, 32),
    ("fence_of_another_warp", 4, 64),
    ("fence_of_another_lane", 4, 32),
    ("flag_without_block_barrier", 4, 64),
    ("reduction_of_a_flag", 4, 32),
    ("last_block_reads_total", 40, 1),
    ("look_back_by_plain_flag", 8, 32),
    ("look_back_without_fence", 8, 32),
    ("look_back_by_block_fence", 8, 32),
    ("look_back_without_second_fence", 8, 32),
    ("last_block_without_fence", 8, 64),
    ("lock_without_fence", 8, 64),
    ("grid_barrier_without_fence", 4, 64),
    ("flags_without_block_barrier", 4, 64),
    ("swap_between_tiles", 1, 32),
    ("swap_between_tiles", 300, 64),
    ("bytes_of_the_next_thread", 4, 64),
    ("vectors_of_the_next_block", 4, 64),
];

const SOUND: [(&str, u32, u32); 44] = [
    ("append", 4, 64),
    ("append_by_warps", 4, 64),
    ("all_write_one_value", 4, 64),
    ("each_its_own", 4, 64),
    ("all_write_one_value", 300, 64),
    ("each_its_own", 300, 64),
    ("reverse_in_block", 300, 64),
    ("reverse_in_block", 4, 64),
    ("pairs_in_warp", 4, 64),
    ("grid_barrier", 4, 64),
    ("grid_barrier", 1, 64),
    ("grid_sync", 4, 64),
    ("flags", 4, 64),
    ("swap_within_tiles", 1, 32),
    ("swap_within_tiles", 300, 64),
    ("last_block", 8, 64),
    ("last_block", 300, 32),
    ("last_block_of_one_thread", 8, 64),
    ("look_back_by_fence", 40, 32),
    ("look_back_by_release", 40, 32),
    ("look_back_by_one_word", 40, 32),
    ("total_behind_a_fence", 8, 32),
    ("total_behind_a_grid_barrier", 4, 64),
    ("sum_before_and_total", 8, 32),
    ("last_reads_the_count", 8, 64),
    ("last_by_shared_memory", 8, 64),
    ("last_by_global_memory", 8, 64),
    ("last_by_vote", 8, 64),
    ("last_by_barrier", 8, 64),
    ("last_by_function", 8, 64),
    ("last_by_local_memory", 8, 64),
    ("last_of_the_queue_resets_it", 8, 32),
    ("own_total", 4, 64),
    ("fence_of_one_thread", 8, 64),
    ("fence_of_one_lane", 8, 64),
    ("fence_of_a_warp", 8, 64),
    ("published_by_a_neighbour", 4, 64),
    ("two_buffers", 4, 64),
    ("ticket_lock", 8, 32),
    ("lock", 8, 64),
    ("lock_of_each_thread", 2, 64),
    ("bytes_of_each_thread", 4, 64),
    ("read_first_half", 4, 64),
    ("read_first_half", 1, 32),
];

/// Words of the buffer that a kernel gets.
const WORDS: usize = 1 << 17;

/// What is wrong with a launch on so many host threads, repeated on the same memory.
fn launch(
    kernel: &str,
    (blocks, block): (u32, u32),
    checks: Checks,
    threads: usize,
) -> Option<String> {
    let mut device = Device::default().with_host_threads(threads).with_checks(checks);
    let module = device.load(KERNELS).unwrap();
    let mut bench = Bench { device, module };
    let y = bench.upload(&vec![0_u32; WORDS]);
    let config = LaunchConfig { grid: [blocks, 1, 1], block: [block, 1, 1], shared_bytes: 0 };
    let function = bench.module.kernel(kernel).unwrap().clone();
    for _ in 0..2 {
        let (params, device) = (y.to_le_bytes(), &mut bench.device);
        let ran = match kernel {
            "grid_sync" => device.launch_cooperative(&function, config, &params, 0).map(drop),
            _ => device.launch(&function, config, &params, 0).map(drop),
        };
        match ran {
            Ok(()) => {}
            Err(LaunchError::Fault(fault)) => {
                return Some(format!("{}: {}", fault.kind, fault.message));
            }
            Err(error) => panic!("{kernel}: {error}"),
        }
        // A counter, a flag or a lock begins at zero.
        bench.device.memory.fill(y, &[0; 4], WORDS as u64).unwrap();
    }
    None
}

#[test]
fn races_are_found_and_do_not_depend_on_host_threads() {
    let mut missed = Vec::new();
    for (kernel, blocks, block) in RACY {
        let found = launch(kernel, (blocks, block), Checks::ALL, 1);
        println!("{kernel}<<<{blocks}, {block}>>>: {found:?}");
        if !found.as_ref().is_some_and(|found| found.starts_with("race: ")) {
            missed.push((kernel, blocks, block, found.clone()));
        }
        assert_eq!(launch(kernel, (blocks, block), Checks::ALL, 4), found, "{kernel}");
        assert!(launch(kernel, (blocks, block), Checks::default(), 4).is_some(), "{kernel}");
        assert_eq!(launch(kernel, (blocks, block), Checks::NONE, 1), None, "{kernel}");
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn sound_kernels_have_no_race() {
    for (kernel, blocks, block) in SOUND {
        for threads in [1, 4] {
            let found = launch(kernel, (blocks, block), Checks::ALL, threads);
            assert_eq!(found, None, "{kernel}<<<{blocks}, {block}>>>");
        }
    }
}

#[test]
fn the_other_side_of_a_race_is_another_thread() {
    // All lanes read the write of one of them.
    let shared_read = "setp.eq.u32 %p2, %r1, 0;\n@%p2 st.global.u32 [%rd2], 7;\n\
                       setp.gt.u32 %p1, %r1, 31; @%p1 bra END;\nld.global.u32 %r3, [%rd2];\nEND:";
    let found = wrong_in_arms(shared_read, "").expect("a race");
    assert!(found.contains("thread (1,0,0): reads 4 bytes of global"), "{found}");
    assert!(found.contains(", which thread (0,0,0) wrote at PTX line 13: a race"), "{found}");
    // Lane 5 and then lane 7 read; lane 7 writes.
    let own_read = "setp.eq.u32 %p1, %r1, 5; setp.eq.u32 %p2, %r1, 7;\n\
                    @%p1 ld.global.u32 %r3, [%rd2];\n@%p2 ld.global.u32 %r3, [%rd2];\n\
                    @%p2 st.global.u32 [%rd2], 8;";
    let found = wrong_in_arms(own_read, "").expect("a race");
    let of_warp = "which several threads of its warp read, one of them at PTX line 14: a race";
    assert!(found.contains("thread (7,0,0): writes") && found.contains(of_warp), "{found}");
}
