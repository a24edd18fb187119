//! The rates and latencies of the emulated chips, each with its source.
//!
//! The chips are of two classes. An H100 and an H200 were characterised by micro-benchmarks of this
//! repository. The others have published constants; a constant without a
//! published figure is the H100's, scaled as its comment says. The rates of units are those of the
//! table "Throughput of Native Arithmetic Instructions" of NVIDIA's CUDA C++ Programming Guide, and
//! of NVIDIA's data sheets for tensor cores.
//!
//! Names of sources: *gpu-benches* is github.com/te42kyfo/gpu-benches at 1c36d50.

use crate::timing::{Rates, TensorRates, Units};

/// An H200 SXM, by `cargo gpuprof characterize` on an H200. The other constants are those of an
/// H100, which has the same multiprocessors.
pub static H200: Rates = Rates {
    name: "H200",
    warps_per_ns: 47.2,
    dram_bytes_per_ns: 4220.0,
    l2_bytes_per_ns: 9180.0,
    l2_stored_bytes_per_ns: 4750.0,
    l2_lines_per_ns: 161.0,
    updates_per_ns: 106.0,
    returning_updates_per_ns: 79.5,
    shared_latency: 23,
    l1_latency: 34,
    l2_latency: 280,
    ..H100
};

/// An H100 SXM, by the micro-benchmarks of docs/scripts/estimate/constants.cu, before
/// `cargo gpuprof characterize`.
///
/// Not by them: the bandwidth of L2, which is that of the programs of Luo et al. (arXiv 2501.12084)
/// on an H100, and the launch, see there.
pub static H100: Rates = Rates {
    name: "H100",
    characterised: true,
    clock_ghz: 1.98,
    // Chosen by times of 18 short kernels on an H200.
    launch_ns: 800.0,
    // A million empty blocks of 32 to 256 threads: 633 µs; of 1,024 threads: 904 µs.
    blocks_per_ns: 1.655,
    warps_per_ns: 37.1,
    // Copying 1 GiB: 704 µs.
    dram_bytes_per_ns: 3050.0,
    l2_bytes_per_ns: 8900.0,
    // In proportion to the bandwidth of L2, by those of an H200.
    l2_stored_bytes_per_ns: 4600.0,
    l2_lines_per_ns: 156.0,
    // Atomics on 1, 1,024, 4,096 and 1 M words: 1.36, 11.3, 33 and 89 a nanosecond; sums of floats
    // in one word: 0.57.
    slice_updates_per_ns: 1.4,
    slice_float_sums_per_ns: 0.57,
    updates_per_ns: 89.0,
    // In proportion, by those of an H200.
    returning_updates_per_ns: 67.0,
    // A chain of 1,056 blocks: 271 µs.
    hand_over_ns: 255.0,
    // Copying 4 MiB and 16 MiB: 2.8 and 9.1 µs beyond an empty launch; reading alone 2.0 and 6.5.
    written_back: 0.6,
    shared_latency: 29,
    // Chains of loads: 40, 282 and 670 clocks with the addition of the address.
    l1_latency: 36,
    l2_latency: 278,
    dram_latency: 665,
    units: Units {
        float_busy: 1,
        half_busy: 1,
        double_busy: 2,
        // `mma.sync` reaches 62.9 % of the peak on Hopper (Luo et al., arXiv 2501.12084).
        tensor: TensorRates { half: 322, tf32: 161, double: 16, byte: 644, bit: 2576 },
    },
};

/// An A100 SXM4 with 80 GB.
///
/// Sources: gpu-benches (`a100_80.txt`) for the bandwidths and for the latencies of L1, L2 and
/// device memory; the A100 of Accel-Sim's configurations for that of shared memory; all else from
/// the H100, see each.
pub static A100: Rates = Rates {
    name: "A100",
    characterised: false,
    clock_ghz: 1.41,
    // So many in a clock as on an H100.
    blocks_per_ns: 1.18,
    warps_per_ns: 26.4,
    slice_updates_per_ns: 1.0,
    slice_float_sums_per_ns: 0.41,
    // "scale" at full occupancy.
    dram_bytes_per_ns: 1730.0,
    l2_bytes_per_ns: 5400.0,
    // In proportion to the bandwidth of L2.
    l2_stored_bytes_per_ns: 2790.0,
    l2_lines_per_ns: 94.7,
    updates_per_ns: 54.0,
    returning_updates_per_ns: 40.5,
    shared_latency: 28,
    l1_latency: 36,
    // Of the near half: data of up to 18 MB.
    l2_latency: 211,
    dram_latency: 571,
    units: Units {
        float_busy: 2,
        half_busy: 1,
        double_busy: 4,
        // The peak: before Hopper, `mma.sync` is all that there is.
        tensor: TensorRates { half: 256, tf32: 128, double: 16, byte: 512, bit: 4096 },
    },
    ..H100
};

/// A GeForce RTX 4090.
///
/// Sources: 920 GB/s by CUDA's p2pBandwidthLatencyTest and clpeak (issue 6 of
/// tinygrad/open-gpu-kernel-modules, issue 106 of krrishnarraj/clpeak, on GitHub); for L2 and all
/// latencies but that of shared memory gpu-benches on an L40 (`l40.txt`), which has the same chip;
/// all else from the H100, see each.
pub static RTX_4090: Rates = Rates {
    name: "RTX 4090",
    characterised: false,
    clock_ghz: 2.52,
    // So many in a clock as on an H100.
    blocks_per_ns: 2.11,
    warps_per_ns: 47.2,
    slice_updates_per_ns: 1.78,
    slice_float_sums_per_ns: 0.73,
    dram_bytes_per_ns: 920.0,
    l2_bytes_per_ns: 5200.0,
    // In proportion to the bandwidth of L2.
    l2_stored_bytes_per_ns: 2690.0,
    l2_lines_per_ns: 91.2,
    updates_per_ns: 52.0,
    returning_updates_per_ns: 39.0,
    l1_latency: 36,
    l2_latency: 277,
    dram_latency: 632,
    units: Units {
        float_busy: 1,
        half_busy: 2,
        double_busy: 64,
        // Halves with sums of 32 bits.
        tensor: TensorRates { half: 64, tf32: 32, double: 1, byte: 256, bit: 1024 },
    },
    ..H100
};

/// An L4 at its boost clock, which 72 W do not allow in every kernel.
///
/// Sources: as the RTX 4090's, but for device memory. Nobody has published its bandwidth: here it
/// is 90 % of the nominal one, which an L40 reaches in gpu-benches. It has half of the L40's L2.
pub static L4: Rates = Rates {
    name: "L4",
    clock_ghz: 2.04,
    // So many in a clock as on an H100.
    blocks_per_ns: 1.71,
    warps_per_ns: 38.2,
    slice_updates_per_ns: 1.44,
    slice_float_sums_per_ns: 0.59,
    dram_bytes_per_ns: 270.0,
    l2_bytes_per_ns: 2130.0,
    // In proportion to the bandwidth of L2.
    l2_stored_bytes_per_ns: 1100.0,
    l2_lines_per_ns: 37.4,
    updates_per_ns: 21.3,
    returning_updates_per_ns: 16.0,
    units: Units {
        tensor: TensorRates { half: 128, tf32: 64, double: 1, byte: 256, bit: 1024 },
        ..RTX_4090.units
    },
    ..RTX_4090
};

/// A B200.
///
/// Sources: a survey of Blackwell with its own measurements on eight B200s at 1.59 GHz
/// ("Reverse-engineered Blackwell: what microbenchmark papers have measured", a public repository
/// on GitHub), for the bandwidths, the latencies and atomics; Chips and Cheese measured the same
/// 21 TB/s of L2. All else from the H100, `mma.sync` included: the rates that NVIDIA publishes are
/// those of `tcgen05`.
pub static B200: Rates = Rates {
    name: "B200",
    characterised: false,
    clock_ghz: 1.965,
    // So many in a clock as on an H100.
    blocks_per_ns: 1.64,
    warps_per_ns: 36.8,
    slice_float_sums_per_ns: 0.57,
    // Copying 4 GiB.
    dram_bytes_per_ns: 6059.0,
    l2_bytes_per_ns: 21_237.0,
    // Lanes that add to one word: 39.2 a nanosecond, 32 of them in one update.
    slice_updates_per_ns: 1.2,
    updates_per_ns: 565.0,
    // In proportion to the bandwidth of L2.
    l2_stored_bytes_per_ns: 10_980.0,
    l2_lines_per_ns: 372.0,
    returning_updates_per_ns: 424.0,
    shared_latency: 29,
    l1_latency: 39,
    l2_latency: 305,
    dram_latency: 841,
    units: Units { half_busy: 2, ..H100.units },
    ..H100
};
