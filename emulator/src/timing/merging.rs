//! Instructions that ptxas merges: sums and logic of three operands, products and shifts with sums,
//! rotations.
//!
//! Input: the program. Output: the costs of the instructions that are left of it, and whether the
//! atomics of a warp are merged. Only instructions of one basic block are merged, and only values
//! that are written at one place. They were counted in the machine code of ptxas 13.0 for compute
//! capability 9.0.

use super::code::{Code, Kind};
use super::cost;
use super::pipes::Cost;
use crate::lower::Program;
use crate::lower::inst::{ArithOp, Binary, IntegerOp, Op, Shift, Slot};
use crate::lower::program::WarpInit;
use std::collections::HashSet;

/// An instruction that may be merged. `wide`: of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Sum {
        wide: bool,
    },
    Logic {
        wide: bool,
    },
    Product,
    WideProduct,
    /// To the left, by a constant.
    Left {
        wide: bool,
    },
    /// To the right, by a constant, of 64 bits.
    Right,
    Other,
}

fn operand_part(op: &Op) -> Part {
    let is_constant = |slot: &Slot| slot.0 & Slot::PRIVATE == 0;
    match op {
        Op::Arith(ArithOp::Binary32 { op, .. }) => binary(*op, false),
        Op::Arith(ArithOp::Binary64 { op, .. }) => binary(*op, true),
        Op::Arith(ArithOp::MulWide { .. }) => Part::WideProduct,
        Op::Arith(ArithOp::Shift32 { op: Shift::Left, b, .. }) if is_constant(b) => {
            Part::Left { wide: false }
        }
        Op::Integer(IntegerOp::Shift64 { op, b, .. }) if is_constant(b) => match op {
            Shift::Left => Part::Left { wide: true },
            Shift::RightU | Shift::RightS => Part::Right,
        },
        _ => Part::Other,
    }
}

fn binary(op: Binary, wide: bool) -> Part {
    match op {
        Binary::Add | Binary::Sub => Part::Sum { wide },
        Binary::And | Binary::Or | Binary::Xor => Part::Logic { wide },
        Binary::MulLo if !wide => Part::Product,
        _ => Part::Other,
    }
}

/// An instruction whose result another one of its block reads.
#[derive(Debug, Clone, Copy)]
struct Maker {
    pc: usize,
    /// How many instructions read the result.
    readers: u32,
}

struct Merging<'c> {
    code: &'c Code,
    parts: Vec<Part>,
    /// The basic block of each instruction.
    blocks: Vec<u32>,
    /// The instruction that writes each register, if there is only one, and the number of
    /// instructions that read it.
    writers: Vec<Option<usize>>,
    readers: Vec<u32>,
    costs: Vec<Cost>,
    /// How many readers hold an instruction's work in theirs.
    held: Vec<u32>,
    /// Instructions that take no further operand.
    full: Vec<bool>,
}

/// Changes the costs of what is merged.
pub fn merge(program: &Program, code: &mut Code) {
    let mut merging = Merging::new(program, code);
    (0..program.code.len()).for_each(|pc| merging.merge(pc));
    let costs = merging.finish();
    code.instructions.iter_mut().zip(costs).for_each(|(of, cost)| of.cost = cost);
    code.merges_updates = merges_updates(program, code);
}

/// Whether an atomic has an address that is the same for all lanes as far as ptxas can know: it
/// does not follow from the thread's index or from loaded data.
fn merges_updates(program: &Program, code: &Code) -> bool {
    let first = program.predicates + program.registers32;
    let mut addresses = program.code.iter().filter_map(|inst| match &inst.op {
        Op::Atomic(atomic) if atomic.address.wide => Some(atomic.address.base),
        _ => None,
    });
    addresses.any(|base| {
        let is_constant = base.0 & Slot::PRIVATE == 0;
        is_constant || is_uniform(program, code, (first + base.index(0)) as u32)
    })
}

fn is_uniform(program: &Program, code: &Code, register: u32) -> bool {
    let indices = program.warp_init.iter().filter(|(_, of)| matches!(of, WarpInit::ThreadIndex(_)));
    let indices: Vec<u32> = indices.map(|(at, _)| (program.predicates + at) as u32).collect();
    let (mut known, mut waiting) = (HashSet::new(), vec![register]);
    while let Some(register) = waiting.pop() {
        if indices.contains(&register) {
            return false;
        }
        if !known.insert(register) {
            continue;
        }
        for (inst, of) in program.code.iter().zip(&code.instructions) {
            if code.results(of).contains(&register) {
                let is_sum = matches!(of.kind, Kind::Arithmetic | Kind::Constant);
                if !is_sum || matches!(inst.op, Op::Exchange(_)) {
                    return false;
                }
                waiting.extend(code.sources(of));
            }
        }
    }
    true
}

impl<'c> Merging<'c> {
    fn new(program: &Program, code: &'c Code) -> Self {
        let mut writes = vec![(0u32, 0); code.registers];
        let mut readers = vec![0; code.registers];
        for (pc, of) in code.instructions.iter().enumerate() {
            for &register in code.results(of) {
                let (count, at) = &mut writes[register as usize];
                (*count, *at) = (*count + 1, pc);
            }
            code.sources(of).iter().for_each(|&register| readers[register as usize] += 1);
        }
        Self {
            code,
            parts: program.code.iter().map(|inst| operand_part(&inst.op)).collect(),
            blocks: blocks(program),
            writers: writes.into_iter().map(|(count, at)| (count == 1).then_some(at)).collect(),
            readers,
            costs: code.instructions.iter().map(|of| of.cost).collect(),
            held: vec![0; program.code.len()],
            full: vec![false; program.code.len()],
        }
    }

    fn merge(&mut self, pc: usize) {
        let makers = self.makers(pc);
        let part = self.parts[pc];
        let made = |kind: Part| makers.iter().find(|maker| self.parts[maker.pc] == kind).copied();
        let (left, right) = (made(Part::Left { wide: true }), made(Part::Right));
        let held = match part {
            Part::Sum { wide: true } | Part::Logic { wide: true }
                if left.is_some() && right.is_some() =>
            {
                let is_sum = part == Part::Sum { wide: true };
                Some((vec![left, right], if is_sum { cost::PAIR } else { cost::ROTATION }))
            }
            Part::Sum { wide: true } => match made(Part::WideProduct) {
                Some(product) => Some((vec![Some(product)], cost::WIDE)),
                None => left.map(|left| (vec![Some(left)], cost::PAIR)),
            },
            Part::Sum { wide: false } => {
                match made(Part::Product).filter(|maker| maker.readers == 1) {
                    Some(product) => Some((vec![Some(product)], cost::IMAD)),
                    None => {
                        made(Part::Left { wide: false }).map(|shift| (vec![Some(shift)], cost::ALU))
                    }
                }
            }
            _ => None,
        };
        if let Some((held, cost)) = held {
            held.into_iter().flatten().for_each(|maker| self.held[maker.pc] += 1);
            (self.costs[pc], self.full[pc]) = (cost, true);
        } else if matches!(part, Part::Sum { .. } | Part::Logic { .. }) {
            let inner = makers.iter().find(|maker| {
                self.parts[maker.pc] == part && !self.full[maker.pc] && maker.readers == 1
            });
            if let Some(inner) = inner {
                (self.held[inner.pc], self.full[pc]) = (1, true);
            }
        }
    }

    fn makers(&self, pc: usize) -> Vec<Maker> {
        let sources = self.code.sources(&self.code.instructions[pc]).iter();
        let makers = sources.filter_map(|&register| {
            let readers = self.readers[register as usize];
            self.writers[register as usize].map(|pc| Maker { pc, readers })
        });
        makers.filter(|maker| maker.pc < pc && self.blocks[maker.pc] == self.blocks[pc]).collect()
    }

    /// The costs. An instruction that is merged into all its readers costs nothing.
    fn finish(self) -> Vec<Cost> {
        let mut costs = self.costs;
        for (pc, of) in self.code.instructions.iter().enumerate() {
            let results = self.code.results(of).iter();
            let readers: u32 = results.map(|&register| self.readers[register as usize]).sum();
            if self.held[pc] > 0 && self.held[pc] == readers {
                costs[pc] = cost::FREE;
            } else if self.parts[pc] == (Part::Left { wide: false }) {
                costs[pc] = cost::ADD;
            }
        }
        costs
    }
}

/// The basic block of each instruction.
fn blocks(program: &Program) -> Vec<u32> {
    let mut starts = vec![false; program.code.len() + 1];
    for (pc, inst) in program.code.iter().enumerate() {
        if let Op::Branch { target, .. } = inst.op {
            starts[target as usize] = true;
            starts[pc + 1] = true;
        }
    }
    let mut block = 0;
    let numbers = starts.iter().map(|&starts| {
        block += u32::from(starts);
        block
    });
    numbers.collect()
}
