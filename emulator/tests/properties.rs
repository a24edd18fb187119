//! Properties of every launch, whatever its size and the number of host threads.

use crate::common::{Argument, Bench, unit};
use proptest::prelude::*;

const KERNELS: &str = include_str!("fixtures/kernels.ptx");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn saxpy_of_any_size_is_right_and_counted_exactly(
        n in 1usize..60_000,
        block in 1u32..=1024,
        threads in prop::sample::select(vec![1usize, 2, 4, 7]),
    ) {
        let grid = (n as u32).div_ceil(block);
        let (x, y) = (unit(n, 1), unit(n, 2));
        let run = |threads| {
            let mut bench = Bench::with_threads(KERNELS, threads);
            let (dx, dy) = (bench.upload(&x), bench.upload(&y));
            let record = bench.launch("saxpy", grid, block, &[&(n as i32), &1.5f32, &dx, &dy]);
            (bench.floats(dy, n), record)
        };
        let (result, record) = run(threads);
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.5f32.mul_add(*x, *y)).collect();
        prop_assert_eq!(&result, &expected);
        let count = |name: &str| record.counter(name).unwrap();
        prop_assert_eq!(count("sm__ctas_launched.sum"), u64::from(grid));
        prop_assert_eq!(count("smsp__warps_launched.sum"), u64::from(grid * block.div_ceil(32)));
        prop_assert_eq!(count("smsp__sass_data_bytes_mem_global_op_ld.sum"), 8 * n as u64);
        prop_assert_eq!(count("smsp__sass_data_bytes_mem_global_op_st.sum"), 4 * n as u64);
        prop_assert_eq!(count("ptx__thread_inst_executed_op_ffma_pred_on.sum"), n as u64);
        // A warp's floats are consecutive: the sectors from its first to its last.
        let warps = (0..grid).flat_map(|b| (0..block.div_ceil(32)).map(move |w| (b * block + 32 * w, (b + 1) * block)));
        let sectors: u64 = warps
            .map(|(first, end)| (u64::from(first), u64::from(end.min(first + 32)).min(n as u64)))
            .filter(|(first, end)| first < end)
            .map(|(first, end)| (4 * end - 1) / 32 - 4 * first / 32 + 1)
            .sum();
        prop_assert_eq!(count("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), sectors);
        let (again, same) = run(1);
        prop_assert_eq!(result, again);
        prop_assert_eq!(record, same);
    }

    #[test]
    fn a_strided_load_takes_the_sectors_that_its_stride_spans(stride in 1u64..64, offset in 0u64..64) {
        let mut bench = Bench::new(KERNELS);
        let (input, output) = (bench.upload(&vec![1f32; 4096]), bench.upload(&[0f32; 32]));
        let args: [&dyn Argument; 4] = [&input, &output, &(stride as i32), &(offset as i32)];
        let record = bench.launch("strided", 1, 32, &args);
        let mut sectors: Vec<u64> = (0..32).map(|lane| (lane * stride + offset) * 4 / 32).collect();
        sectors.dedup();
        prop_assert_eq!(record.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), Some(sectors.len() as u64));
    }
}
