//! One warp's control state: a program counter, the active lanes, and where diverged lanes meet
//! again.
//!
//! The stack holds lanes that wait: at a reconvergence point, on the other side of a branch, or in
//! a caller. A lane is active in one place at a time, and a lane that left is in no entry.

use super::copies::Copies;
use crate::lower::inst::NOWHERE;

/// Lanes that wait.
#[derive(Debug, Clone, Copy)]
struct Entry {
    pc: u32,
    mask: u32,
    /// Where they meet others, once they run.
    reconverge: u32,
    /// The entry is a caller, to which `ret` leads back.
    is_call: bool,
    /// Its lanes have let others of the warp run.
    yields: bool,
}

/// What a warp is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can run.
    Ready,
    /// It waits at the barrier with this number.
    Waiting(u32),
    /// All its threads have exited.
    Done,
}

/// One warp.
#[derive(Debug)]
pub struct Warp {
    /// The next instruction.
    pub pc: u32,
    /// The lanes that run.
    pub active: u32,
    /// Where the active lanes meet others.
    pub reconverge: u32,
    /// Where other lanes of the same region wait, which the active ones may come to.
    pub join: u32,
    /// The lanes that have not exited.
    pub live: u32,
    /// What it is doing.
    pub state: State,
    /// Its number in the block.
    pub index: u32,
    /// Copies that its lanes started.
    pub copies: Copies,
    /// Whether memory was changed since somebody began to look.
    pub changed: bool,
    stack: Vec<Entry>,
}

impl Warp {
    /// A warp whose first `lanes` lanes are threads, at the first instruction.
    pub fn new(index: u32, lanes: u32) -> Self {
        let mut warp = Self {
            pc: 0,
            active: 0,
            reconverge: NOWHERE,
            join: NOWHERE,
            live: 0,
            state: State::Ready,
            index,
            copies: Copies::default(),
            changed: false,
            stack: Vec::new(),
        };
        warp.restart(lanes);
        warp
    }

    /// Makes it as new, for another block.
    pub fn restart(&mut self, lanes: u32) {
        let mask = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        (self.pc, self.active, self.live) = (0, mask, mask);
        (self.reconverge, self.join) = (NOWHERE, NOWHERE);
        self.state = State::Ready;
        self.copies.clear();
        self.stack.clear();
    }

    /// Goes on with lanes that wait. `false`: there are none, the warp is done.
    pub fn pop(&mut self) -> bool {
        while let Some(entry) = self.stack.pop() {
            if entry.mask != 0 {
                (self.pc, self.active, self.reconverge) = (entry.pc, entry.mask, entry.reconverge);
                self.look_ahead();
                return true;
            }
        }
        self.active = 0;
        false
    }

    /// The active lanes are where they meet others, or have left. `false`: the warp is done.
    pub fn arrive(&mut self) -> bool {
        if self.active == 0 || self.pc == self.reconverge {
            return self.pop();
        }
        if let Some(entry) = self.stack.pop() {
            self.active |= entry.mask;
        }
        self.look_ahead();
        true
    }

    /// The active lanes part: each group of `(pc, lanes)` runs until `meet`. `is_end` says whether
    /// the instruction at `meet` ends the function.
    ///
    /// Of the groups of a region the one that stands first in the code runs first, and lanes that
    /// come to where others of the region wait go on with them. Lanes that go around a loop let
    /// the others go first, so that who left it does not wait for who stays.
    pub fn diverge(&mut self, groups: &[(u32, u32)], meet: u32, is_end: bool) {
        // Lanes that leave the function do not hold up those who meet others before its end.
        let inherited = meet == NOWHERE || (is_end && self.reconverge != NOWHERE);
        let meet = if inherited { self.reconverge } else { meet };
        let (mut waiting, outer) = (groups.to_vec(), self.reconverge);
        let branch = self.pc.wrapping_sub(1);
        if meet == outer {
            while let Some((pc, mask)) = self.sibling() {
                waiting.push((pc, mask));
                self.stack.pop();
            }
        } else {
            self.push(meet, self.active, outer, false);
        }
        // Lanes that go straight to the meeting point already wait there.
        waiting.retain(|(pc, _)| *pc != meet || meet == NOWHERE);
        waiting.sort_by_key(|(pc, _)| std::cmp::Reverse((*pc <= branch, *pc)));
        for group in waiting.chunk_by(|a, b| a.0 == b.0) {
            let mask = group.iter().fold(0, |all, (_, mask)| all | mask);
            self.push(group[0].0, mask, meet, false);
        }
        self.pop();
    }

    /// All active lanes go to `target`.
    #[inline(always)]
    pub fn jump(&mut self, target: u32) {
        if self.join == NOWHERE {
            self.pc = target;
        } else {
            self.diverge(&[(target, self.active)], NOWHERE, false);
        }
    }

    /// The next group of the active lanes' region: where it waits, and its lanes.
    pub fn sibling(&self) -> Option<(u32, u32)> {
        let top = self.stack.last()?;
        let is_sibling =
            !top.is_call && top.reconverge == self.reconverge && top.mask & self.active == 0;
        is_sibling.then_some((top.pc, top.mask))
    }

    fn look_ahead(&mut self) {
        self.join = self.sibling().map_or(NOWHERE, |(pc, _)| pc);
    }

    /// Lanes that wait for nothing but the kernel's end, an instruction for which `is_end` holds,
    /// are gone as far as others can see.
    pub fn forget_ended(&mut self, is_end: impl Fn(u32) -> bool) {
        let kernel = self.stack.iter().position(|entry| entry.is_call).unwrap_or(self.stack.len());
        let waiting = self.stack.iter().enumerate();
        let there = waiting.filter(|(depth, entry)| *depth >= kernel || !is_end(entry.pc));
        self.live &= there.fold(self.active, |mask, (_, entry)| mask | entry.mask);
    }

    /// The active lanes wait at `pc` for lanes that took another way. `true`: those run now.
    /// `false`: nobody else can come.
    pub fn let_others_come(&mut self, pc: u32, is_barrier: impl Fn(u32) -> bool) -> bool {
        let Some((other, _)) = self.sibling().filter(|(other, _)| !is_barrier(*other)) else {
            return self.let_yielding_run(pc);
        };
        let waiting = (pc, self.active, self.reconverge);
        self.pop();
        debug_assert_eq!(self.pc, other);
        self.push(waiting.0, waiting.1, waiting.2, false);
        self.look_ahead();
        true
    }

    /// Lanes that are where they wait, and where in the stack: on the other side of a branch, or at
    /// a meeting point to which others are on the way. Of several groups the innermost that has
    /// not yielded, or else the one that yielded first; none of a caller's frame, nor behind it,
    /// nor of the active lanes' region: those run whenever the active ones go around a loop.
    fn waiting(&self) -> Option<(usize, u32)> {
        let (mut on_the_way, mut yielded) = (self.active, None);
        let mut is_own_region = true;
        for (depth, entry) in self.stack.iter().enumerate().rev().take_while(|(_, e)| !e.is_call) {
            let there = entry.mask & !on_the_way;
            is_own_region &= entry.reconverge == self.reconverge && there == entry.mask;
            match entry.yields {
                _ if there == 0 || is_own_region => {}
                false => return Some((depth, there)),
                true => yielded = Some((depth, there)),
            }
            on_the_way |= entry.mask;
        }
        yielded
    }

    /// Whether others of the warp could run in place of the active lanes.
    pub fn others_could_run(&self) -> bool {
        self.waiting().is_some()
    }

    /// The active lanes let others run, and go on when these have met others or ended, or wait in
    /// turn. Lanes that leave a meeting point so are not met there any more.
    pub fn let_waiting_run(&mut self) {
        if let Some((depth, lanes)) = self.waiting() {
            self.yield_to(depth, lanes);
        }
    }

    /// The active lanes wait at `pc` for lanes that have yielded: those who wait there too join
    /// them, or else others run. `false`: there are none.
    pub fn let_yielding_run(&mut self, pc: u32) -> bool {
        let frame = self.stack.iter().rposition(|entry| entry.is_call).map_or(0, |at| at + 1);
        let (own, before) = (self.reconverge, self.active);
        let is_here = |entry: &Entry| entry.yields && (entry.pc, entry.reconverge) == (pc, own);
        for entry in self.stack[frame..].iter_mut().filter(|entry| is_here(entry)) {
            self.active |= std::mem::take(&mut entry.mask);
        }
        let is_elsewhere = |entry: &Entry| entry.yields && entry.mask != 0 && entry.pc != pc;
        let elsewhere = self.stack[frame..].iter().rposition(is_elsewhere);
        self.pc = pc;
        if self.active != before {
            self.look_ahead();
        } else if let Some(depth) = elsewhere.map(|at| frame + at) {
            self.yield_to(depth, self.stack[depth].mask);
        } else {
            self.pc = pc + 1;
            return false;
        }
        true
    }

    /// `lanes` of an entry of the stack run in place of the active ones.
    fn yield_to(&mut self, depth: usize, lanes: u32) {
        let entry = self.stack[depth];
        let rest = &mut self.stack[depth];
        (rest.mask, rest.yields) = (rest.mask & !lanes, true);
        if rest.mask == 0 {
            self.stack.remove(depth);
        }
        let (pc, mask, reconverge) = (self.pc, self.active, self.reconverge);
        self.stack.push(Entry { pc, mask, reconverge, is_call: false, yields: true });
        (self.pc, self.active, self.reconverge) = (entry.pc, lanes, entry.reconverge);
        self.look_ahead();
    }

    /// `lanes` of the active ones call a function; all active lanes meet at `back`.
    pub fn call(&mut self, target: u32, back: u32, lanes: u32) {
        self.push(back, self.active, self.reconverge, true);
        (self.pc, self.active, self.reconverge) = (target, lanes, NOWHERE);
        self.join = NOWHERE;
    }

    /// The call instructions that the active lanes are inside of, innermost first.
    pub fn callers(&self) -> Vec<u32> {
        self.stack.iter().rev().filter(|entry| entry.is_call).map(|entry| entry.pc - 1).collect()
    }

    /// `lanes` return to the caller, or exit if there is none.
    pub fn ret(&mut self, lanes: u32) {
        match self.stack.iter().rposition(|entry| entry.is_call) {
            Some(frame) => {
                self.stack[frame + 1..].iter_mut().for_each(|entry| entry.mask &= !lanes);
                self.active &= !lanes;
            }
            None => self.exit(lanes),
        }
    }

    /// `lanes` exit.
    pub fn exit(&mut self, lanes: u32) {
        self.stack.iter_mut().for_each(|entry| entry.mask &= !lanes);
        self.active &= !lanes;
        self.live &= !lanes;
    }

    fn push(&mut self, pc: u32, mask: u32, reconverge: u32, is_call: bool) {
        self.stack.push(Entry { pc, mask, reconverge, is_call, yields: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_run_and_meet() {
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, 0xffff), (5, 0xffff_0000)], 9, false);
        assert_eq!((warp.pc, warp.active, warp.reconverge), (1, 0xffff, 9));
        assert!(warp.pop());
        assert_eq!((warp.pc, warp.active, warp.reconverge), (5, 0xffff_0000, 9));
        assert!(warp.pop());
        assert_eq!((warp.pc, warp.active, warp.reconverge), (9, u32::MAX, NOWHERE));
    }

    #[test]
    fn lanes_go_on_with_those_who_wait_where_they_come() {
        // Lanes 0 and 1 wait at 5 and 7, before the meeting point 9; the others come to 5.
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, !1), (7, 1)], 9, false);
        warp.diverge(&[(2, !3), (5, 2)], 9, false);
        assert_eq!((warp.pc, warp.active, warp.join), (2, !3, 5));
        warp.pc = 5;
        assert!(warp.arrive());
        assert_eq!((warp.pc, warp.active, warp.join), (5, !1, 7));
        warp.pc = 9;
        assert!(warp.arrive());
        assert_eq!((warp.pc, warp.active, warp.join), (7, 1, NOWHERE));
        warp.pc = 9;
        assert!(warp.arrive());
        assert_eq!((warp.pc, warp.active), (9, u32::MAX));
    }

    #[test]
    fn lanes_that_leave_a_loop_one_by_one_need_one_entry() {
        let mut warp = Warp::new(0, 32);
        for left in 1..32 {
            let staying = u32::MAX << left;
            warp.diverge(&[(7, warp.active & !staying), (2, staying)], 7, false);
            assert_eq!((warp.pc, warp.active, warp.stack.len()), (2, staying, 1));
        }
    }

    #[test]
    fn lanes_of_an_outer_branch_run_in_place_of_those_who_wait_for_them() {
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, !1), (7, 1)], 9, false);
        warp.diverge(&[(2, !3), (3, 2)], 5, false);
        assert_eq!((warp.pc, warp.active, warp.reconverge), (2, !3, 5));
        assert!(warp.others_could_run());
        // Lane 1 is of the same region, and runs anyway.
        warp.let_waiting_run();
        assert_eq!((warp.pc, warp.active, warp.reconverge), (7, 1, 9));
        for (pc, (then, lanes)) in [(9, (2, !3)), (5, (3, 2)), (5, (5, !1)), (9, (9, u32::MAX))] {
            warp.pc = pc;
            assert!(warp.arrive());
            assert_eq!((warp.pc, warp.active), (then, lanes));
        }
        assert!(!warp.others_could_run());
    }

    #[test]
    fn lanes_at_a_meeting_point_run_without_those_who_wait_for_them() {
        // Lane 0 has left a loop and waits at 7, to which lane 1 is on the way.
        let mut warp = Warp::new(0, 2);
        warp.diverge(&[(7, 1), (2, 2)], 7, false);
        assert_eq!((warp.pc, warp.active, warp.reconverge), (2, 2, 7));
        warp.let_waiting_run();
        assert_eq!((warp.pc, warp.active, warp.reconverge), (7, 1, NOWHERE));
        // It comes to a barrier, which needs lane 1, and so lane 1 goes on; then it waits at 7.
        assert!(warp.let_others_come(8, |_| false));
        assert_eq!((warp.pc, warp.active, warp.reconverge), (2, 2, 7));
        warp.pc = 7;
        assert!(warp.arrive());
        // Lane 0 is asked first, and lets lane 1 come to the barrier.
        assert_eq!((warp.pc, warp.active), (8, 1));
        assert!(warp.let_others_come(8, |_| false));
        assert_eq!((warp.pc, warp.active, warp.join), (7, 2, 8));
        warp.pc = 8;
        assert!(warp.arrive());
        assert_eq!((warp.pc, warp.active), (8, 3));
    }

    #[test]
    fn a_lane_that_exits_is_gone_from_everywhere() {
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, 0xf), (5, !0xf)], 9, false);
        warp.exit(0xf);
        assert!(warp.pop() && warp.active == !0xf);
        assert!(warp.pop() && warp.active == !0xf && warp.pc == 9);
    }

    #[test]
    fn a_return_only_leaves_its_own_frame() {
        let mut warp = Warp::new(0, 32);
        warp.call(20, 3, 0xff);
        warp.diverge(&[(21, 0xf), (25, 0xf0)], 29, false);
        warp.ret(0xf);
        assert!(warp.pop() && warp.active == 0xf0);
        warp.ret(0xf0);
        assert!(warp.pop());
        assert_eq!((warp.pc, warp.active), (3, u32::MAX));
    }
}
