//! The execution loop: one warp, from where it stands until it waits, ends, or has had its turn.
//!
//! Input: a [`Context`]. Output: why the warp stopped, or its first fault. Everything hot is
//! inlined here, so the function that calls [`run`] decides for which instruction set the compiler
//! vectorises it (`machine::host_cpu`).

use super::access;
use super::arith;
use super::atomic;
use super::atomic_vector;
use super::barrier;
use super::calls;
use super::context::{Context, Stop};
use super::definedness;
use super::driver_calls;
use super::exchange;
use super::fault::{Fault, FaultKind, Outcome};
use super::fragment;
use super::mbarrier::{self, Waits};
use super::mma;
use super::moves;
use super::scalar;
use super::transfer;
use super::warp::{Parked, Wait};
use crate::counters::AccessCounts;
use crate::lower::blocks::is_end;
use crate::lower::inst::{Clock, ControlOp, Guard, Op, Pause, Slot};

/// Why a warp stopped, if it did.
type Stopped = Result<Option<Stop>, Box<Fault>>;

/// Instructions in one turn; after it other warps of the block run, so that warps which wait for
/// each other through memory make progress.
const TURN: u32 = 1 << 20;

/// After so many instructions another ready group of the warp runs.
const SLICE: u32 = 1 << 12;

/// After so many polls in a turn other groups and warps run.
const POLLS: u32 = 256;

/// A yield point counts as so many polls.
const YIELD: u32 = 16;

/// Runs the warp.
///
/// # Errors
/// The first fault.
#[inline(always)]
pub fn run(cx: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
    let mut remaining = TURN;
    cx.warp.polls = 0;
    let outcome = loop {
        let budget = SLICE.min(remaining);
        let mut left = budget;
        let outcome = run_slice(cx, &mut left, budget);
        *cx.clock += u64::from(budget - left);
        cx.warp.executed += u64::from(budget - left);
        remaining -= budget - left;
        if let Err(race) = cx.drain_log() {
            break Err(race);
        }
        match outcome {
            Ok(None) if remaining > 0 => cx.warp.rotate(),
            Ok(stop) => break Ok(stop.unwrap_or(Stop::Turn)),
            Err(fault) => break Err(fault),
        }
    };
    outcome.map_err(|mut fault| {
        if fault.pc.is_none() {
            fault.callers = cx.warp.callers();
        }
        fault.pc = fault.pc.or(Some(cx.warp.pc - 1));
        fault
    })
}

/// Up to `budget` instructions, of which `left` counts down those left; `None` if it used them up.
#[inline(always)]
fn run_slice(cx: &mut Context<'_>, left: &mut u32, budget: u32) -> Stopped {
    let code = cx.program.code.as_slice();
    loop {
        if cx.warp.active == 0 {
            match schedule(cx)? {
                Some(stop) => return Ok(Some(stop)),
                None => continue,
            }
        }
        if *left == 0 {
            return Ok(None);
        }
        let pc = cx.warp.pc;
        let inst = &code[pc as usize];
        if inst.converges && cx.warp.has_barriers() {
            cx.warp.converge(is_end(inst));
            if cx.warp.active == 0 {
                continue;
            }
        }
        *left -= 1;
        let active = cx.warp.active;
        let on = issue(cx, inst.guard, pc);
        cx.warp.pc = pc + 1;
        cx.tracks_definedness().then(|| definedness::step(cx, inst, on)).transpose()?;
        match inst.op {
            Op::Arith(ref op) => arith::execute(&mut cx.lanes, op, on),
            Op::Load { element, address, d } if on != 0 => {
                let before = cx.counts.memory.loads();
                access::load(cx, element, address, d, on)?;
                charge(cx, pc, &before, cx.counts.memory.loads());
                if inst.pause != Pause::Never && pause(cx, inst.pause) {
                    return Ok(Some(Stop::Turn));
                }
            }
            Op::Store { element, address, a } if on != 0 => {
                cx.warp.changed = true;
                let before = cx.counts.memory.stores();
                access::store(cx, element, address, a, on)?;
                charge(cx, pc, &before, cx.counts.memory.stores());
            }
            Op::Branch { target, .. } if on == active => jump(cx, target),
            Op::Branch { target, convergence } if on != 0 => {
                diverge(cx, &[(pc + 1, active & !on), (target, on)], convergence);
            }
            Op::Branch { .. } => jump(cx, pc + 1),
            Op::Integer(ref op) => scalar::integer(&mut cx.lanes, op, on),
            Op::Float(ref op) => scalar::float(&mut cx.lanes, op, on),
            Op::Move(ref op) => moves::execute(&mut cx.lanes, cx.memory, op, on),
            // No lane takes part.
            Op::Load { .. } | Op::Store { .. } | Op::Nop => {}
            ref op => {
                let now = *cx.clock + u64::from(budget - *left);
                if let Some(stop) = execute_shared(cx, (op, inst.pause), on, now)? {
                    return Ok(Some(stop));
                }
            }
        }
    }
}

/// Operations that other threads see, and control transfers other than branches; `now` is the
/// block's clock. Why the warp stops, if it does.
#[inline(always)]
fn execute_shared(
    cx: &mut Context<'_>,
    (op, mut after): (&Op, Pause),
    on: u32,
    now: u64,
) -> Stopped {
    match op {
        Op::Control(op) => {
            transfer(cx, op, on, now)?;
            return Ok(None);
        }
        Op::Fence { beyond_block } => {
            cx.shadow.fence(cx.warp.index, on, *beyond_block);
            after = Pause::Polls;
        }
        _ if on == 0 => return Ok(None),
        Op::Barrier(barrier) => return Ok(barrier::arrive(cx, barrier, on)?.map(Stop::Barrier)),
        Op::Sleep => after = Pause::Yields,
        op if communicate(cx, op, on)? == Waits::Yes => after = Pause::Yields,
        _ => {}
    }
    Ok((after != Pause::Never && pause(cx, after)).then_some(Stop::Turn))
}

/// No lane of the warp is active: another group runs, or the warp stops.
#[inline(never)]
fn schedule(cx: &mut Context<'_>) -> Stopped {
    if !cx.warp.parked.is_empty() {
        exchange::complete_parked(cx);
    }
    if cx.warp.run_ready() {
        return Ok(None);
    }
    if cx.warp.live == 0 {
        return Ok(Some(Stop::Done));
    }
    if let Some(arrival) = barrier::arrive_together(cx)? {
        return Ok(Some(Stop::Barrier(arrival)));
    }
    if cx.warp.run_past_parked() {
        return Ok(None);
    }
    let waits_for_block = |parked: &Parked| matches!(parked.wait, Wait::Block(_));
    match barrier::divergent(cx) {
        Some(fault) if !cx.warp.parked.iter().any(waits_for_block) => Err(fault),
        _ => Ok(Some(Stop::Blocked)),
    }
}

/// The active lanes may have waited. Whether the warp's turn is over.
#[inline(never)]
fn pause(cx: &mut Context<'_>, how: Pause) -> bool {
    if how == Pause::Yields {
        yield_turn(cx);
        cx.warp.polls += YIELD;
    } else {
        cx.warp.polls += 1;
    }
    let is_over = cx.warp.polls >= POLLS;
    if is_over && how == Pause::Polls {
        cx.warp.rotate();
    }
    is_over
}

/// The active lanes are past a yield point.
fn yield_turn(cx: &mut Context<'_>) {
    cx.counts.memory.split_yields += u64::from(!cx.warp.is_whole());
    // Lanes that exited may have been the last that others waited for.
    if !cx.warp.parked.is_empty() {
        exchange::complete_parked(cx);
    }
    cx.warp.yield_turn();
}

/// All active lanes go to `target`.
#[inline(always)]
fn jump(cx: &mut Context<'_>, target: u32) {
    cx.warp.pc = target;
    if cx.warp.has_zones() {
        leave_zones(cx, cx.warp.active, target);
    }
}

#[inline(never)]
fn leave_zones(cx: &mut Context<'_>, lanes: u32, pc: u32) {
    let zones = &cx.program.convergences.zones;
    cx.warp.leave_zones(lanes, pc, |zone, pc| zones[zone as usize].contains(pc));
}

/// Operations through which threads affect each other, one module each.
fn communicate(cx: &mut Context<'_>, op: &Op, on: u32) -> Result<Waits, Box<Fault>> {
    let (pc, before) = (cx.warp.pc - 1, cx.counts.memory.all());
    match op {
        Op::Atomic(atomic) => atomic::execute(cx, atomic, on)?,
        Op::AtomicVector(atomic) => atomic_vector::execute(cx, atomic, on)?,
        Op::Exchange(op) => return exchange::execute(cx, op, on).map(|()| Waits::No),
        Op::Transfer(op) => {
            cx.warp.changed = true;
            transfer::execute(cx, op, on)?;
        }
        Op::Mbarrier(barrier) => return mbarrier::execute(cx, barrier, on),
        Op::Mma(op) => return mma::execute(cx, op, on).map(|()| Waits::No),
        Op::Fragment(moved) => {
            cx.warp.changed = true;
            fragment::execute(cx, moved, on)?;
        }
        // The loop itself executes these.
        Op::Arith(_)
        | Op::Integer(_)
        | Op::Float(_)
        | Op::Move(_)
        | Op::Load { .. }
        | Op::Store { .. }
        | Op::Barrier(_)
        | Op::Branch { .. }
        | Op::Control(_)
        | Op::Fence { .. }
        | Op::Sleep
        | Op::Nop => {}
    }
    charge(cx, pc, &before, cx.counts.memory.all());
    Ok(Waits::No)
}

/// Adds the accesses of one execution to its instruction.
#[inline(always)]
fn charge(cx: &mut Context<'_>, pc: u32, before: &AccessCounts, after: AccessCounts) {
    cx.counts.accesses[pc as usize].add(before, &after);
    let warp = cx.warp.index;
    if let Some(trace) = cx.trace() {
        trace.pass((after.wavefronts - before.wavefronts) as u32);
        trace.finish(warp);
    }
}

/// Counts the instruction; the lanes that take part.
#[inline(always)]
fn issue(cx: &mut Context<'_>, guard: Guard, pc: u32) -> u32 {
    let active = cx.warp.active;
    let on = match guard {
        Guard::Always => active,
        Guard::If(p) => active & cx.lanes.pred(p),
        Guard::Unless(p) => active & !cx.lanes.pred(p),
    };
    let count = &mut cx.counts.profile[pc as usize];
    count.warps += 1;
    count.threads += u64::from(active.count_ones());
    count.threads_on += u64::from(on.count_ones());
    let warp = cx.warp.index;
    if let Some(trace) = cx.trace() {
        trace.step(warp, pc);
    }
    on
}

/// The active lanes disagree about a branch.
#[inline(never)]
fn diverge(cx: &mut Context<'_>, groups: &[(u32, u32)], convergence: u32) {
    let convergence = cx.program.convergences.get(convergence);
    cx.counts.memory.divergent_branches += 1;
    cx.counts.divergent[cx.warp.pc as usize - 1] += 1;
    cx.counts.memory.irregular_branches += u64::from(convergence.is_irregular);
    cx.warp.diverge(groups, convergence);
    if cx.warp.has_zones() {
        for &(pc, lanes) in groups {
            leave_zones(cx, lanes, pc);
        }
    }
}

/// Control transfers other than plain branches, and clocks.
fn transfer(cx: &mut Context<'_>, op: &ControlOp, on: u32, now: u64) -> Outcome {
    match *op {
        ControlOp::BranchIndexed { index, table, convergence } => {
            branch_indexed(cx, index, table, convergence, on)?;
        }
        ControlOp::Call { target, copies } if on != 0 => {
            for &(from, to) in &cx.program.copies[copies as usize] {
                let value = *cx.lanes.get32(from);
                cx.lanes.set32(to, &value, on);
            }
            let back = cx.warp.pc;
            cx.warp.call(target, back, on);
        }
        ControlOp::Return if on != 0 => {
            if let Some(activation) = cx.warp.take_activation() {
                calls::leave(cx, &activation, on);
                cx.warp.put_activation(activation);
            }
            cx.warp.ret(on);
        }
        ControlOp::Exit if on != 0 => cx.warp.exit(on),
        ControlOp::Trap if on != 0 => {
            let what = "the kernel executed a trap instruction (in Rust, a panic)";
            return Err(cx.fault(FaultKind::Trap, on, what.to_owned()));
        }
        ControlOp::Breakpoint if on != 0 => {
            let what = "the kernel executed a breakpoint (brkpt), and no debugger is there";
            return Err(cx.fault(FaultKind::Trap, on, what.to_owned()));
        }
        ControlOp::Assert { arguments } if on != 0 => {
            return Err(driver_calls::failed_assertion(cx, arguments, on));
        }
        ControlOp::Print { arguments, d } => driver_calls::print(cx, arguments, d, on)?,
        ControlOp::Malloc { arguments, d } => driver_calls::allocate(cx, arguments, d, on),
        ControlOp::Free { arguments } => driver_calls::free(cx, arguments, on)?,
        ControlOp::Clock { what, d } => match what {
            Clock::Low => cx.lanes.set32(d, &[now as u32; 32], on),
            Clock::High => cx.lanes.set32(d, &[(now >> 32) as u32; 32], on),
            Clock::Full => cx.lanes.set64(d, &[now; 32], on),
        },
        ControlOp::CallWithFrame { .. }
        | ControlOp::CallIndirect { .. }
        | ControlOp::Refused { .. }
        | ControlOp::Alloca { .. }
        | ControlOp::StackSave { .. }
        | ControlOp::StackRestore { .. } => calls::execute(cx, op, on)?,
        // Nobody takes part.
        ControlOp::Call { .. }
        | ControlOp::Return
        | ControlOp::Exit
        | ControlOp::Trap
        | ControlOp::Breakpoint
        | ControlOp::Assert { .. } => {}
    }
    Ok(())
}

/// `brx.idx`: lanes diverge by their table entry.
fn branch_indexed(
    cx: &mut Context<'_>,
    index: Slot,
    table: u32,
    convergence: u32,
    on: u32,
) -> Outcome {
    let targets = &cx.program.tables[table as usize];
    let indices = *cx.lanes.get32(index);
    let next = cx.warp.pc;
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for lane in (0..32).filter(|lane| cx.warp.active & (1 << lane) != 0) {
        let target = if on & (1 << lane) == 0 {
            next
        } else if let Some(target) = targets.get(indices[lane] as usize) {
            *target
        } else {
            let (entry, entries) = (indices[lane], targets.len());
            let detail = format!("brx.idx takes entry {entry} of {entries} branch targets");
            return Err(cx.fault(FaultKind::Undefined, 1 << lane, detail));
        };
        match groups.iter_mut().find(|(pc, _)| *pc == target) {
            Some((_, mask)) => *mask |= 1 << lane,
            None => groups.push((target, 1 << lane)),
        }
    }
    match groups[..] {
        [(target, _)] => jump(cx, target),
        _ => diverge(cx, &groups, convergence),
    }
    Ok(())
}
