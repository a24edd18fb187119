//! The machine code that ptxas makes of a kernel: the instructions that a GPU executes instead of
//! the PTX.
//!
//! Input: the machine code of a kernel with the lines of its PTX, and the counts of the PTX.
//! Output: for each instruction of the PTX, the units that the machine instructions from it occupy,
//! divided by its executions. The steps of a replay stay those of the PTX.

mod executions;
mod flow;
mod instruction;
mod source;

use self::executions::Executions;
use self::flow::Flow;
use self::instruction::{Access, Effect, Instruction};
use self::source::{Anchor, Source};
use super::code::{Code, Kind};
use super::pipes::Demand;
use super::rates::Units;
use crate::counters::Counts;
use crate::lower::Program;
use crate::lower::inst::{ControlOp, Op};
use fatbin::code::MachineCode;

/// The machine code of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    code: Vec<Instruction>,
    flow: Flow,
}

impl Machine {
    /// This one.
    pub fn new(code: &MachineCode) -> Self {
        let instructions = code.instructions.iter().enumerate();
        let code: Vec<Instruction> = instructions
            .map(|(at, instruction)| Instruction::new(instruction, at, code.compute_capability))
            .collect();
        Self { flow: Flow::new(&code), code }
    }

    /// Whether it is the whole of a program: a function that it calls is elsewhere.
    pub fn is_whole(&self, program: &Program) -> bool {
        let calls = |op: &Op| {
            matches!(
                op,
                Op::Control(
                    ControlOp::Call { .. }
                        | ControlOp::CallWithFrame { .. }
                        | ControlOp::CallIndirect { .. }
                )
            )
        };
        let lines: Vec<u32> = program
            .code
            .iter()
            .zip(&program.positions)
            .filter(|(inst, _)| calls(&inst.op))
            .map(|(_, position)| position.ptx_line)
            .collect();
        let is_of_ptx = |of: &Instruction| {
            matches!(of.effect, Effect::Call { .. })
                && of.ptx_line.is_some_and(|line| lines.contains(&line))
        };
        !self.code.is_empty() && !self.code.iter().any(is_of_ptx)
    }

    /// Gives each instruction of `code` what is left of it here.
    pub fn apply(&self, program: &Program, counts: &Counts, units: &Units, code: &mut Code) {
        let plain = code.clone();
        (code.is_machine, code.merges_updates) = (true, false);
        let source = &Source::new(program, &plain, counts);
        let executions = Executions::new(&self.code, &self.flow, source);
        let mut work = vec![Work::default(); program.code.len()];
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
                work[pc].executed += times;
                if let Some(own) = most(0.0)(instruction) {
                    work[own].accesses += if instruction.access.is_some() { times } else { 0.0 };
                    work[own].jumps |= instruction.effect != Effect::Next;
                    work[own].asks_lanes |= instruction.asks_lanes;
                }
            }
        }
        let (mut shared, mut left) = (0.0, 0.0);
        for pc in (0..work.len()).filter(|pc| source.count(*pc) > 0.0) {
            let count = source.count(pc);
            let (first, statements) = source.line(pc);
            let of = &mut code.instructions[pc];
            let kept = work[first].executed / count / f64::from(statements.max(1));
            let latency = f64::from(of.cost.latency) * kept.min(1.0);
            let work = &work[pc];
            of.cost = work.demand.cost(count, &of.cost);
            of.cost.latency = latency.round() as u32;
            let anchor = source.anchor(pc);
            let is_access = matches!(anchor, Anchor::Access(_));
            of.accesses = if is_access { (work.accesses / count).min(1.0) } else { 1.0 };
            code.merges_updates |= work.asks_lanes && anchor == Anchor::Access(Access::Atomic);
            if source.is_shared(pc) {
                (shared, left) = (shared + count, left + count * of.accesses);
            }
            match &mut of.kind {
                Kind::Branch { .. } if !work.jumps => of.kind = Kind::Arithmetic,
                Kind::Branch { unrolled } => {
                    *unrolled = executions.copies.get(&source.block(pc)).copied().unwrap_or(1);
                }
                _ => {}
            }
        }
        if shared > 0.0 {
            code.shared_accesses = left / shared;
        }
    }
}

/// The machine instructions of an instruction of the PTX, in all their executions.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    demand: Demand,
    executed: f64,
    accesses: f64,
    jumps: bool,
    asks_lanes: bool,
}

#[cfg(test)]
mod tests;
