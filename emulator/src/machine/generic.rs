//! The bytes of generic accesses, which hardware counts as global and as shared ones, wherever they
//! lie (seen on an H100).
//!
//! Input: the counts before and after an access. Output: the bytes of each space.

use super::context::Context;
use crate::counters::{GenericCounts, MemoryCounts};
use crate::lower::inst::{Address, Space};

/// The counts of loads or stores before a generic access; none before any other.
#[inline(always)]
pub fn counted<const STORES: bool>(cx: &Context<'_>, address: Address) -> Option<GenericCounts> {
    (address.space == Space::Generic).then(|| total::<STORES>(&cx.counts.memory))
}

/// Counts a generic load or store, with the counts before it.
#[inline(always)]
pub fn count<const STORES: bool>(cx: &mut Context<'_>, before: Option<GenericCounts>) {
    let Some(before) = before else { return };
    let memory = &mut cx.counts.memory;
    let access = total::<STORES>(memory) - before;
    *(if STORES { &mut memory.generic_store } else { &mut memory.generic_load }) += access;
}

fn total<const STORES: bool>(memory: &MemoryCounts) -> GenericCounts {
    let (global, shared, elsewhere) = if STORES {
        (memory.store, memory.shared_store, memory.local_stores)
    } else {
        (memory.load, memory.shared_load, memory.local_loads + memory.param_loads)
    };
    GenericCounts { global_bytes: global.bytes, shared_bytes: shared.bytes, elsewhere }
}
