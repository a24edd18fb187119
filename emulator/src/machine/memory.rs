//! Device memory: allocations at virtual, deterministic addresses.
//!
//! Allocations are multiples of 512 bytes apart with an unused gap between them, and no address is
//! used twice, so an access beyond an allocation or to freed memory is always caught. Words are
//! relaxed atomics: blocks may run on several threads, and a race of the kernel is then a race of
//! values, never of the emulator's memory.

use super::bits::UNDEFINED;
use super::heap::Heap;
use super::memory_block::{MemoryBlock, contains};
use crate::lower::address::GLOBAL_BASE;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Allocations begin at multiples of this.
const ALIGNMENT: u64 = 512;
/// The least unused bytes between allocations.
const GAP: u64 = 64 * 1024;
/// Of a new allocation, so many words are undefined and the others zero: pages of the host that
/// nothing touches cost nothing, and a program may allocate far more than it uses.
const UNDEFINED_WORDS: usize = 16 << 20;

/// One allocation.
#[derive(Debug)]
pub struct Allocation {
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The contents; one word more than needed when the size is not a multiple of 4.
    pub words: Vec<AtomicU32>,
    /// Its content, as far as it is known.
    pub holds: Holds,
}

/// The content of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// Nobody said.
    Unknown,
    /// A module variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether it is a `.const` one.
        is_const: bool,
    },
    /// An argument of a kernel.
    Argument {
        /// The parameter's name.
        name: String,
        /// Whether the kernel takes it to read only.
        read_only: bool,
    },
}

impl Holds {
    /// Whether it is a `.const` variable.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self, Self::Variable { is_const: true, .. })
    }
}

impl Allocation {
    /// Whether `[address, address + bytes)` lies inside.
    #[inline(always)]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        contains((self.base, self.bytes), address, bytes)
    }

    /// The same as kernels see it.
    #[inline(always)]
    pub fn block(&self) -> MemoryBlock<'_> {
        let Self { base, bytes, words, .. } = self;
        MemoryBlock { base: *base, bytes: *bytes, words, is_writable: self.is_writable() }
    }

    /// Whether a kernel may store to it.
    #[inline(always)]
    pub fn is_writable(&self) -> bool {
        !matches!(
            self.holds,
            Holds::Argument { read_only: true, .. } | Holds::Variable { is_const: true, .. }
        )
    }
}

/// An access that no allocation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAllocated;

impl fmt::Display for NotAllocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no allocation holds the range; allocate it first, or check its end")
    }
}

impl std::error::Error for NotAllocated {}

/// All of device memory.
#[derive(Debug)]
pub struct Memory {
    /// By address. Those that were freed stay for a while, with no bytes.
    pub(super) allocations: Vec<Allocation>,
    /// How many of them were freed.
    gone: usize,
    pub(super) freed: Vec<(u64, u64)>,
    next: u64,
    in_use: u64,
    capacity: u64,
    /// The allocations of kernels.
    pub heap: Heap,
}

impl Memory {
    /// Empty memory of `capacity` bytes.
    pub fn new(capacity: u64) -> Self {
        let (allocations, freed) = (Vec::new(), Vec::new());
        Self {
            allocations,
            gone: 0,
            freed,
            next: GLOBAL_BASE,
            in_use: 0,
            capacity,
            heap: Heap::default(),
        }
    }

    /// Allocates memory that holds nothing defined; `None` if the device (or the host) has no room.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let base = self.next;
        self.allocate_at(base, bytes)?;
        self.reserve(bytes)
    }

    /// The same in a place of [`Memory::reserve`], again if it was freed there.
    pub fn allocate_at(&mut self, base: u64, bytes: u64) -> Option<()> {
        self.fill_place(base, bytes, Holds::Unknown)?;
        for word in self.find(base)?.words.iter().take(UNDEFINED_WORDS) {
            word.store(UNDEFINED, Relaxed);
        }
        Some(())
    }

    /// Allocates zeroed memory for what is known.
    pub fn allocate_for(&mut self, bytes: u64, holds: Holds) -> Option<u64> {
        let base = self.next;
        self.fill_place(base, bytes, holds)?;
        self.reserve(bytes)
    }

    /// A place in which nothing is allocated yet; `None` if there is no address for its end.
    pub fn reserve(&mut self, bytes: u64) -> Option<u64> {
        let end = self.next.checked_add(bytes)?;
        let next = end.checked_add(GAP)?.checked_next_multiple_of(ALIGNMENT)?;
        Some(std::mem::replace(&mut self.next, next))
    }

    /// Allocates zeroed memory in a place of [`Memory::reserve`].
    pub fn fill_place(&mut self, base: u64, bytes: u64, holds: Holds) -> Option<()> {
        if bytes == 0 || bytes > self.capacity - self.in_use {
            return None;
        }
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        Vec::<u32>::new().try_reserve_exact(count).ok()?;
        // Zeroed by the host's allocator and converted in place: untouched pages cost nothing.
        let words = vec![0u32; count].into_iter().map(AtomicU32::new).collect();
        self.in_use += bytes;
        let at = self.allocations.partition_point(|allocation| allocation.base < base);
        if self.allocations.get(at).is_some_and(|freed| freed.base == base) {
            self.allocations.remove(at);
            self.gone -= 1;
        }
        if base < self.next {
            self.freed.retain(|&(freed, _)| freed != base);
        }
        self.allocations.insert(at, Allocation { base, bytes, words, holds });
        Some(())
    }

    /// Frees the allocation that begins at `base`.
    ///
    /// # Errors
    /// [`NotAllocated`] if none does.
    pub fn free(&mut self, base: u64) -> Result<(), NotAllocated> {
        let allocation = self.beginning_at(base)?;
        let bytes = std::mem::take(&mut allocation.bytes);
        allocation.words = Vec::new();
        self.in_use -= bytes;
        self.freed.push((base, bytes));
        // Removed many at once, so that a free does not move all allocations behind it.
        self.gone += 1;
        if 2 * self.gone > self.allocations.len() {
            self.allocations.retain(|allocation| allocation.bytes > 0);
            self.gone = 0;
        }
        Ok(())
    }

    /// The allocation that begins at `base`.
    fn beginning_at(&mut self, base: u64) -> Result<&mut Allocation, NotAllocated> {
        let at = self.allocations.binary_search_by_key(&base, |allocation| allocation.base);
        let allocation = at.ok().map(|at| &mut self.allocations[at]);
        allocation.filter(|allocation| allocation.bytes > 0).ok_or(NotAllocated)
    }

    /// Frees everything.
    pub fn clear(&mut self) {
        let live = self.allocations.drain(..).filter(|allocation| allocation.bytes > 0);
        self.freed.extend(live.map(|allocation| (allocation.base, allocation.bytes)));
        self.gone = 0;
        self.in_use = 0;
        self.heap.close();
    }

    /// Records the content of the allocation that begins at `base`.
    ///
    /// # Errors
    /// [`NotAllocated`] if none does.
    pub fn label(&mut self, base: u64, holds: Holds) -> Result<(), NotAllocated> {
        self.beginning_at(base)?.holds = holds;
        Ok(())
    }

    /// Free and total bytes.
    pub fn available(&self) -> (u64, u64) {
        (self.capacity - self.in_use, self.capacity)
    }

    /// The ranges of the allocations, in the order of their addresses.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let live = self.allocations.iter().filter(|each| each.bytes > 0);
        live.map(|each| each.base..each.base + each.bytes)
    }

    /// The index of the allocation that holds `address`.
    #[inline]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let index = after.checked_sub(1)?;
        self.allocations[index].contains(address, 1).then_some(index)
    }

    /// The allocation at an index of [`Memory::index_of`].
    #[inline(always)]
    pub fn at(&self, index: usize) -> Option<&Allocation> {
        self.allocations.get(index)
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        self.index_of(address).and_then(|index| self.at(index))
    }

    /// The block of memory that holds `address`, as kernels see it.
    #[inline]
    pub fn block(&self, address: u64) -> Option<MemoryBlock<'_>> {
        self.find(address).map(Allocation::block).or_else(|| self.heap.find(address))
    }

    fn range(&self, address: u64, bytes: u64) -> Result<&Allocation, NotAllocated> {
        self.find(address)
            .filter(|allocation| allocation.contains(address, bytes))
            .ok_or(NotAllocated)
    }

    /// Copies into device memory.
    ///
    /// # Errors
    /// [`NotAllocated`] if the range is not inside one allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), NotAllocated> {
        if bytes.is_empty() {
            return Ok(());
        }
        let allocation = self.range(address, bytes.len() as u64)?;
        let start = (address - allocation.base) as usize;
        let (mut at, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let (inside, take) = (at % 4, (4 - at % 4).min(rest.len()));
            if take == 4 {
                let whole = rest.len() / 4;
                let words = &allocation.words[at / 4..at / 4 + whole];
                for (word, bytes) in words.iter().zip(rest.as_chunks().0) {
                    word.store(u32::from_le_bytes(*bytes), Relaxed);
                }
                at += whole * 4;
                rest = &rest[whole * 4..];
                continue;
            }
            let word = &allocation.words[at / 4];
            let mut value = word.load(Relaxed).to_le_bytes();
            value[inside..inside + take].copy_from_slice(&rest[..take]);
            word.store(u32::from_le_bytes(value), Relaxed);
            at += take;
            rest = &rest[take..];
        }
        Ok(())
    }

    /// Copies out of device memory.
    ///
    /// # Errors
    /// [`NotAllocated`] if the range is not inside one allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), NotAllocated> {
        if bytes.is_empty() {
            return Ok(());
        }
        let allocation = self.range(address, bytes.len() as u64)?;
        let mut at = (address - allocation.base) as usize;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (inside, take) = (at % 4, (4 - at % 4).min(rest.len()));
            if take == 4 {
                let whole = rest.len() / 4;
                let (now, later) = rest.split_at_mut(whole * 4);
                let words = &allocation.words[at / 4..at / 4 + whole];
                for (word, chunk) in words.iter().zip(now.chunks_exact_mut(4)) {
                    chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                }
                at += whole * 4;
                rest = later;
                continue;
            }
            let value = allocation.words[at / 4].load(Relaxed).to_le_bytes();
            let (now, later) = rest.split_at_mut(take);
            now.copy_from_slice(&value[inside..inside + take]);
            at += take;
            rest = later;
        }
        Ok(())
    }

    /// Fills `count` elements of `pattern`'s size.
    ///
    /// # Errors
    /// [`NotAllocated`] if the range is not inside one allocation.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), NotAllocated> {
        let total = count.checked_mul(pattern.len() as u64).ok_or(NotAllocated)?;
        if total == 0 {
            return Ok(());
        }
        self.range(address, total)?;
        let chunk: Vec<u8> = pattern.iter().copied().cycle().take(pattern.len() * 1024).collect();
        let mut done = 0;
        while done < total {
            let now = (total - done).min(chunk.len() as u64);
            self.write(address + done, &chunk[..now as usize])?;
            done += now;
        }
        Ok(())
    }

    /// Copies within device memory; the ranges may overlap.
    ///
    /// # Errors
    /// [`NotAllocated`] if either range is not inside one allocation.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), NotAllocated> {
        if bytes == 0 {
            return Ok(());
        }
        self.range(to, bytes)?;
        self.range(from, bytes)?;
        let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| NotAllocated)?];
        self.read(from, &mut buffer)?;
        self.write(to, &buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_memory_is_undefined_and_a_variable_is_zero() {
        let mut memory = Memory::new(1 << 30);
        let read = |memory: &Memory, at: u64| {
            let mut bytes = [1; 4];
            memory.read(at, &mut bytes).map(|()| u32::from_le_bytes(bytes))
        };
        let own = memory.allocate(10).expect("there is room");
        assert_eq!([0, 4].map(|at| read(&memory, own + at)), [Ok(UNDEFINED); 2]);
        let holds = Holds::Variable { name: "counter".into(), is_const: false };
        let variable = memory.allocate_for(4, holds).expect("there is room");
        assert_eq!(read(&memory, variable), Ok(0));
        let large = memory.allocate(8 * UNDEFINED_WORDS as u64).expect("there is room");
        assert_eq!(read(&memory, large), Ok(UNDEFINED));
        assert_eq!(read(&memory, large + 4 * UNDEFINED_WORDS as u64), Ok(0));
    }

    #[test]
    fn a_freed_allocation_is_gone_and_its_neighbours_stay() {
        let mut memory = Memory::new(1 << 30);
        let bases: Vec<u64> = (0..5).filter_map(|_| memory.allocate(512)).collect();
        for at in [1, 0, 3] {
            assert_eq!(memory.free(bases[at]), Ok(()));
            assert_eq!(memory.free(bases[at]), Err(NotAllocated));
            assert_eq!(memory.label(bases[at], Holds::Unknown), Err(NotAllocated));
            assert!(memory.find(bases[at]).is_none() && memory.was_freed(bases[at]));
            assert!(memory.find(bases[2] + 511).is_some());
            let told = memory.locate(bases[0] + 513);
            assert!(at == 1 || told.contains(&format!("{:#x}", bases[2])), "{told}");
        }
        assert_eq!(
            memory.ranges().map(|range| range.start).collect::<Vec<_>>(),
            [bases[2], bases[4]]
        );
        let told = memory.locate(bases[3] + 513);
        assert!(
            told.contains(&format!("before a 512-byte allocation at {:#x}", bases[4])),
            "{told}"
        );
        assert_eq!(memory.available(), ((1 << 30) - 1024, 1 << 30));
        memory.clear();
        assert_eq!((memory.ranges().count(), memory.available().0), (0, 1 << 30));
        assert!(memory.was_freed(bases[4]));
    }

    #[test]
    fn freed_memory_is_reused() {
        let mut memory = Memory::new(1 << 30);
        let base = memory.reserve(512).expect("there are addresses");
        let next = memory.allocate(512).expect("there is room");
        for _ in 0..3 {
            assert!(memory.find(base).is_none());
            memory.allocate_at(base, 512).expect("there is room");
            assert!(!memory.was_freed(base) && memory.find(next).is_some());
            assert_eq!(memory.ranges().count(), 2);
            assert_eq!(memory.free(base), Ok(()));
            assert!(memory.was_freed(base));
        }
        assert_eq!(memory.freed.len(), 1);
        memory.free(next).expect("it is there");
        assert_eq!(memory.available(), (1 << 30, 1 << 30));
    }

    #[test]
    fn a_fill_of_more_bytes_than_an_address_can_count_is_refused() {
        let mut memory = Memory::new(1 << 30);
        let base = memory.allocate(512).expect("there is room");
        assert_eq!(memory.fill(base, &[0; 4], 1 << 62), Err(NotAllocated));
    }
}
