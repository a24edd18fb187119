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
    /// Blocks that start in a nanosecond at most.
    pub blocks_per_ns: f64,
    /// Warps of blocks that start in a nanosecond at most.
    pub warps_per_ns: f64,
    /// Bytes of device memory.
    pub dram_bytes_per_ns: f64,
    /// Bytes that L2 gives to all multiprocessors.
    pub l2_bytes_per_ns: f64,
    /// Bytes that it takes from them.
    pub l2_stored_bytes_per_ns: f64,
    /// Lines of which L2 gives a part, or takes one, for one request each.
    pub l2_lines_per_ns: f64,
    /// Atomics of one slice of L2.
    pub slice_updates_per_ns: f64,
    /// Atomics of a slice that sum floats.
    pub slice_float_sums_per_ns: f64,
    /// Atomics of all of L2 that return nothing.
    pub updates_per_ns: f64,
    /// Atomics of all of L2 that return the old value.
    pub returning_updates_per_ns: f64,
    /// Nanoseconds from a block's store until a block that waits for it has read it.
    pub hand_over_ns: f64,
    /// The share of stored bytes that leaves L2 for device memory during the launch, as long as L2
    /// could hold all.
    pub written_back: f64,
    /// Clocks from a load to its first use: data in shared memory, in L1, in L2, in device memory.
    pub shared_latency: u32,
    /// See `shared_latency`.
    pub l1_latency: u32,
    /// See `shared_latency`.
    pub l2_latency: u32,
    /// See `shared_latency`.
    pub dram_latency: u32,
    /// The units of a quarter of a multiprocessor.
    pub units: Units,
}

/// Rates of the units of a quarter of a multiprocessor that differ between chips, as the clocks for
/// which an instruction of a warp occupies its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// An operation on floats of 32 bits.
    pub float_busy: u32,
    /// One on pairs of halves.
    pub half_busy: u32,
    /// One on floats of 64 bits.
    pub double_busy: u32,
    /// Matrix products.
    pub tensor: TensorRates,
}

/// Multiplications of a clock and a quarter in matrix products, by their input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the inputs")]
pub struct TensorRates {
    pub half: u32,
    pub tf32: u32,
    pub double: u32,
    pub byte: u32,
    pub bit: u32,
}

impl Rates {
    /// Nanoseconds between the starts of blocks of so many warps.
    pub fn start_ns(&self, warps: u32) -> f64 {
        (f64::from(warps) / self.warps_per_ns).max(1.0 / self.blocks_per_ns)
    }
}
