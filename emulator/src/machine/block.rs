//! One block at a time: its registers, its shared memory, its warps and their barriers.
//!
//! A [`Worker`] is reused from block to block, so nothing is allocated while a launch runs; every
//! block starts from the same registers and zeroed memory, whichever worker it gets.

use super::barrier::BlockBarriers;
use super::context::{Arrival, Context, Stop};
use super::deadlock;
use super::fault::{Fault, FaultKind, FaultReport};
use super::hazard::Hazard;
use super::lanes::{Lanes, Lanes32, Lanes64};
use super::launch::Launch;
use super::positions::{Position, positions, still_running};
use super::printf_output::Printed;
use super::race_search::{Handover, Races};
use super::shadow::{Layout, Shadow};
use super::warp::{State, Wait, Warp};
use crate::counters::Counts;
use crate::lower::inst::File;
use crate::lower::program::{Const32, Const64, LaneMask, Special, WarpInit};

/// After so many warp instructions, or a turn later, the file of the launch's place may be written
/// again. While accesses are logged, they can take a tenth of a second.
const UNTOLD: u64 = 1 << 16;

/// After so many warp instructions a block lets other blocks run.
const SLICE: u64 = 1 << 24;

/// After so many polls for each of its warps a block lets other blocks run, even if it changes
/// memory meanwhile, as a spin does that counts its rounds.
const POLLS: u64 = 1 << 10;

/// Whether a block has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of its threads have exited.
    Done,
    /// Its threads wait for other blocks, or its turn is over.
    Waits,
}

/// A worker that runs blocks.
pub struct Worker<'l> {
    launch: &'l Launch<'l>,
    races: &'l Races,
    shares_memory: bool,
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
    /// Registers of all warps that do not begin with zero.
    initial: Vec<(usize, Lanes32)>,
    shared: Vec<u32>,
    shadow: Shadow,
    /// Local memory of each warp.
    local: Vec<Vec<u32>>,
    warps: Vec<Warp>,
    barriers: BlockBarriers,
    last_allocation: usize,
    stack_limit: u32,
    /// Warp instructions since the launch's position was last recorded.
    untold: u64,
    /// The block that runs.
    pub linear: u64,
    /// Warp instructions that it has executed.
    clock: u64,
    /// Whether its execution is recorded step by step.
    traces: bool,
    /// The counters so far.
    pub counts: Counts,
    /// The text printed so far.
    pub said: Printed,
}

impl<'l> Worker<'l> {
    /// A worker for one launch, and whether workers on other threads share its memory.
    pub fn new(launch: &'l Launch<'l>, races: &'l Races, shares_memory: bool) -> Self {
        let program = launch.program;
        let warps = launch.warps_per_block() as usize;
        let threads = launch.threads_per_block();
        let mut worker = Self {
            launch,
            races,
            shares_memory,
            r32: vec![[0; 32]; program.const32.len() + warps * program.registers32],
            r64: vec![[0; 32]; program.const64.len() + warps * program.registers64],
            preds: vec![0; warps * program.predicates],
            initial: initial_registers(launch),
            shared: vec![0; launch.shared_extent().div_ceil(4) as usize],
            shadow: Shadow::new(
                Layout {
                    extent: launch.shared_extent(),
                    arrays: launch.shared_arrays().collect(),
                    reserved: program.reserved_shared,
                    grain: launch.shared_grain(),
                },
                launch.warps_per_block(),
                launch.checks,
                launch.blocks_order(),
            ),
            local: vec![vec![0; launch.local_words()]; warps],
            warps: (0..warps as u32).map(|index| Warp::new(index, threads - 32 * index)).collect(),
            barriers: BlockBarriers::new(warps),
            last_allocation: 0,
            stack_limit: launch.stack_limit(),
            untold: 0,
            linear: 0,
            clock: 0,
            traces: false,
            counts: Counts {
                traffic: launch.records_traffic.then(Box::default),
                ..Counts::new(program.code.len())
            },
            said: Printed::default(),
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
            // `%nwarpid` is only an upper bound.
            Special::WarpCount => 64,
            Special::SmId => (linear % u64::from(launch.sm_count)) as u32,
            Special::SmCount => launch.sm_count,
            Special::GridId => launch.grid_id as u32,
            Special::DynamicShared => launch.dynamic_shared,
            Special::TotalShared => launch.shared_bytes(),
            Special::GridWorkspaceHigh => (launch.grid_workspace >> 32) as u32,
            Special::GridWorkspaceLow => launch.grid_workspace as u32,
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
        self.shadow.begin(linear, self.launch.blocks());
        let (shared, words) = (&mut self.shared, self.launch.local_words());
        self.local.iter_mut().for_each(|local| local.truncate(words));
        // To fill nothing is slow: the C library stores none of the bytes at an address that is
        // not mapped, and some processors take long to ignore that.
        for memory in self.local.iter_mut().chain([shared]).filter(|memory| !memory.is_empty()) {
            memory.fill(0);
        }
        self.barriers.restart();
        let threads = self.launch.threads_per_block();
        for warp in &mut self.warps {
            warp.restart(threads - 32 * warp.index);
            warp.stack_ends = [program.stack_start(); 32];
        }
        self.reset_registers();
        self.counts.blocks += 1;
        self.counts.warps += self.warps.len() as u64;
    }

    /// Gives each warp the registers that it begins with.
    fn reset_registers(&mut self) {
        let program = self.launch.program;
        for index in 0..self.warps.len() {
            let lanes = lanes(&mut self.r32, &mut self.r64, &mut self.preds, self.launch, index);
            for &(file, register) in &program.unwritten {
                match file {
                    File::Pred => lanes.preds[lanes.base_pred + register] = 0,
                    File::R32 => lanes.r32[lanes.base32 + register] = [0; 32],
                    File::R64 => lanes.r64[lanes.base64 + register] = [0; 32],
                }
            }
        }
        for (register, value) in &self.initial {
            self.r32[*register] = *value;
        }
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
        let warps = self.warps.len();
        self.traces = self.launch.is_sampled(linear);
        if let Some(traffic) = self.counts.traffic.as_mut().filter(|_| self.traces) {
            traffic.begin_trace(linear, warps);
        }
        self.start(self.launch.block_index(linear), linear);
    }

    /// Runs the block until it ends, or its threads do nothing but wait for other blocks.
    pub fn resume(&mut self) -> Result<Progress, Box<FaultReport>> {
        self.untold = 0;
        let ran = self.run_warps();
        let paused = matches!(ran, Ok(Progress::Waits));
        if let Some(traffic) = self.counts.traffic.as_mut().filter(|_| !paused) {
            let longest = self.warps.iter().map(|warp| warp.executed).max();
            traffic.end_block(longest.unwrap_or(0));
        }
        let why = if paused { Handover::Paused } else { Handover::Ended };
        let raced = self.races.hand_over(self.linear, &mut self.shadow.log, why);
        raced.and(ran).map_err(|fault| self.launch.report(self.linear, &fault))
    }

    fn run_warps(&mut self) -> Result<Progress, Box<Fault>> {
        let (began, mut idle_sweeps, mut polls) = (self.clock, 0, 0);
        let most_polls = POLLS * self.warps.len() as u64;
        loop {
            let (mut ran, mut idle) = (false, true);
            for index in 0..self.warps.len() {
                if self.warps[index].state != State::Ready {
                    continue;
                }
                ran = true;
                idle &= self.run_warp(index).map_err(|fault| self.as_race(index, fault))?;
                polls += u64::from(self.warps[index].polls);
            }
            if self.warps.iter().all(|warp| warp.state == State::Done) {
                return Ok(Progress::Done);
            }
            if !ran {
                return Err(deadlock::report(self.launch.program, &self.warps, &self.barriers));
            }
            idle_sweeps = if idle { idle_sweeps + 1 } else { 0 };
            if idle_sweeps == 2 || polls >= most_polls || self.clock - began >= SLICE {
                return Ok(Progress::Waits);
            }
        }
    }

    /// A read of unwritten memory, as a race if another warp writes there before the block meets.
    fn as_race(&mut self, index: usize, mut fault: Box<Fault>) -> Box<Fault> {
        let (Some(Hazard::Unwritten { met, .. }), Some(access)) = (fault.hazard, fault.access)
        else {
            return fault;
        };
        let (reader, runner) =
            (fault.lane.map_or(index as u32, |(warp, _)| warp), self.launch.runner);
        for other in 0..self.warps.len() {
            if other != index && self.warps[other].state == State::Ready {
                // The launch ends with this fault, whatever that warp does.
                let _ = runner(&mut self.context(other));
            }
            let read = (reader, met);
            if let Some(race) = self.shadow.race_with_read(read, access.address, access.size) {
                (fault.kind, fault.hazard) = (FaultKind::Race, Some(race));
                fault.detail.clear();
                break;
            }
        }
        fault
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
            watch.record_position(|| self.launch.places(self.positions()));
        }
        if self.launch.instruction_limit.is_some_and(|limit| self.clock > limit) {
            return Err(self.still_running());
        }
        match stop {
            Stop::Turn => return Ok(self.warps[index].polls > 0 && !self.warps[index].changed),
            Stop::Done => self.warps[index].state = State::Done,
            Stop::Blocked => self.warps[index].state = State::Waiting,
            Stop::Barrier(arrival) => self.arrive(index, arrival)?,
        }
        self.release();
        Ok(false)
    }

    fn context(&mut self, index: usize) -> Context<'_> {
        let launch = self.launch;
        Context {
            program: launch.program,
            lanes: lanes(&mut self.r32, &mut self.r64, &mut self.preds, launch, index),
            warp: &mut self.warps[index],
            memory: launch.memory,
            shares_memory: self.shares_memory,
            shared: &mut self.shared,
            shared_bytes: launch.shared_extent(),
            shadow: &mut self.shadow,
            local: &mut self.local[index],
            stack_limit: self.stack_limit,
            stack_bytes: launch.stack_bytes,
            params: &launch.params,
            counts: &mut self.counts,
            clock: &mut self.clock,
            block: self.linear,
            said: &mut self.said,
            last_allocation: &mut self.last_allocation,
            races: self.races,
            traces: self.traces,
        }
    }

    /// The positions of the block's threads.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        positions(self.linear, &self.warps)
    }

    /// The block's threads at their places.
    fn still_running(&self) -> Box<Fault> {
        let found = still_running(self.launch, self.positions());
        let ended = || Fault::from_panic(&"no thread is left");
        Box::new(found.map_or_else(ended, |(_, fault)| fault))
    }

    /// Lanes of a warp arrive at a barrier.
    fn arrive(&mut self, index: usize, arrival: Arrival) -> Result<(), Box<Fault>> {
        self.barriers
            .arrive(index, arrival)
            .map_err(|first| deadlock::mismatch(self.launch.program, index, first, arrival))?;
        let warp = &mut self.warps[index];
        if warp.waits_for_block() {
            warp.state = State::Waiting;
        }
        Ok(())
    }

    /// The warps that wait at a complete barrier meet.
    fn meet(&mut self, id: u32) {
        let waits = |warp: &Warp| warp.parked.iter().any(|parked| parked.wait == Wait::Block(id));
        if self.warps.iter().all(|warp| warp.live == 0 || waits(warp)) {
            self.shadow.meet();
        } else {
            let waiting = self.warps.iter().filter(|warp| waits(warp));
            self.shadow.meet_warps(waiting.fold(0, |bits, warp| bits | 1 << warp.index));
        }
    }

    /// Resumes the threads of complete barriers.
    fn release(&mut self) {
        while let Some(complete) = self.barriers.take_complete(&self.warps) {
            self.meet(complete.id);
            for index in 0..self.warps.len() {
                complete.deliver(&mut self.context(index));
            }
        }
    }
}

/// The registers that tell the warps of a block apart, and their contents.
fn initial_registers(launch: &Launch<'_>) -> Vec<(usize, Lanes32)> {
    let program = launch.program;
    let [dim_x, dim_y, _] = launch.block;
    let of_warp = |warp: u32| {
        let base = program.const32.len() + warp as usize * program.registers32;
        program.warp_init.iter().map(move |&(register, what)| {
            let value = std::array::from_fn(|lane| {
                let linear = 32 * warp + lane as u32;
                match what {
                    WarpInit::ThreadIndex(0) => linear % dim_x,
                    WarpInit::ThreadIndex(1) => linear / dim_x % dim_y,
                    WarpInit::ThreadIndex(_) => linear / (dim_x * dim_y),
                    WarpInit::WarpIndex => warp,
                }
            });
            (base + register, value)
        })
    };
    (0..launch.warps_per_block()).flat_map(of_warp).collect()
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
