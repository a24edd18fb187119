//! The constants of a chip.

use serde::{Deserialize, Serialize};

macro_rules! constants {
    ($($variant:ident $name:literal $unit:literal,)*) => {
        /// A constant of a chip, named like that of the emulated driver's model of time.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "the book describes them")]
        pub enum Constant {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl Constant {
            /// All of them, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Its unit; empty for a share.
            pub fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit),* }
            }
        }
    };
}

constants! {
    ClockGhz "clock_ghz" "GHz",
    LaunchNs "launch_ns" "ns",
    BlocksPerNs "blocks_per_ns" "blocks/ns",
    WarpsPerNs "warps_per_ns" "warps/ns",
    Turnaround "turnaround" "clocks",
    DramBytesPerNs "dram_bytes_per_ns" "bytes/ns",
    L2BytesPerNs "l2_bytes_per_ns" "bytes/ns",
    L2StoredBytesPerNs "l2_stored_bytes_per_ns" "bytes/ns",
    L2LinesPerNs "l2_lines_per_ns" "lines/ns",
    SliceUpdatesPerNs "slice_updates_per_ns" "atomics/ns",
    SliceFloatSumsPerNs "slice_float_sums_per_ns" "atomics/ns",
    UpdatesPerNs "updates_per_ns" "atomics/ns",
    ReturningUpdatesPerNs "returning_updates_per_ns" "atomics/ns",
    HandOverNs "hand_over_ns" "ns",
    WrittenBack "written_back" "",
    SharedLatency "shared_latency" "clocks",
    SharedFloatSum "shared_float_sum" "clocks",
    L1Latency "l1_latency" "clocks",
    L2Latency "l2_latency" "clocks",
    DramLatency "dram_latency" "clocks",
    Barrier "barrier" "clocks",
    FloatBusy "float_busy" "clocks/warp",
    HalfBusy "half_busy" "clocks/warp",
    DoubleBusy "double_busy" "clocks/warp",
    TensorHalf "tensor.half" "products/clock",
    TensorTf32 "tensor.tf32" "products/clock",
    TensorDouble "tensor.double" "products/clock",
    TensorByte "tensor.byte" "products/clock",
    TensorBit "tensor.bit" "products/clock",
}
