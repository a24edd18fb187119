//! The PTX of machine code: its basic blocks and their executions.

use super::instruction::Access;
use crate::counters::Counts;
use crate::lower::Program;
use crate::lower::blocks::split;
use crate::lower::inst::{ArithOp, ExchangeOp, FloatOp, Op, Space};
use crate::timing::code::{Code, Kind};
use std::collections::HashMap;

/// How the copies of an instruction of the PTX are counted in machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// By accesses of this kind.
    Access(Access),
    /// By barriers.
    Barrier,
    /// It is one instruction on floats.
    Float,
    /// By all instructions, of which a copy has so many.
    Other {
        /// Issue slots of a copy.
        issues: u32,
    },
}

/// The PTX of a launch.
pub struct Source<'p> {
    program: &'p Program,
    code: &'p Code,
    counts: &'p Counts,
    /// The first instruction of each line.
    lines: HashMap<u32, usize>,
    /// Of each of these: how many instructions of its line are not free, and their issue slots.
    statements: HashMap<usize, (u32, u32)>,
    /// The basic block of each instruction.
    blocks: Vec<usize>,
    /// The instructions of each basic block.
    ranges: Vec<std::ops::Range<usize>>,
}

impl<'p> Source<'p> {
    /// That of a launch with these `counts`; `code` has the costs of each instruction by itself.
    pub fn new(program: &'p Program, code: &'p Code, counts: &'p Counts) -> Self {
        let (mut lines, mut statements) = (HashMap::new(), HashMap::new());
        for (pc, position) in program.positions.iter().enumerate() {
            let first = *lines.entry(position.ptx_line).or_insert(pc);
            let (count, issues) = statements.entry(first).or_insert((0, 0));
            let slots = code.instructions[pc].cost.slots();
            *count += slots.min(1);
            *issues += slots;
        }
        let ranges: Vec<_> = split(&program.code, 0, &program.tables)
            .iter()
            .map(|block| block.start..block.end)
            .collect();
        let blocks =
            ranges.iter().enumerate().flat_map(|(at, range)| range.clone().map(move |_| at));
        Self { program, code, counts, lines, statements, blocks: blocks.collect(), ranges }
    }

    /// The first instruction of a line.
    pub fn pc(&self, line: Option<u32>) -> Option<usize> {
        self.lines.get(&line?).copied()
    }

    /// The first instruction of the line of an instruction, and how many of the line are not free.
    pub fn line(&self, pc: usize) -> (usize, u32) {
        let first = self.pc(Some(self.program.positions[pc].ptx_line)).unwrap_or(pc);
        (first, self.statements.get(&first).map_or(1, |known| known.0))
    }

    /// The basic block of an instruction.
    pub fn block(&self, pc: usize) -> usize {
        self.blocks[pc]
    }

    /// How often a warp executed an instruction.
    pub fn count(&self, pc: usize) -> f64 {
        self.counts.profile[pc].warps as f64
    }

    /// How often a warp executed a basic block.
    pub fn executions(&self, block: usize) -> f64 {
        let counts = self.counts.profile[self.ranges[block].clone()].iter();
        counts.map(|count| count.warps).max().unwrap_or(0) as f64
    }

    /// How often warps enter a basic block from the code before it, if a loop begins with it.
    pub fn entries(&self, block: usize) -> f64 {
        let before = self.counts.profile[..self.ranges[block].start].iter();
        let last = before.rev().map(|count| count.warps).find(|warps| *warps > 0);
        last.map_or(f64::MAX, |warps| warps as f64).min(self.executions(block))
    }

    /// Whether it is in a loop, by its counts.
    pub fn is_repeated(&self, block: usize) -> bool {
        self.executions(block) > self.entries(block)
    }

    /// Whether it loads from shared memory, or stores there.
    pub fn is_shared(&self, pc: usize) -> bool {
        match &self.program.code[pc].op {
            Op::Load { address, .. } | Op::Store { address, .. } => address.space == Space::Shared,
            _ => false,
        }
    }

    /// How its copies are counted.
    pub fn anchor(&self, pc: usize) -> Anchor {
        let of = &self.code.instructions[pc];
        let (statements, issues) = self.statements.get(&pc).copied().unwrap_or((1, 0));
        if statements > 1 {
            return Anchor::Other { issues };
        }
        match (&self.program.code[pc].op, of.kind) {
            (Op::Mma(_) | Op::Fragment(_) | Op::Exchange(ExchangeOp::Match { .. }), _) => {
                Anchor::Other { issues: 0 }
            }
            (_, Kind::Load { .. }) => Anchor::Access(Access::Load),
            (_, Kind::Store) => Anchor::Access(Access::Store),
            (_, Kind::Atomic { .. } | Kind::Retry) => Anchor::Access(Access::Atomic),
            (_, Kind::Copy) => Anchor::Access(Access::Copy),
            (_, Kind::Barrier { .. }) => Anchor::Barrier,
            (Op::Arith(op), _) if is_float(op) => Anchor::Float,
            (Op::Float(FloatOp::Fma64 { .. }), _) => Anchor::Float,
            _ => Anchor::Other { issues },
        }
    }
}

/// Whether it is one machine instruction on floats.
fn is_float(op: &ArithOp) -> bool {
    matches!(
        op,
        ArithOp::F32Add { .. }
            | ArithOp::F32Sub { .. }
            | ArithOp::F32Mul { .. }
            | ArithOp::F32Fma { .. }
            | ArithOp::Fma32 { .. }
            | ArithOp::F64Add { .. }
            | ArithOp::F64Sub { .. }
            | ArithOp::F64Mul { .. }
            | ArithOp::F64Fma { .. }
    )
}
