//! The rates and latencies of the emulated chips, each with its source.

use crate::timing::Rates;

/// An H200 SXM.
///
/// Sources: the clock, the bandwidths and the rate of blocks from this project's measurements on
/// H200s (docs/measurements.md) and github.com/te42kyfo/gpu-benches at 1c36d50; the latencies from
/// Luo et al., arXiv 2501.12084, and the same programs on an H100. The rates of atomics are of a
/// B200 (chipsandcheese.com), scaled.
pub static H200: Rates = HOPPER;

/// An H100 SXM. Its device memory copies 2.97 TB/s (this project's runs); its L2 gives 4,208 to
/// 4,808 bytes a clock (Luo's programs on an H100).
pub static H100: Rates =
    Rates { name: "H100", dram_bytes_per_ns: 2970.0, l2_bytes_per_ns: 8900.0, ..HOPPER };

const HOPPER: Rates = Rates {
    name: "H200",
    characterised: false,
    clock_ghz: 1.98,
    // Chosen by times of three short kernels on an H100.
    launch_ns: 900.0,
    blocks_per_ns: 1.66,
    dram_bytes_per_ns: 4220.0,
    l2_bytes_per_ns: 9900.0,
    same_address_updates_per_ns: 1.0,
    updates_per_ns: 200.0,
    shared_latency: 29,
    l1_latency: 36,
    l2_latency: 272,
    dram_latency: 560,
};
