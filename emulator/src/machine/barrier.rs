//! Barriers of a block: `bar.sync`, `barrier.sync`, `.arrive` and `.red`.
//!
//! [`arrive`] is the warp's half: it finds the lanes that arrive at a barrier. All running lanes of
//! a warp execute an aligned barrier together, so early lanes are parked until the others arrive or
//! exit. At the other barriers, each lane counts by itself. [`BlockBarriers`] is the block's half:
//! it counts the arrived threads, and decides when a barrier is complete.

use super::context::{Arrival, Context};
use super::exchange;
use super::fault::{Fault, FaultKind};
use super::warp::{Wait, Warp};
use crate::lower::inst::{Barrier, BarrierKind, Op};

/// The barriers that a block has.
const BARRIERS: u32 = 16;

/// The lanes of `on` arrive at a barrier; `None` if others of the warp must arrive first.
pub fn arrive(
    cx: &mut Context<'_>,
    barrier: &Barrier,
    on: u32,
) -> Result<Option<Arrival>, Box<Fault>> {
    let pc = cx.warp.pc - 1;
    cx.warp.park(Wait::Warp, pc, on);
    if !barrier.aligned || on == cx.warp.live {
        return announce(cx, barrier, pc, on).map(Some);
    }
    arrive_together(cx)
}

/// The parked lanes of a warp arrive at an aligned barrier if all running lanes wait there.
pub fn arrive_together(cx: &mut Context<'_>) -> Result<Option<Arrival>, Box<Fault>> {
    let aligned = cx.warp.parked.iter().filter(|parked| parked.wait == Wait::Warp);
    let Some(pc) = aligned.map(|parked| parked.pc).next() else { return Ok(None) };
    let Op::Barrier(barrier) = cx.program.code[pc as usize].op else { return Ok(None) };
    let is_here = |wait: Wait, at: u32| wait == Wait::Warp && at == pc;
    let here = cx.warp.parked.iter().filter(|parked| is_here(parked.wait, parked.pc));
    let here = here.fold(0, |lanes, parked| lanes | parked.mask);
    if here & cx.warp.live != cx.warp.live {
        return Ok(None);
    }
    announce(cx, &barrier, pc, here).map(Some)
}

/// The arrival of `on`, which are parked at the barrier at `pc`. They wait there unless they only
/// arrive.
fn announce(
    cx: &mut Context<'_>,
    barrier: &Barrier,
    pc: u32,
    on: u32,
) -> Result<Arrival, Box<Fault>> {
    let lane = on.trailing_zeros() as usize;
    let id = cx.lanes.get32(barrier.id)[lane];
    let threads = barrier.threads.map(|threads| cx.lanes.get32(threads)[lane]);
    if id >= BARRIERS || threads.is_some_and(|threads| threads == 0 || threads % 32 != 0) {
        let detail = format!(
            "barrier {id} with {} threads: barriers are 0 to 15, threads a multiple of 32",
            threads.unwrap_or(0)
        );
        return Err(cx.fault(FaultKind::Undefined, on, detail));
    }
    let predicate = cx.lanes.pred(barrier.p);
    let votes = if barrier.negate { !predicate } else { predicate } & on;
    // Lanes that came through different calls return to where each came from.
    for parked in &mut cx.warp.parked {
        if parked.mask & on != 0 {
            parked.wait = Wait::Block(id);
        }
    }
    if barrier.kind == BarrierKind::Arrive {
        cx.warp.release(|parked| (parked.wait, parked.pc) == (Wait::Block(id), pc));
    }
    let reduces = !matches!(barrier.kind, BarrierKind::Sync | BarrierKind::Arrive);
    Ok(Arrival { id, threads, reduces, votes, pc, lanes: on })
}

/// The fault of a warp of which some lanes wait at an aligned barrier, and no lane can run.
pub fn divergent(cx: &Context<'_>) -> Option<Box<Fault>> {
    let parked = &cx.warp.parked;
    let first = parked.iter().find(|parked| parked.wait == Wait::Warp)?;
    let here = parked.iter().filter(|other| (other.wait, other.pc) == (Wait::Warp, first.pc));
    let here = here.fold(0, |lanes, parked| lanes | parked.mask);
    if let Some(fault) = exchange::waits_for(cx, first.pc, here) {
        return Some(fault);
    }
    let elsewhere = cx.warp.elsewhere(here).map(|(pc, lanes)| {
        format!("; {} of the others are {}", lanes.count_ones(), cx.program.place_in_words(pc))
    });
    let detail = format!(
        "only {} of the {} running threads of warp {} reach this barrier: it is in code on which they \
         diverge{}. Move it out of the branch, or let all threads take the same way",
        here.count_ones(),
        (cx.warp.live | here).count_ones(),
        cx.warp.index,
        elsewhere.unwrap_or_default()
    );
    let mut fault = cx.fault(FaultKind::BarrierDeadlock, here, detail);
    fault.pc = Some(first.pc);
    Some(fault)
}

/// The threads that have arrived at one barrier of a block.
#[derive(Debug, Clone, Default)]
struct BlockBarrier {
    /// The first arrival, with the threads that the barrier is for.
    first: Arrival,
    /// The lanes of each warp that have come.
    lanes: Vec<u32>,
    /// Threads that came again before it was complete.
    again: u32,
    /// Threads with a true predicate.
    votes: u32,
}

/// A barrier that is complete.
#[derive(Debug, Clone, Copy)]
pub struct Complete {
    /// Which one.
    pub id: u32,
    votes: u32,
    threads: u32,
}

/// The barriers of a block.
#[derive(Debug)]
pub struct BlockBarriers {
    barriers: Vec<BlockBarrier>,
    /// A bit for each at which threads wait.
    open: u32,
}

impl BlockBarriers {
    /// Those of a block with so many warps.
    pub fn new(warps: usize) -> Self {
        let barrier = BlockBarrier { lanes: vec![0; warps], ..BlockBarrier::default() };
        Self { barriers: vec![barrier; BARRIERS as usize], open: 0 }
    }

    /// A block begins.
    pub fn restart(&mut self) {
        while self.open != 0 {
            self.close(self.open.trailing_zeros());
        }
    }

    fn close(&mut self, id: u32) {
        let barrier = &mut self.barriers[id as usize];
        barrier.lanes.fill(0);
        (barrier.again, barrier.votes) = (0, 0);
        self.open &= !(1 << id);
    }

    /// Lanes of a warp arrive at a barrier.
    ///
    /// # Errors
    /// The first arrival, if it counts other threads, or only one of the two reduces.
    pub fn arrive(&mut self, warp: usize, arrival: Arrival) -> Result<(), Arrival> {
        let barrier = &mut self.barriers[arrival.id as usize];
        let first = &mut barrier.first;
        if self.open & (1 << arrival.id) == 0 {
            self.open |= 1 << arrival.id;
            *first = arrival;
        } else if first.reduces != arrival.reduces {
            return Err(*first);
        } else if first.threads != arrival.threads {
            let whole = Some(32 * barrier.lanes.len() as u32);
            let is_whole = |threads: Option<u32>| threads.is_none() || threads == whole;
            if !(is_whole(first.threads) && is_whole(arrival.threads)) {
                return Err(*first);
            }
            first.threads = None;
        }
        let lanes = &mut barrier.lanes[warp];
        barrier.again += (*lanes & arrival.lanes).count_ones();
        *lanes |= arrival.lanes;
        barrier.votes += arrival.votes.count_ones();
        Ok(())
    }

    /// The threads that an open barrier is for, if not all.
    pub fn threads(&self, id: u32) -> Option<u32> {
        self.barriers[id as usize].first.threads
    }

    /// Takes the next barrier to which all threads that it is for have come.
    pub fn take_complete(&mut self, warps: &[Warp]) -> Option<Complete> {
        let mut open = self.open;
        while open != 0 {
            let id = open.trailing_zeros();
            open &= open - 1;
            let barrier = &self.barriers[id as usize];
            if barrier.is_complete(warps) {
                let threads = barrier.lanes.iter().map(|lanes| lanes.count_ones()).sum();
                let complete = Complete { id, votes: barrier.votes, threads };
                self.close(id);
                return Some(complete);
            }
        }
        None
    }
}

impl BlockBarrier {
    fn is_complete(&self, warps: &[Warp]) -> bool {
        let came = || self.lanes.iter().zip(warps).map(|(&lanes, warp)| (lanes, warp.live));
        match self.first.threads {
            None => came().all(|(lanes, live)| lanes & live == live),
            // A warp counts as 32 threads once all of its lanes that run have come.
            Some(wanted) => {
                let count = |(lanes, live): (u32, u32)| {
                    if lanes != 0 && lanes & live == live { 32 } else { lanes.count_ones() }
                };
                came().map(count).sum::<u32>() + self.again >= wanted
            }
        }
    }
}

impl Complete {
    /// Gives the waiting lanes of a warp their results, and resumes them.
    pub fn deliver(self, cx: &mut Context<'_>) {
        let wait = Wait::Block(self.id);
        let bits = |holds: bool| if holds { u32::MAX } else { 0 };
        for parked in cx.warp.parked.iter().filter(|parked| parked.wait == wait) {
            let Op::Barrier(Barrier { kind, d, .. }) = cx.program.code[parked.pc as usize].op
            else {
                continue;
            };
            match kind {
                BarrierKind::Sync | BarrierKind::Arrive => {}
                BarrierKind::RedPopc => cx.lanes.set32(d, &[self.votes; 32], parked.mask),
                BarrierKind::RedAnd => {
                    cx.lanes.set_pred(d, bits(self.votes == self.threads), parked.mask);
                }
                BarrierKind::RedOr => cx.lanes.set_pred(d, bits(self.votes != 0), parked.mask),
            }
        }
        cx.warp.release(|parked| parked.wait == wait);
    }
}
