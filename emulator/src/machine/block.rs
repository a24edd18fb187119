//! One block at a time: its registers, its shared memory, its warps and their barriers.
//!
//! A [`Worker`] is reused from block to block, so nothing is allocated while a launch runs; every
//! block starts from zeroed registers and memory, whichever worker it gets.

use super::checks::Checks;
use super::context::{Arrival, Context, Stop};
use super::fault::{Fault, FaultKind, FaultReport, place_in_words};
use super::lanes::{Lanes, Lanes32, Lanes64};
use super::launch::Launch;
use super::said::Said;
use super::shadow::{Layout, Shadow};
use super::warp::{State, Warp};
use crate::counters::Counts;
use crate::lower::inst::{Barrier, BarrierKind, Op};
use crate::lower::program::{Const32, Const64, LaneMask, Special, WarpInit};

/// So many warp instructions later it is told again where the launch is, or a turn later.
const UNTOLD: u64 = 1 << 20;

/// What runs blocks.
pub struct Worker<'l> {
    launch: &'l Launch<'l>,
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
    shared: Vec<u32>,
    shadow: Shadow,
    local: Vec<u32>,
    warps: Vec<Warp>,
    arrivals: Vec<Option<Arrival>>,
    last_allocation: usize,
    /// Warp instructions since somebody was told where the launch is.
    untold: u64,
    /// The block that runs.
    linear: u64,
    /// What has been counted so far.
    pub counts: Counts,
    /// What has been said so far.
    pub said: Vec<Said>,
}

impl<'l> Worker<'l> {
    /// A worker for one launch.
    pub fn new(launch: &'l Launch<'l>) -> Self {
        let program = launch.program;
        let warps = launch.warps_per_block() as usize;
        let threads = launch.threads_per_block();
        let mut worker = Self {
            launch,
            r32: vec![[0; 32]; program.const32.len() + warps * program.registers32],
            r64: vec![[0; 32]; program.const64.len() + warps * program.registers64],
            preds: vec![0; warps * program.predicates],
            shared: vec![0; launch.shared_extent().div_ceil(4) as usize],
            shadow: Shadow::new(
                Layout {
                    extent: launch.shared_extent(),
                    arrays: launch.shared_arrays().collect(),
                    grain: launch.shared_grain(),
                },
                launch.warps_per_block(),
                launch.checks != Checks::Off,
            ),
            local: vec![0; warps * launch.local_words()],
            warps: (0..warps as u32).map(|index| Warp::new(index, threads - 32 * index)).collect(),
            arrivals: vec![None; warps],
            last_allocation: 0,
            untold: 0,
            linear: 0,
            counts: Counts::new(program.code.len()),
            said: Vec::new(),
        };
        worker.fill_constants([0; 3], 0);
        worker
    }

    fn special(&self, what: Special, block: [u32; 3], linear: u64) -> u32 {
        let launch = self.launch;
        match what {
            Special::BlockDim(axis) => launch.block[usize::from(axis)],
            Special::GridDim(axis) => launch.grid[usize::from(axis)],
            Special::BlockIndex(axis) => block[usize::from(axis)],
            // What `%nwarpid` promises is only an upper bound.
            Special::WarpCount => 64,
            Special::SmId => (linear % u64::from(launch.sm_count)) as u32,
            Special::SmCount => launch.sm_count,
            Special::GridId => launch.grid_id as u32,
            Special::DynamicShared => launch.dynamic_shared,
            Special::TotalShared => launch.shared_bytes(),
            Special::Zero => 0,
        }
    }

    fn fill_constants(&mut self, block: [u32; 3], linear: u64) {
        let program = self.launch.program;
        for (at, what) in program.const32.iter().enumerate() {
            self.r32[at] = match *what {
                Const32::Bits(bits) => [bits; 32],
                Const32::Param(offset, bytes, signed) => {
                    [self.launch.param(offset, bytes, signed) as u32; 32]
                }
                Const32::Special(what) => [self.special(what, block, linear); 32],
                Const32::Lane => std::array::from_fn(|lane| lane as u32),
                Const32::LaneMask(relation) => {
                    std::array::from_fn(|lane| lane_mask(relation, lane as u32))
                }
            };
        }
        for (at, what) in program.const64.iter().enumerate() {
            self.r64[at] = match *what {
                Const64::Bits(bits) => [bits; 32],
                Const64::Param(offset, bytes, signed) => {
                    [self.launch.param(offset, bytes, signed); 32]
                }
                Const64::Special(what) => [u64::from(self.special(what, block, linear)); 32],
            };
        }
    }

    fn start(&mut self, block: [u32; 3], linear: u64) {
        let program = self.launch.program;
        for (at, what) in program.const32.iter().enumerate() {
            if let Const32::Special(what @ (Special::BlockIndex(_) | Special::SmId)) = what {
                self.r32[at] = [self.special(*what, block, linear); 32];
            }
        }
        let (first32, first64) = (program.const32.len(), program.const64.len());
        self.r32[first32..].fill([0; 32]);
        self.r64[first64..].fill([0; 32]);
        self.preds.fill(0);
        self.shared.fill(0);
        self.shadow.begin(self.launch.checks.cover(linear, self.launch.blocks()));
        self.local.fill(0);
        self.arrivals.fill(None);
        let threads = self.launch.threads_per_block();
        let [dim_x, dim_y, _] = self.launch.block;
        for warp in &mut self.warps {
            warp.restart(threads - 32 * warp.index);
            let base = first32 + warp.index as usize * program.registers32;
            for &(register, what) in &program.warp_init {
                self.r32[base + register] = std::array::from_fn(|lane| {
                    let linear = 32 * warp.index + lane as u32;
                    match what {
                        WarpInit::ThreadIndex(0) => linear % dim_x,
                        WarpInit::ThreadIndex(1) => linear / dim_x % dim_y,
                        WarpInit::ThreadIndex(_) => linear / (dim_x * dim_y),
                        WarpInit::WarpIndex => warp.index,
                    }
                });
            }
        }
        self.counts.blocks += 1;
        self.counts.warps += self.warps.len() as u64;
    }

    /// Runs one block to its end.
    pub fn run(&mut self, linear: u64) -> Result<(), Box<FaultReport>> {
        let block = self.launch.block_index(linear);
        self.linear = linear;
        self.start(block, linear);
        self.run_warps().map_err(|fault| {
            let launch = self.launch;
            Box::new(FaultReport::new(&fault, launch.program, block, launch.block, launch.memory))
        })
    }

    fn run_warps(&mut self) -> Result<(), Box<Fault>> {
        let mut clock = 0;
        loop {
            let mut ran = false;
            for index in 0..self.warps.len() {
                if self.warps[index].state != State::Ready {
                    continue;
                }
                ran = true;
                match self.run_warp(index, &mut clock)? {
                    Stop::Turn => {}
                    Stop::Done => {
                        self.warps[index].state = State::Done;
                        self.release()?;
                    }
                    Stop::Barrier(arrival) => {
                        if arrival.kind != BarrierKind::Arrive {
                            self.warps[index].state = State::Waiting(arrival.id);
                        }
                        self.arrivals[index] = Some(arrival);
                        self.release()?;
                    }
                }
            }
            if self.warps.iter().all(|warp| warp.state == State::Done) {
                return Ok(());
            }
            if !ran {
                return Err(self.deadlock());
            }
        }
    }

    fn run_warp(&mut self, index: usize, clock: &mut u64) -> Result<Stop, Box<Fault>> {
        let (launch, before) = (self.launch, *clock);
        let local_words = launch.local_words();
        let mut context = Context {
            program: launch.program,
            lanes: lanes(&mut self.r32, &mut self.r64, &mut self.preds, launch, index),
            warp: &mut self.warps[index],
            memory: launch.memory,
            shared: &mut self.shared,
            shared_bytes: launch.shared_extent(),
            shadow: &mut self.shadow,
            local: &mut self.local[index * local_words..(index + 1) * local_words],
            params: &launch.params,
            counts: &mut self.counts,
            clock,
            block: self.linear,
            said: &mut self.said,
            last_allocation: &mut self.last_allocation,
        };
        let stop = (launch.runner)(&mut context);
        self.untold += *clock - before;
        if let Some(watch) = launch.watch.as_ref().filter(|_| self.untold >= UNTOLD) {
            self.untold = 0;
            watch.look(|| self.place(index));
        }
        stop
    }

    /// Where a warp is, in words.
    fn place(&self, index: usize) -> String {
        let (warp, launch) = (&self.warps[index], self.launch);
        let lane = (warp.index, warp.active.trailing_zeros().min(31));
        // One that ended has no next instruction.
        let pc = Some(warp.pc).filter(|&pc| (pc as usize) < launch.program.code.len());
        let fault = Fault {
            kind: FaultKind::Undefined,
            pc,
            callers: warp.callers(),
            lane: Some(lane),
            access: None,
            hazard: None,
            detail: "it was still running".to_owned(),
            place: None,
        };
        let block = launch.block_index(self.linear);
        FaultReport::new(&fault, launch.program, block, launch.block, launch.memory).message
    }

    /// Lets the warps go on whose barrier is complete.
    fn release(&mut self) -> Result<(), Box<Fault>> {
        let running = self.warps.iter().filter(|warp| warp.state != State::Done).count() as u32;
        for id in 0..16 {
            let here: Vec<usize> = (0..self.warps.len())
                .filter(|&warp| self.arrivals[warp].is_some_and(|arrival| arrival.id == id))
                .collect();
            let Some(&first) = here.first() else { continue };
            let wanted = |warp: usize| self.arrivals[warp].and_then(|arrival| arrival.threads);
            if let Some(&other) = here.iter().find(|&&warp| wanted(warp) != wanted(first)) {
                let told = |warp: usize| {
                    let threads = wanted(warp);
                    let threads = threads.map_or("all".to_owned(), |count| count.to_string());
                    let place = self.arrivals[warp].map(|arrival| self.place_of(arrival.pc));
                    format!("for {threads} threads {}", place.unwrap_or_default())
                };
                let detail = format!(
                    "warps come to barrier {id} with different thread counts: {}, and {}",
                    told(first),
                    told(other)
                );
                return Err(self.barrier_fault(first, detail));
            }
            let needed = wanted(first).map_or(running, |threads| threads / 32);
            if (here.len() as u32) < needed {
                continue;
            }
            self.shadow.meet();
            let (mut votes, mut live) = (0, 0);
            for &warp in &here {
                votes += self.arrivals[warp].map_or(0, |arrival| arrival.votes.count_ones());
                live += self.warps[warp].live.count_ones();
            }
            for &warp in &here {
                let Some(arrival) = self.arrivals[warp].take() else { continue };
                if self.warps[warp].state == State::Waiting(id) {
                    self.warps[warp].state = State::Ready;
                }
                self.deliver(warp, arrival, votes, live);
            }
        }
        Ok(())
    }

    /// Writes the result of a barrier that counts or combines.
    fn deliver(&mut self, warp: usize, arrival: Arrival, votes: u32, live: u32) {
        let Op::Barrier(Barrier { kind, d, .. }) = self.launch.program.code[arrival.pc as usize].op
        else {
            return;
        };
        let on = self.warps[warp].live;
        let mut lanes = lanes(&mut self.r32, &mut self.r64, &mut self.preds, self.launch, warp);
        let bits = |holds: bool| if holds { u32::MAX } else { 0 };
        match kind {
            BarrierKind::Sync | BarrierKind::Arrive => {}
            BarrierKind::RedPopc => lanes.set32(d, &[votes; 32], on),
            BarrierKind::RedAnd => lanes.set_pred(d, bits(votes == live), on),
            BarrierKind::RedOr => lanes.set_pred(d, bits(votes != 0), on),
        }
    }

    fn barrier_fault(&self, warp: usize, detail: String) -> Box<Fault> {
        let pc = self.arrivals[warp].map(|arrival| arrival.pc);
        let lane = (warp as u32, self.warps[warp].live.trailing_zeros().min(31));
        Box::new(Fault {
            kind: FaultKind::BarrierDeadlock,
            pc,
            callers: Vec::new(),
            lane: Some(lane),
            access: None,
            hazard: None,
            detail,
            place: None,
        })
    }

    /// No warp can go on: what each waits for, and where.
    fn deadlock(&self) -> Box<Fault> {
        let mut groups: Vec<(Arrival, u32)> = Vec::new();
        let mut exited = 0;
        let mut first = None;
        for (index, warp) in self.warps.iter().enumerate() {
            let waits = matches!(warp.state, State::Waiting(_));
            let Some(arrival) = self.arrivals[index].filter(|_| waits) else {
                exited += 1;
                continue;
            };
            first = first.or(Some(index));
            let same = |other: &Arrival| (other.id, other.pc) == (arrival.id, arrival.pc);
            match groups.iter_mut().find(|(other, _)| same(other)) {
                Some((_, count)) => *count += 1,
                None => groups.push((arrival, 1)),
            }
        }
        let several = groups.len() > 1;
        let mut told: Vec<String> = groups
            .iter()
            .map(|(arrival, count)| {
                let waits = plural(*count, "warp waits", "warps wait");
                let wanted = arrival.threads.map(|threads| format!(" for {threads} threads"));
                let place = several.then(|| format!(" {}", self.place_of(arrival.pc)));
                let (wanted, place) = (wanted.unwrap_or_default(), place.unwrap_or_default());
                format!("{waits} at barrier {}{wanted}{place}", arrival.id)
            })
            .collect();
        if exited > 0 {
            told.push(plural(exited, "has exited", "have exited"));
        }
        let detail = format!("deadlock: {}", told.join(" while "));
        self.barrier_fault(first.unwrap_or(0), detail)
    }

    /// Where an instruction stands, in words.
    fn place_of(&self, pc: u32) -> String {
        place_in_words(self.launch.program, pc)
    }
}

fn plural(count: u32, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn lanes<'r>(
    r32: &'r mut [Lanes32],
    r64: &'r mut [Lanes64],
    preds: &'r mut [u32],
    launch: &Launch<'_>,
    warp: usize,
) -> Lanes<'r> {
    let program = launch.program;
    Lanes {
        r32,
        r64,
        preds,
        base32: program.const32.len() + warp * program.registers32,
        base64: program.const64.len() + warp * program.registers64,
        base_pred: warp * program.predicates,
    }
}

fn lane_mask(relation: LaneMask, lane: u32) -> u32 {
    let eq = 1u32 << lane;
    let lt = eq - 1;
    match relation {
        LaneMask::Eq => eq,
        LaneMask::Lt => lt,
        LaneMask::Le => lt | eq,
        LaneMask::Ge => !lt,
        LaneMask::Gt => !(lt | eq),
    }
}
