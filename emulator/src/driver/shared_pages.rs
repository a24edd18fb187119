//! Pages of the host at addresses of the emulated device: managed, mapped and pinned memory.
//!
//! Work takes the host's contents before it begins, and gives them back when it has ended, which is
//! before any call returns. Pinned memory is the host's alone until a launch gets its address: most
//! programs only copy to and from it.

use super::pointers::HostPages;
use crate::machine::{Holds, Memory};
use std::collections::BTreeMap;

/// Pages of the host, and whether the device has memory there.
#[derive(Debug)]
struct Pages {
    host: HostPages,
    shared: bool,
}

/// The allocations, by address.
#[derive(Debug, Default)]
pub struct Managed(BTreeMap<u64, Pages>);

impl Managed {
    /// Adds an allocation with the contents on the device; whether the host has the addresses.
    pub fn add(&mut self, address: u64, bytes: usize, memory: &Memory) -> bool {
        let Some(mut host) = HostPages::map(address, bytes) else { return false };
        // It was just allocated, so it can be read.
        let _ = memory.read(address, host.bytes_mut());
        self.0.insert(address, Pages { host, shared: true });
        true
    }

    /// Allocates pinned memory of the host.
    pub fn pin(&mut self, bytes: usize, memory: &mut Memory) -> Option<u64> {
        let address = memory.reserve(bytes as u64)?;
        let host = HostPages::map(address, bytes.max(1))?;
        self.0.insert(address, Pages { host, shared: false });
        Some(address)
    }

    /// Lets the device have the memory at an address; whether it now does.
    pub fn share(&mut self, address: u64, memory: &mut Memory) -> bool {
        let Some((base, pages)) = self.0.range_mut(..=address).next_back() else { return false };
        let bytes = pages.host.bytes().len() as u64;
        if address - base >= bytes {
            return false;
        }
        pages.shared = pages.shared || memory.fill_place(*base, bytes, Holds::Unknown).is_some();
        pages.shared
    }

    /// Forgets an allocation and unmaps the host's pages; whether there was one, and the device had
    /// it.
    pub fn remove(&mut self, address: u64) -> Option<bool> {
        self.0.remove(&address).map(|pages| pages.shared)
    }

    /// Forgets the device's contents.
    pub fn clear(&mut self) {
        self.0.retain(|_, pages| !pages.shared);
    }

    /// Whether the device has the address, which is the host's too.
    pub fn has(&self, address: u64) -> bool {
        self.find(address).is_some_and(|pages| pages.shared)
    }

    /// Whether the address is in pinned memory that the device does not have.
    pub fn is_only_pinned(&self, address: u64) -> bool {
        self.find(address).is_some_and(|pages| !pages.shared)
    }

    fn find(&self, address: u64) -> Option<&Pages> {
        let (base, pages) = self.0.range(..=address).next_back()?;
        (address - base < pages.host.bytes().len() as u64).then_some(pages)
    }

    /// Copies the host's contents to the device.
    pub fn give(&self, memory: &mut Memory) {
        for (address, pages) in self.0.iter().filter(|(_, pages)| pages.shared) {
            // The allocation lives as long as the entry.
            let _ = memory.write(*address, pages.host.bytes());
        }
    }

    /// Copies the device's contents to the host.
    pub fn take(&mut self, memory: &Memory) {
        for (address, pages) in self.0.iter_mut().filter(|(_, pages)| pages.shared) {
            // The allocation lives as long as the entry.
            let _ = memory.read(*address, pages.host.bytes_mut());
        }
    }
}
