//! The state that a running warp can access, and the reasons for which it stops.

use super::fault::{Fault, FaultKind};
use super::hazard::By;
use super::lanes::Lanes;
use super::memory::Memory;
use super::printf_output::Printed;
use super::race_search::{Handover, Races};
use super::shadow::Shadow;
use super::warp::Warp;
use crate::counters::Counts;
use crate::counters::trace::Trace;
use crate::lower::inst::Sharing;
use crate::lower::program::Program;

/// Why a warp stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its turn is over.
    Turn,
    /// Lanes of it arrived at a barrier of the block.
    Barrier(Arrival),
    /// All its threads wait for threads of other warps.
    Blocked,
    /// All its threads have exited.
    Done,
}

/// Lanes of a warp that arrive at a barrier of the block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Which barrier.
    pub id: u32,
    /// Threads that it is for, if not all.
    pub threads: Option<u32>,
    /// Whether it is `.red`.
    pub reduces: bool,
    /// The arriving lanes with a true predicate.
    pub votes: u32,
    /// The instruction.
    pub pc: u32,
    /// The arriving lanes.
    pub lanes: u32,
}

/// Everything that a running warp can touch.
pub struct Context<'x> {
    /// The code.
    pub program: &'x Program,
    /// The warp's control state.
    pub warp: &'x mut Warp,
    /// Its registers.
    pub lanes: Lanes<'x>,
    /// Device memory.
    pub memory: &'x Memory,
    /// Whether other host threads run blocks of the launch.
    pub shares_memory: bool,
    /// The block's shared memory, in words.
    pub shared: &'x mut [u32],
    /// Bytes of shared memory that the launch has, with the gaps between arrays.
    pub shared_bytes: u32,
    /// The earlier accesses of the block's threads to it.
    pub shadow: &'x mut Shadow,
    /// The warp's local memory: word by word, 32 lanes each.
    pub local: &'x mut Vec<u32>,
    /// The largest extent of a thread's stack.
    pub stack_limit: u32,
    /// The bytes that the host allows it.
    pub stack_bytes: u32,
    /// Launch parameters, in words.
    pub params: &'x [u32],
    /// The counters.
    pub counts: &'x mut Counts,
    /// Warp instructions that the block has executed.
    pub clock: &'x mut u64,
    /// The block's number in the grid.
    pub block: u64,
    /// The text printed by the launch so far.
    pub said: &'x mut Printed,
    /// The allocation that the last global access found.
    pub last_allocation: &'x mut usize,
    /// The search for races in global memory.
    pub races: &'x Races,
    /// Whether the block's execution is recorded step by step.
    pub traces: bool,
}

/// A way to execute a warp.
pub type Runner = for<'c, 'x> fn(&'c mut Context<'x>) -> Result<Stop, Box<Fault>>;

impl Context<'_> {
    /// The record of the block's execution, if it is one.
    #[inline(always)]
    pub fn trace(&mut self) -> Option<&mut Trace> {
        if self.traces { self.counts.traffic.as_mut()?.trace() } else { None }
    }

    /// A fault of the running instruction, without an access.
    pub fn fault(&self, kind: FaultKind, lanes: u32, detail: String) -> Box<Fault> {
        let lane = Some((self.warp.index, lanes.trailing_zeros().min(31)));
        Box::new(Fault { lane, ..Fault::new(kind, detail) })
    }

    /// Bytes of local memory that each of `lanes` has.
    pub fn local_bytes(&self, lanes: u32) -> u32 {
        if !self.program.uses_stack {
            return self.program.local_bytes;
        }
        let ends = self.warp.stack_ends.iter().enumerate();
        let ends = ends.filter(|(lane, _)| lanes & (1 << lane) != 0).map(|(_, end)| *end);
        ends.min().unwrap_or(0)
    }

    /// Hands over the log of global accesses if it is full.
    ///
    /// # Errors
    /// The block's first race in global memory.
    pub fn drain_log(&mut self) -> Result<(), Box<Fault>> {
        match self.shadow.log.is_full() {
            true => self.races.hand_over(self.block, &mut self.shadow.log, Handover::Full),
            false => Ok(()),
        }
    }

    /// Whether some register of the warp is undefined.
    #[inline(always)]
    pub fn tracks_definedness(&self) -> bool {
        !self.warp.definedness.is_complete()
    }

    /// Lane 0 of the warp at the running instruction, as the shadow of shared memory knows it.
    #[inline(always)]
    pub fn by(&self, sharing: Sharing) -> By {
        By::new(self.warp.index, self.warp.pc - 1, sharing)
    }
}
