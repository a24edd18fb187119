//! Copies to shared memory that lanes of a warp have started and that are not there yet.
//!
//! A copy reads global memory when it is issued, and writes shared memory when its lane waits for
//! it. So a read of the destination without a wait finds the old contents, and the shadow of shared
//! memory reports it. On a GPU the copy may write at once, so only what was ordered before it when
//! it was issued is ordered before its write.

use super::hazard::Bounds;

/// The copies of a warp.
#[derive(Debug, Default)]
pub struct Copies {
    under_way: Vec<Copy>,
    /// How many groups each lane has closed.
    closed: [u32; 32],
}

/// A copy of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// The lane.
    pub lane: usize,
    /// The instruction that started it.
    pub pc: u32,
    /// What was ordered before it then.
    pub bounds: Bounds,
    /// Where to in shared memory.
    pub address: u64,
    /// 4, 8 or 16.
    pub bytes: u8,
    /// What.
    pub words: [u32; 4],
    /// How many groups its lane had closed before.
    pub group: u32,
}

impl Copies {
    /// Forgets all, for another block.
    pub fn clear(&mut self) {
        self.under_way.clear();
        self.closed = [0; 32];
    }

    /// A lane starts one, in its open group.
    pub fn start(&mut self, copy: Copy) {
        let group = self.closed[copy.lane];
        self.under_way.push(Copy { group, ..copy });
    }

    /// The lanes close their groups.
    pub fn commit(&mut self, on: u32) {
        for (lane, closed) in self.closed.iter_mut().enumerate() {
            *closed += on >> lane & 1;
        }
    }

    /// Takes the copies of the lanes that are in all closed groups but the last `left`.
    pub fn take(&mut self, on: u32, left: u32) -> Vec<Copy> {
        let closed = self.closed;
        let taken = |copy: &Copy| {
            on >> copy.lane & 1 == 1 && copy.group < closed[copy.lane].saturating_sub(left)
        };
        let done = self.under_way.iter().copied().filter(taken).collect();
        self.under_way.retain(|copy| !taken(copy));
        done
    }

    /// Takes all copies of the lanes, whether their group is closed or not.
    pub fn take_all(&mut self, on: u32) -> Vec<Copy> {
        let taken = |copy: &Copy| on >> copy.lane & 1 == 1;
        let done = self.under_way.iter().copied().filter(taken).collect();
        self.under_way.retain(|copy| !taken(copy));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(lane: usize, address: u64) -> Copy {
        Copy { lane, pc: 1, bounds: Bounds::default(), address, bytes: 16, words: [0; 4], group: 0 }
    }

    fn addresses(copies: &[Copy]) -> Vec<u64> {
        copies.iter().map(|copy| copy.address).collect()
    }

    #[test]
    fn a_lane_waits_for_its_copy_groups_in_order() {
        let mut copies = Copies::default();
        for (lane, address) in [(0, 0), (1, 16)] {
            copies.start(copy(lane, address));
        }
        copies.commit(0b11);
        copies.start(copy(0, 32));
        copies.commit(0b01);
        copies.start(copy(0, 48));
        // Lane 0 closed two groups, lane 1 one; the last copy is in none.
        assert_eq!(addresses(&copies.take(0b11, 1)), [0]);
        assert_eq!(addresses(&copies.take(0b11, 0)), [16, 32]);
        assert_eq!(addresses(&copies.take(0b11, 0)), []);
        assert_eq!(addresses(&copies.take_all(0b11)), [48]);
    }

    #[test]
    fn an_empty_copy_group_counts() {
        let mut copies = Copies::default();
        copies.start(copy(0, 0));
        copies.commit(1);
        copies.commit(1);
        assert_eq!(addresses(&copies.take(1, 1)), [0]);
    }
}
