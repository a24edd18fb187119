//! A module's declarations other than kernels: initial values, variables that no kernel can use,
//! and requirements of cooperative launches and special registers.

use crate::common::{Argument, Bench};
use gpuprof_emulator::device::{Device, LaunchConfig, LaunchError};

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// The words of a kernel's output: `body` stores to `[%o]`.
fn words(outside: &str, body: &str, count: usize) -> Vec<u32> {
    let mut bench = Bench::new(&kernel(outside, body));
    let out = bench.upload(&vec![0u32; count]);
    bench.launch("k", 1, 1, &[&out]);
    bench.download(out, count, u32::from_le_bytes)
}

fn kernel(outside: &str, body: &str) -> String {
    format!(
        "{HEAD}{outside}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>, %o;\n\
         ld.param.u64 %o, [out];\n{body}\nret;\n}}\n"
    )
}

/// Copies `count` words of a variable to the output.
fn copies(name: &str, count: usize) -> String {
    let copy = |at: usize| {
        format!("ld.global.u32 %r1, [{name}+{0}]; st.global.u32 [%o+{0}], %r1;\n", 4 * at)
    };
    (0..count).map(copy).collect()
}

#[test]
fn constant_expressions_are_accepted_wherever_integers_are() {
    let outside = ".global .u32 a[2*3] = {(1<<5)|3, -7/2, ~5U, !0, WARP_SZ*2};\n\
                   .global .s64 b = (.u64)-1 >> 63;";
    assert_eq!(words(outside, &copies("a", 6), 6), [35, -3_i32 as u32, !5, 1, 64, 0]);
    assert_eq!(words(outside, &copies("b", 1), 1), [1]);
    let body = "mov.u32 %r1, (1<<5)|3; add.u32 %r1, %r1, -7/2; st.global.u32 [%o+2*2], %r1;\n\
                mov.u32 %r2, WARP_SZ; st.global.u32 [%o+8-8], %r2;";
    assert_eq!(words("", body, 2), [32, 32]);
}

#[test]
fn arrays_without_bounds_have_those_of_their_values() {
    let outside = ".global .u32 a[] = {1, 2, 3}; .global .u32 rows[][2] = {{4}, {5, 6}};";
    assert_eq!(words(outside, &copies("a", 3), 3), [1, 2, 3]);
    assert_eq!(words(outside, &copies("rows", 4), 4), [4, 0, 5, 6]);
    let module = Device::default().load(&kernel(outside, "")).unwrap();
    assert_eq!(module.variable("a").unwrap().1, 12);
    assert_eq!(module.variable("rows").unwrap().1, 16);
}

#[test]
fn addresses_are_initial_values_whole_and_by_bytes() {
    let outside = ".global .u32 a[4] = {1, 2, 3, 4};\n.global .u64 p[2] = {a+8, generic(a)+4};\n\
        .global .align 8 .b8 q[8] = {0xff(a), 0xff00(a), 0xff0000(a), 0xff000000(a),\n\
        0xff00000000(a), 0xff0000000000(a), 0xff000000000000(a), 0xff00000000000000(a)};";
    let body = "ld.global.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%o], %r1;\n\
        ld.global.u64 %rd1, [p+8]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%o+4], %r1;\n\
        ld.global.u64 %rd1, [q]; ld.global.u32 %r1, [%rd1+12]; st.global.u32 [%o+8], %r1;";
    assert_eq!(words(outside, body, 3), [3, 2, 4]);
}

#[test]
fn kernels_that_launch_kernels_are_refused_by_name_and_line_once_they_are_used() {
    let text = format!(
        "{HEAD}.file 1 \"tree.cu\"\n\
         .extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 a);\n\
         .visible .entry child() {{ ret; }}\n\
         .visible .entry parent() {{ .loc 1 12 5\n{{ .param .b64 a; .param .b64 r;\n\
         call.uni (r), cudaGetParameterBufferV2, (a); }} ret; }}\n"
    );
    let module = Device::default().load(&text).unwrap();
    assert!(module.kernel("child").is_some());
    assert_eq!(
        module.refusal("parent").unwrap().to_string(),
        "the emulator does not support this: dynamic parallelism, a call of \
         'cudaGetParameterBufferV2' in a kernel, in 'parent' at tree.cu:12:5 (PTX line 9)"
    );
}

#[test]
fn only_kernels_that_use_undefined_symbols_are_refused() {
    let text = format!(
        "{HEAD}.extern .global .b32 e;\n\
         .global .texref t;\n.global .u64 p = e;\n\
         .visible .entry good() {{ ret; }}\n\
         .visible .entry texture() {{ .reg .b64 %r; mov.u64 %r, t; ret; }}\n\
         .visible .entry pointer() {{ .reg .b64 %r; ld.global.u64 %r, [p]; ret; }}\n"
    );
    let module = Device::default().load(&text).unwrap();
    assert!(module.kernel("good").is_some());
    let refusal = |name| module.refusal(name).unwrap().to_string();
    let texture = "unsupported variable 't' (it is a texture, sampler or surface) at line 8";
    assert_eq!(refusal("texture"), texture);
    let pointer =
        "unsupported variable 'p' (its initial value 'e' is not an address known here) at line 9";
    assert_eq!(refusal("pointer"), pointer);
    assert_eq!(module.variable("t"), None);
}

#[test]
fn only_the_kernel_with_vector_registers_is_refused() {
    let text = format!(
        "{HEAD}.visible .entry good() {{ ret; }}\n\
         .visible .entry vector() {{ .reg .b32 %r; {{ .reg .v2 .b32 q; }} ret; }}\n"
    );
    let module = Device::default().load(&text).unwrap();
    assert!(module.kernel("good").is_some());
    let refusal = module.refusal("vector").unwrap().to_string();
    assert_eq!(refusal, "unsupported vector registers at line 5");
}

#[test]
fn a_launch_without_clusters_has_clusters_of_one_block() {
    let body = "mov.u32 %r1, %clusterid.x; st.global.u32 [%o], %r1; mov.u32 %r1, %nclusterid.x;\n\
        st.global.u32 [%o+4], %r1; mov.u32 %r1, %cluster_ctarank; st.global.u32 [%o+8], %r1;\n\
        mov.u32 %r1, %cluster_nctaid.y; st.global.u32 [%o+12], %r1;\n\
        mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 7, 9, %p1; st.global.u32 [%o+16], %r1;";
    assert_eq!(words("", body, 5), [0, 1, 0, 1, 9]);
}

#[test]
fn kernel_parameters_lie_in_the_global_window() {
    let body = "mov.b64 %rd1, out; cvta.param.u64 %rd2, %rd1; isspacep.global %p1, %rd2;\n\
        isspacep.param %p2, %rd2; isspacep.shared %p3, %rd2; selp.u32 %r1, 1, 0, %p1;\n\
        selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; st.global.u32 [%o], %r1;\n\
        st.global.u32 [%o+4], %r2; st.global.u32 [%o+8], %r3;";
    assert_eq!(words("", body, 3), [1, 1, 0]);
}

#[test]
fn constant_variables_lie_in_a_window_of_their_own() {
    let outside = ".const .align 4 .b8 c[16];\n.global .align 4 .b8 g[16];";
    let of = |address: &str, at: usize| {
        format!(
            "{address}\nisspacep.const %p1, %rd1; isspacep.global %p2, %rd1;\n\
             selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; or.b32 %r1, %r1, %r2;\n\
             st.global.u32 [%o+{at}], %r1;\n"
        )
    };
    let body = of("mov.b64 %rd1, c; cvta.const.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 12;", 0)
        + &of("mov.b64 %rd1, g; cvta.global.u64 %rd1, %rd1;", 4)
        + &of("mov.b64 %rd1, 0; cvta.shared::cluster.u64 %rd1, %rd1;", 8);
    assert_eq!(words(outside, &body, 3), [1, 2, 0]);
}

#[test]
fn unset_environment_registers_are_zero() {
    let body = "mov.u32 %r1, %envreg0; mov.u32 %r2, %envreg31; or.b32 %r1, %r1, %r2;\n\
        add.u32 %r1, %r1, 7; st.global.u32 [%o], %r1;";
    assert_eq!(words("", body, 1), [7]);
}

/// A kernel in which the blocks add to the workspace's barrier and wait until all have, as
/// cooperative groups do. The output is the size of the workspace, or 7 if there is none.
const COOPERATIVE: &str = "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd1, {%r2, %r1};\n\
    setp.eq.u64 %p1, %rd1, 0; mov.u32 %r6, 7; @%p1 bra END;\n\
    mov.u32 %r3, %nctaid.x; atom.add.release.gpu.u32 %r4, [%rd1+4], 1;\n\
    LOOP: ld.acquire.gpu.u32 %r5, [%rd1+4]; setp.lt.u32 %p2, %r5, %r3; @%p2 bra LOOP;\n\
    ld.u32 %r6, [%rd1];\n\
    END: mov.u32 %r7, %ctaid.x; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %o, %rd2;\n\
    st.global.u32 [%rd2], %r6;";

#[test]
fn blocks_of_a_cooperative_launch_run_together_or_not_at_all() {
    let mut bench = Bench::new(&kernel("", COOPERATIVE));
    let kernel = bench.module.kernel("k").unwrap().clone();
    let out = bench.upload(&[0u32; 8]);
    let config = LaunchConfig { grid: [8, 1, 1], block: [1, 1, 1], shared_bytes: 0 };
    for _ in 0..2 {
        bench.device.launch_cooperative(&kernel, config, &out.bytes(), 0).unwrap();
        assert_eq!(bench.ints(out, 8), [64; 8]);
    }
    bench.launch("k", 8, 1, &[&out]);
    assert_eq!(bench.ints(out, 8), [7; 8]);

    let held = bench.device.resident_blocks(&kernel, config) as u32;
    let config = LaunchConfig { grid: [held + 1, 1, 1], ..config };
    let refused = bench.device.launch_cooperative(&kernel, config, &out.bytes(), 0).unwrap_err();
    let LaunchError::CooperativeTooLarge(why) = refused else { panic!("{refused}") };
    assert!(why.contains(&format!("the device holds {held} of them")), "{why}");
}

/// The test of cooperative groups before a barrier of the grid: `end` follows the address.
fn grid_barrier(end: &str) -> String {
    kernel(
        "",
        &format!(
            "mov.u32 %r1, %envreg2; mov.u32 %r2, %envreg1; cvt.u64.u32 %rd1, %r1; \
             cvt.u64.u32 %rd2, %r2; bfi.b64 %rd1, %rd2, %rd1, 32, 32; setp.ne.s64 %p1, %rd1, 0;\n\
             setp.eq.s64 %p2, %o, 0;\n{end}\nDONE: ret;"
        ),
    )
}

#[test]
fn a_barrier_of_the_grid_without_a_cooperative_launch_is_named_with_its_remedy() {
    let traps = |end: &str| {
        let mut bench = Bench::new(&grid_barrier(end));
        let kernel = bench.module.kernel("k").unwrap().clone();
        let out = bench.upload(&[0u32; 8]);
        let config = LaunchConfig { grid: [2, 1, 1], block: [32, 1, 1], shared_bytes: 0 };
        let launched = bench.device.launch_cooperative(&kernel, config, &out.bytes(), 0).is_ok();
        (bench.fault("k", 2, 32, &[&out]), launched)
    };
    let named = "the kernel synchronises its grid (grid.sync() of cooperative groups), but was \
        not launched cooperatively: set `cooperative = true`, or launch it by \
        cuLaunchCooperativeKernel";
    for end in ["@%p1 bra DONE; trap;", "@!%p1 trap;", "@!%p1 bra BAD; ret; BAD: trap;"] {
        let (fault, launched) = traps(end);
        assert!(fault.ends_with(named) && launched, "{end}: {fault}");
    }
    // A trap of the program's own.
    for end in ["@%p2 bra DONE; trap;", "@!%p2 trap;", "trap;"] {
        let (fault, launched) = traps(end);
        assert!(fault.contains("executed a trap instruction") && !launched, "{end}: {fault}");
    }
}

#[test]
fn constant_memory_includes_the_gaps_of_alignment() {
    let load = |align: u32| {
        let outside = format!(".const .align 4 .b8 a[65524];\n.const .align {align} .b8 b[8];");
        Device::default().load(&kernel(&outside, "")).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(load(4), Ok(()));
    let refused = load(16).unwrap_err();
    assert!(
        refused.contains("65544 bytes of constant memory, and the device has 65536"),
        "{refused}"
    );
}
