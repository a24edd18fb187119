//! One block at a time: its registers, its shared memory, its warps and their barriers.
//!
//! A [`Worker`] is reused from block to block, so nothing is allocated while a launch runs; every
//! block starts from zeroed registers and memory, whichever worker it gets.

use super::barrier::BlockBarriers;
use super::checks::Checks;
use super::context::{Arrival, Context, Stop};
use super::deadlock;
use super::fault::{Fault, FaultKind, FaultReport, place_in_words};
use super::lanes::{Lanes, Lanes32, Lanes64};
use super::launch::Launch;
use super::said::Said;
use super::shadow::{Layout, Shadow};
use super::warp::{State, Warp};
use crate::counters::Counts;
use crate::lower::program::{Const32, Const64, LaneMask, Special, WarpInit};

/// So many warp instructions later it is told again where the launch is, or a turn later.
const UNTOLD: u64 = 1 << 20;

/// After so many warp instructions a block lets other blocks run.
const SLICE: u64 = 1 << 24;

/// Whether a block has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of its threads have exited.
    Done,
    /// Its threads wait for other blocks, or its turn is over.
    Waits,
}

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
    barriers: BlockBarriers,
    last_allocation: usize,
    /// Warp instructions since somebody was told where the launch is.
    untold: u64,
    /// The block that runs.
    pub linear: u64,
    /// Warp instructions that it has executed.
    clock: u64,
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
            barriers: BlockBarriers::new(warps),
            last_allocation: 0,
            untold: 0,
            linear: 0,
            clock: 0,
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
        self.barriers.restart();
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
        self.begin(linear);
        while self.resume()? == Progress::Waits {}
        Ok(())
    }

    /// A block begins.
    pub fn begin(&mut self, linear: u64) {
        (self.linear, self.clock) = (linear, 0);
        self.start(self.launch.block_index(linear), linear);
    }

    /// Runs the block until it ends, or its threads do nothing but wait for other blocks.
    pub fn resume(&mut self) -> Result<Progress, Box<FaultReport>> {
        self.run_warps().map_err(|fault| {
            let launch = self.launch;
            let block = launch.block_index(self.linear);
            Box::new(FaultReport::new(&fault, launch.program, block, launch.block, launch.memory))
        })
    }

    fn run_warps(&mut self) -> Result<Progress, Box<Fault>> {
        let (began, mut idle_sweeps) = (self.clock, 0);
        loop {
            let (mut ran, mut idle) = (false, true);
            for index in 0..self.warps.len() {
                if self.warps[index].state != State::Ready {
                    continue;
                }
                ran = true;
                idle &= self.run_warp(index)?;
            }
            if self.warps.iter().all(|warp| warp.state == State::Done) {
                return Ok(Progress::Done);
            }
            if !ran {
                return Err(deadlock::report(self.launch.program, &self.warps, &self.barriers));
            }
            idle_sweeps = if idle { idle_sweeps + 1 } else { 0 };
            if idle_sweeps == 2 || self.clock - began >= SLICE {
                return Ok(Progress::Waits);
            }
        }
    }

    /// Gives a warp a turn. Whether it did nothing but wait for other threads.
    fn run_warp(&mut self, index: usize) -> Result<bool, Box<Fault>> {
        let before = self.clock;
        self.warps[index].changed = false;
        let runner = self.launch.runner;
        let stop = runner(&mut self.context(index))?;
        self.untold += self.clock - before;
        if let Some(watch) = self.launch.watch.as_ref().filter(|_| self.untold >= UNTOLD) {
            self.untold = 0;
            watch.look(|| self.place(index));
        }
        if self.launch.instruction_limit.is_some_and(|limit| self.clock > limit) {
            return Err(Box::new(self.still_running(index)));
        }
        match stop {
            Stop::Turn => return Ok(self.warps[index].yields > 0 && !self.warps[index].changed),
            Stop::Done => self.warps[index].state = State::Done,
            Stop::Blocked => self.warps[index].state = State::Waiting,
            Stop::Barrier(arrival) => self.arrive(index, arrival)?,
        }
        self.release();
        Ok(false)
    }

    fn context(&mut self, index: usize) -> Context<'_> {
        let launch = self.launch;
        let local_words = launch.local_words();
        Context {
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
            clock: &mut self.clock,
            block: self.linear,
            said: &mut self.said,
            last_allocation: &mut self.last_allocation,
        }
    }

    /// Where a warp is, in words.
    fn place(&self, index: usize) -> String {
        let (fault, launch) = (self.still_running(index), self.launch);
        let block = launch.block_index(self.linear);
        FaultReport::new(&fault, launch.program, block, launch.block, launch.memory).message
    }

    /// A warp at its place.
    fn still_running(&self, index: usize) -> Fault {
        let warp = &self.warps[index];
        // One that ended has no next instruction.
        let pc = Some(warp.pc).filter(|&pc| (pc as usize) < self.launch.program.code.len());
        Fault {
            kind: FaultKind::Undefined,
            pc,
            callers: warp.callers(),
            lane: Some((warp.index, warp.active.trailing_zeros().min(31))),
            access: None,
            hazard: None,
            detail: "it was still running".to_owned(),
            place: None,
        }
    }

    /// Lanes of a warp come to a barrier.
    fn arrive(&mut self, index: usize, arrival: Arrival) -> Result<(), Box<Fault>> {
        self.barriers.arrive(index, arrival).map_err(|(pc, threads)| {
            let program = self.launch.program;
            let name = |threads: Option<u32>, pc| {
                let threads = threads.map_or("all".to_owned(), |count| count.to_string());
                format!("for {threads} threads {}", place_in_words(program, pc))
            };
            let detail = format!(
                "warps come to barrier {} with different thread counts: {}, and {}",
                arrival.id,
                name(threads, pc),
                name(arrival.threads, arrival.pc)
            );
            let lane = (index as u32, arrival.lanes.trailing_zeros().min(31));
            deadlock::fault(arrival.pc, lane, detail)
        })?;
        let warp = &mut self.warps[index];
        if warp.is_parked() {
            warp.state = State::Waiting;
        }
        Ok(())
    }

    /// Lets the threads go on whose barrier is complete.
    fn release(&mut self) {
        while let Some(complete) = self.barriers.take_complete(&self.warps) {
            self.shadow.meet();
            for index in 0..self.warps.len() {
                complete.deliver(&mut self.context(index));
            }
        }
    }
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
