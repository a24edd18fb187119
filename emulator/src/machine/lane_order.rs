//! The order of the lanes of each warp, by exchanges that only some of them take part in.
//!
//! An exchange orders the earlier accesses of its members, and all that was ordered before those,
//! before their later ones. Exchanges of whole warps are not kept here: they order all lanes.

use super::hazard::By;

/// For each lane of a warp, the tick before which it knows the accesses of each lane.
type Known = [[u32; 32]; 32];

/// The order of the lanes of a block.
#[derive(Debug, Default)]
pub struct LaneOrder {
    /// Of each warp, once some of its lanes met.
    warps: Vec<Option<Box<Known>>>,
    /// When some lanes of each warp last met.
    last: [u32; 32],
}

impl LaneOrder {
    /// Forgets all, so that ticks may start again.
    pub fn clear(&mut self) {
        self.warps.clear();
        self.last = [0; 32];
    }

    /// The lanes of `members` meet at the tick `now`.
    pub fn meet(&mut self, warp: u32, members: u32, now: u32) {
        let warp = warp as usize;
        self.last[warp % 32] = now;
        if self.warps.len() <= warp {
            self.warps.resize_with(warp + 1, || None);
        }
        let known = self.warps[warp].get_or_insert_with(|| Box::new([[0; 32]; 32]));
        let is_member = |lane: usize| members & (1 << lane) != 0;
        let mut joined = [0; 32];
        for lane in (0..32).filter(|&lane| is_member(lane)) {
            joined = std::array::from_fn(|other| known[lane][other].max(joined[other]));
        }
        for lane in (0..32).filter(|&lane| is_member(lane)) {
            joined[lane] = now;
        }
        for lane in (0..32).filter(|&lane| is_member(lane)) {
            known[lane] = joined;
        }
    }

    /// When some lanes of the warp of `by` last met.
    #[inline(always)]
    pub fn last(&self, by: By) -> u32 {
        self.last[by.warp()]
    }

    /// When some lanes of a warp last met.
    pub fn last_of(&self, warp: u32) -> u32 {
        self.last[warp as usize % 32]
    }

    /// Whether the thread of `me` knows the access of `other` at the tick `when`.
    #[inline(never)]
    pub fn knows(&self, me: By, (other, when): (By, u32)) -> bool {
        let (warp, several) = (me.thread() / 32, other.of_several_warps());
        let known = self.warps.get(warp as usize).and_then(Option::as_ref);
        let [me, other_lane] = [me, other].map(|by| (by.thread() % 32) as usize);
        !several
            && other.thread() / 32 == warp
            && known.is_some_and(|known| when < known[me][other_lane])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::Sharing;

    #[test]
    fn an_exchange_orders_its_members_transitively() {
        let mut order = LaneOrder::default();
        order.meet(1, 0b0011, 5);
        let knows = |order: &LaneOrder, me: usize, (other, when): (usize, u32)| {
            let [me, other] = [me, other]
                .map(|thread| By::new(thread as u32 / 32, 0, Sharing::Plain).lane(thread % 32));
            order.knows(me, (other, when))
        };
        assert!(knows(&order, 32, (33, 4)) && knows(&order, 33, (32, 4)));
        assert!(!knows(&order, 32, (33, 5)), "it came after the exchange");
        assert!(!knows(&order, 34, (33, 4)) && !knows(&order, 0, (1, 4)));
        order.meet(1, 0b0110, 8);
        assert!(knows(&order, 34, (32, 4)), "lane 1 knew it");
        assert!(!knows(&order, 34, (32, 5)) && !knows(&order, 32, (34, 1)));
    }
}
