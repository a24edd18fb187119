//! The map of generic addresses.
//!
//! | from | what |
//! |---|---|
//! | [`SHARED_WINDOW`] | shared memory of the running block |
//! | [`LOCAL_WINDOW`] | local memory of the running thread |
//! | [`PARAM_WINDOW`] | launch parameters |
//! | [`HEAP_BASE`] | blocks that kernels allocate |
//! | [`GLOBAL_BASE`] | allocations and module variables |
//!
//! Every address is virtual, so nothing depends on where the host keeps the bytes.

use super::inst::Space;

/// Start of shared memory in the generic address space.
pub const SHARED_WINDOW: u64 = 0x6000_0000_0000;
/// Start of local memory in the generic address space.
pub const LOCAL_WINDOW: u64 = 0x6100_0000_0000;
/// Start of launch parameters in the generic address space.
pub const PARAM_WINDOW: u64 = 0x6200_0000_0000;
/// The first address of the device heap.
pub const HEAP_BASE: u64 = 0x6500_0000_0000;
/// The first address of device memory.
pub const GLOBAL_BASE: u64 = 0x7000_0000_0000;
/// Start of the addresses of functions, which nothing can access.
const FUNCTION_BASE: u64 = 0x6400_0000_0000;
/// The size of a window.
const WINDOW_BYTES: u64 = 0x100_0000_0000;

/// The address of a module's function.
pub fn function_address(index: usize) -> u64 {
    FUNCTION_BASE + 16 * index as u64
}

/// The space that a generic address belongs to, and the address within that space.
#[inline(always)]
pub fn resolve(address: u64) -> (Space, u64) {
    match address {
        SHARED_WINDOW..LOCAL_WINDOW => (Space::Shared, address - SHARED_WINDOW),
        LOCAL_WINDOW..PARAM_WINDOW => (Space::Local, address - LOCAL_WINDOW),
        PARAM_WINDOW.. if address < PARAM_WINDOW + WINDOW_BYTES => {
            (Space::Param, address - PARAM_WINDOW)
        }
        _ => (Space::Global, address),
    }
}
