//! The PTX of machine code: its basic blocks and their executions.

use super::instruction::{Access, Instruction};
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

/// The accesses of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Accesses {
    /// Of global, shared or local memory.
    Of(Access),
    /// Loads of constants.
    Constants,
}

/// The PTX of a launch.
pub struct Source<'p> {
    program: &'p Program,
    code: &'p Code,
    counts: &'p Counts,
    /// The first instruction of each line.
    lines: HashMap<u32, usize>,
    /// The first instruction with accesses of each kind in the line that begins with another one.
    accesses: HashMap<(usize, Accesses), usize>,
    /// By instruction: the first one of its line with accesses of its kind.
    first_accesses: Vec<Option<usize>>,
    /// Of each of these: how many instructions of its line are not free, and their issue slots.
    statements: HashMap<usize, (u32, u32)>,
    /// The basic block of each instruction.
    blocks: Vec<usize>,
    /// The instructions of each basic block.
    ranges: Vec<std::ops::Range<usize>>,
}

impl<'p> Source<'p> {
    /// The PTX of a launch with these `counts`; `code` has the cost of each single instruction.
    pub fn new(program: &'p Program, code: &'p Code, counts: &'p Counts) -> Self {
        let (mut lines, mut statements) = (HashMap::new(), HashMap::new());
        let (mut accesses, mut first_accesses) = (HashMap::new(), Vec::new());
        for (pc, position) in program.positions.iter().enumerate() {
            let first = *lines.entry(position.ptx_line).or_insert(pc);
            let (count, issues) = statements.entry(first).or_insert((0, 0));
            let slots = code.instructions[pc].cost.slots();
            *count += slots.min(1);
            *issues += slots;
            let kind = accesses_of(code.instructions[pc].kind);
            first_accesses.push(kind.map(|kind| *accesses.entry((first, kind)).or_insert(pc)));
        }
        let ranges: Vec<_> = split(&program.code, 0, &program.tables)
            .iter()
            .map(|block| block.start..block.end)
            .collect();
        let blocks =
            ranges.iter().enumerate().flat_map(|(at, range)| range.clone().map(move |_| at));
        let blocks = blocks.collect();
        Self { program, code, counts, lines, accesses, first_accesses, statements, blocks, ranges }
    }

    /// The first instruction of a line.
    pub fn pc(&self, line: Option<u32>) -> Option<usize> {
        self.lines.get(&line?).copied()
    }

    /// How many instructions it has.
    pub fn instructions(&self) -> usize {
        self.program.code.len()
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

    /// Whether it is in a loop, by its counts, or is a loop.
    pub fn is_repeated(&self, block: usize) -> bool {
        let range = &self.ranges[block];
        let is_loop = matches!(
            self.program.code[range.end - 1].op,
            Op::Branch { target, .. } if target as usize == range.start
        );
        is_loop || self.executions(block) > self.entries(block)
    }

    /// The space that a load or a store accesses.
    fn space(&self, pc: usize) -> Option<Space> {
        match &self.program.code[pc].op {
            Op::Load { address, .. } | Op::Store { address, .. } => Some(address.space),
            _ => None,
        }
    }

    /// Whether it accesses local memory.
    pub fn is_local(&self, pc: usize) -> bool {
        self.space(pc) == Some(Space::Local)
    }

    /// Whether it is the first instruction of its basic block.
    pub fn is_first(&self, pc: usize) -> bool {
        self.ranges[self.blocks[pc]].start == pc
    }

    /// Whether it loads from shared memory, or stores there.
    pub fn is_shared(&self, pc: usize) -> bool {
        self.space(pc) == Some(Space::Shared)
    }

    /// The instruction whose accesses a machine instruction makes; the first one, if a line has
    /// several with accesses of that kind.
    pub fn accessing(&self, of: &Instruction) -> Option<usize> {
        let kind = match of.access {
            Some(access) => Accesses::Of(access),
            None if of.loads_constants() => Accesses::Constants,
            None => return None,
        };
        self.accesses.get(&(self.pc(of.ptx_line)?, kind)).copied()
    }

    /// By instruction: the first one of its line with accesses of its kind.
    pub fn first_accesses(&self) -> &[Option<usize>] {
        &self.first_accesses
    }

    /// How often a warp executed those of which this is the first.
    pub fn accesses(&self, first: usize) -> f64 {
        let of_line = self.first_accesses[first..].iter().enumerate();
        let of_line = of_line.take_while(|(at, _)| self.is_in_line(first, first + at));
        let same = of_line.filter(|(_, of)| **of == Some(first));
        same.map(|(at, _)| self.count(first + at)).sum()
    }

    fn is_in_line(&self, one: usize, other: usize) -> bool {
        self.program.positions[one].ptx_line == self.program.positions[other].ptx_line
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
            (_, Kind::Barrier { .. }) => Anchor::Barrier,
            (Op::Arith(op), _) if is_float(op) => Anchor::Float,
            (Op::Float(FloatOp::Fma64 { .. }), _) => Anchor::Float,
            (_, kind) => match accesses_of(kind) {
                Some(Accesses::Of(access)) => Anchor::Access(access),
                _ => Anchor::Other { issues },
            },
        }
    }
}

/// The accesses of an instruction.
fn accesses_of(kind: Kind) -> Option<Accesses> {
    match kind {
        Kind::Load { .. } => Some(Accesses::Of(Access::Load)),
        Kind::Store => Some(Accesses::Of(Access::Store)),
        Kind::Atomic { .. } | Kind::Retry => Some(Accesses::Of(Access::Atomic)),
        Kind::Copy => Some(Accesses::Of(Access::Copy)),
        Kind::Constant => Some(Accesses::Constants),
        _ => None,
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
