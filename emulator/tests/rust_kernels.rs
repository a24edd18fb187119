//! PTX that rustc made (see `fixtures/rust_kernels.rs`): untyped registers, panics, calls, 128-bit
//! arithmetic.

use crate::common::{Argument, Bench, noise, unit};

const KERNELS: &str = include_str!("fixtures/rust_kernels.ptx");

#[test]
fn saxpy_does_not_contract() {
    let mut bench = Bench::new(KERNELS);
    let (x, y) = (unit(1000, 1), unit(1000, 2));
    let (dx, dy) = (bench.upload(&x), bench.upload(&y));
    let record = bench.launch("rust_saxpy", 4, 256, &[&1000u32, &1.7f32, &dx, &dy]);
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| y + 1.7 * x).collect();
    assert_eq!(bench.floats(dy, 1000), expected);
    assert_eq!(record.counter("ptx__thread_inst_executed_op_fmul_pred_on.sum"), Some(1000));
    assert_eq!(record.counter("ptx__thread_inst_executed_op_fadd_pred_on.sum"), Some(1000));
}

fn mix(value: u64, salt: u64) -> u64 {
    let wide = u128::from(value)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        .wrapping_add(u128::from(salt));
    let (low, high) = (wide as u64, (wide >> 64) as u64);
    match salt % 7 {
        0 => low,
        1 => high,
        2 => low.rotate_left(salt as u32),
        3 => u64::from(high.count_ones()),
        4 => low / (salt + 1),
        5 => high % (salt + 1),
        _ => low ^ high,
    }
}

fn table() -> Vec<u64> {
    noise(32, 7).chunks(2).map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1])).collect()
}

#[test]
fn checked_indexing_calls_and_wide_arithmetic_match_the_host() {
    let mut bench = Bench::new(KERNELS);
    let table = table();
    let index: Vec<u32> = noise(100, 5).iter().map(|bits| bits % 16).collect();
    let (di, dt, out) = (bench.upload(&index), bench.upload(&table), bench.upload(&[0u64; 100]));
    bench.launch("rust_checked", 4, 32, &[&100u32, &di, &dt, &out]);
    let got = bench.download(out, 100, u64::from_le_bytes);
    for i in 0..100 {
        assert_eq!(got[i], mix(table[index[i] as usize], i as u64), "{i}");
    }
}

#[test]
fn a_panic_names_the_line_that_panicked() {
    let mut bench = Bench::new(KERNELS);
    let mut index = vec![3u32; 100];
    index[71] = 16;
    let (di, dt, out) = (bench.upload(&index), bench.upload(&table()), bench.upload(&[0u64; 100]));
    let fault = bench.fault("rust_checked", 4, 32, &[&100u32, &di, &dt, &out]);
    assert_eq!(
        fault,
        "kernel 'rust_checked' at rust_kernels.rs:32:32, block (2,0,0), thread (7,0,0): the kernel executed a trap \
         instruction (in Rust, a panic)"
    );
}

#[test]
fn structures_are_passed_by_value() {
    let mut bench = Bench::new(KERNELS);
    struct Particle;
    impl Argument for Particle {
        fn bytes(&self) -> Vec<u8> {
            [1f32, 2.0, 3.0, 8.0].iter().flat_map(|v| v.to_le_bytes()).chain([9, 9, 9, 9]).collect()
        }
    }
    let out = bench.upload(&[0u32; 5 * 8]);
    bench.launch("rust_struct", 1, 8, &[&Particle, &out]);
    let floats = bench.floats(out, 40);
    let bytes = bench.download(out, 160, u8::from_le_bytes);
    for i in 0..8usize {
        let mut position = [1f32, 2.0, 3.0];
        position[i % 3] += i as f32;
        let mut flags = [9u8; 4];
        flags[i % 4] = i as u8;
        assert_eq!(floats[5 * i..5 * i + 3], position, "{i}");
        assert_eq!(floats[5 * i + 3], 4.0 + i as f32, "{i}");
        assert_eq!(bytes[20 * i + 16..20 * i + 20], flags, "{i}");
    }
}

#[test]
fn atomics_with_a_used_result_are_counted_separately() {
    let mut bench = Bench::new(KERNELS);
    let (counter, out) = (bench.upload(&[0u32]), bench.upload(&[0u32; 64]));
    let record = bench.launch("rust_atomic", 1, 64, &[&counter, &out]);
    assert_eq!(bench.ints(counter, 1), [64]);
    assert_eq!(bench.ints(out, 33)[32], 64);
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"), Some(2));
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"), Some(2));
    let sectors = "l1tex_t_sectors_pipe_lsu_mem_global_op_atom.sum";
    assert_eq!(record.counter(&format!("smsp__sass_{sectors}")), Some(2));
    // All lanes update one address: the requests at L1 depend on whether ptxas adds them up first.
    assert_eq!(record.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"), None);
}
