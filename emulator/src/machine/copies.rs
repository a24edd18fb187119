//! Copies to shared memory that lanes of a warp have started and that are not there yet.
//!
//! A copy reads global memory when it is issued, and writes shared memory when its lane waits for
//! it. So what reads the place without waiting finds what was there before, and the shadow of
//! shared memory tells it.

/// The copies of a warp.
#[derive(Debug, Default)]
pub struct Copies {
    under_way: Vec<Copy>,
    /// How many groups each lane has closed.
    closed: [u32; 32],
}

/// What one lane copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// The lane.
    pub lane: usize,
    /// The instruction that started it.
    pub pc: u32,
    /// Where to in shared memory.
    pub address: u64,
    /// 4, 8 or 16.
    pub bytes: u8,
    /// What.
    pub words: [u32; 4],
    group: u32,
}

impl Copies {
    /// Forgets all, for another block.
    pub fn clear(&mut self) {
        self.under_way.clear();
        self.closed = [0; 32];
    }

    /// A lane starts one, in its open group.
    pub fn start(&mut self, lane: usize, pc: u32, (address, bytes): (u64, u8), words: [u32; 4]) {
        let group = self.closed[lane];
        self.under_way.push(Copy { lane, pc, address, bytes, words, group });
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

    fn addresses(copies: &[Copy]) -> Vec<u64> {
        copies.iter().map(|copy| copy.address).collect()
    }

    #[test]
    fn a_lane_waits_for_its_own_groups_in_their_order() {
        let mut copies = Copies::default();
        for (lane, address) in [(0, 0), (1, 16)] {
            copies.start(lane, 1, (address, 16), [0; 4]);
        }
        copies.commit(0b11);
        copies.start(0, 2, (32, 16), [0; 4]);
        copies.commit(0b01);
        copies.start(0, 3, (48, 16), [0; 4]);
        // Lane 0 closed two groups, lane 1 one; the last copy is in none.
        assert_eq!(addresses(&copies.take(0b11, 1)), [0]);
        assert_eq!(addresses(&copies.take(0b11, 0)), [16, 32]);
        assert_eq!(addresses(&copies.take(0b11, 0)), []);
        assert_eq!(addresses(&copies.take_all(0b11)), [48]);
    }

    #[test]
    fn an_empty_group_counts() {
        let mut copies = Copies::default();
        copies.start(0, 1, (0, 4), [0; 4]);
        copies.commit(1);
        copies.commit(1);
        assert_eq!(addresses(&copies.take(1, 1)), [0]);
    }
}
