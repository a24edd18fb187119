//! The rates and latencies of the emulated chips, each with its source.

use crate::timing::Rates;

/// An H200 SXM.
///
/// Sources: the bandwidths from this project's measurements on H200s (docs/measurements.md) and
/// github.com/te42kyfo/gpu-benches at 1c36d50; all else from the H100, whose multiprocessors and L2
/// it has.
pub static H200: Rates = Rates {
    name: "H200",
    characterised: false,
    dram_bytes_per_ns: 4220.0,
    l2_bytes_per_ns: 9900.0,
    ..H100
};

/// An H100 SXM, by the micro-benchmarks of docs/scripts/estimate/constants.cu.
///
/// Not by them: the bandwidth of L2, which is that of the programs of Luo et al. (arXiv 2501.12084)
/// on an H100, and the launch, see there.
pub static H100: Rates = Rates {
    name: "H100",
    characterised: true,
    clock_ghz: 1.98,
    // Chosen by times of three short kernels on an H100.
    launch_ns: 900.0,
    // A million empty blocks of 32 to 256 threads: 633 µs; of 1,024 threads: 904 µs.
    blocks_per_ns: 1.655,
    warps_per_ns: 37.1,
    // Copying 1 GiB: 704 µs.
    dram_bytes_per_ns: 3050.0,
    l2_bytes_per_ns: 8900.0,
    // Atomics on 1, 1,024, 4,096 and 1 M words: 1.36, 11.3, 33 and 89 a nanosecond; sums of floats
    // in one word: 0.57.
    slice_updates_per_ns: 1.4,
    slice_float_sums_per_ns: 0.57,
    updates_per_ns: 89.0,
    // Words of a matrix by columns: 60 to 63.
    partial_sectors_per_ns: 61.0,
    // A chain of 1,056 blocks: 271 µs.
    hand_over_ns: 255.0,
    // Copying 4 MiB and 16 MiB: 2.8 and 9.1 µs beyond an empty launch; reading alone 2.0 and 6.5.
    written_back: 0.6,
    shared_latency: 29,
    // Chains of loads: 40, 282 and 670 clocks with the addition of the address.
    l1_latency: 36,
    l2_latency: 278,
    dram_latency: 665,
};
