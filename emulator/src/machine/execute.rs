//! The execution loop: one warp, from where it stands until it waits, ends, or has had its turn.
//!
//! Input: a [`Context`]. Output: why the warp stopped, or its first fault. Everything hot is
//! inlined here, so the function that calls [`run`] decides for which instruction set the compiler
//! vectorises it (`driver::host_cpu`).

use super::access;
use super::arith;
use super::atomic;
use super::context::{Arrival, Context, Stop};
use super::exchange;
use super::fault::{Fault, FaultKind, place_in_words};
use super::mbarrier::{self, Waits};
use super::mma;
use super::moves;
use super::scalar;
use super::speech;
use super::spin::{Round, Step};
use super::transfer;
use crate::lower::flow::is_end;
use crate::lower::inst::{Barrier, Clock, ControlOp, Guard, Op, Slot};

type Outcome = Result<(), Box<Fault>>;

/// Instructions in one turn; after it other warps of the block run, so that warps which wait for
/// each other through memory make progress.
const TURN: u32 = 1 << 20;

/// After so many instructions in a turn it is looked whether the active lanes wait for others of
/// their warp.
const LOOK: u32 = 1 << 12;

/// Runs the warp.
///
/// # Errors
/// The first fault.
#[inline(always)]
pub fn run(cx: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
    let (mut remaining, mut round) = (TURN, None);
    let outcome = loop {
        let budget = if round.is_some() { 1 } else { LOOK.min(remaining) };
        let mut left = budget;
        let outcome = turn(cx, &mut left, budget);
        *cx.clock += u64::from(budget - left);
        remaining -= budget - left;
        match outcome {
            Ok(None) if remaining > 0 => look(cx, &mut round),
            Ok(stop) => break Ok(stop.unwrap_or(Stop::Turn)),
            Err(fault) => break Err(fault),
        }
    };
    outcome.map_err(|mut fault| {
        fault.pc = fault.pc.or(Some(cx.warp.pc - 1));
        fault.callers = cx.warp.callers();
        fault
    })
}

/// Lets other lanes of the warp run if the active ones, after a `round` of what they do, have
/// done nothing but wait.
#[inline(never)]
fn look(cx: &mut Context<'_>, round: &mut Option<Round>) {
    let Some(begun) = round else {
        *round = cx.warp.others_could_run().then(|| Round::begin(cx));
        return;
    };
    match begun.step(cx) {
        Step::On => return,
        Step::Works => {}
        Step::Waits => cx.warp.let_waiting_run(),
    }
    *round = None;
}

/// Up to `budget` instructions, of which those `left` are told; none: it has used them up.
#[inline(always)]
fn turn(cx: &mut Context<'_>, left: &mut u32, budget: u32) -> Result<Option<Stop>, Box<Fault>> {
    let code = cx.program.code.as_slice();
    loop {
        let warp = &mut *cx.warp;
        if warp.active == 0 || (warp.pc == warp.reconverge) | (warp.pc == warp.join) {
            if !warp.arrive() {
                return Ok(Some(Stop::Done));
            }
            continue;
        }
        if *left == 0 {
            return Ok(None);
        }
        *left -= 1;
        let pc = cx.warp.pc;
        let active = cx.warp.active;
        let inst = &code[pc as usize];
        let on = issue(cx, inst.guard, pc);
        cx.warp.pc = pc + 1;
        match inst.op {
            Op::Arith(ref op) => arith::execute(&mut cx.lanes, op, on),
            Op::Load { element, address, d } if on != 0 => {
                access::load(cx, element, address, d, on)?
            }
            Op::Store { element, address, a } if on != 0 => {
                cx.warp.changed = true;
                access::store(cx, element, address, a, on)?;
            }
            Op::Branch { target, .. } if on == active => cx.warp.jump(target),
            Op::Branch { target, reconverge } if on != 0 => {
                part(cx, &[(pc + 1, active & !on), (target, on)], reconverge);
            }
            Op::Integer(ref op) => scalar::integer(&mut cx.lanes, op, on),
            Op::Float(ref op) => scalar::float(&mut cx.lanes, op, on),
            Op::Move(ref op) => moves::execute(&mut cx.lanes, op, on),
            ref op @ (Op::Atomic(_)
            | Op::Exchange(_)
            | Op::Transfer(_)
            | Op::Mbarrier(_)
            | Op::Mma(_)) => {
                if on != 0 && together(cx, op, on)? == Waits::Yes {
                    return Ok(Some(Stop::Turn));
                }
            }
            Op::Barrier(ref barrier) if on != 0 => {
                if let Some(arrival) = arrive(cx, barrier, on)? {
                    return Ok(Some(Stop::Barrier(arrival)));
                }
            }
            Op::Control(ref op) => {
                let now = *cx.clock + u64::from(budget - *left);
                transfer(cx, op, on, now)?;
            }
            Op::Fence => cx.shadow.meet(),
            // Nobody takes part.
            Op::Load { .. } | Op::Store { .. } | Op::Branch { .. } | Op::Barrier(_) | Op::Nop => {}
        }
    }
}

/// What threads do to each other, by a module each.
fn together(cx: &mut Context<'_>, op: &Op, on: u32) -> Result<Waits, Box<Fault>> {
    match op {
        Op::Atomic(atomic) => atomic::execute(cx, atomic, on)?,
        Op::Exchange(op) => exchange::execute(cx, op, on)?,
        Op::Transfer(op) => {
            cx.warp.changed = true;
            transfer::execute(cx, op, on)?;
        }
        Op::Mbarrier(barrier) => {
            cx.warp.changed = true;
            return mbarrier::execute(cx, barrier, on);
        }
        Op::Mma(op) => mma::execute(cx, op, on)?,
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
        | Op::Fence
        | Op::Nop => {}
    }
    Ok(Waits::No)
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
    on
}

/// The active lanes disagree about a branch.
fn part(cx: &mut Context<'_>, groups: &[(u32, u32)], meet: u32) {
    cx.counts.memory.divergent_branches += 1;
    let ends = cx.program.code.get(meet as usize).is_some_and(is_end);
    cx.warp.diverge(groups, meet, ends);
}

/// Control transfers other than plain branches, and clocks.
fn transfer(cx: &mut Context<'_>, op: &ControlOp, on: u32, now: u64) -> Outcome {
    match *op {
        ControlOp::BranchIndexed { index, table, reconverge } => {
            branch_indexed(cx, index, table, reconverge, on)?;
        }
        ControlOp::Call { target, copies } if on != 0 => {
            for &(from, to) in &cx.program.copies[copies as usize] {
                let value = *cx.lanes.get32(from);
                cx.lanes.set32(to, &value, on);
            }
            let back = cx.warp.pc;
            cx.warp.call(target, back, on);
        }
        ControlOp::Return if on != 0 => cx.warp.ret(on),
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
            return Err(speech::failed_assertion(cx, arguments, on));
        }
        ControlOp::Print { arguments, d } => speech::print(cx, arguments, d, on)?,
        ControlOp::Clock { what, d } => match what {
            Clock::Low => cx.lanes.set32(d, &[now as u32; 32], on),
            Clock::High => cx.lanes.set32(d, &[(now >> 32) as u32; 32], on),
            Clock::Full => cx.lanes.set64(d, &[now; 32], on),
        },
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

/// `brx.idx`: lanes part by their table entry.
fn branch_indexed(
    cx: &mut Context<'_>,
    index: Slot,
    table: u32,
    reconverge: u32,
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
        [(target, _)] => cx.warp.jump(target),
        _ => {
            part(cx, &groups, reconverge);
        }
    }
    Ok(())
}

/// The lanes of `on` come to a barrier; `None` if others of the warp must come first.
fn arrive(cx: &mut Context<'_>, barrier: &Barrier, on: u32) -> Result<Option<Arrival>, Box<Fault>> {
    let Barrier { kind, id, threads, p, negate, .. } = *barrier;
    let Some(on) = gather(cx, on)? else { return Ok(None) };
    let lane = on.trailing_zeros() as usize;
    let id = cx.lanes.get32(id)[lane];
    let threads = threads.map(|threads| cx.lanes.get32(threads)[lane]);
    if id > 15 || threads.is_some_and(|threads| threads == 0 || threads % 32 != 0) {
        let detail = format!(
            "barrier {id} with {} threads: barriers are 0 to 15, threads a multiple of 32",
            threads.unwrap_or(0)
        );
        return Err(cx.fault(FaultKind::Undefined, on, detail));
    }
    let predicate = cx.lanes.pred(p);
    let votes = if negate { !predicate } else { predicate } & on;
    Ok(Some(Arrival { id, threads, kind, votes, pc: cx.warp.pc - 1 }))
}

/// All running lanes of the warp come to one barrier. Those that left the kernel do not count, and
/// those that took another way may still leave it, or come here.
fn gather(cx: &mut Context<'_>, on: u32) -> Result<Option<u32>, Box<Fault>> {
    if on == cx.warp.live {
        return Ok(Some(on));
    }
    let code = cx.program.code.as_slice();
    let pc = cx.warp.pc - 1;
    cx.warp.forget_ended(|pc| is_end(&code[pc as usize]));
    if on == cx.warp.active && on != cx.warp.live {
        let is_barrier = |pc: u32| matches!(code[pc as usize].op, Op::Barrier(_));
        if cx.warp.let_others_come(pc, is_barrier) {
            // It is issued again once they are here, or gone.
            cx.counts.take_back(pc, on);
            return Ok(None);
        }
    }
    if on == cx.warp.live {
        return Ok(Some(on));
    }
    let others = cx.warp.sibling().map(|(pc, lanes)| {
        format!("; {} of the others are {}", lanes.count_ones(), place_in_words(cx.program, pc))
    });
    let detail = format!(
        "only {} of the {} running threads of warp {} reach this barrier: it is in code on which they \
         diverge{}. Move it out of the branch, or let all threads take the same way",
        on.count_ones(),
        cx.warp.live.count_ones(),
        cx.warp.index,
        others.unwrap_or_default()
    );
    Err(cx.fault(FaultKind::BarrierDeadlock, on, detail))
}
