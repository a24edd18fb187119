//! The execution loop: one warp, from where it stands until it waits, ends, or has had its turn.
//!
//! Everything hot is inlined here, so the function that calls [`run`] decides for which instruction
//! set the compiler vectorises it (`driver::host_cpu`).

use super::access;
use super::arith;
use super::atomic;
use super::exchange;
use super::fault::{Fault, FaultKind};
use super::lanes::Lanes;
use super::memory::Memory;
use super::warp::Warp;
use crate::counters::Counts;
use crate::lower::inst::{Barrier, BarrierKind, Clock, Guard, Op};
use crate::lower::program::Program;

/// Why a warp stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its turn is over.
    Turn,
    /// It is at a barrier.
    Barrier(Arrival),
    /// All its threads have exited.
    Done,
}

/// A warp at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Which barrier.
    pub id: u32,
    /// Threads that it waits for, if not all.
    pub threads: Option<u32>,
    /// What it does there.
    pub kind: BarrierKind,
    /// The arriving lanes whose predicate holds.
    pub votes: u32,
    /// The instruction.
    pub pc: u32,
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
    /// The block's shared memory, in words.
    pub shared: &'x mut [u32],
    /// Bytes of shared memory that the launch has.
    pub shared_bytes: u32,
    /// The warp's local memory: word by word, 32 lanes each.
    pub local: &'x mut [u32],
    /// Launch parameters, in words.
    pub params: &'x [u32],
    /// Where counts go.
    pub counts: &'x mut Counts,
    /// Warp instructions that the block has executed.
    pub clock: &'x mut u64,
    /// The allocation that the last global access found.
    pub last_allocation: &'x mut usize,
}

/// A way to execute a warp.
pub type Runner = for<'c, 'x> fn(&'c mut Context<'x>) -> Result<Stop, Box<Fault>>;

/// Instructions in one turn; after it other warps of the block run, so that warps which wait for
/// each other through memory make progress.
const TURN: u32 = 1 << 20;

/// Runs the warp.
///
/// # Errors
/// The first fault.
#[inline(always)]
pub fn run(cx: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
    let program = cx.program;
    let code = program.code.as_slice();
    let mut left = TURN;
    let mut stopped = None;
    let outcome = loop {
        if cx.warp.active == 0 || cx.warp.pc == cx.warp.reconverge {
            if !cx.warp.pop() {
                break Ok(Stop::Done);
            }
            continue;
        }
        if left == 0 {
            break Ok(Stop::Turn);
        }
        left -= 1;
        let pc = cx.warp.pc;
        let active = cx.warp.active;
        let inst = &code[pc as usize];
        let on = match inst.guard {
            Guard::Always => active,
            Guard::If(p) => active & cx.lanes.pred(p),
            Guard::Unless(p) => active & !cx.lanes.pred(p),
        };
        let count = &mut cx.counts.profile[pc as usize];
        count.warps += 1;
        count.threads += u64::from(active.count_ones());
        count.threads_on += u64::from(on.count_ones());
        cx.warp.pc = pc + 1;
        match inst.op {
            Op::Load { element, address, d } => {
                if on != 0
                    && let Err(fault) = access::load(cx, element, address, d, on)
                {
                    break Err(fault);
                }
            }
            Op::Store { element, address, a } => {
                if on != 0
                    && let Err(fault) = access::store(cx, element, address, a, on)
                {
                    break Err(fault);
                }
            }
            Op::Branch { target, reconverge } => {
                if on == active {
                    cx.warp.pc = target;
                } else if on != 0 {
                    cx.counts.memory.divergent_branches += 1;
                    cx.warp.diverge(&[(pc + 1, active & !on), (target, on)], reconverge);
                }
            }
            Op::Nop => {}
            Op::Atomic(ref atomic) => {
                if on != 0
                    && let Err(fault) = atomic::execute(cx, atomic, on)
                {
                    break Err(fault);
                }
            }
            Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::WarpSync { .. } => {
                if let Err(fault) = exchange::execute(cx, &inst.op, on) {
                    break Err(fault);
                }
            }
            Op::Barrier(ref barrier) => match arrive(cx, barrier, on) {
                Ok(None) => {}
                Ok(Some(arrival)) => {
                    stopped = Some(arrival);
                    break Ok(Stop::Turn);
                }
                Err(fault) => break Err(fault),
            },
            Op::BranchIndexed { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap { .. }
            | Op::Clock { .. } => {
                let now = *cx.clock + u64::from(TURN - left);
                if let Err(fault) = transfer(cx, &inst.op, on, now) {
                    break Err(fault);
                }
            }
            ref op => arith::execute(&mut cx.lanes, op, on),
        }
    };
    *cx.clock += u64::from(TURN - left);
    match (outcome, stopped) {
        (Ok(Stop::Turn), Some(arrival)) => Ok(Stop::Barrier(arrival)),
        (Err(mut fault), _) => {
            fault.pc = fault.pc.or(Some(cx.warp.pc - 1));
            fault.callers = cx.warp.callers();
            Err(fault)
        }
        (outcome, _) => outcome,
    }
}

/// A fault of the running instruction, without an access.
pub fn fault(cx: &Context<'_>, kind: FaultKind, lanes: u32, detail: String) -> Box<Fault> {
    let lane = Some((cx.warp.index, lanes.trailing_zeros().min(31)));
    Box::new(Fault { kind, pc: None, callers: Vec::new(), lane, access: None, detail })
}

/// Control transfers other than plain branches.
fn transfer(cx: &mut Context<'_>, op: &Op, on: u32, now: u64) -> Result<(), Box<Fault>> {
    if on == 0 && !matches!(op, Op::BranchIndexed { .. }) {
        return Ok(());
    }
    let program = cx.program;
    match *op {
        Op::BranchIndexed { index, table, reconverge } => {
            let targets = &program.tables[table as usize];
            let indices = *cx.lanes.get32(index);
            let next = cx.warp.pc;
            let mut groups: Vec<(u32, u32)> = Vec::new();
            for lane in (0..32).filter(|lane| cx.warp.active & (1 << lane) != 0) {
                let target = if on & (1 << lane) == 0 {
                    next
                } else if let Some(target) = targets.get(indices[lane] as usize) {
                    *target
                } else {
                    let detail = format!(
                        "brx.idx takes entry {} of {} branch targets",
                        indices[lane],
                        targets.len()
                    );
                    return Err(fault(cx, FaultKind::Undefined, 1 << lane, detail));
                };
                match groups.iter_mut().find(|(pc, _)| *pc == target) {
                    Some((_, mask)) => *mask |= 1 << lane,
                    None => groups.push((target, 1 << lane)),
                }
            }
            match groups[..] {
                [(target, _)] => cx.warp.pc = target,
                _ => {
                    cx.counts.memory.divergent_branches += 1;
                    cx.warp.diverge(&groups, reconverge);
                }
            }
        }
        Op::Call { target, copies } => {
            for &(from, to) in &program.copies[copies as usize] {
                let value = *cx.lanes.get32(from);
                cx.lanes.set32(to, &value, on);
            }
            let back = cx.warp.pc;
            cx.warp.call(target, back, on);
        }
        Op::Return => cx.warp.ret(on),
        Op::Exit => cx.warp.exit(on),
        Op::Clock { what, d } => match what {
            Clock::Low => cx.lanes.set32(d, &[now as u32; 32], on),
            Clock::High => cx.lanes.set32(d, &[(now >> 32) as u32; 32], on),
            Clock::Full => cx.lanes.set64(d, &[now; 32], on),
        },
        Op::Trap { assert } => {
            let (kind, what) = if assert {
                (FaultKind::Assert, "a device-side assertion failed")
            } else {
                (FaultKind::Trap, "the kernel executed a trap instruction (in Rust, a panic)")
            };
            return Err(fault(cx, kind, on, what.to_owned()));
        }
        _ => {}
    }
    Ok(())
}

/// A warp comes to a barrier; `None` if it goes on at once.
fn arrive(cx: &mut Context<'_>, barrier: &Barrier, on: u32) -> Result<Option<Arrival>, Box<Fault>> {
    let Barrier { kind, id, threads, p, negate, .. } = *barrier;
    if on == 0 {
        return Ok(None);
    }
    if on != cx.warp.live {
        let detail = format!(
            "only {} of the {} running threads of warp {} reach this barrier: it is in code on which they diverge",
            on.count_ones(),
            cx.warp.live.count_ones(),
            cx.warp.index
        );
        return Err(fault(cx, FaultKind::BarrierDeadlock, on, detail));
    }
    let lane = on.trailing_zeros() as usize;
    let id = cx.lanes.get32(id)[lane];
    let threads = threads.map(|threads| cx.lanes.get32(threads)[lane]);
    if id > 15 || threads.is_some_and(|threads| threads == 0 || threads % 32 != 0) {
        let detail = format!(
            "barrier {id} with {} threads: barriers are 0 to 15, threads a multiple of 32",
            threads.unwrap_or(0)
        );
        return Err(fault(cx, FaultKind::Undefined, on, detail));
    }
    let predicate = cx.lanes.pred(p);
    let votes = if negate { !predicate } else { predicate } & on;
    Ok(Some(Arrival { id, threads, kind, votes, pc: cx.warp.pc - 1 }))
}
