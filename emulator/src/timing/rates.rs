//! The rates and latencies of a chip, as the model needs them.

/// Constants of a chip. Rates of one multiprocessor are for each clock, rates of the whole chip for
/// each nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// The product, such as `H200`.
    pub name: &'static str,
    /// Whether they were measured on this chip by the micro-benchmarks of the repository.
    pub characterised: bool,
    /// The clock of the multiprocessors under load, in GHz.
    pub clock_ghz: f64,
    /// Nanoseconds that the device counts for a launch that does nothing.
    pub launch_ns: f64,
    /// Blocks that start in a nanosecond.
    pub blocks_per_ns: f64,
    /// Bytes of device memory.
    pub dram_bytes_per_ns: f64,
    /// Bytes between L2 and all multiprocessors.
    pub l2_bytes_per_ns: f64,
    /// Updates of one address in L2, a warp's counted once.
    pub same_address_updates_per_ns: f64,
    /// Updates of L2, of many addresses.
    pub updates_per_ns: f64,
    /// Clocks from a load to its first use: data in shared memory, in L1, in L2, in device memory.
    pub shared_latency: u32,
    /// See `shared_latency`.
    pub l1_latency: u32,
    /// See `shared_latency`.
    pub l2_latency: u32,
    /// See `shared_latency`.
    pub dram_latency: u32,
}
