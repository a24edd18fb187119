//! Every fixture kernel against a reference on the host, and its counters against arithmetic.

use crate::common::{Argument, Bench, noise, unit};

const KERNELS: &str = include_str!("fixtures/kernels.ptx");

const LOADS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const STORES: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const CONFLICTS: &str = "ptx__shared_bank_conflicts_op_ld.sum";

#[test]
fn a_reduction_sums_and_counts_its_atomics() {
    let mut bench = Bench::new(KERNELS);
    // Small integers, so that the order of additions does not show.
    let values: Vec<f32> = noise(10_000, 3).iter().map(|bits| (bits % 8) as f32).collect();
    let (input, output) = (bench.upload(&values), bench.upload(&[0f32]));
    let record = bench.launch("reduce", 8, 256, &[&input, &output, &10_000i32]);
    assert_eq!(bench.floats(output, 1), [values.iter().sum::<f32>()]);
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"), Some(8));
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"), Some(0));
    assert_eq!(record.counter("ptx__global_atomic_bytes.sum"), Some(8 * 4));
    assert_eq!(record.counter("ptx__shuffles.sum"), Some(8 * (8 * 5 + 5)));
    assert_eq!(record.counter("ptx__barriers.sum"), Some(8 * 8));
}

#[test]
fn transpose_shows_sectors_and_bank_conflicts() {
    let n = 128u32;
    let values = unit((n * n) as usize, 5);
    let tiles = u64::from(n / 32 * (n / 32));
    for (kernel, store_sectors, conflicts) in [
        // A column of 32 rows is 32 sectors; a row is 4. A tile has 8 warps that each take 4 steps.
        ("transpose_naive", tiles * 32 * 32, 0),
        ("transpose_shared", tiles * 32 * 4, tiles * 32 * 31),
        ("transpose_padded", tiles * 32 * 4, 0),
    ] {
        let mut bench = Bench::new(KERNELS);
        let (input, output) = (bench.upload(&values), bench.upload(&vec![0f32; values.len()]));
        let args: [&dyn Argument; 3] = [&input, &output, &(n as i32)];
        let record = bench.try_launch(kernel, [n / 32, n / 32, 1], [32, 8, 1], 0, &args).unwrap();
        let result = bench.floats(output, values.len());
        for y in 0..n as usize {
            for x in 0..n as usize {
                assert_eq!(result[x * n as usize + y], values[y * n as usize + x], "{kernel}");
            }
        }
        assert_eq!(record.counter(LOADS), Some(tiles * 32 * 4), "{kernel}");
        assert_eq!(record.counter(STORES), Some(store_sectors), "{kernel}");
        assert_eq!(record.counter(CONFLICTS), Some(conflicts), "{kernel}");
    }
}

#[test]
fn a_matrix_product_matches_the_host() {
    let mut bench = Bench::new(KERNELS);
    let n = 64usize;
    let (a, b) = (unit(n * n, 1), unit(n * n, 2));
    let (da, db, dc) = (bench.upload(&a), bench.upload(&b), bench.upload(&vec![0f32; n * n]));
    let args: [&dyn Argument; 4] = [&da, &db, &dc, &(n as i32)];
    let record = bench.try_launch("matmul", [2, 2, 1], [32, 32, 1], 0, &args).unwrap();
    let result = bench.floats(dc, n * n);
    for row in 0..n {
        for column in 0..n {
            let expected =
                (0..n).fold(0f32, |sum, k| a[row * n + k].mul_add(b[k * n + column], sum));
            assert_eq!(result[row * n + column], expected);
        }
    }
    assert_eq!(
        record.counter("ptx__thread_inst_executed_op_ffma_pred_on.sum"),
        Some((n * n * n) as u64)
    );
    assert_eq!(record.counter(CONFLICTS), Some(0));
}

#[test]
fn a_histogram_counts_every_byte() {
    let mut bench = Bench::new(KERNELS);
    let words = noise(4096, 9);
    let (input, bins) = (bench.upload(&words), bench.upload(&[0u32; 256]));
    let record = bench.launch("histogram", 16, 128, &[&input, &bins, &(4 * 4096i32)]);
    let mut expected = [0; 256];
    words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .for_each(|byte| expected[usize::from(byte)] += 1);
    assert_eq!(bench.ints(bins, 256), expected);
    assert_eq!(record.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"), Some(16 * 8));
    assert_eq!(record.counter("ptx__inst_executed_op_shared_atom.sum"), Some(4 * 4096 / 32));
}

#[test]
fn a_device_function_is_called() {
    let mut bench = Bench::new(KERNELS);
    let (highest, steps) = (bench.upload(&[0i32; 96]), bench.upload(&[0i32; 96]));
    bench.launch("call", 3, 32, &[&highest, &steps]);
    let (got_highest, got_steps) = (bench.ints(highest, 96), bench.ints(steps, 96));
    for start in 1..=96 {
        let (mut n, mut most, mut count) = (start, start, 0);
        while n != 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            most = most.max(n);
            count += 1;
        }
        assert_eq!(
            (got_highest[start as usize - 1], got_steps[start as usize - 1]),
            (most, count),
            "{start}"
        );
    }
}

#[test]
fn lanes_that_diverge_in_a_loop_meet_again() {
    let mut bench = Bench::new(KERNELS);
    let limits: Vec<i32> = noise(200, 4).iter().map(|bits| (bits % 64) as i32).collect();
    let (input, output) = (bench.upload(&limits), bench.upload(&[0i32; 200]));
    let record = bench.launch("divergent_loop", 7, 32, &[&input, &output, &200i32]);
    let expected: Vec<i32> = (0..200)
        .map(|i| {
            (0..limits[i as usize])
                .take_while(|j| j % 3 == 0 || *j <= 40)
                .filter(|j| j % 3 != 0)
                .sum::<i32>()
                * i
        })
        .collect();
    assert_eq!(bench.ints(output, 200), expected);
    assert!(record.counter("ptx__branches_divergent.sum") > Some(50));
}

#[test]
fn every_case_of_a_switch_is_reached() {
    let mut bench = Bench::new(KERNELS);
    let ops: Vec<i32> = (0..64).map(|i| i % 12).collect();
    let values: Vec<i32> = noise(64, 6).iter().map(|bits| *bits as i32).collect();
    let (op, input, output) =
        (bench.upload(&ops), bench.upload(&values), bench.upload(&[0i32; 64]));
    bench.launch("switcher", 2, 32, &[&op, &input, &output]);
    let expected = ops.iter().zip(&values).map(|(op, &v)| match op {
        0 => v.wrapping_mul(7).wrapping_add(1),
        1 => v / 3,
        2 => v % 5,
        3 => v << 4,
        4 => v >> 2,
        5 => v.wrapping_neg(),
        6 => v ^ 0x5555,
        7 => v.count_ones() as i32,
        8 => v.leading_zeros() as i32,
        9 => v.reverse_bits(),
        _ => 0,
    });
    assert_eq!(bench.ints(output, 64), expected.collect::<Vec<_>>());
}

#[test]
fn double_precision_mathematics_matches_the_host() {
    let mut bench = Bench::new(KERNELS);
    let values: Vec<f64> = unit(64, 8).iter().map(|v| f64::from(*v) * 20.0).collect();
    let (input, output) = (bench.upload(&values), bench.upload(&[0f64; 64]));
    bench.launch("doubles", 2, 32, &[&input, &output]);
    for (got, v) in bench.download(output, 64, f64::from_le_bytes).iter().zip(&values) {
        let expected = v.sqrt() / (1.0 + v) + v.mul_add(*v, 3.0) - (-v).exp() + (v + 1.0).ln();
        assert!((got - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{got} {expected}");
    }
}

#[test]
fn approximate_mathematics_is_close() {
    let mut bench = Bench::new(KERNELS);
    let values: Vec<f32> = unit(64, 8).iter().map(|v| v * 6.0).collect();
    let (input, output) = (bench.upload(&values), bench.upload(&[0f32; 256]));
    bench.launch("fast_math", 2, 32, &[&input, &output]);
    let result = bench.floats(output, 256);
    for (i, v) in values.iter().enumerate() {
        let close =
            |got: f32, expected: f32| (got - expected).abs() <= 4e-6 * expected.abs().max(1.0);
        assert!(close(result[4 * i], v.exp()), "exp {v}");
        assert!(close(result[4 * i + 1], v.sin()), "sin {v}");
        assert!(close(result[4 * i + 2], 1.0 / (v + 1.0).sqrt()), "rsqrt {v}");
        assert!(
            close(result[4 * i + 3], v.exp() + v.sin() + v.tanh() + (v + 1.0).powf(1.5)),
            "sum {v}"
        );
    }
}

#[test]
fn narrow_types_are_loaded_converted_and_stored() {
    let mut bench = Bench::new(KERNELS);
    let words = noise(64, 11);
    let (a, b, c) =
        (bench.upload(&words[..16]), bench.upload(&words[16..32]), bench.upload(&words[32..]));
    let (out, bytes) = (bench.upload(&[0u32; 32]), bench.upload(&[0u32; 16]));
    let record = bench.launch("narrow", 2, 32, &[&a, &b, &c, &out, &bytes]);
    let byte = |base: usize, i: usize| words[base + i / 4].to_le_bytes()[i % 4];
    let short = |i: usize| (words[32 + i / 2] >> (16 * (i % 2))) as i16;
    let got = bench.download(out, 64, i16::from_le_bytes);
    let got_bytes = bench.download(bytes, 64, u8::from_le_bytes);
    for i in 0..64 {
        let expected =
            (i32::from(byte(0, i) as i8) * 3 + i32::from(byte(16, i)) - i32::from(short(i))) as i16;
        assert_eq!((got[i], got_bytes[i]), (expected, byte(0, i) ^ byte(16, i)), "{i}");
    }
    // Two warps, each 32 bytes, 32 bytes and 64 bytes; the bytes again, since the first store may
    // have changed them.
    assert_eq!(record.counter(LOADS), Some(2 * (1 + 1 + 2 + 1 + 1)));
    assert_eq!(record.counter(STORES), Some(2 * (2 + 1)));
}

#[test]
fn vector_accesses_move_all_elements() {
    let mut bench = Bench::new(KERNELS);
    let (floats, doubles) =
        (unit(256, 2), unit(128, 3).into_iter().map(f64::from).collect::<Vec<_>>());
    let (a, b) = (bench.upload(&floats), bench.upload(&vec![0f32; 256]));
    let (c, d) = (bench.upload(&doubles), bench.upload(&vec![0f64; 128]));
    let record = bench.launch("vectors", 2, 32, &[&a, &b, &c, &d]);
    let (got, got_doubles) = (bench.floats(b, 256), bench.download(d, 128, f64::from_le_bytes));
    assert!((0..256).all(|i| got[i] == floats[i / 4 * 4 + 3 - i % 4]));
    assert!((0..128).all(|i| got_doubles[i] == doubles[i ^ 1]));
    assert_eq!(record.counter(LOADS), Some(2 * (16 + 16)));
    assert_eq!(record.counter("smsp__sass_data_bytes_mem_global_op_ld.sum"), Some(64 * 32));
}

#[test]
fn module_variables_keep_their_values() {
    let mut bench = Bench::new(KERNELS);
    let output = bench.upload(&[0i32; 32]);
    bench.launch("variables", 1, 32, &[&output]);
    assert_eq!(bench.ints(output, 4), [6, 15, 105, 1005]);
    bench.launch("variables", 1, 32, &[&output]);
    assert_eq!(bench.ints(output, 4), [7, 16, 106, 1006]);
    let (address, bytes) = bench.module.variable("counter").unwrap();
    assert_eq!((bench.ints(address, 1), bytes), (vec![7], 4));
}

#[test]
fn sectors_follow_stride_and_offset() {
    let mut bench = Bench::new(KERNELS);
    let (input, output) = (bench.upload(&vec![1f32; 4096]), bench.upload(&[0f32; 32]));
    for stride in [1u64, 2, 3, 4, 8, 9, 16, 32] {
        let record = bench.launch("strided", 1, 32, &[&input, &output, &(stride as i32), &0i32]);
        assert_eq!(
            record.counter(LOADS),
            Some(32.min((32 * stride * 4).div_ceil(32))),
            "stride {stride}"
        );
    }
    for (offset, sectors) in [(0, 4), (1, 5), (7, 5), (8, 4), (9, 5)] {
        let record = bench.launch("strided", 1, 32, &[&input, &output, &1i32, &offset]);
        assert_eq!(record.counter(LOADS), Some(sectors), "offset {offset}");
    }
}

#[test]
fn lanes_of_a_warp_and_a_block_exchange_values() {
    let mut bench = Bench::new(KERNELS);
    let values: Vec<i32> = (0..32).map(|i| i * 7 % 23).collect();
    let (input, output) = (bench.upload(&values), bench.upload(&[0i32; 256]));
    bench.launch("warp_tools", 1, 32, &[&input, &output]);
    let result = bench.ints(output, 256);
    let ballot = (0..32).filter(|i| values[*i] > 10).fold(0u32, |mask, i| mask | 1 << i);
    for i in 0..32usize {
        let same =
            (0..32).filter(|j| values[*j] % 4 == values[i] % 4).fold(0u32, |mask, j| mask | 1 << j);
        let odd = values.iter().filter(|v| *v % 2 == 1).count() as i32;
        let expected = [
            ballot as i32,
            values[i.saturating_sub(1)],
            values[i ^ 4],
            values[i / 8 * 8 + (i + 3) % 8],
            same as i32,
            2 + i32::from(values.contains(&7)),
            values.iter().sum(),
            odd * 1000 + (u32::MAX % 7) as i32,
        ];
        assert_eq!(result[8 * i..8 * i + 8], expected, "lane {i}");
    }
}

#[test]
fn dynamic_shared_memory_works_up_to_its_limit() {
    let mut bench = Bench::new(KERNELS);
    let values: Vec<i32> = (0..64).collect();
    let (input, output) = (bench.upload(&values), bench.upload(&[0i32; 64]));
    let args: [&dyn Argument; 2] = [&input, &output];
    bench.try_launch("dynamic_shared", [1; 3], [64, 1, 1], 256, &args).unwrap();
    assert_eq!(bench.ints(output, 64), values.iter().rev().copied().collect::<Vec<_>>());
    let fault =
        bench.try_launch("dynamic_shared", [1; 3], [64, 1, 1], 128, &args).unwrap_err().to_string();
    assert!(fault.ends_with("thread (32,0,0): writes 4 bytes of shared memory at 0x80, but the shared memory here has 128 bytes"), "{fault}");
    let none =
        bench.try_launch("dynamic_shared", [1; 3], [64, 1, 1], 0, &args).unwrap_err().to_string();
    assert!(none.contains("gives the kernel none: ask for it with `shared = BYTES`"), "{none}");
    let refused = bench
        .try_launch("dynamic_shared", [1; 3], [64, 1, 1], 50_000, &args)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("50000 bytes of dynamic shared memory exceed the 49152 that are allowed"),
        "{refused}"
    );
}

#[test]
fn local_memory_keeps_the_values_of_each_thread() {
    let mut bench = Bench::new(KERNELS);
    let order: Vec<i32> = (0..16).map(|j| j * 5 % 16).collect();
    let (input, output) = (bench.upload(&order), bench.upload(&[0i32; 32]));
    let record = bench.launch("local_array", 1, 32, &[&input, &output]);
    let expected = |thread: i32| order.iter().fold(0, |sum, &j| sum * 3 + j * j + thread);
    assert_eq!(bench.ints(output, 32), (0..32).map(expected).collect::<Vec<_>>());
    assert_eq!(record.counter("ptx__local_ld.sum"), Some(16));
}

#[test]
fn the_last_block_sees_results_of_all_others() {
    let mut bench = Bench::new(KERNELS);
    let values: Vec<i32> = (0..100).collect();
    let (input, output, tickets) =
        (bench.upload(&values), bench.upload(&[0i32; 101]), bench.upload(&[0u32]));
    bench.launch("last_block", 100, 64, &[&input, &output, &tickets]);
    assert_eq!(bench.ints(output, 101)[100], 9900);
}

#[test]
fn counters_and_results_do_not_depend_on_host_threads() {
    let run = |threads| {
        let mut bench = Bench::with_threads(KERNELS, threads);
        let words = noise(16_384, 9);
        let (input, bins) = (bench.upload(&words), bench.upload(&[0u32; 256]));
        bench.launch("histogram", 64, 256, &[&input, &bins, &(4 * 16_384i32)]);
        let (x, y) = (bench.upload(&unit(100_000, 1)), bench.upload(&unit(100_000, 2)));
        bench.launch("saxpy", 400, 256, &[&100_000i32, &1.5f32, &x, &y]);
        let sum = bench.upload(&[0f32]);
        bench.launch("reduce", 80, 256, &[&x, &sum, &100_000i32]);
        (
            bench.ints(bins, 256),
            bench.ints(y, 100_000),
            bench.ints(sum, 1),
            bench.device.take_launches(),
        )
    };
    assert!(run(1) == run(4));
}

#[test]
fn faults_name_their_location() {
    let mut bench = Bench::new(KERNELS);
    let output = bench.upload(&[0f32; 64]);
    let fault = bench.fault("out_of_bounds", 4, 32, &[&output, &16i32]);
    assert!(fault.starts_with("kernel 'out_of_bounds' at kernels.cu:"), "{fault}");
    let end = format!(
        ", block (1,0,0), thread (16,0,0): writes 4 bytes of global memory at {:#x}, just past the end of a 256-byte \
         allocation at {output:#x}",
        output + 256
    );
    assert!(fault.ends_with(&end), "{fault}");
    let fault = bench.fault("out_of_bounds", 4, 32, &[&0u64, &0i32]);
    assert!(
        fault.ends_with("thread (0,0,0): writes 4 bytes of global memory at 0x0, a null pointer"),
        "{fault}"
    );
    let fault = bench.fault("misaligned", 1, 32, &[&output]);
    assert!(fault.contains("thread (7,0,0): writes 4 bytes of global memory at 0x7"), "{fault}");
    assert!(fault.ends_with(", which is not a multiple of 4"), "{fault}");
    let fault = bench.fault("stuck", 1, 64, &[&output]);
    let end = "thread (0,0,0): deadlock: 1 warp waits at barrier 1 at kernels.cu:200:9 while 1 warp waits at barrier \
               2 at kernels.cu:202:9";
    assert!(fault.ends_with(end), "{fault}");
    let fault = bench.fault("traps", 8, 32, &[&output]);
    assert!(
        fault.contains("block (3,0,0), thread (5,0,0): the kernel executed a trap instruction"),
        "{fault}"
    );
    bench.device.memory.free(output).unwrap();
    let fault = bench.fault("out_of_bounds", 4, 32, &[&output, &0i32]);
    let end =
        format!("at {output:#x}, 0 bytes into a 256-byte allocation at {output:#x} that was freed");
    assert!(fault.ends_with(&end), "{fault}");
}

#[test]
fn the_lowest_faulting_block_is_reported_for_any_host_threads() {
    for threads in [1, 4] {
        let mut bench = Bench::with_threads(KERNELS, threads);
        let output = bench.upload(&vec![0f32; 50_000]);
        let fault = bench.fault("out_of_bounds", 400, 256, &[&output, &0i32]);
        // 50000 = 195 × 256 + 80.
        assert!(fault.contains("block (195,0,0), thread (80,0,0)"), "{threads} threads: {fault}");
    }
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    let mut bench = Bench::new(KERNELS);
    let refused = |bench: &mut Bench, grid, block| {
        bench.try_launch("out_of_bounds", grid, block, 0, &[&0u64, &0i32]).unwrap_err().to_string()
    };
    for (grid, block, why) in [
        ([1, 1, 1], [2048, 1, 1], "block.x is 2048 but the device allows 1024"),
        ([1, 1, 1], [64, 32, 1], "a block of 2048 threads exceeds the device's limit of 1024"),
        ([1, 1, 1], [1, 1, 65], "block.z is 65 but the device allows 64"),
        ([1, 65536, 1], [1, 1, 1], "grid.y is 65536 but the device allows 65535"),
        ([0, 1, 1], [1, 1, 1], "grid [0, 1, 1] and block [1, 1, 1] must not have a zero"),
    ] {
        let message = refused(&mut bench, grid, block);
        assert_eq!(message, format!("kernel 'out_of_bounds' cannot be launched: {why}"));
    }
}
