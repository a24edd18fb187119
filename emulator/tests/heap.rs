//! The device heap: `malloc` and `free` in kernels.

use crate::common::Bench;
use gpuprof_emulator::device::Device;

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b64 r) malloc (.param .b64 a);\n\
    .extern .func free (.param .b64 a);\n\
    .extern .func (.param .b64 r) __nv_aligned_device_malloc (.param .b64 a, .param .b64 b);\n\
    .file 1 \"heap.cu\"\n";

/// `{address} = malloc({bytes})`
fn malloc(address: &str, bytes: &str) -> String {
    format!(
        "{{ .param .b64 a; .param .b64 r; st.param.b64 [a], {bytes}; call.uni (r), malloc, (a); \
         ld.param.b64 {address}, [r]; }}\n"
    )
}

/// `free({address})`
fn free(address: &str) -> String {
    format!("{{ .param .b64 a; st.param.b64 [a], {address}; call.uni free, (a); }}\n")
}

/// A kernel of two addresses and a number: `%rd1`, `%rd2` (of this thread) and `%rd3`.
fn kernel(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c) {{\n\
         .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<12>;\n\
         .loc 1 3 1\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n\
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r1, %r1, %r2, %r3;\n\
         mad.wide.u32 %rd1, %r1, 8, %rd1; mad.wide.u32 %rd2, %r1, 4, %rd2;\n\
         {body}\nret;\n}}\n"
    )
}

/// Kernels that make blocks of `%rd3` bytes with the thread's number, read them, and free them.
fn kernels() -> String {
    let make = malloc("%rd4", "%rd3")
        + ".loc 1 5 1\nst.global.u64 [%rd1], %rd4; setp.eq.u64 %p1, %rd4, 0; @%p1 bra END;\n\
           st.u32 [%rd4], %r1;\nEND:";
    let read = ".loc 1 8 1\nld.global.u64 %rd4, [%rd1]; add.u64 %rd4, %rd4, %rd3;\n\
                ld.u32 %r4, [%rd4]; st.global.u32 [%rd2], %r4;";
    let release = ".loc 1 12 1\nld.global.u64 %rd4, [%rd1]; add.u64 %rd4, %rd4, %rd3;\n".to_owned()
        + &free("%rd4");
    HEADER.to_owned()
        + &kernel("make", &make)
        + &kernel("read", read)
        + &kernel("release", &release)
}

/// A bench with the kernels, and memory for the addresses and numbers of 96 threads.
fn bench(ptx: &str) -> (Bench, u64, u64) {
    let mut bench = Bench::new(ptx);
    let (blocks, out) = (bench.upload(&[0u64; 96]), bench.upload(&[0u32; 96]));
    (bench, blocks, out)
}

#[test]
fn blocks_of_one_kernel_are_read_and_freed_by_others() {
    let (mut bench, blocks, out) = bench(&kernels());
    bench.launch("make", 3, 32, &[&blocks, &out, &40u64]);
    let addresses = bench.download(blocks, 96, u64::from_le_bytes);
    assert!(addresses.iter().all(|address| address % 16 == 0));
    bench.launch("read", 3, 32, &[&blocks, &out, &0u64]);
    assert_eq!(bench.ints(out, 96), (0..96).collect::<Vec<_>>());
    bench.launch("release", 3, 32, &[&blocks, &out, &0u64]);
    // A null pointer may be freed, and blocks may stay.
    let null = bench.upload(&[0u64; 96]);
    bench.launch("release", 3, 32, &[&null, &out, &0u64]);
    bench.launch("make", 3, 32, &[&blocks, &out, &40u64]);
}

#[test]
fn addresses_do_not_depend_on_host_threads() {
    let run = |threads| {
        let mut bench = Bench::with_threads(&kernels(), threads);
        let (blocks, out) = (bench.upload(&[0u64; 32_768]), bench.upload(&[0u32; 32_768]));
        bench.launch("make", 128, 256, &[&blocks, &out, &24u64]);
        bench.download(blocks, 32_768, u64::from_le_bytes)
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn a_heap_without_room_gives_null_until_blocks_are_freed() {
    let (mut bench, blocks, out) = bench(&kernels());
    assert!(bench.device.set_heap_bytes(40 * 1024));
    let made = |bench: &mut Bench| {
        bench.launch("make", 3, 32, &[&blocks, &out, &1024u64]);
        let addresses = bench.download(blocks, 96, u64::from_le_bytes);
        addresses.iter().filter(|address| **address != 0).count()
    };
    assert_eq!([made(&mut bench), made(&mut bench)], [40, 0]);
    // It keeps its size once a kernel used it.
    assert!(!bench.device.set_heap_bytes(1 << 20));
    let huge = bench.launch("make", 1, 32, &[&blocks, &out, &(u64::MAX - 7)]);
    assert!(huge.counter("ptx__inst_executed.sum") > Some(0));
    assert_eq!(bench.download(blocks, 32, u64::from_le_bytes), [0; 32]);
}

#[test]
fn an_access_beyond_a_block_or_after_it_was_freed_is_a_fault() {
    let (mut bench, blocks, out) = bench(&kernels());
    bench.launch("make", 3, 32, &[&blocks, &out, &40u64]);
    let first = bench.download(blocks, 1, u64::from_le_bytes)[0];
    assert_eq!(
        bench.fault("read", 1, 32, &[&blocks, &out, &40u64]),
        format!(
            "kernel 'read' at heap.cu:8:1, block (0,0,0), thread (0,0,0): reads 4 bytes of global \
             memory at {:#x}, just past the end of a 40-byte block of the device heap at {first:#x}",
            first + 40
        )
    );
    bench.launch("release", 3, 32, &[&blocks, &out, &0u64]);
    assert_eq!(
        bench.fault("read", 1, 32, &[&blocks, &out, &8u64]),
        format!(
            "kernel 'read' at heap.cu:8:1, block (0,0,0), thread (0,0,0): reads 4 bytes of global \
             memory at {:#x}, 8 bytes into a 40-byte block of the device heap at {first:#x} that was \
             freed",
            first + 8
        )
    );
}

#[test]
fn freeing_twice_or_a_wrong_address_is_a_fault() {
    let (mut bench, blocks, out) = bench(&kernels());
    bench.launch("make", 3, 32, &[&blocks, &out, &40u64]);
    let first = bench.download(blocks, 1, u64::from_le_bytes)[0];
    let place = "kernel 'release' at heap.cu:12:1, block (0,0,0), thread (0,0,0): frees";
    assert_eq!(
        bench.fault("release", 3, 32, &[&blocks, &out, &8u64]),
        format!(
            "{place} {:#x}, 8 bytes into a block of the device heap: free its first address, {first:#x}",
            first + 8
        )
    );
    bench.launch("release", 3, 32, &[&blocks, &out, &0u64]);
    assert_eq!(
        bench.fault("release", 3, 32, &[&blocks, &out, &0u64]),
        format!("{place} {first:#x}, a 40-byte block of the device heap that was freed already")
    );
    let own = bench.upload(&[out; 32]);
    assert_eq!(
        bench.fault("release", 1, 32, &[&own, &out, &0u64]),
        format!(
            "{place} {out:#x}, which is no block of the device heap: a kernel can free only what malloc \
             or new returned to a kernel"
        )
    );
}

#[test]
fn reusing_freed_heap_memory_is_not_a_race() {
    let body = malloc("%rd4", "16") + "st.u32 [%rd4], %r1;\n" + &free("%rd4");
    let (mut bench, blocks, out) = bench(&(HEADER.to_owned() + &kernel("churn", &body)));
    // Room for one block of a warp.
    assert!(bench.device.set_heap_bytes(32 * 16));
    bench.launch("churn", 3, 32, &[&blocks, &out, &0u64]);
    let race = malloc("%rd4", "16")
        + "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u64 [%rd3], %rd4; bar.sync 0;\n\
           ld.global.u64 %rd4, [%rd3]; st.u32 [%rd4], %r1;";
    let (mut bench, ..) = self::bench(&(HEADER.to_owned() + &kernel("race", &race)));
    let shared = bench.upload(&[0u64]);
    let fault = bench.fault("race", 1, 64, &[&blocks, &out, &shared]);
    assert!(fault.contains("writes 4 bytes of global memory at 0x650000000000, which"), "{fault}");
    assert!(fault.contains(": a race; "), "{fault}");
}

#[test]
fn aligned_blocks_are_aligned() {
    let body = "{ .param .b64 a; .param .b64 b; .param .b64 r; st.param.b64 [a], %rd3;\n\
                st.param.b64 [b], 256; call.uni (r), __nv_aligned_device_malloc, (a, b);\n\
                ld.param.b64 %rd4, [r]; }\nst.global.u64 [%rd1], %rd4; st.u8 [%rd4+2], %r1;";
    let (mut bench, blocks, out) = bench(&(HEADER.to_owned() + &kernel("aligned", body)));
    bench.launch("aligned", 3, 32, &[&blocks, &out, &3u64]);
    let addresses = bench.download(blocks, 96, u64::from_le_bytes);
    assert!(addresses.iter().all(|address| *address != 0 && address % 256 == 0));
}

#[test]
fn counters_of_the_hardware_are_withheld_since_malloc_accesses_memory_there() {
    let (mut bench, blocks, out) = bench(&kernels());
    let made = bench.launch("make", 3, 32, &[&blocks, &out, &40u64]);
    let name = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum";
    assert_eq!(made.counter(name), None);
    let why =
        made.unclaimed.iter().find(|(refused, _)| refused == name).map(|(_, why)| why.as_str());
    assert_eq!(
        why,
        Some("malloc and free access memory on a GPU, and place blocks in another way (heap.cu:3)")
    );
    let read = bench.launch("read", 3, 32, &[&blocks, &out, &0u64]);
    assert!(read.counter("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum").is_some());
}

#[test]
fn a_function_of_the_module_called_malloc_is_called() {
    let ptx = HEADER.replace(
        ".extern .func (.param .b64 r) malloc (.param .b64 a);",
        ".func (.param .b64 r) malloc (.param .b64 a) { .reg .b64 %x; ld.param.b64 %x, [a];\n\
         add.u64 %x, %x, 1; st.param.b64 [r], %x; ret; }",
    );
    let body = malloc("%rd4", "%rd3") + "st.global.u64 [%rd1], %rd4;";
    let (mut bench, blocks, out) = bench(&(ptx + &kernel("own", &body)));
    bench.launch("own", 1, 32, &[&blocks, &out, &7u64]);
    assert_eq!(bench.download(blocks, 32, u64::from_le_bytes), [8; 32]);
}

#[test]
fn a_call_that_does_not_fit_is_refused() {
    let body = "call.uni malloc;";
    let refused = Device::default().load(&(HEADER.to_owned() + &kernel("bad", body))).unwrap_err();
    assert!(refused.to_string().contains("call of 'malloc'"), "{refused}");
}
