//! Where an address lies in device memory, in words.

use super::memory::{Allocation, Holds, Memory};
use crate::lower::address::{GLOBAL_BASE, HEAP_BASE};

/// An access that misses by so much meant something else: the least that an index of 32 bits misses
/// by where it wraps around, with room for large buffers.
const FAR: u64 = 1 << 31;

impl Memory {
    /// Whether `address` lies in memory that was freed.
    pub fn was_freed(&self, address: u64) -> bool {
        self.heap.was_freed(address)
            || self.freed.iter().any(|&(base, bytes)| address.wrapping_sub(base) < bytes)
    }

    /// Describes the read-only memory at `address`, and the remedy.
    pub fn locate_read_only(&self, address: u64) -> String {
        let Some(allocation) = self.find(address) else { return self.locate(address) };
        let offset = address - allocation.base;
        match &allocation.holds {
            Holds::Variable { name, .. } => {
                format!(
                    "{offset} bytes into '{name}', which is constant: a kernel may only read it"
                )
            }
            Holds::Argument { name, .. } => format!(
                "{offset} bytes into `{name}`, which the kernel takes to read only: let it take \
                 `{name}` as `*mut`, or write elsewhere"
            ),
            Holds::Unknown => self.locate(address),
        }
    }

    /// Says where `address` is, relative to the nearest allocation.
    pub fn locate(&self, address: u64) -> String {
        if (HEAP_BASE..GLOBAL_BASE).contains(&address)
            && let Some(place) = self.heap.locate(address)
        {
            return place;
        }
        if let Some(&(base, bytes)) =
            self.freed.iter().find(|&&(base, bytes)| address.wrapping_sub(base) < bytes)
        {
            return format!(
                "{} bytes into a {bytes}-byte allocation at {base:#x} that was freed",
                address - base
            );
        }
        let describe = |allocation: &Allocation| {
            let name = match &allocation.holds {
                Holds::Unknown => String::new(),
                Holds::Variable { name, .. } => format!(" (variable '{name}')"),
                Holds::Argument { name, .. } => format!(" (argument '{name}')"),
            };
            format!("a {}-byte allocation at {:#x}{name}", allocation.bytes, allocation.base)
        };
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let (below, above) = self.allocations.split_at(after);
        let below = below.iter().rfind(|allocation| allocation.bytes > 0);
        let above = above.iter().find(|allocation| allocation.bytes > 0);
        let past = below.map(|allocation| {
            address - allocation.base.saturating_add(allocation.bytes).min(address)
        });
        let before = above.map(|allocation| allocation.base - address);
        match (below, above, past, before) {
            (Some(below), _, Some(0), _) if address < below.base + below.bytes => {
                format!("which runs past the end of {}", describe(below))
            }
            (Some(below), _, Some(past), before) if before.is_none_or(|before| past <= before) => {
                match past {
                    0 => format!("just past the end of {}", describe(below)),
                    past => {
                        format!("{past} bytes past the end of {}{}", describe(below), far(past))
                    }
                }
            }
            (_, Some(above), _, Some(before)) => {
                format!("{before} bytes before {}{}", describe(above), far(before))
            }
            _ => "but nothing is allocated".to_owned(),
        }
    }
}

/// The description of an address that is `bytes` away from the nearest allocation, which is then
/// hardly the intended one.
fn far(bytes: u64) -> &'static str {
    if bytes < FAR {
        return "";
    }
    ", which is only the nearest: did an index wrap around (in `u32`, 0 - 1 is 4294967295)?"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distant_allocation_is_described_as_the_nearest() {
        let mut memory = Memory::new(1 << 30);
        let base = memory.allocate(512).expect("there is room");
        let told = |at: u64| memory.locate(at);
        assert!(told(base + 600).starts_with("88 bytes past the end of a 512-byte allocation"));
        assert!(!told(base + 600).contains("nearest"));
        // y[i - 1] of 32-bit elements, where i is 0 in `u32`.
        let wrapped = told(base + 4 * u64::from(u32::MAX));
        assert!(wrapped.contains(", which is only the nearest: did an index wrap"), "{wrapped}");
        assert!(told(base - (8 << 30)).contains("only the nearest"));
    }
}
