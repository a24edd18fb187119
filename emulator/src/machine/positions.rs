//! The places of the threads of a launch that does not end, in words.
//!
//! Input: warps of its running blocks. Output: the position of a thread that can run, as a fault,
//! and in its detail those of others in other lines, also of threads that wait.

use super::fault::{Fault, FaultKind, thread_of, triple};
use super::launch::Launch;
use super::warp::{State, Warp};

/// Positions that are named.
const NAMED: usize = 5;

/// Threads of a warp at one instruction.
#[derive(Debug, Clone)]
pub struct Position {
    /// The block.
    pub block: u64,
    /// The warp and its lowest lane there.
    pub lane: (u32, u32),
    /// The instruction.
    pub pc: u32,
    /// The calls around it, if the warp runs these threads now.
    pub callers: Vec<u32>,
    /// Whether the threads wait at a barrier or a `.sync` instruction.
    pub is_parked: bool,
}

/// The positions of the threads of a block.
pub fn positions(block: u64, warps: &[Warp]) -> impl Iterator<Item = Position> {
    let live = warps.iter().filter(|warp| warp.state != State::Done);
    live.flat_map(move |warp| {
        warp.places().map(move |(pc, lanes, is_parked)| {
            let lane = (warp.index, lanes.trailing_zeros().min(31));
            let callers = if lanes == warp.active { warp.callers() } else { Vec::new() };
            Position { block, lane, pc, callers, is_parked }
        })
    })
}

/// The first of these positions in each line, threads that can run first.
fn distinct(launch: &Launch<'_>, positions: impl Iterator<Item = Position>) -> Vec<Position> {
    let (mut running, parked): (Vec<_>, Vec<_>) = positions.partition(|at| !at.is_parked);
    running.extend(parked);
    let mut known: Vec<Position> = Vec::new();
    for position in running {
        let is_near = |other: &Position| {
            let [here, there] = [position.pc, other.pc].map(|pc| launch.program.place(pc, &[]));
            let is_in_line = here.zip(there).map(|(here, there)| here.is_in_line_of(&there));
            is_in_line.unwrap_or(position.pc == other.pc)
        };
        if known.len() < NAMED && !known.iter().any(is_near) {
            known.push(position);
        }
    }
    known
}

/// The block of the first position, and that position as a fault with the others as its detail.
pub fn still_running(
    launch: &Launch<'_>,
    positions: impl Iterator<Item = Position>,
) -> Option<(u64, Fault)> {
    let known = distinct(launch, positions);
    let (first, others) = known.split_first()?;
    let mut detail = "it was still running".to_owned();
    for (at, other) in others.iter().enumerate() {
        let thread = triple(thread_of(other.lane.0 * 32 + other.lane.1, launch.block));
        let block = match other.block == first.block {
            true => String::new(),
            false => format!(" of block {}", triple(launch.block_index(other.block))),
        };
        let join = if at == 0 { "; others were: " } else { ", " };
        let waits = if other.is_parked { ", waiting" } else { "" };
        let place = launch.program.place_in_words(other.pc);
        detail += &format!("{join}thread {thread}{block} {place}{waits}");
    }
    let fault = Fault {
        pc: Some(first.pc),
        callers: first.callers.clone(),
        lane: Some(first.lane),
        ..Fault::new(FaultKind::Undefined, detail)
    };
    Some((first.block, fault))
}
