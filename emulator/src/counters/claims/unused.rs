//! Loads with a value that is not used, or only in part: ptxas drops or narrows them.

use super::demand::Demand;
use super::wires::ones;
use crate::lower::inst::{Element, File, Inst, MoveOp, Op, Register, Role};
use crate::lower::program::Program;
use std::collections::HashMap;

/// How much of a load is unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// Its whole value.
    All,
    /// A part of its value.
    Part,
}

/// The loads of a program, and the bits of their values that have an effect.
pub struct Loads<'p> {
    program: &'p Program,
    demand: Demand<'p>,
    readers: HashMap<Register, Vec<usize>>,
}

impl<'p> Loads<'p> {
    /// Of a program.
    pub fn new(program: &'p Program, demand: Demand<'p>) -> Self {
        let mut readers: HashMap<Register, Vec<usize>> = HashMap::new();
        for (pc, inst) in program.code.iter().enumerate() {
            for read in inst.op.registers(Role::Read) {
                readers.entry(read).or_default().push(pc);
            }
        }
        Self { program, demand, readers }
    }

    /// How much of a load is unused. ptxas keeps a volatile load. It cuts off words, and of a
    /// single word a half that only `mov` separates. It loads four bytes as one word, and four
    /// words or halves whole if three of them are needed.
    pub fn unused(&self, inst: &Inst, element: Element) -> Option<Unused> {
        let results = inst.op.registers(Role::Write);
        let bits = results.iter().map(|&result| self.demand.get(result));
        let words = if element.bytes == 8 { &[ones(32), !ones(32)][..] } else { &[u64::MAX] };
        let used: usize =
            bits.map(|bits| words.iter().filter(|&&word| bits & word != 0).count()).sum();
        let whole = results.len() * words.len();
        match used {
            0 => (!element.is_volatile()).then_some(Unused::All),
            _ if whole == 4 && (used == 3 || element.bytes == 1) => None,
            _ if used < whole => Some(Unused::Part),
            _ => self.is_halved(element, &results).then_some(Unused::Part),
        }
    }

    /// Whether a load is one word, and `mov` takes the same half of it everywhere.
    fn is_halved(&self, element: Element, results: &[Register]) -> bool {
        let &[word] = results else { return false };
        let splits = |&pc: &usize| match self.program.code[pc].op {
            Op::Move(MoveOp::Unpack { wide: false, count: 2, d: [low, high, ..], .. }) => {
                Some([low, high].map(|half| self.demand.get((File::R32, half)) != 0))
            }
            _ => None,
        };
        let readers = self.readers.get(&word).map_or(&[][..], Vec::as_slice);
        let halves: Option<Vec<[bool; 2]>> = readers.iter().map(splits).collect();
        element.bytes == 4
            && halves.is_some_and(|halves| (0..2).any(|half| halves.iter().all(|used| !used[half])))
    }
}
