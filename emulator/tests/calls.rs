//! Calls that are not inlined: virtual functions, pointers to functions, recursion, stack memory.

use crate::common::Bench;
use gpuprof_emulator::device::Device;

const KERNELS: &str = include_str!("fixtures/calls.ptx");

fn run(kernel: &str, threads: u32) -> Vec<i32> {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&vec![0u32; threads as usize]);
    bench.launch(kernel, 1, threads, &[&out]);
    bench.ints(out, threads as usize)
}

fn each(threads: i32, expected: impl Fn(i32) -> i32) -> Vec<i32> {
    (0..threads).map(expected).collect()
}

/// The shape of the fixture that `make_shapes` puts at a place.
fn area(i: i32, x: i32) -> i32 {
    match i % 3 {
        0 => i * i + x,
        1 => i * (i + 3) / 2 + x,
        _ => i + area(i - 1, x + 1),
    }
}

#[test]
fn virtual_functions_of_objects_from_another_kernel_run() {
    const SHAPES: usize = 96;
    // Threads of a warp have shapes of all kinds, or of one.
    for step in [1, 3, 32] {
        let mut bench = Bench::new(KERNELS);
        let storage = bench.upload(&[0u64; SHAPES * 8]);
        let out = bench.upload(&[0u32; SHAPES]);
        bench.launch("make_shapes", 3, 32, &[&storage, &(SHAPES as i32)]);
        bench.launch("measure_shapes", 3, 32, &[&storage, &out, &(SHAPES as i32), &step]);
        let expected = each(SHAPES as i32, |i| {
            let (own, other) = (i * step % SHAPES as i32, (i + 1) % SHAPES as i32);
            let larger = if area(own, 0) < area(other, 0) { other } else { own };
            // All lanes have met again after the call.
            area(own, i) + 32 * 1000 + larger
        });
        assert_eq!(bench.ints(out, SHAPES), expected, "step {step}");
    }
}

#[test]
fn virtual_functions_of_local_objects_run() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0u32; 64]);
    bench.launch("local_shapes", 1, 64, &[&out, &5i32]);
    let expected = |i| if i % 2 == 1 { i * i + 5 } else { i * 5 / 2 + 5 };
    assert_eq!(bench.ints(out, 64), each(64, expected));
}

fn fibonacci(n: i32) -> i32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

fn ackermann(m: i32, n: i32) -> i32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

#[test]
fn recursive_functions_match_the_host() {
    let expected = |i| fibonacci(i % 13) * 1000 + ackermann(i % 3, i % 5);
    assert_eq!(run("recurse", 96), each(96, expected));
}

#[test]
fn mutual_recursion_ends_where_it_does_on_a_host() {
    assert_eq!(run("parity", 64), each(64, |i| i32::from(i % 11 % 2 == 0)));
}

#[test]
fn a_table_of_functions_is_called_by_whole_warps_and_by_single_lanes() {
    for divisor in [1, 5, 32] {
        let mut bench = Bench::new(KERNELS);
        let out = bench.upload(&[0f64; 96]);
        bench.launch("apply", 1, 96, &[&out, &divisor]);
        let expected = |i: i32| {
            let x = f64::from(i % 7);
            match i / divisor % 3 {
                0 => 2.0 * x,
                1 => x * x,
                _ => x * (x + 1.0) / 2.0,
            }
        };
        let expected: Vec<f64> = (0..96).map(expected).collect();
        assert_eq!(bench.download(out, 96, f64::from_le_bytes), expected, "divisor {divisor}");
    }
}

#[test]
fn every_call_has_local_arrays_of_its_own() {
    const LENGTH: usize = 40;
    let mut bench = Bench::new(KERNELS);
    let values: Vec<i32> = crate::common::noise(32 * LENGTH, 9).iter().map(|v| *v as i32).collect();
    let data = bench.upload(&values);
    bench.device.set_stack_bytes(64 << 10);
    bench.launch("quicksort", 1, 32, &[&data, &(LENGTH as i32)]);
    let mut expected = values;
    expected.chunks_mut(LENGTH).for_each(<[i32]>::sort_unstable);
    assert_eq!(bench.ints(data, expected.len()), expected);
}

#[test]
fn stack_memory_lives_until_its_function_returns() {
    fn fold(depth: i32) -> i32 {
        let own: i32 = (0..depth % 4 + 1).map(|i| depth * 10 + i).sum();
        // An inner call adds one to the first value of the outer.
        if depth > 0 { fold(depth - 1) + own + 1 } else { own }
    }
    assert_eq!(run("allocate", 64), each(64, |i| fold(i % 6)));
}

#[test]
fn lanes_meet_in_a_function_that_they_reach_at_different_depths() {
    let expected = |i: i32| 32 + (1..=i % 4).sum::<i32>();
    assert_eq!(run("meet_inside", 32), each(32, expected));
}

#[test]
fn a_thread_that_exits_in_a_call_does_not_come_back() {
    let expected = |i: i32| match i % 5 {
        depth @ 0..3 => (depth + 1) * 101 + 10000,
        _ => 3,
    };
    assert_eq!(run("exit_inside", 64), each(64, expected));
}

fn depth_fault(depth: i32, stack: u32) -> Result<i32, String> {
    let mut bench = Bench::new(KERNELS);
    bench.device.set_stack_bytes(stack);
    let out = bench.upload(&[0u32; 64]);
    let launched = bench.try_launch("depth", [1, 1, 1], [32, 1, 1], 0, &[&out, &depth]);
    launched.map(|_| bench.ints(out, 64)[40]).map_err(|error| error.to_string())
}

#[test]
fn recursion_reaches_the_limit_of_the_stack_and_no_further() {
    // A frame without variables has eight bytes, and one is free.
    for (stack, most) in [(1024, 128), (4096, 512), (512 << 10, (512 << 10) / 8 - 1)] {
        assert_eq!(depth_fault(most, stack), Ok(most), "stack {stack}");
        let message = depth_fault(most + 1, stack).unwrap_err();
        let place = "kernel 'depth' at calls.cu:";
        assert!(message.starts_with(place), "{message}");
        let text =
            format!("stack overflow: '_Z7descendiPVi' is called at a depth of {} calls", most + 1);
        assert!(message.contains(&text), "{message}");
    }
}

#[test]
fn endless_recursion_is_a_stack_overflow() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0u32; 32]);
    let message = bench.fault("never_returns", 1, 32, &[&out]);
    let line = 1 + KERNELS_SOURCE.lines().position(|line| line.contains("endless(x + 1")).unwrap();
    assert!(message.contains(&format!("at calls.cu:{line}:")), "{message}");
    let chain =
        format!(", in '_Z7endlessiPVi', called at calls.cu:{line}:5 and at calls.cu:{line}:5");
    assert!(message.contains(&chain), "{message}");
    assert!(message.contains("stack overflow: '_Z7endlessiPVi'"), "{message}");
    assert!(message.contains("1024 bytes (CU_LIMIT_STACK_SIZE)"), "{message}");
}

const KERNELS_SOURCE: &str = include_str!("fixtures/calls.cu");

#[test]
fn a_kernel_with_unknown_calls_claims_no_counters_of_the_hardware() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0u32; 32]);
    let record = bench.launch("parity", 1, 32, &[&out]);
    let name = "smsp__sass_inst_executed_op_global_st.sum";
    assert_eq!(record.counter(name), None);
    let (_, reason) = record.unclaimed.iter().find(|(known, _)| known == name).unwrap();
    assert!(reason.contains("recursive calls were not compared with a GPU"), "{reason}");
}

/// A module with `functions` and one kernel `k(u64 out)` with this body; `%rd1` is `out + 4 ×
/// %tid.x` and `%r1` is `%tid.x`.
fn written(functions: &str, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;\n\
         {body}\nret;\n}}\n"
    )
}

fn run_written(functions: &str, body: &str) -> Result<Vec<i32>, String> {
    let mut bench = Bench::new(&written(functions, body));
    let out = bench.upload(&[0u32; 32]);
    let launched = bench.try_launch("k", [1, 1, 1], [32, 1, 1], 0, &[&out]);
    launched.map(|_| bench.ints(out, 32)).map_err(|error| error.to_string())
}

/// Functions of one word, and one of two.
const FUNCTIONS: &str = "\
    .func (.param .b32 r) add(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 100; st.param.b32 [r], %x; ret; }\n\
    .func (.param .b32 r) mul(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; mul.lo.u32 %x, %x, 3; st.param.b32 [r], %x; ret; }\n\
    .func (.param .b32 r) two(.param .b32 a, .param .b32 b) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }\n\
    .global .u64 table[3] = {add, mul, two};";

/// `%r2` becomes the result of the function at `%rd2` for `%r1`.
const CALL: &str = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n\
    P: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
    call (r), %rd2, (a), P;\nld.param.b32 %r2, [r]; }";

#[test]
fn a_list_of_targets_takes_every_lane_to_its_function() {
    let body = "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; mov.u64 %rd2, add; mov.u64 %rd3, mul; selp.b64 %rd2, %rd2, %rd3, %p1;\n\
        setp.lt.u32 %p2, %r1, 20; mov.u32 %r2, 7;\n\
        { .param .b32 a; .param .b32 r; st.param.b32 [r], %r2; st.param.b32 [a], %r1;\nT: .calltargets add, mul;\n\
        @%p2 call (r), %rd2, (a), T;\nld.param.b32 %r2, [r]; }\n\
        activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r2, %r4, 1000, %r2; st.global.b32 [%rd1], %r2;";
    let expected = |i: i32| match i {
        20.. => 7,
        _ if i % 2 == 0 => i + 100,
        _ => i * 3,
    };
    assert_eq!(run_written(FUNCTIONS, body).unwrap(), each(32, |i| expected(i) + 32000));
}

#[test]
fn a_pointer_to_no_function_is_a_fault() {
    for (pointer, expected) in [
        ("mov.u64 %rd2, 0;", "it calls a function through a null pointer"),
        ("mov.u64 %rd2, %rd0;", "through a pointer, but no function is there"),
        ("mov.u64 %rd2, two;", "it calls 'two' through a pointer, which is not among the targets"),
    ] {
        // The call is in a function that takes other parameters, so `two` is there.
        let body = format!(
            "{pointer} {CALL}\nst.global.b32 [%rd1], %r2;\n{{ .param .b32 a; .param .b32 b; \
            .param .b32 r; st.param.b32 [a], %r1; st.param.b32 [b], %r1; call (r), two, (a, b); }}"
        );
        let message = run_written(FUNCTIONS, &body).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_unsupported_function_faults_only_when_called() {
    let functions = format!(
        "{FUNCTIONS}\n.func (.param .b32 r) bad(.param .b32 a) {{ wgmma.fence; ret; }}\n\
         .global .u64 others[2] = {{add, bad}};"
    );
    for (index, expected) in [
        (0, Ok(each(32, |i| i + 100))),
        (1, Err("unsupported PTX instruction 'wgmma.fence' at line 8".to_owned())),
    ] {
        let body = format!(
            "ld.global.u64 %rd2, [others+{}]; {CALL}\nst.global.b32 [%rd1], %r2;",
            8 * index
        );
        match (run_written(&functions, &body), expected) {
            (Err(message), Err(expected)) => assert!(message.contains(&expected), "{message}"),
            (got, expected) => assert_eq!(got, expected),
        }
    }
}

#[test]
fn restoring_the_stack_frees_what_was_allocated_since() {
    let body = "mov.u32 %r2, 0; mov.u32 %r3, 0;\n\
        LOOP: stacksave.u64 %rd2; alloca.u64 %rd3, 400, 16; cvta.local.u64 %rd4, %rd3; st.b32 [%rd4+396], %r1;\n\
        ld.local.b32 %r4, [%rd3+396]; add.u32 %r2, %r2, %r4; stackrestore.u64 %rd2;\n\
        add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 10; @%p1 bra LOOP; st.global.b32 [%rd1], %r2;";
    assert_eq!(run_written("", body).unwrap(), each(32, |i| 10 * i));
    let message = run_written("", &body.replace("stackrestore.u64 %rd2;", "")).unwrap_err();
    let expected =
        "stack overflow: alloca asks for 400 bytes, and the stack of a thread has 1024 bytes";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn an_access_beyond_the_stack_of_its_thread_is_a_fault() {
    // Thread 3 allocates less than the others.
    let body = "setp.eq.u32 %p1, %r1, 3; selp.b64 %rd2, 8, 64, %p1; alloca.u64 %rd3, %rd2; st.local.b32 [%rd3+16], %r1;";
    let message = run_written("", body).unwrap_err();
    let expected = "thread (3,0,0): writes 4 bytes of local memory at 0x10, but the local memory here has 8 bytes";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn undefined_registers_of_a_caller_are_undefined_after_a_recursive_call() {
    let functions = "\
        .func (.param .b32 r) down(.param .b32 a, .param .b64 out) { .reg .pred %p; .reg .b32 %x<4>; .reg .b64 %d<2>; .shared .align 4 .b8 cell[4];\n\
        ld.param.b32 %x0, [a]; ld.param.b64 %d0, [out]; mov.u32 %x3, cell; mov.u32 %x1, 5;\n\
        setp.eq.u32 %p, %x0, 1; @%p ld.shared.b32 %x1, [%x3];\n\
        setp.eq.u32 %p, %x0, 0; @%p bra END;\n\
        sub.u32 %x2, %x0, 1;\n\
        { .param .b32 q; .param .b64 o; .param .b32 s; st.param.b32 [q], %x2; st.param.b64 [o], %d0; call (s), down, (q, o); }\n\
        STORE\nEND: st.param.b32 [r], %x0; ret; }";
    let body = "{ .param .b32 a; .param .b64 o; .param .b32 r; st.param.b32 [a], 2; st.param.b64 [o], %rd1; call (r), down, (a, o); ld.param.b32 %r2, [r]; }\n\
        st.global.b32 [%rd1], %r2;";
    // Only the call with 1 reads unwritten memory, and its value is not used.
    assert_eq!(run_written(&functions.replace("STORE", ""), body).unwrap(), [2; 32]);
    let used = functions.replace("STORE", "setp.eq.u32 %p, %x0, 2; @%p st.global.b32 [%d0], %x1;");
    assert_eq!(run_written(&used, body).unwrap(), [2; 32]);
    let used = functions.replace("STORE", "setp.eq.u32 %p, %x0, 1; @%p st.global.b32 [%d0], %x1;");
    let message = run_written(&used, body).unwrap_err();
    assert!(message.contains("which no thread of the block has written"), "{message}");
}

#[test]
fn lanes_that_come_through_several_calls_leave_a_barrier_where_they_came_from() {
    // Lanes leave the lock one by one, so each reaches the barrier through its own call.
    let functions = ".shared .align 4 .b32 lock;\n\
        .func locked() { .reg .pred %p; .reg .b32 %x<3>; mov.u32 %x0, lock;\n\
        AGAIN: atom.shared.cas.b32 %x1, [%x0], 0, 1; setp.ne.u32 %p, %x1, 0; @%p bra AGAIN;\n\
        atom.shared.exch.b32 %x2, [%x0], 0; ret; }\n\
        .func (.param .b32 r) meet(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; bar.sync 2; st.param.b32 [r], %x; ret; }";
    let body = "mov.u32 %r2, lock; mov.u32 %r3, 0; st.shared.b32 [%r2], %r3; bar.sync 0; call locked;\n\
        { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), meet, (a); ld.param.b32 %r2, [r]; }\n\
        st.global.b32 [%rd1], %r2;";
    assert_eq!(run_written(functions, body).unwrap(), each(32, |i| i));
}

#[test]
fn results_that_are_read_after_another_call_are_kept() {
    let functions = FUNCTIONS.replace("{ .reg .b32 %x; ld.param.b32 %x, [a]; mul", "{ .reg .b32 %x; \
        { .param .b32 p; .param .b32 q; st.param.b32 [p], 0; call (q), add, (p); } ld.param.b32 %x, [a]; mul");
    let body = "{ .param .b32 a; .param .b32 b; .param .b32 r; .param .b32 s; st.param.b32 [a], %r1;\n\
        call (r), add, (a); add.u32 %r3, %r1, 1; st.param.b32 [b], %r3; call (s), add, (b); call (a), mul, (b);\n\
        ld.param.b32 %r2, [r]; ld.param.b32 %r3, [s]; mad.lo.u32 %r2, %r2, 1000, %r3; ld.param.b32 %r3, [a];\n\
        mad.lo.u32 %r2, %r2, 1000, %r3; st.global.b32 [%rd1], %r2; }";
    let expected = |i| ((i + 100) * 1000 + i + 101) * 1000 + 3 * (i + 1);
    assert_eq!(run_written(&functions, body).unwrap(), each(32, expected));
}

#[test]
fn a_recursive_function_prints_what_is_on_its_stack() {
    let mut device = Device::default().with_kept_output();
    let module = device.load(KERNELS).unwrap();
    let mut bench = Bench { device, module };
    bench.launch("print_inside", 1, 2, &[]);
    assert_eq!(bench.device.take_output(), "1 1\n1 1\n2 4\n2 4\n3 9\n3 9\n");
}
