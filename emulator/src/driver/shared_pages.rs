//! Pages of the host where the emulated device has managed and mapped memory.
//!
//! Work takes what the host wrote before it begins, and gives it back when it has ended, which is
//! before any call returns.

use super::pointers::HostPages;
use crate::machine::Memory;
use std::collections::BTreeMap;

/// Managed allocations, by address.
#[derive(Debug, Default)]
pub struct Managed(BTreeMap<u64, HostPages>);

impl Managed {
    /// Adds an allocation, with what the device has in it; whether the host has the addresses.
    pub fn add(&mut self, address: u64, bytes: usize, memory: &Memory) -> bool {
        let Some(mut pages) = HostPages::map(address, bytes) else { return false };
        // It was just allocated, so it can be read.
        let _ = memory.read(address, pages.bytes_mut());
        self.0.insert(address, pages);
        true
    }

    /// Forgets an allocation and unmaps the host's pages; whether there was one.
    pub fn remove(&mut self, address: u64) -> bool {
        self.0.remove(&address).is_some()
    }

    /// Forgets all allocations.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the address is in a managed allocation.
    pub fn has(&self, address: u64) -> bool {
        let before = self.0.range(..=address).next_back();
        before.is_some_and(|(base, pages)| address - base < pages.bytes().len() as u64)
    }

    /// Gives the device what the host has.
    pub fn give(&self, memory: &mut Memory) {
        for (address, pages) in &self.0 {
            // The allocation lives as long as the entry.
            let _ = memory.write(*address, pages.bytes());
        }
    }

    /// Takes for the host what the device has.
    pub fn take(&mut self, memory: &Memory) {
        for (address, pages) in &mut self.0 {
            // The allocation lives as long as the entry.
            let _ = memory.read(*address, pages.bytes_mut());
        }
    }
}
