//! The emulated chips, one table each.

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

/// The chip that `GPUEMU_CHIP` names.
pub fn named(name: &str) -> Option<&'static Chip> {
    match name {
        "h200" => Some(&GH100),
        "h100" => Some(&H100),
        _ => None,
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
