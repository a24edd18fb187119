//! Reads of shared memory that no thread has written: wrong only where the value matters.

use crate::common::Bench;

const KERNELS: &str = include_str!("fixtures/definedness.ptx");

/// The first `count` results of a kernel.
fn floats(kernel: &str, threads: u32, count: usize) -> Vec<f32> {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0f32; 64]);
    bench.launch(kernel, 1, threads, &[&out]);
    bench.floats(out, count)
}

#[test]
fn sums_of_absent_warps_may_be_read_and_dropped() {
    let mut bench = Bench::new(KERNELS);
    let x = bench.upload(&[1f32; 256]);
    let out = bench.upload(&[0f32; 4]);
    bench.launch("partial_sums", 2, 128, &[&x, &out]);
    assert_eq!(bench.floats(out, 2), [128.0; 2]);
    let fault = bench.fault("wrong_sums", 1, 128, &[&x, &out]);
    let parts = [
        "definedness.cu:77:",
        "thread (4,0,0)",
        "reads 4 bytes of shared memory at 0x10, which no thread of the block has written",
        "the value is stored to global memory at definedness.cu:79:",
    ];
    assert!(parts.iter().all(|part| fault.contains(part)), "{fault}");
}

#[test]
fn an_undefined_value_that_is_not_selected_is_allowed() {
    assert_eq!(floats("sums_of_two_warps", 32, 32), [496.0; 32]);
    assert_eq!(floats("sums_of_two_warps", 64, 64), [2016.0; 64]);
    let inner = |t: usize| if t == 0 || t == 63 { 0.0 } else { 2.0 * t as f32 };
    assert_eq!(floats("halo_corners", 64, 64), (0..64).map(inner).collect::<Vec<_>>());
}

#[test]
fn undefined_values_may_pass_through_shared_memory() {
    let inner = |t: usize| if (2..62).contains(&t) { 4.0 * t as f32 } else { 0.0 };
    assert_eq!(floats("two_steps", 64, 64), (0..64).map(inner).collect::<Vec<_>>());
}

#[test]
fn a_merge_may_compare_elements_past_its_keys() {
    let mut bench = Bench::new(KERNELS);
    let keys: Vec<i32> = (0..64).map(|at| at % 32 * 2 + at / 32).collect();
    let (x, out) = (bench.upload(&keys), bench.upload(&[0; 64]));
    bench.launch("merge_pairs", 1, 64, &[&x, &out]);
    assert_eq!(bench.ints(out, 64), (0..64).collect::<Vec<_>>());
}

/// A kernel in which `%r1` is the thread's number, `%r2` four times that and `%rd1` the thread's
/// place in global memory. `%r3` comes from shared memory that was not written.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[256];\n\
         .global .align 4 .b8 g[256];\n.visible .entry k() {{\n.reg .pred %p<8>; .reg .b16 %h<4>; \
         .reg .b32 %r<16>; .reg .b64 %rd<4>; .local .align 8 .b8 l[64];\nmov.u32 %r1, %tid.x; \
         shl.b32 %r2, %r1, 2; mov.u64 %rd2, g; cvt.u64.u32 %rd3, %r2; add.u64 %rd1, %rd2, %rd3; \
         mov.u32 %r9, s; add.u32 %r8, %r9, %r2; setp.lt.u32 %p1, %r1, 16; setp.lt.u32 %p3, %r1, 0;\n\
         ld.shared.b32 %r3, [%r8];\n{body}\nret;\n}}\n"
    )
}

/// What is wrong with a warp that executes such a kernel.
fn wrong(body: &str) -> Option<String> {
    let launch = Bench::new(&kernel(body)).try_launch("k", [1; 3], [32, 1, 1], 0, &[]);
    launch.err().map(|error| error.to_string())
}

#[track_caller]
fn matters(body: &str, how: &str) {
    let fault = wrong(body).unwrap_or_else(|| panic!("no fault: {body}"));
    let read = "which no thread of the block has written";
    assert!(fault.contains(read) && fault.contains(how), "{body}: {fault}");
    assert!(fault.contains("PTX line 9"), "the read is named: {fault}");
}

#[track_caller]
fn drops(body: &str) {
    assert_eq!(wrong(body), None, "{body}");
}

#[test]
fn a_written_bit_field_makes_its_word_written() {
    let (read, out) = ("ld.shared.b32 %r5, [%r8];", "st.global.u32 [%rd1], %r6;");
    let store = "st.shared.b32 [%r8], %r4;";
    let low = "and.b32 %r6, %r5, 31;";
    let clear = "and.b32 %r4, %r3, -4096;";
    drops(&format!("{clear} or.b32 %r4, %r4, %r1; {store}\n{read} {low} {out}"));
    drops(&format!("bfi.b32 %r4, %r1, %r3, 0, 5; {store}\n{read} {low} {out}"));
    // Bits that are set, or cleared, in a word that was never written are not enough.
    let stored = "is stored to global memory at PTX line 11";
    matters(&format!("or.b32 %r4, %r3, %r1; {store}\n{read} {low} {out}"), stored);
    matters(&format!("{clear} {store}\n{read} {low} {out}"), stored);
    matters(&format!("{clear} add.u32 %r4, %r4, 1; {store}\n{read} {low} {out}"), stored);
    matters(&format!("{clear} or.b32 %r4, %r4, %r3; {store}\n{read} {low} {out}"), stored);
}

#[test]
fn undefined_values_with_an_effect_are_reported() {
    let stored = "is stored to global memory at PTX line 10";
    matters("st.global.u32 [%rd1], %r3;", stored);
    matters("st.u32 [%rd1], %r3;", stored);
    matters("add.u32 %r4, %r3, 1; mul.wide.u32 %rd3, %r4, 2; st.global.u64 [g], %rd3;", stored);
    matters("setp.eq.u32 %p2, %r3, 0; @%p2 bra E;\nE:", "decides a branch or an exit");
    matters("setp.eq.u32 %p2, %r3, 0; @%p2 st.global.u32 [%rd1], 1;", "whether a thread stores");
    matters("setp.eq.u32 %p2, %r3, 0; @!%p2 exit;", "decides a branch or an exit");
    matters(
        "cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2; ld.global.u32 %r4, [%rd3];",
        "becomes an address",
    );
    matters(
        "and.b32 %r4, %r3, 4; add.u32 %r4, %r4, %r9; st.shared.u32 [%r4], 1;",
        "becomes an address",
    );
    matters("red.global.add.u32 [g], %r3;", "takes part in an access to memory");
    matters("bar.sync %r3;", "decides a barrier");
    matters("setp.ne.u32 %p2, %r3, 0; bar.red.popc.u32 %r4, 0, %p2;", "decides a barrier");
    matters("bar.warp.sync %r3;", "decides which threads exchange values");
    matters("setp.ne.u32 %p2, %r3, 0; @%p2 mov.u32 %r4, 1; st.global.u32 [%rd1], %r4;", stored);
}

#[test]
fn undefined_values_without_an_effect_are_not_reported() {
    let store = "st.global.u32 [%rd1], %r4;";
    drops("add.u32 %r4, %r3, 1; mov.u32 %r4, 1; st.global.u32 [%rd1], %r4;");
    drops(&format!("and.b32 %r4, %r3, 0; {store}"));
    matters(&format!("and.b32 %r4, %r3, 1; {store}"), "is stored");
    drops(&format!("or.b32 %r4, %r3, -1; {store}"));
    drops(&format!("mul.lo.u32 %r4, %r3, 0; {store}"));
    // (a & b) | c
    drops(&format!("mov.u32 %r5, 0; lop3.b32 %r4, %r3, %r5, %r1, 0xea; {store}"));
    matters(&format!("mov.u32 %r5, 8; lop3.b32 %r4, %r3, %r5, %r1, 0xea; {store}"), "is stored");
    drops(&format!("selp.u32 %r4, %r3, %r1, %p3; {store}"));
    matters(&format!("selp.u32 %r4, %r3, %r1, %p1; {store}"), "thread (0,0,0)");
    drops(&format!("setp.eq.u32 %p2, %r3, 0; selp.u32 %r4, %r2, %r2, %p2; {store}"));
    let decide = "selp.u32 %r4, 1, 2, %p5; st.global.u32 [%rd1], %r4;";
    drops(&format!("setp.eq.and.u32 %p5, %r3, 0, %p3; {decide}"));
    matters(&format!("setp.eq.and.u32 %p5, %r3, 0, %p1; {decide}"), "is stored");
    drops(&format!("setp.eq.u32 %p2, %r3, 0; and.pred %p5, %p2, %p3; {decide}"));
    drops(&format!("setp.eq.u32 %p2, %r3, 0; not.pred %p4, %p3; or.pred %p5, %p2, %p4; {decide}"));
    matters(&format!("setp.eq.u32 %p2, %r3, 0; xor.pred %p5, %p2, %p3; {decide}"), "is stored");
    // Lanes of their own: only the lower half's values are undefined here.
    drops("@!%p1 mov.u32 %r3, 1; @!%p1 st.global.u32 [%rd1], %r3;");
}

#[test]
fn undefined_values_propagate_through_exchanges_by_lane() {
    // Lanes 16 to 31 have a value.
    let own = "@!%p1 mov.u32 %r3, 1; ";
    let shuffle = format!("{own}shfl.sync.bfly.b32 %r4, %r3, 16, 31, 0xffffffff; ");
    drops(&format!("{shuffle}@%p1 st.global.u32 [%rd1], %r4;"));
    matters(&format!("{shuffle}@!%p1 st.global.u32 [%rd1], %r4;"), "is stored");
    let vote = format!("{own}setp.eq.u32 %p2, %r3, 1; vote.sync");
    let store = "0xffffffff; selp.u32 %r4, 1, 2, %p5; st.global.u32 [%rd1], %r4;";
    drops(&format!("{vote}.any.pred %p5, %p2, {store}"));
    matters(&format!("{vote}.all.pred %p5, %p2, {store}"), "is stored");
    drops(&format!("{vote}.all.pred %p5, !%p2, {store}"));
    let sum = "redux.sync.add.s32 %r4, %r3, 0xffffffff; st.global.u32 [%rd1], %r4;";
    matters(&format!("{own}{sum}"), "is stored");
}

#[test]
fn undefined_values_propagate_through_shared_and_local_memory() {
    let (store, load) = ("st.shared.u32 [%r8], %r3;", "ld.shared.u32 %r4, [%r8];");
    let result = "st.global.u32 [%rd1], %r4;";
    drops(&format!("{store} {load} mov.u32 %r4, 1; {result}"));
    drops(&format!("{store} st.shared.u32 [%r8], 1; {load} {result}"));
    // The first read is named, and not that of a word that a thread has written.
    matters(&format!("{store} {load}\n{result}"), "is stored to global memory at PTX line 11");
    let (store, load) = ("st.local.u32 [l+8], %r3;", "ld.local.v2.u32 {%r4, %r5}, [l+8];");
    matters(&format!("{store} {load} {result}"), "is stored");
    drops(&format!("{store} {load} st.global.u32 [%rd1], %r5;"));
    drops(&format!("{store} st.local.u32 [l+8], %r1; {load} {result}"));
}

#[test]
fn one_element_of_a_vector_may_be_unwritten() {
    // Every second word is written.
    let load = "shl.b32 %r4, %r1, 3; add.u32 %r4, %r4, %r9; st.shared.u32 [%r4], %r1; \
                bar.warp.sync -1; ld.shared.v2.u32 {%r5, %r6}, [%r4];";
    drops(&format!("{load} st.global.u32 [%rd1], %r5;"));
    let fault = wrong(&format!("{load} st.global.u32 [%rd1], %r6;")).expect("a fault");
    assert!(fault.contains("thread (0,0,0): reads 4 bytes of shared memory at 0x4, "), "{fault}");
    // As a structure with padding is copied.
    let copy = "st.global.v2.u32 [%rd2], {%r5, %r6};";
    drops(&format!("{load} {copy}"));
    assert!(wrong(&format!("{load} add.u32 %r5, %r5, %r6; {copy}")).is_some());
}

/// Stores of a warp's product with inputs that `ldmatrix` loads from 16 rows, of which the first
/// `rows` were written.
fn product(rows: u32, store: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[256];\n\
         .global .align 4 .b8 g[128];\n.visible .entry k() {{\n.reg .pred %p<4>; .reg .b32 %r<24>; \
         .reg .f32 %f<8>; .reg .b64 %rd<4>;\nmov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 3; \
         mov.u32 %r3, s; add.u32 %r4, %r3, %r2; setp.lt.u32 %p1, %r1, {};\n\
         mov.u32 %r5, 0; @%p1 st.shared.v2.u32 [%r4], {{%r5, %r5}};\nbar.sync 0;\n\
         and.b32 %r6, %r1, 15; mad.lo.u32 %r7, %r6, 16, %r3;\n\
         ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r10, %r11}}, [%r7];\nmov.f32 %f1, 0f00000000;\n\
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{%f1, %f2, %f3, %f4}}, {{%r10, %r11}}, \
         {{%r5}}, {{%f1, %f1, %f1, %f1}};\n\
         mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, g; add.u64 %rd3, %rd2, %rd1; \
         setp.lt.u32 %p2, %r1, 16;\n{store}\nret;\n}}\n",
        2 * rows
    )
}

#[test]
fn undefined_values_propagate_through_products_by_row() {
    let wrong = |rows, store| {
        let launch = Bench::new(&product(rows, store)).try_launch("k", [1; 3], [32, 1, 1], 0, &[]);
        launch.err().map(|error| error.to_string())
    };
    // A lane has an element of row `lane / 4` in `%f1`, and one eight rows below in `%f3`.
    let [upper, lower] = ["%f1", "%f3"].map(|f| format!("@%p2 st.global.f32 [%rd3], {f};"));
    assert_eq!(wrong(16, "st.global.f32 [%rd3], %f3;"), None);
    assert_eq!(wrong(4, &upper), None);
    let fault = wrong(4, &lower).expect("a fault");
    assert!(fault.contains("no thread of the block has written"), "{fault}");
    assert!(wrong(3, &upper).is_some());
}
