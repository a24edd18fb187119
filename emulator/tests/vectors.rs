//! Registers of 128 bits, atomics on several words, and words that change no result.

use crate::common::Bench;
use gpuprof_emulator::device::Device;

fn module(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>, %o; .reg .b128 %q<4>; .reg .b128 %w;\n\
         ld.param.u64 %o, [out]; mov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// What is in 64 bytes that begin as `start`, after `threads` threads executed `body`.
fn outcome(body: &str, start: [u64; 8], threads: u32) -> Vec<u64> {
    let mut bench = Bench::new(&module(body));
    let out = bench.upload(&start);
    bench.launch("k", 1, threads, &[&out]);
    bench.download(out, 8, u64::from_le_bytes)
}

#[test]
fn registers_of_128_bits_are_packed_moved_loaded_and_stored() {
    let body = "ld.global.b128 %q1, [%o]; mov.b128 {%rd1, %rd2}, %q1; add.u64 %rd2, %rd2, 1;\n\
        mov.b128 %q3, {%rd2, %rd1}; mov.b128 %w, %q3; st.global.b128 [%o+16], %w;";
    assert_eq!(outcome(body, [5, 7, 0, 0, 0, 0, 0, 0], 1)[..4], [5, 7, 8, 5]);
}

#[test]
fn a_compare_and_swap_of_128_bits_compares_all_of_them() {
    let swap = |low: u64, high: u64| {
        let body = format!(
            "mov.b64 %rd1, {low}; mov.b64 %rd2, {high}; mov.b128 %q0, {{%rd1, %rd2}};\n\
             mov.b64 %rd3, 30; mov.b64 %rd4, 40; mov.b128 %q1, {{%rd3, %rd4}};\n\
             atom.global.cas.b128 %q2, [%o], %q0, %q1; st.global.b128 [%o+16], %q2;"
        );
        outcome(&body, [1, 2, 0, 0, 0, 0, 0, 0], 1)[..4].to_vec()
    };
    assert_eq!(swap(1, 2), [30, 40, 1, 2]);
    assert_eq!(swap(1, 3), [1, 2, 1, 2]);
    assert_eq!(swap(0, 2), [1, 2, 1, 2]);
}

#[test]
fn an_exchange_of_128_bits_loses_nothing() {
    // Every thread stores its number and adds the old value; the last is still in memory.
    let body = "cvt.u64.u32 %rd1, %r1; mov.b128 %q0, {%rd1, %rd1};\n\
        atom.exch.global.b128 %q1, [%o], %q0; mov.b128 {%rd2, %rd3}, %q1;\n\
        red.global.add.u64 [%o+16], %rd2; red.global.add.u64 [%o+24], %rd3;";
    let got = outcome(body, [0; 8], 32);
    assert_eq!((got[0] + got[2], got[1] + got[3]), (31 * 16, 31 * 16));
}

#[test]
fn every_element_of_a_vector_atomic_is_added() {
    let body = "mov.b32 %r2, 0f3F800000; mov.b32 %r3, 0f40000000;\n\
        red.global.add.v4.f32 [%o], {%r2, %r3, %r2, %r3};\n\
        atom.global.v2.f32.add {%r4, _}, [%o+16], {%r3, %r2};\n\
        mov.b32 %r5, 0x3c004000; red.global.v2.f16x2.add.noftz [%o+24], {%r5, %r5};";
    let pair = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    // Halves of 4.0 and 8.0.
    let halves = 0x4400_4800_4400_4800;
    let expected = [pair(4.0, 8.0), pair(4.0, 8.0), pair(8.0, 4.0), halves];
    assert_eq!(outcome(body, [0; 8], 4)[..4], expected);
}

#[test]
fn a_cache_policy_changes_no_result() {
    let body = "createpolicy.fractional.L2::evict_last.b64 %rd5, 0f3F800000;\n\
        ld.global.L2::cache_hint.u64 %rd1, [%o], %rd5; add.u64 %rd1, %rd1, 1;\n\
        st.global.L2::cache_hint.u64 [%o+8], %rd1, %rd5;\n\
        red.global.add.L2::cache_hint.u64 [%o+16], %rd1, %rd5;\n\
        applypriority.global.L2::evict_normal [%o], 128;";
    assert_eq!(outcome(body, [4, 0, 1, 0, 0, 0, 0, 0], 1)[..3], [4, 5, 6]);
}

#[test]
fn fences_of_proxies_prefetches_and_mmio_change_no_result() {
    let body = "fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta;\n\
        fence.proxy.alias; prefetch.global.L2::evict_last [%o];\n\
        ld.mmio.relaxed.sys.global.u64 %rd1, [%o]; add.u64 %rd1, %rd1, 1;\n\
        st.mmio.relaxed.sys.global.u64 [%o+8], %rd1;";
    assert_eq!(outcome(body, [4, 0, 0, 0, 0, 0, 0, 0], 1)[..2], [4, 5]);
    let volatile = module("ld.mmio.volatile.global.u64 %rd1, [%o];");
    assert!(Device::default().load(&volatile).is_err());
}

#[test]
fn cluster_addresses_reach_the_shared_memory_of_the_block() {
    let body = "mov.b64 %rd1, 0; cvta.shared.u64 %rd1, %rd1; isspacep.shared::cluster %p1, %rd1;\n\
        isspacep.shared::cluster %p2, %o; selp.u64 %rd2, 1, 2, %p1; selp.u64 %rd3, 1, 2, %p2;\n\
        st.global.v2.u64 [%o], {%rd2, %rd3};";
    assert_eq!(outcome(body, [0; 8], 1)[..2], [1, 2]);
}

#[test]
fn invalid_vector_atomics_are_refused() {
    for body in [
        "red.global.v2.f32.min [%o], {%r1, %r2};",
        "red.global.cas.b128 [%o], %q0, %q1;",
        "atom.shared.v2.f32.add {%r1, %r2}, [%r3], {%r4, %r5};",
        "atom.global.add.b128 %q0, [%o], %q1;",
    ] {
        let name = body.split(' ').next().unwrap();
        let refusal = Device::default().load(&module(body)).unwrap_err().to_string();
        assert_eq!(refusal, format!("unsupported PTX instruction '{name}' at line 7"));
    }
}
