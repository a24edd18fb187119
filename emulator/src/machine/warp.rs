//! The control state of one warp: groups of lanes, each with its own program counter.
//!
//! One group runs. The others are ready to run, or wait: at a convergence barrier for the lanes
//! from which they diverged, at a `.sync` instruction for its member mask, or at a barrier of the
//! block. A lane is in one place at a time; a lane that exited is in none.
//!
//! Lanes converge as on a GPU from Volta on. A divergent branch arms a convergence barrier at the
//! instruction where its lanes meet again. Groups that happen to reach the same instruction do not
//! merge. A group that executes a yield point lets others run, and lanes that wait for groups that
//! only yield stop waiting.

use super::activation::{Activation, Entry};
use super::copies::Copies;
use super::undefined::Definedness;
use crate::lower::convergence::Convergence;
use crate::lower::inst::NOWHERE;

/// So many calls are named at most, and the outermost one.
const MOST_CALLERS: usize = 24;

/// The frame of the kernel itself.
const KERNEL: u32 = 0;

/// Why a group is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It took one side of a branch, or its turn was over.
    Diverged,
    /// It executed a yield point, or waited and was released. Such groups join others.
    Released,
}

/// Which ready group runs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    /// The one that became ready last.
    Newest,
    /// The one with most lanes; of equal ones the newest.
    Largest,
}

/// Lanes that can run.
#[derive(Debug, Clone, Copy)]
struct Group {
    pc: u32,
    mask: u32,
    frame: u32,
    origin: Origin,
    /// It executed a yield point and has not been scheduled since.
    yielded: bool,
}

/// Why lanes are parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// At a `.sync` instruction, for the other lanes of this member mask.
    Members(u32),
    /// At an aligned barrier of the block, for the other lanes of the warp.
    Warp,
    /// At the barrier of the block with this number.
    Block(u32),
}

/// Lanes that wait at an instruction.
#[derive(Debug, Clone, Copy)]
pub struct Parked {
    /// The event they wait for.
    pub wait: Wait,
    /// The instruction.
    pub pc: u32,
    /// The lanes.
    pub mask: u32,
    frame: u32,
}

/// Lanes that diverged and converge at one instruction.
#[derive(Debug, Clone, Copy)]
struct ConvergenceBarrier {
    /// The instruction at which its members wait.
    meet: u32,
    /// The frame in which they do.
    frame: u32,
    /// The frame that its members return from; [`NOWHERE`] if a branch armed it.
    callee: u32,
    /// The zone that a member leaves if it cannot reach `meet` any more; [`NOWHERE`]: none.
    zone: u32,
    members: u32,
    waiting: u32,
    /// Former members: no lane waits for them any more, and they do not wait themselves.
    passing: u32,
}

impl ConvergenceBarrier {
    /// Whether a branch armed it in `frame`, for lanes that meet at `meet`.
    fn is_at(&self, meet: u32, frame: u32) -> bool {
        self.meet == meet && self.frame == frame && self.callee == NOWHERE
    }

    /// The members that have not come, of the `live` lanes.
    fn missing(&self, live: u32) -> u32 {
        self.members & live & !self.waiting
    }

    /// Lanes no longer wait for `missing`. Returns the lanes that waited.
    fn open(&mut self, missing: u32) -> u32 {
        self.passing |= missing;
        self.members = 0;
        std::mem::take(&mut self.waiting)
    }

    /// `lanes` do not come any more.
    fn forget(&mut self, lanes: u32) {
        self.members &= !lanes;
        self.passing &= !lanes;
    }

    /// Whether no lane is on its way, or waits.
    fn is_done(&self, live: u32) -> bool {
        self.waiting == 0 && (self.members | self.passing) & live == 0
    }
}

/// A call.
#[derive(Debug)]
struct Frame {
    /// The instruction after the call.
    back: u32,
    caller: u32,
    /// The work of its return, beyond going back.
    activation: Option<Box<Activation>>,
}

/// Whether a warp can run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// It can.
    #[default]
    Ready,
    /// All its threads wait.
    Waiting,
    /// All its threads have exited.
    Done,
}

/// One warp.
#[derive(Debug, Default)]
pub struct Warp {
    /// The next instruction of the running group.
    pub pc: u32,
    /// The lanes of the running group.
    pub active: u32,
    /// The lanes that have not exited.
    pub live: u32,
    /// Whether it can run.
    pub state: State,
    /// How often it may have waited in this turn: its polls, a yield point as several.
    pub polls: u32,
    /// Instructions that it executed.
    pub executed: u64,
    /// Its number in the block.
    pub index: u32,
    /// Copies that its lanes started.
    pub copies: Copies,
    /// Which of its registers are undefined.
    pub definedness: Definedness,
    /// Whether it changed memory since the flag was last cleared.
    pub changed: bool,
    /// Lanes that wait at `.sync` instructions and barriers of the block.
    pub parked: Vec<Parked>,
    /// The end of each lane's stack.
    pub stack_ends: [u32; 32],
    frame: u32,
    ready: Vec<Group>,
    barriers: Vec<ConvergenceBarrier>,
    frames: Vec<Frame>,
    /// Some barrier has a zone.
    has_zones: bool,
}

impl Warp {
    /// A warp with `lanes` threads, at the first instruction.
    pub fn new(index: u32, lanes: u32) -> Self {
        let mut warp = Self { index, ..Self::default() };
        warp.restart(lanes);
        warp
    }

    /// Resets it for another block.
    pub fn restart(&mut self, lanes: u32) {
        let mask = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        (self.pc, self.active, self.live, self.frame) = (0, mask, mask, KERNEL);
        self.state = State::Ready;
        self.executed = 0;
        self.copies.clear();
        self.definedness.clear();
        self.parked.clear();
        self.ready.clear();
        self.barriers.clear();
        self.frames.clear();
        self.frames.push(Frame { back: NOWHERE, caller: KERNEL, activation: None });
        self.has_zones = false;
    }

    /// Whether all threads of the warp run as one group.
    pub fn is_whole(&self) -> bool {
        self.active == self.live
    }

    /// Whether lanes are on their way to a convergence barrier.
    #[inline(always)]
    pub fn has_barriers(&self) -> bool {
        !self.barriers.is_empty()
    }

    /// Whether a branch can take lanes out of the zone of a convergence barrier.
    #[inline(always)]
    pub fn has_zones(&self) -> bool {
        self.has_zones
    }

    /// The active lanes diverge: each group of `(pc, lanes)` continues at its `pc`. The smallest
    /// group runs first; of equal ones the first in the list.
    pub fn diverge(&mut self, groups: &[(u32, u32)], convergence: &Convergence) {
        self.arm(convergence.meet, convergence.zone);
        for join in &convergence.joins {
            self.arm(join.meet, join.zone);
        }
        let smallest = groups.iter().min_by_key(|(_, mask)| mask.count_ones());
        let Some(&(pc, mask)) = smallest else { return };
        for &(other, lanes) in groups.iter().rev().filter(|group| group.1 != mask) {
            self.push(other, lanes, Origin::Diverged);
        }
        (self.pc, self.active) = (pc, mask);
    }

    fn push(&mut self, pc: u32, mask: u32, origin: Origin) {
        let yielded = false;
        self.ready.push(Group { pc, mask, frame: self.frame, origin, yielded });
    }

    /// Arms a convergence barrier at `meet` for the active lanes. All lanes of a frame that are on
    /// their way to `meet` have one.
    fn arm(&mut self, meet: u32, zone: u32) {
        if meet == NOWHERE {
            return;
        }
        let (frame, active) = (self.frame, self.active);
        // Those of a frame follow the one of its call.
        let mut own = self.barriers.iter_mut().rev().take_while(|other| other.callee != frame);
        if let Some(barrier) = own.find(|barrier| barrier.is_at(meet, frame)) {
            barrier.members |= active & !barrier.passing;
            return;
        }
        self.has_zones |= zone != NOWHERE;
        self.barriers.push(ConvergenceBarrier {
            meet,
            frame,
            callee: NOWHERE,
            zone,
            members: active,
            waiting: 0,
            passing: 0,
        });
    }

    /// The active lanes are at an instruction where lanes may converge. `ends`: it only ends the
    /// kernel, so lanes that wait there have exited as far as others can see. Afterwards those
    /// lanes are not active that wait.
    pub fn converge(&mut self, ends: bool) {
        let (pc, frame, active) = (self.pc, self.frame, self.active);
        let count = self.barriers.len();
        let mut own = self.barriers.iter().rev().take_while(|other| other.callee != frame);
        let Some(from_end) = own.position(|other| other.is_at(pc, frame)) else { return };
        let at = count - 1 - from_end;
        let barrier = &mut self.barriers[at];
        barrier.passing &= !active;
        let come = barrier.members & active;
        barrier.waiting |= come;
        if ends && frame == KERNEL {
            self.live &= !come;
        }
        let missing = barrier.missing(self.live);
        let is_free = self.all_yielded(missing) && self.ready.iter().all(|group| group.yielded);
        if come != 0 && (missing == 0 || is_free) {
            self.active |= self.barriers[at].open(missing);
        } else {
            self.active &= !come;
        }
        if self.barriers[at].is_done(self.live) {
            self.remove_barrier(at);
        }
    }

    fn remove_barrier(&mut self, at: usize) {
        let barrier = self.barriers.remove(at);
        self.has_zones = self.has_zones && self.barriers.iter().any(|b| b.zone != NOWHERE);
        if barrier.callee != NOWHERE {
            let frame = &mut self.frames[barrier.callee as usize];
            (frame.back, frame.activation) = (NOWHERE, None);
            let last = self.frames.iter().rposition(|frame| frame.back != NOWHERE);
            self.frames.truncate(last.unwrap_or(0).max(KERNEL as usize) + 1);
        }
    }

    fn push_released(&mut self, pc: u32, mask: u32, frame: u32) {
        if mask != 0 {
            let (origin, yielded) = (Origin::Released, false);
            self.ready.push(Group { pc, mask, frame, origin, yielded });
        }
    }

    /// Whether all of `lanes` have yielded and not been scheduled since.
    fn all_yielded(&self, lanes: u32) -> bool {
        let yielded = self.ready.iter().filter(|group| group.yielded);
        lanes & !yielded.fold(0, |all, group| all | group.mask) == 0
    }

    /// `lanes` continue at `pc`: they leave every convergence barrier that they cannot reach from
    /// there. `reaches` says whether a zone contains an instruction.
    pub fn leave_zones(&mut self, lanes: u32, pc: u32, reaches: impl Fn(u32, u32) -> bool) {
        let frame = self.frame;
        let own = self.barriers.iter_mut().rev().take_while(|other| other.callee != frame);
        for barrier in own.filter(|barrier| barrier.frame == frame) {
            if barrier.zone != NOWHERE && barrier.meet != pc && !reaches(barrier.zone, pc) {
                barrier.forget(lanes);
            }
        }
    }

    /// The active lanes let other groups of the warp run. Nothing happens if the warp is whole.
    pub fn yield_turn(&mut self) {
        if self.is_whole() {
            return;
        }
        let (pc, mask, frame, origin) = (self.pc, self.active, self.frame, Origin::Released);
        self.ready.push(Group { pc, mask, frame, origin, yielded: true });
        self.active = 0;
        self.settle();
        self.open_barriers(|warp, missing| warp.all_yielded(missing));
        self.run_next(Pick::Largest);
    }

    /// Runs the oldest ready group instead of the active lanes, which continue later.
    /// A group that has yielded runs if all others have.
    pub fn rotate(&mut self) {
        if self.ready.iter().all(|group| group.yielded) {
            self.ready.iter_mut().for_each(|group| group.yielded = false);
        }
        if let Some(at) = self.ready.iter().position(|group| !group.yielded) {
            self.push(self.pc, self.active, Origin::Diverged);
            self.run(at);
        }
    }

    /// Opens every convergence barrier at which lanes wait, if `may` holds for the lanes that it
    /// misses: the waiting lanes continue, and no lane waits there again.
    fn open_barriers(&mut self, may: impl Fn(&Self, u32) -> bool) -> bool {
        let mut opened = false;
        for at in 0..self.barriers.len() {
            let barrier = self.barriers[at];
            let missing = barrier.missing(self.live);
            if barrier.waiting == 0 || !may(self, missing) {
                continue;
            }
            opened = true;
            let waiting = self.barriers[at].open(missing);
            self.push_released(barrier.meet, waiting, barrier.frame);
            for group in self.ready.iter_mut().filter(|group| group.mask & missing != 0) {
                group.yielded = false;
            }
        }
        opened
    }

    /// Releases the lanes of every convergence barrier after all its members have arrived or
    /// exited.
    fn settle(&mut self) {
        for at in (0..self.barriers.len()).rev() {
            let barrier = &mut self.barriers[at];
            if barrier.missing(self.live) == 0 {
                let (meet, frame, waiting) = (barrier.meet, barrier.frame, barrier.open(0));
                self.push_released(meet, waiting, frame);
            }
            if self.barriers[at].is_done(self.live) {
                self.remove_barrier(at);
            }
        }
    }

    /// No lane is active: the newest ready group runs. `false`: no group is ready.
    pub fn run_ready(&mut self) -> bool {
        self.settle();
        self.run_next(Pick::Newest)
    }

    /// No lane is active or ready: resumes lanes that wait at a convergence barrier for parked
    /// lanes, except at an aligned barrier of the block. `false`: there are none.
    pub fn run_past_parked(&mut self) -> bool {
        let aligned = |parked: &&Parked| parked.wait == Wait::Warp;
        let aligned = self.parked.iter().filter(aligned).fold(0, |all, parked| all | parked.mask);
        self.open_barriers(|_, missing| missing & aligned == 0) && self.run_next(Pick::Newest)
    }

    /// Another ready group runs. Groups that have yielded run when no other is ready.
    fn run_next(&mut self, pick: Pick) -> bool {
        if self.ready.iter().all(|group| group.yielded) {
            self.open_barriers(|warp, missing| warp.all_yielded(missing));
            if self.ready.iter().all(|group| group.yielded) {
                self.ready.iter_mut().for_each(|group| group.yielded = false);
            }
        }
        let mut ready = self.ready.iter().enumerate().filter(|(_, group)| !group.yielded);
        let next = match pick {
            Pick::Newest => ready.next_back(),
            Pick::Largest => ready.max_by_key(|(_, group)| group.mask.count_ones()),
        };
        let Some((at, _)) = next else { return false };
        self.run(at);
        true
    }

    /// A ready group runs, with the released and yielded ones at its instruction.
    fn run(&mut self, at: usize) {
        let group = self.ready.remove(at);
        (self.pc, self.active, self.frame) = (group.pc, group.mask, group.frame);
        let active = &mut self.active;
        self.ready.retain(|other| {
            let joins = (other.pc, other.frame) == (group.pc, group.frame)
                && other.origin == Origin::Released;
            if joins {
                *active |= other.mask;
            }
            !joins
        });
    }

    /// `lanes` of the active ones wait at the instruction `pc`.
    pub fn park(&mut self, wait: Wait, pc: u32, lanes: u32) {
        self.parked.push(Parked { wait, pc, mask: lanes, frame: self.frame });
        self.active &= !lanes;
    }

    /// The instructions at which lanes are, with the lanes, and whether they are parked there.
    pub fn places(&self) -> impl Iterator<Item = (u32, u32, bool)> {
        let running = (self.active != 0).then_some((self.pc, self.active, false));
        let ready = self.ready.iter().map(|group| (group.pc, group.mask, false));
        let parked = self.parked.iter().map(|parked| (parked.pc, parked.mask, true));
        running.into_iter().chain(ready).chain(parked)
    }

    /// Lanes other than `here` that have not exited: the position of the next of them, and the
    /// number of lanes there.
    pub fn elsewhere(&self, here: u32) -> Option<(u32, u32)> {
        let parked = self.parked.iter().map(|parked| (parked.pc, parked.mask));
        let waiting = self.barriers.iter().map(|barrier| (barrier.meet, barrier.waiting));
        parked.chain(waiting).find(|(_, lanes)| lanes & self.live & !here != 0)
    }

    /// The parked lanes for which `which` holds continue after their instruction; those of one
    /// instruction continue as one group.
    pub fn release(&mut self, which: impl Fn(&Parked) -> bool) {
        let mut released: Vec<Parked> = Vec::new();
        self.parked.retain(|parked| {
            let goes = which(parked);
            if goes {
                let same =
                    |known: &&mut Parked| (known.pc, known.frame) == (parked.pc, parked.frame);
                match released.iter_mut().find(same) {
                    Some(known) => known.mask |= parked.mask,
                    None => released.push(*parked),
                }
            }
            !goes
        });
        for parked in released {
            self.push_released(parked.pc + 1, parked.mask, parked.frame);
        }
        if self.state == State::Waiting {
            self.state = State::Ready;
        }
    }

    /// Whether every thread that has not exited waits at a barrier of the block.
    pub fn waits_for_block(&self) -> bool {
        let waiting = self.parked.iter().filter(|parked| matches!(parked.wait, Wait::Block(_)));
        let waiting = waiting.fold(0, |all, parked| all | parked.mask);
        self.active == 0 && self.live & !waiting == 0
    }

    /// `lanes` of the active ones call a function; all active lanes meet at `back`.
    pub fn call(&mut self, target: u32, back: u32, lanes: u32) {
        let callee = self.push_frame(back, None, (self.active, lanes));
        (self.pc, self.active, self.frame) = (target, lanes, callee);
    }

    /// Pushes a frame for `lanes`; all of `members` meet after its call at `back`.
    fn push_frame(
        &mut self,
        back: u32,
        activation: Option<Box<Activation>>,
        (members, lanes): (u32, u32),
    ) -> u32 {
        let callee = self.frames.len() as u32;
        self.frames.push(Frame { back, caller: self.frame, activation });
        self.barriers.push(ConvergenceBarrier {
            meet: back,
            frame: self.frame,
            callee,
            zone: NOWHERE,
            members,
            waiting: members & !lanes,
            passing: 0,
        });
        callee
    }

    /// The lanes of `entry`, some of the active ones, call a function; all meet at `back`.
    pub fn call_one(&mut self, entry: Entry, back: u32) {
        let Entry { target, lanes, activation } = entry;
        let callee = self.push_frame(back, Some(activation), (self.active, lanes));
        (self.pc, self.active, self.frame) = (target, lanes, callee);
    }

    /// The active lanes call several functions; `on` are the calling lanes. All meet at `back`. The
    /// smallest group runs first.
    pub fn call_several(&mut self, mut entries: Vec<Entry>, back: u32, on: u32) {
        self.arm(back, NOWHERE);
        if self.active != on {
            self.push(back, self.active & !on, Origin::Diverged);
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.lanes.count_ones()));
        let caller = self.frame;
        for Entry { target, lanes, activation } in entries {
            self.frame = caller;
            self.frame = self.push_frame(back, Some(activation), (lanes, lanes));
            self.push(target, lanes, Origin::Diverged);
        }
        self.run(self.ready.len() - 1);
    }

    /// Takes the work of the running function's return. The caller puts it back.
    pub fn take_activation(&mut self) -> Option<Box<Activation>> {
        self.frames[self.frame as usize].activation.take()
    }

    /// Puts it back for lanes that have not returned.
    pub fn put_activation(&mut self, activation: Box<Activation>) {
        self.frames[self.frame as usize].activation = Some(activation);
    }

    /// `lanes` of the active ones return to the caller, or exit if there is none.
    pub fn ret(&mut self, lanes: u32) {
        if self.frame == KERNEL {
            return self.exit(lanes);
        }
        let frame = self.frame;
        let Some(at) = self.barriers.iter().rposition(|barrier| barrier.callee == frame) else {
            return;
        };
        for barrier in self.barriers[at + 1..].iter_mut().filter(|other| other.frame == frame) {
            barrier.forget(lanes);
        }
        self.active &= !lanes;
        let barrier = &mut self.barriers[at];
        let (back, caller, passing) = (barrier.meet, barrier.frame, barrier.passing & lanes);
        barrier.passing &= !lanes;
        barrier.waiting |= barrier.members & lanes;
        self.push_released(back, passing, caller);
        // All others have returned: they continue at once, as they would next.
        let is_complete = self.active == 0 && self.barriers[at].missing(self.live) == 0;
        if is_complete && passing == 0 && self.parked.is_empty() && self.is_last(at) {
            let waiting = self.barriers[at].open(0);
            self.remove_barrier(at);
            (self.pc, self.active, self.frame) = (back, waiting, caller);
        }
    }

    /// Whether nothing else can run or come before the lanes that wait at this barrier.
    fn is_last(&self, at: usize) -> bool {
        let barrier = &self.barriers[at];
        let elsewhere =
            self.ready.iter().all(|other| (other.pc, other.frame) != (barrier.meet, barrier.frame));
        at + 1 == self.barriers.len() && barrier.passing == 0 && elsewhere
    }

    /// The call instructions that the active lanes are inside of, innermost first. Of very many
    /// only the innermost and the outermost ones.
    pub fn callers(&self) -> Vec<u32> {
        let mut calls = self.calls();
        let innermost: Vec<u32> = calls.by_ref().take(MOST_CALLERS).collect();
        innermost.into_iter().chain(calls.last()).collect()
    }

    /// How many calls the active lanes are inside of.
    pub fn depth(&self) -> usize {
        self.calls().count()
    }

    fn calls(&self) -> impl Iterator<Item = u32> {
        let frame = |at: u32| (at != KERNEL).then(|| &self.frames[at as usize]);
        let calls = std::iter::successors(frame(self.frame), move |inner| frame(inner.caller));
        calls.map(|frame| frame.back - 1)
    }

    /// `lanes` of the active ones exit.
    pub fn exit(&mut self, lanes: u32) {
        self.active &= !lanes;
        self.live &= !lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::convergence::Join;

    fn meet_at(meet: u32) -> Convergence {
        Convergence { meet, ..Convergence::NONE }
    }

    fn running(warp: &Warp) -> (u32, u32) {
        (warp.pc, warp.active)
    }

    /// The active lanes go to `pc`, where lanes may meet; if they wait there, others run.
    fn go(warp: &mut Warp, pc: u32) -> (u32, u32) {
        warp.pc = pc;
        warp.converge(false);
        if warp.active == 0 {
            assert!(warp.run_ready());
        }
        running(warp)
    }

    #[test]
    fn the_smaller_side_of_a_branch_runs_first_and_both_meet() {
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, !0xff), (5, 0xff)], &meet_at(9));
        assert_eq!(running(&warp), (5, 0xff));
        assert_eq!(go(&mut warp, 9), (1, !0xff));
        assert_eq!(go(&mut warp, 9), (9, u32::MAX));
        assert!(!warp.has_barriers());
    }

    #[test]
    fn groups_at_one_instruction_do_not_merge_without_a_barrier() {
        let mut warp = Warp::new(0, 2);
        warp.diverge(&[(1, 1), (5, 2)], &meet_at(9));
        warp.pc = 7;
        warp.rotate();
        assert_eq!(go(&mut warp, 7), (7, 2));
    }

    #[test]
    fn a_lane_that_leaves_a_zone_is_not_waited_for() {
        // Lanes 0 and 1 go to 5, lane 2 goes from 3 past it to 7.
        let mut warp = Warp::new(0, 3);
        let join = Join { meet: 5, zone: 0 };
        warp.diverge(&[(3, 0b110), (5, 0b001)], &Convergence { joins: vec![join], ..meet_at(9) });
        assert_eq!(go(&mut warp, 5), (3, 0b110));
        warp.diverge(&[(5, 0b010), (7, 0b100)], &meet_at(9));
        assert_eq!(running(&warp), (5, 0b010));
        warp.leave_zones(0b100, 7, |_, pc| pc < 6);
        assert_eq!(go(&mut warp, 5), (5, 0b011));
    }

    #[test]
    fn lanes_that_exit_are_not_waited_for() {
        let mut warp = Warp::new(0, 32);
        warp.diverge(&[(1, !1), (5, 1)], &meet_at(9));
        assert_eq!(go(&mut warp, 9), (1, !1));
        warp.exit(!1);
        assert!(warp.run_ready());
        assert_eq!((running(&warp), warp.live), ((9, 1), 1));
    }

    #[test]
    fn lanes_that_wait_for_a_yielding_group_continue() {
        // Lane 0 has left a loop and waits at 7; lane 1 spins.
        let mut warp = Warp::new(0, 2);
        warp.diverge(&[(7, 1), (2, 2)], &meet_at(7));
        assert_eq!(go(&mut warp, 7), (2, 2));
        warp.yield_turn();
        assert_eq!(running(&warp), (7, 1));
        warp.converge(false);
        assert_eq!(running(&warp), (7, 1), "no lane waits at an open barrier");
        warp.exit(1);
        assert!(warp.run_ready());
        assert_eq!(go(&mut warp, 7), (7, 2));
    }

    #[test]
    fn every_yielding_group_gets_its_turn() {
        let mut warp = Warp::new(0, 7);
        warp.diverge(&[(2, 0b111_1000), (2, 0b110), (2, 1)], &meet_at(9));
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(warp.active);
            warp.pc = 2 + seen.len() as u32;
            warp.yield_turn();
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 1, 0b110, 0b110, 0b111_1000, 0b111_1000]);
    }

    #[test]
    fn yielding_groups_join_at_one_instruction() {
        let mut warp = Warp::new(0, 4);
        warp.diverge(&[(2, 0b11), (5, 0b1100)], &meet_at(9));
        for _ in 0..2 {
            warp.pc = 3;
            warp.yield_turn();
        }
        assert_eq!(running(&warp), (3, 0b1111));
    }

    #[test]
    fn a_call_returns_when_all_its_lanes_returned() {
        let mut warp = Warp::new(0, 4);
        warp.call(20, 3, 0b0111);
        assert_eq!((running(&warp), warp.callers()), ((20, 0b0111), vec![2]));
        warp.ret(0b0011);
        assert_eq!(running(&warp), (20, 0b0100));
        warp.ret(0b0100);
        assert_eq!((running(&warp), warp.callers()), ((3, 0b1111), vec![]));
    }

    #[test]
    fn parked_lanes_of_one_instruction_continue_as_one_group() {
        let mut warp = Warp::new(0, 4);
        warp.diverge(&[(1, 0b0011), (5, 0b1100)], &meet_at(9));
        warp.park(Wait::Members(0b1111), 7, 0b0011);
        assert!(warp.run_ready());
        warp.park(Wait::Members(0b1111), 7, 0b1100);
        assert!(!warp.run_ready());
        warp.release(|_| true);
        assert!(warp.run_ready());
        assert_eq!(running(&warp), (8, 0b1111));
    }
}
