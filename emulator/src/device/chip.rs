//! The emulated chips, one table each.
//!
//! Sources: the limits of a compute capability are those of the table "Technical Specifications per
//! Compute Capability" of NVIDIA's CUDA C++ Programming Guide, with the tuning guides of Ampere,
//! Ada, Hopper and Blackwell for the sizes of L1. Each table below has the source of its clocks,
//! memory and L2.

use super::rates;
use crate::timing::Rates;

/// The properties and limits of a chip. Sizes are bytes, clocks kHz.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of CUDA's device attributes")]
pub struct Chip {
    pub name: &'static str,
    pub chip: &'static str,
    pub compute_capability: (u32, u32),
    pub uuid: [u8; 16],
    pub memory_bytes: u64,
    pub sm_count: u32,
    pub max_threads_per_block: u32,
    pub max_block: [u32; 3],
    pub max_grid: [u32; 3],
    /// Without opting in.
    pub shared_per_block: u32,
    /// After opting in.
    pub shared_per_block_optin: u32,
    pub shared_per_sm: u32,
    /// The system's share of each block's shared memory.
    pub shared_reserved: u32,
    /// L1 and shared memory together.
    pub l1_bytes: u32,
    pub constant_bytes: u32,
    pub registers_per_block: u32,
    pub registers_per_sm: u32,
    pub threads_per_sm: u32,
    pub blocks_per_sm: u32,
    pub clock_khz: u32,
    pub memory_clock_khz: u32,
    pub memory_bus_bits: u32,
    pub l2_bytes: u32,
    /// Its rates and latencies, for estimates of times.
    pub rates: &'static Rates,
}

/// An H200 SXM: the GH100 chip with 132 multiprocessors and 141 GB of HBM3e.
pub static GH100: Chip = H200;

/// An H100 SXM: the same multiprocessors, less and slower memory.
pub static H100: Chip = Chip {
    name: "Emulated H100",
    uuid: *b"gpuprof-emu-H100",
    memory_bytes: 85_017_493_504,
    memory_clock_khz: 2_619_000,
    memory_bus_bits: 5120,
    l2_bytes: 52_428_800,
    rates: &rates::H100,
    ..H200
};

/// An A100 SXM4 with 80 GB of HBM2e: NVIDIA's A100 data sheet and GA100 whitepaper; the bytes that
/// programs see, 81,251 MiB, by a device query.
pub static A100: Chip = Chip {
    name: "Emulated A100",
    chip: "GA100",
    compute_capability: (8, 0),
    uuid: *b"gpuprof-emu-A100",
    memory_bytes: 85_197_848_576,
    sm_count: 108,
    shared_per_block_optin: 166_912,
    shared_per_sm: 167_936,
    l1_bytes: 192 << 10,
    clock_khz: 1_410_000,
    memory_clock_khz: 1_593_000,
    memory_bus_bits: 5120,
    l2_bytes: 41_943_040,
    rates: &rates::A100,
    ..H200
};

/// An L4 with 24 GB of GDDR6: NVIDIA's L4 data sheet and Ada whitepaper; the 23,034 MiB of
/// nvidia-smi.
pub static L4: Chip = Chip {
    name: "Emulated L4",
    chip: "AD104",
    uuid: *b"gpuprof-emu-L4__",
    memory_bytes: 24_152_899_584,
    sm_count: 58,
    clock_khz: 2_040_000,
    memory_clock_khz: 6_251_000,
    memory_bus_bits: 192,
    l2_bytes: 50_331_648,
    rates: &rates::L4,
    ..RTX_4090
};

/// A GeForce RTX 4090 with 24 GB of GDDR6X: NVIDIA's Ada whitepaper; its 24,563 MiB and 72 MiB of
/// L2 by PyTorch's device properties.
pub static RTX_4090: Chip = Chip {
    name: "Emulated RTX 4090",
    chip: "AD102",
    compute_capability: (8, 9),
    uuid: *b"gpuprof-emu-4090",
    memory_bytes: 25_756_172_288,
    sm_count: 128,
    shared_per_block_optin: 101_376,
    shared_per_sm: 102_400,
    l1_bytes: 128 << 10,
    threads_per_sm: 1536,
    blocks_per_sm: 24,
    clock_khz: 2_520_000,
    memory_clock_khz: 10_501_000,
    memory_bus_bits: 384,
    l2_bytes: 75_497_472,
    rates: &rates::RTX_4090,
    ..H200
};

/// A B200 with 180 GB of HBM3e, by the device query of eight of them in a public survey of
/// Blackwell (see `rates::B200`).
pub static B200: Chip = Chip {
    name: "Emulated B200",
    chip: "GB100",
    compute_capability: (10, 0),
    uuid: *b"gpuprof-emu-B200",
    memory_bytes: 191_495_471_104,
    sm_count: 148,
    clock_khz: 1_965_000,
    memory_clock_khz: 3_996_000,
    memory_bus_bits: 7680,
    l2_bytes: 132_644_864,
    rates: &rates::B200,
    ..H200
};

/// The chips by the names that `GPUEMU_CHIP` takes.
pub static BY_NAME: [(&str, &Chip); 6] = [
    ("a100", &A100),
    ("h100", &H100),
    ("h200", &GH100),
    ("l4", &L4),
    ("rtx4090", &RTX_4090),
    ("b200", &B200),
];

/// The chip that `GPUEMU_CHIP` names.
pub fn named(name: &str) -> Option<&'static Chip> {
    BY_NAME.into_iter().find(|(known, _)| *known == name).map(|(_, chip)| chip)
}

impl Chip {
    /// Its newest `.target`, such as 90.
    pub fn target(&self) -> u32 {
        let (major, minor) = self.compute_capability;
        10 * major + minor
    }
}

const H200: Chip = Chip {
    name: "Emulated H200",
    chip: "GH100",
    compute_capability: (9, 0),
    uuid: *b"gpuprof-emu-H200",
    memory_bytes: 150_109_880_320,
    sm_count: 132,
    max_threads_per_block: 1024,
    max_block: [1024, 1024, 64],
    max_grid: [0x7fff_ffff, 65535, 65535],
    shared_per_block: 49152,
    shared_per_block_optin: 232_448,
    shared_per_sm: 233_472,
    shared_reserved: 1024,
    l1_bytes: 256 << 10,
    constant_bytes: 65536,
    registers_per_block: 65536,
    registers_per_sm: 65536,
    threads_per_sm: 2048,
    blocks_per_sm: 32,
    clock_khz: 1_980_000,
    memory_clock_khz: 3_201_000,
    memory_bus_bits: 6016,
    l2_bytes: 62_914_560,
    rates: &rates::H200,
};
