//! Looks for races in global memory while blocks run, on however many host threads.
//!
//! Input: the logs of blocks. Output: the first race. Blocks that interact run on one thread, and
//! their logs are read whenever the thread switches to another block. Logs of other blocks are read
//! in the order of blocks, so the result does not depend on the host's threads: a block that is
//! done early leaves its log, and waits only if its log is full or too many are left.

use super::access_log::AccessLog;
use super::checks::Checks;
use super::fault::{Access, Fault, FaultKind};
use super::global_shadow::{GlobalRace, GlobalShadow};
use super::hazard::{Hazard, Touch};
use super::memory::Memory;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Blocks wait for their turn if other logs have so many bytes.
const MAX_PENDING_LOG_BYTES: usize = 64 << 20;

/// Why a log is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// It is full; the block continues.
    Full,
    /// Other blocks run now.
    Paused,
    /// The block has ended.
    Ended,
}

/// How the blocks of a launch are numbered, ordered and checked.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// Blocks in each direction.
    pub extent: [u32; 3],
    /// The checks.
    pub checks: Checks,
    /// Whether blocks can see each other's work, so that they run on one thread.
    pub interacts: bool,
    /// Whether they may order each other.
    pub orders: bool,
    /// A cell of memory is `1 << grain` bytes, as many as the narrowest access has.
    pub grain: u32,
}

impl Grid {
    fn blocks(&self) -> u64 {
        self.extent.iter().map(|&n| u64::from(n)).product()
    }

    fn next_checked(&self, from: u64) -> u64 {
        let blocks = self.blocks();
        (from..blocks).find(|&block| self.checks.cover(block, blocks)).unwrap_or(blocks)
    }

    fn index(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.extent.map(u64::from);
        [(block % x) as u32, (block / x % y) as u32, (block / (x * y)) as u32]
    }
}

/// The search for races of one launch.
pub struct Races {
    grid: Grid,
    state: Mutex<State>,
    turn: Condvar,
    /// The first block of which a fault is known.
    pub first_fault: AtomicU64,
}

struct State {
    shadow: GlobalShadow,
    /// The next block in turn.
    next: u64,
    left: BTreeMap<u64, AccessLog>,
    left_bytes: usize,
    /// The race of a block that had ended before its log was read.
    late: Option<(u64, Box<Fault>)>,
}

impl Races {
    /// The search in one launch on this memory; `shadow` is that of the launches before.
    pub fn new(mut shadow: GlobalShadow, grid: Grid, memory: &Memory) -> Self {
        shadow.begin(grid.grain, grid.orders, memory.ranges());
        let (left, next) = (BTreeMap::new(), grid.next_checked(0));
        Self {
            grid,
            state: Mutex::new(State { shadow, next, left, left_bytes: 0, late: None }),
            turn: Condvar::new(),
            first_fault: AtomicU64::new(u64::MAX),
        }
    }

    /// The shadow for further launches, and the race of a block that had ended before.
    pub fn into_parts(self) -> (GlobalShadow, Option<(u64, Box<Fault>)>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.shadow, state.late)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fault of `block` is known, so later blocks do not matter any more.
    pub fn note_fault(&self, block: u64) {
        self.first_fault.fetch_min(block, Relaxed);
        // Whoever waits has seen the fault, or is woken.
        drop(self.lock());
        self.turn.notify_all();
    }

    /// Takes the log of `block`.
    ///
    /// # Errors
    /// The block's first race.
    pub fn hand_over(
        &self,
        block: u64,
        log: &mut AccessLog,
        why: Handover,
    ) -> Result<(), Box<Fault>> {
        if self.grid.interacts {
            return self.read_in_turns(block, log, why);
        }
        if !log.checking || why == Handover::Paused {
            return Ok(());
        }
        let mut state = self.lock();
        let is_void = || block > self.first_fault.load(Relaxed);
        while state.next != block && !is_void() {
            if why == Handover::Ended && state.left_bytes < MAX_PENDING_LOG_BYTES {
                let log = log.take();
                state.left_bytes += log.bytes();
                state.left.insert(block, log);
                return Ok(());
            }
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let found = if is_void() { Ok(()) } else { self.read(&mut state, block, log) };
        log.clear();
        if why == Handover::Ended && state.next == block {
            self.advance_turn(&mut state);
            self.turn.notify_all();
        }
        found
    }

    fn read_in_turns(
        &self,
        block: u64,
        log: &mut AccessLog,
        why: Handover,
    ) -> Result<(), Box<Fault>> {
        let mut state = self.lock();
        let found = self.read(&mut state, block, log);
        log.clear();
        if why == Handover::Ended {
            state.shadow.end(number(block));
        }
        found
    }

    fn read(&self, state: &mut State, block: u64, log: &AccessLog) -> Result<(), Box<Fault>> {
        let found = state.shadow.read(number(block), log);
        found.map_err(|race| Box::new(self.fault(block, &race)))
    }

    /// The block in turn has ended: reads the logs of later blocks that ended before.
    fn advance_turn(&self, state: &mut State) {
        loop {
            state.shadow.end(number(state.next));
            state.next = self.grid.next_checked(state.next + 1);
            let block = state.next;
            let Some(log) = state.left.remove(&block) else { return };
            state.left_bytes -= log.bytes();
            if block > self.first_fault.load(Relaxed) {
                continue;
            }
            if let Err(fault) = self.read(state, block, &log) {
                self.first_fault.fetch_min(block, Relaxed);
                state.late = Some((block, fault));
            }
        }
    }

    /// A race of `block` as a fault.
    fn fault(&self, block: u64, race: &GlobalRace) -> Fault {
        let verb = match race.touch {
            Touch::Read => "reads",
            Touch::Write(_) => "writes",
            Touch::Update(_) => "updates",
        };
        let access =
            Access { verb, space: "global", address: race.address, size: race.bytes, limit: None };
        let other = u64::from(race.other_block);
        // Lane 0 represents all if a whole warp accesses one word.
        let is_own = other == block && race.by.thread() == race.other.thread();
        let thread = race.by.thread() + u32::from(is_own && race.by.of_several_lanes());
        let elsewhere = (other != block).then(|| self.grid.index(other));
        Fault {
            pc: race.by.pc(),
            lane: Some((thread / 32, thread % 32)),
            access: Some(access),
            hazard: Some(Hazard::Race { other: race.other, wrote: race.wrote, block: elsewhere }),
            ..Fault::new(FaultKind::Race, String::new())
        }
    }
}

/// A block's number in the shadow. No launch lives to see so many blocks that two share one.
fn number(block: u64) -> u32 {
    u32::try_from(block).unwrap_or(u32::MAX)
}
