//! A piece of device memory that kernels may access.

use std::sync::atomic::AtomicU32;

/// An allocation or a block of the device heap, as kernels see it.
#[derive(Debug, Clone, Copy)]
pub struct MemoryBlock<'m> {
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The contents.
    pub words: &'m [AtomicU32],
    /// Whether a kernel may store to it.
    pub is_writable: bool,
}

impl MemoryBlock<'_> {
    /// Whether `[address, address + bytes)` lies inside.
    #[inline(always)]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        contains((self.base, self.bytes), address, bytes)
    }
}

/// Whether `[address, address + bytes)` lies in `size` bytes from `base` on.
#[inline(always)]
pub fn contains((base, size): (u64, u64), address: u64, bytes: u64) -> bool {
    let offset = address.wrapping_sub(base);
    offset < size && size - offset >= bytes
}
