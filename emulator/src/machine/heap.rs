//! The device heap: blocks that kernels allocate by `malloc` and free by `free`.
//!
//! No address is used twice, so an access to a freed block is always caught, and never counts as a
//! race with an access to a later block. Only the words behind the addresses are used again. A
//! kernel that allocates runs its blocks in turns, so addresses do not depend on host threads.

use super::bits::UNDEFINED;
use super::memory_block::MemoryBlock;
use crate::lower::address::HEAP_BASE;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The least alignment of a block, and the unit of the heap's size.
const UNIT: u64 = 16;
/// The least unused bytes between blocks.
const GAP: u64 = 256;
/// The freed blocks that are remembered at least, so that an access to them is called one.
const REMEMBERED: usize = 1 << 20;

/// Why a block cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadFree {
    /// It was freed already; it had so many bytes.
    Twice(u64),
    /// It is so many bytes into a block, which begins at an address.
    Inside(u64, u64),
    /// It is in no block.
    NoBlock,
}

/// The heap. It has no words until a kernel that allocates is launched.
#[derive(Debug)]
pub struct Heap {
    words: Vec<AtomicU32>,
    blocks: RwLock<Blocks>,
}

/// A block, freed or not.
#[derive(Debug, Clone, Copy)]
struct Block {
    base: u64,
    bytes: u64,
    /// Its first word.
    first: usize,
    is_freed: bool,
}

impl Block {
    /// The words that it takes.
    fn words(self) -> usize {
        words_of(self.bytes).unwrap_or(0)
    }
}

/// The words that a block of `bytes` takes. A block without a byte takes some too.
fn words_of(bytes: u64) -> Option<usize> {
    let rounded = bytes.max(1).checked_next_multiple_of(UNIT)?;
    usize::try_from(rounded / 4).ok()
}

#[derive(Debug)]
struct Blocks {
    /// By address.
    all: Vec<Block>,
    /// How many of them are freed.
    freed: usize,
    /// The unused words: how many begin where.
    unused: BTreeMap<usize, usize>,
    next_address: u64,
}

impl Default for Heap {
    fn default() -> Self {
        let (all, unused) = (Vec::new(), BTreeMap::new());
        let blocks = Blocks { all, freed: 0, unused, next_address: HEAP_BASE };
        Self { words: Vec::new(), blocks: RwLock::new(blocks) }
    }
}

impl Heap {
    /// Whether a kernel can allocate from it.
    pub fn is_open(&self) -> bool {
        !self.words.is_empty()
    }

    /// Gives it `bytes`, unless it has its size already; `None` if the host has no room.
    pub fn open(&mut self, bytes: u64) -> Option<()> {
        if self.is_open() {
            return Some(());
        }
        let count = words_of(bytes)?;
        Vec::<u32>::new().try_reserve_exact(count).ok()?;
        self.words = vec![0; count].into_iter().map(AtomicU32::new).collect();
        self.blocks_mut().unused = BTreeMap::from([(0, count)]);
        Some(())
    }

    /// Frees all blocks, and gives its words back.
    pub fn close(&mut self) {
        self.words = Vec::new();
        let mut blocks = self.blocks_mut();
        for block in &mut blocks.all {
            block.is_freed = true;
        }
        blocks.freed = blocks.all.len();
        blocks.unused.clear();
    }

    fn blocks(&self) -> RwLockReadGuard<'_, Blocks> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn blocks_mut(&self) -> RwLockWriteGuard<'_, Blocks> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of a new block at a multiple of `align`, with undefined content; `None` if the
    /// heap has no room.
    pub fn allocate(&self, bytes: u64, align: u64) -> Option<u64> {
        let (count, align) = (words_of(bytes)?, align.max(UNIT));
        let mut blocks = self.blocks_mut();
        let base = blocks.next_address.checked_next_multiple_of(align)?;
        let next = base.checked_add(4 * count as u64 + GAP)?;
        let (&first, &room) = blocks.unused.iter().find(|(_, room)| **room >= count)?;
        blocks.unused.remove(&first);
        if room > count {
            blocks.unused.insert(first + count, room - count);
        }
        blocks.next_address = next;
        blocks.all.push(Block { base, bytes, first, is_freed: false });
        for word in &self.words[first..first + count] {
            word.store(UNDEFINED, Relaxed);
        }
        Some(base)
    }

    /// Frees the block that begins at `address`.
    ///
    /// # Errors
    /// There is none.
    pub fn free(&self, address: u64) -> Result<(), BadFree> {
        let mut blocks = self.blocks_mut();
        let at = blocks.all.binary_search_by_key(&address, |block| block.base);
        let at = at.map_err(|_| match blocks.at(address) {
            Some(block) => BadFree::Inside(address - block.base, block.base),
            None => BadFree::NoBlock,
        })?;
        let block = blocks.all[at];
        if block.is_freed {
            return Err(BadFree::Twice(block.bytes));
        }
        blocks.all[at].is_freed = true;
        blocks.freed += 1;
        blocks.give_back(block.first, block.words());
        if blocks.freed > 2 * REMEMBERED {
            blocks.forget();
        }
        Ok(())
    }

    /// The block that holds `address`, if it was not freed.
    pub fn find(&self, address: u64) -> Option<MemoryBlock<'_>> {
        let block = self.blocks().at(address).filter(|block| !block.is_freed)?;
        let words = &self.words[block.first..block.first + block.words()];
        Some(MemoryBlock { base: block.base, bytes: block.bytes, words, is_writable: true })
    }

    /// Whether `address` lies in a block that was freed.
    pub fn was_freed(&self, address: u64) -> bool {
        self.blocks().at(address).is_some_and(|block| block.is_freed)
    }

    /// Says where `address` is, relative to the block before it; `None` if there is none.
    pub fn locate(&self, address: u64) -> Option<String> {
        let blocks = self.blocks();
        let after = blocks.all.partition_point(|block| block.base <= address);
        let Block { base, bytes, is_freed, .. } = *blocks.all.get(after.checked_sub(1)?)?;
        let block = format!("a {bytes}-byte block of the device heap at {base:#x}");
        Some(match address - base {
            inside if inside < bytes && is_freed => {
                format!("{inside} bytes into {block} that was freed")
            }
            inside if inside < bytes => format!("which runs past the end of {block}"),
            inside if inside == bytes => format!("just past the end of {block}"),
            inside => format!("{} bytes past the end of {block}", inside - bytes),
        })
    }
}

impl Blocks {
    /// The block that holds `address`, freed or not.
    fn at(&self, address: u64) -> Option<Block> {
        let after = self.all.partition_point(|block| block.base <= address);
        let block = *self.all.get(after.checked_sub(1)?)?;
        (address - block.base < block.bytes).then_some(block)
    }

    /// Words are unused from now on; neighbouring ones become one piece.
    fn give_back(&mut self, mut first: usize, mut count: usize) {
        if let Some(after) = self.unused.remove(&(first + count)) {
            count += after;
        }
        if let Some((&before, &words)) = self.unused.range(..first).next_back()
            && before + words == first
        {
            (first, count) = (before, words + count);
        }
        self.unused.insert(first, count);
    }

    /// Forgets the oldest half of the freed blocks.
    fn forget(&mut self) {
        let mut left = self.freed - REMEMBERED;
        self.all.retain(|block| {
            let goes = block.is_freed && left > 0;
            left -= usize::from(goes);
            !goes
        });
        self.freed = REMEMBERED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(bytes: u64) -> Heap {
        let mut heap = Heap::default();
        heap.open(bytes).expect("the host has room");
        heap
    }

    #[test]
    fn a_freed_block_reuses_memory_but_not_its_address() {
        let heap = heap(64);
        let blocks: Vec<u64> = (0..4).filter_map(|_| heap.allocate(16, 16)).collect();
        assert_eq!((blocks.len(), heap.allocate(1, 16)), (4, None));
        // The middle two become one piece.
        for at in [1, 2] {
            assert_eq!(heap.free(blocks[at]), Ok(()));
        }
        let large = heap.allocate(32, 16).expect("two neighbours are free");
        assert!(large > blocks[3] && heap.was_freed(blocks[1] + 15));
        assert_eq!(heap.free(blocks[1]), Err(BadFree::Twice(16)));
        assert_eq!(heap.free(large + 8), Err(BadFree::Inside(8, large)));
        assert_eq!(heap.free(large + 32), Err(BadFree::NoBlock));
        let found = heap.find(large + 31).expect("it is there");
        assert_eq!((found.base, found.bytes, found.words.len()), (large, 32, 8));
        assert!(found.words.iter().all(|word| word.load(Relaxed) == UNDEFINED));
    }

    #[test]
    fn heap_blocks_are_aligned_and_separate() {
        let heap = heap(1 << 20);
        let (first, second) = (heap.allocate(40, 16), heap.allocate(8, 1024));
        let (first, second) = (first.expect("there is room"), second.expect("there is room"));
        assert_eq!((first % 16, second % 1024), (0, 0));
        assert!(heap.find(first + 40).is_none() && heap.find(second - 1).is_none());
        let told = heap.locate(first + 48);
        let expected =
            format!("8 bytes past the end of a 40-byte block of the device heap at {first:#x}");
        assert_eq!(told, Some(expected));
    }

    #[test]
    fn a_closed_heap_remembers_its_blocks_as_freed() {
        let mut heap = heap(64);
        let old = heap.allocate(64, 16).expect("there is room");
        heap.close();
        assert!(!heap.is_open() && heap.was_freed(old));
        heap.open(64).expect("the host has room");
        assert_ne!(heap.allocate(64, 16), Some(old));
    }

    #[test]
    fn only_the_latest_freed_blocks_are_remembered() {
        let heap = heap(16);
        let mut first = None;
        for _ in 0..=2 * REMEMBERED {
            let block = heap.allocate(16, 16).expect("there is room");
            heap.free(block).expect("it is a block");
            first = first.or(Some(block));
        }
        let first = first.expect("there was one");
        assert!(!heap.was_freed(first) && heap.blocks().all.len() == REMEMBERED);
    }
}
