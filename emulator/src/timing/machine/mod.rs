//! The machine code that ptxas makes of a kernel: the instructions that a GPU executes instead of
//! the PTX.
//!
//! Input: the machine code of a kernel with the lines of its PTX, and the counts of the PTX.
//! Output: for each instruction of the PTX, the units that the machine instructions from it occupy,
//! divided by its executions; and the order in which warps execute machine instructions.

mod executions;
mod fetch;
mod flow;
mod instruction;
mod paths;
mod schedule;
mod source;

pub use self::schedule::{BySchedule, Schedule};

use self::executions::Executions;
use self::flow::Flow;
use self::instruction::{Access, Effect, Instruction};
use self::paths::Paths;
use self::schedule::{Action, Scheduled};
use self::source::{Anchor, Source};
use super::code::{Code, Kind};
use super::pipes::{Demand, Pipe};
use super::rates::Units;
use crate::counters::Counts;
use crate::lower::Program;
use crate::lower::inst::{ControlOp, Op};
use fatbin::code::MachineCode;

/// Clocks from a load of a constant to its use: an H200 takes 34 for one and the shift of an
/// address (docs/scripts/estimate).
const LOAD_OF_CONSTANT: u64 = 29;

/// The machine code of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    code: Vec<Instruction>,
    flow: Flow,
}

impl Machine {
    /// Decodes `code` and finds its blocks and loops.
    pub fn new(code: &MachineCode) -> Self {
        let instructions = code.instructions.iter().enumerate();
        let code: Vec<Instruction> = instructions
            .map(|(at, instruction)| Instruction::new(instruction, at, code.compute_capability))
            .collect();
        Self { flow: Flow::new(&code), code }
    }

    /// Whether it is all the code that a launch with these `counts` executed, and of which part
    /// each instruction is: a function that it calls is elsewhere, and a branch that shares its
    /// line with others hides their block.
    pub fn is_whole(&self, program: &Program, counts: &Counts) -> bool {
        let line = |pc: usize| program.positions[pc].ptx_line;
        let is_branch = |pc: usize| matches!(program.code[pc].op, Op::Branch { .. });
        let is_hidden =
            |pc: usize| line(pc - 1) == line(pc) && (is_branch(pc - 1) || is_branch(pc));
        let calls = |pc: &usize| {
            matches!(
                program.code[*pc].op,
                Op::Control(
                    ControlOp::Call { .. }
                        | ControlOp::CallWithFrame { .. }
                        | ControlOp::CallIndirect { .. }
                )
            )
        };
        let executed = (0..program.code.len()).filter(|pc| counts.profile[*pc].warps > 0);
        let lines: Vec<u32> = executed.filter(calls).map(line).collect();
        let is_elsewhere = |of: &Instruction| {
            matches!(of.effect, Effect::Call { .. })
                && of.ptx_line.is_some_and(|line| lines.contains(&line))
        };
        !self.code.is_empty()
            && !(1..program.code.len()).any(is_hidden)
            && !self.code.iter().any(is_elsewhere)
    }

    /// Gives each instruction of `code` the cost that is left of it here.
    pub fn apply(
        &self,
        program: &Program,
        counts: &Counts,
        units: &Units,
        code: &mut Code,
    ) -> Schedule {
        let plain = code.clone();
        code.merges_updates = false;
        let source = &Source::new(program, &plain, counts);
        let executions = Executions::new(&self.code, &self.flow, source);
        let work = self.work(source, &executions, units);
        let (mut shared, mut left) = (0.0, 0.0);
        for pc in (0..work.len()).filter(|pc| source.count(*pc) > 0.0) {
            let (count, work, anchor) = (source.count(pc), &work[pc], source.anchor(pc));
            let of = &mut code.instructions[pc];
            of.cost = work.demand.cost(count, &of.cost);
            code.merges_updates |= work.asks_lanes && anchor == Anchor::Access(Access::Atomic);
            if source.is_shared(pc) {
                let is_access = matches!(anchor, Anchor::Access(_));
                let part = if is_access { (work.accesses / count).min(1.0) } else { 1.0 };
                (shared, left) = (shared + count, left + count * part);
            }
        }
        if shared > 0.0 {
            code.shared_accesses = left / shared;
        }
        self.schedule(source, &plain, &executions, &work, units)
    }

    /// The machine instructions of each instruction of the PTX.
    fn work(&self, source: &Source<'_>, executions: &Executions, units: &Units) -> Vec<Work> {
        let mut work = vec![Work::default(); source.instructions()];
        for (block, &times) in self.flow.blocks.iter().zip(&executions.of_block) {
            let instructions = &self.code[block.instructions.clone()];
            let most = |share: f64| {
                move |of: &Instruction| {
                    source.pc(of.ptx_line).filter(|pc| source.count(*pc) > share * times)
                }
            };
            // What is executed on a condition has its slot in any case: it belongs to the line
            // before it that is executed as often as the block.
            let Some(mut pc) = instructions.iter().find_map(most(0.5)) else { continue };
            for instruction in instructions.iter().filter(|_| times > 0.0) {
                pc = most(0.5)(instruction).unwrap_or(pc);
                work[pc].demand.add(&instruction.cost(units), times);
                if let Some(own) = most(0.0)(instruction) {
                    let is_product = instruction.multiplies_matrices();
                    work[own].products += if is_product { times } else { 0.0 };
                    work[own].asks_lanes |= instruction.asks_lanes;
                }
                if let Some(accessing) = source.accessing(instruction) {
                    work[accessing].accesses += times;
                }
            }
        }
        work
    }

    /// The order of the machine instructions.
    fn schedule(
        &self,
        source: &Source<'_>,
        plain: &Code,
        executions: &Executions,
        work: &[Work],
        units: &Units,
    ) -> Schedule {
        let (mut instructions, mut own) = (Vec::new(), Vec::new());
        for of in &self.code {
            let pc = source.pc(of.ptx_line);
            let accessing = source.accessing(of);
            let accesses = accessing.map(|first| {
                let (made, count) = (work[first].accesses, source.accesses(first));
                (first as u32, if made > 0.0 { count / made } else { 1.0 })
            });
            let from = accessing.or(pc);
            let mut cost = of.cost(units);
            if let Some(pc) = pc.filter(|pc| of.multiplies_matrices() && work[*pc].products > 0.0) {
                let busy = f64::from(plain.instructions[pc].cost.busy[Pipe::Tensor as usize]);
                let all = busy * source.count(pc);
                cost.busy[Pipe::Tensor as usize] = (all / work[pc].products) as u32;
            }
            instructions.push(Scheduled {
                cost,
                control: of.control,
                awaits: of.awaits,
                action: match (of.access, accesses) {
                    (Some(Access::Load), None) => Action::Hit,
                    _ => action(of, from.map(|pc| (&plain.instructions[pc], source.is_local(pc)))),
                },
                part: accesses.map_or(1.0, |(_, count)| (1.0 / count).min(1.0)),
                jumps: matches!(of.effect, Effect::Jump { .. } | Effect::Indexed),
            });
            own.push(accesses);
        }
        let is_barrier = |at: usize| instructions[at].action == Action::Barrier;
        let paths = Paths::new(&self.flow, executions, source, own, is_barrier);
        Schedule { instructions, paths }
    }
}

/// The action of a machine instruction from an instruction of the PTX, which may access local
/// memory.
fn action(of: &Instruction, from: Option<(&super::code::Instruction, bool)>) -> Action {
    let kind = from.map(|(from, _)| from.kind);
    match of.access {
        Some(Access::Load | Access::Store) if from.is_some_and(|(_, is_local)| is_local) => {
            Action::Local
        }
        Some(Access::Load) => Action::Load { cached: kind == Some(Kind::Load { cached: true }) },
        Some(Access::Store) => Action::Store,
        Some(Access::Copy) => Action::Copy,
        Some(Access::Atomic) => Action::Atomic {
            returns: kind == Some(Kind::Atomic { returns: true }),
            is_retried: kind == Some(Kind::Retry),
        },
        None if of.is_barrier && kind != Some(Kind::Barrier { continues: true }) => Action::Barrier,
        None if of.joins_copies() => Action::JoinCopies,
        None if of.loads_constants() => Action::Constant { clocks: LOAD_OF_CONSTANT },
        None => match from {
            Some((from, _)) if of.is_fence() && from.kind == Kind::Fence => {
                Action::Fence { ticks: u64::from(from.cost.latency) }
            }
            _ => Action::Result { clocks: of.latency() },
        },
    }
}

/// The machine instructions of an instruction of the PTX, in all their executions.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    demand: Demand,
    accesses: f64,
    /// Products of matrices.
    products: f64,
    asks_lanes: bool,
}

#[cfg(test)]
mod tests;
