//! Loads with a value that is not used, or only in part: ptxas drops or narrows them.

use super::values::{Value, Values, operands};
use crate::lower::inst::{ArithOp, Element, File, Inst, MoveOp, Op, Role, Slot};
use crate::lower::program::Program;
use std::collections::{HashMap, HashSet};

/// How much of a load is unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// Its whole value.
    All,
    /// A part of its value.
    Part,
}

/// The registers that have an effect, and the instructions that read each.
pub struct LiveRegisters {
    live: HashSet<Value>,
    readers: HashMap<Value, Vec<usize>>,
}

impl LiveRegisters {
    /// Of a program.
    pub fn new(program: &Program, values: &Values<'_>) -> Self {
        let mut readers: HashMap<Value, Vec<usize>> = HashMap::new();
        let mut open: Vec<Value> = Vec::new();
        for (pc, inst) in program.code.iter().enumerate() {
            let reads = operands(inst).0;
            for &value in &reads {
                readers.entry(value).or_default().push(pc);
            }
            if has_effect(inst) {
                open.extend(reads);
            }
        }
        open.extend(program.copies.iter().flatten().map(|(from, _)| Value::narrow(*from)));
        let mut live = HashSet::new();
        while let Some(value) = open.pop() {
            if live.insert(value) {
                let writers = values.writes(value);
                open.extend(writers.iter().flat_map(|&pc| operands(&program.code[pc]).0));
            }
        }
        Self { live, readers }
    }

    /// How much of a load is unused. ptxas loads four bytes as one word, and four elements
    /// whole if three of them are needed.
    pub fn unused(&self, program: &Program, inst: &Inst, element: Element) -> Option<Unused> {
        let results = operands(inst).1;
        let used = results.iter().filter(|value| self.live.contains(value)).count();
        if used == 0 {
            return Some(Unused::All);
        }
        if element.count == 4 && (used == 3 || element.bytes == 1) {
            return None;
        }
        let halved = |value: &Value| {
            let readers = self.readers.get(value).map_or(&[][..], Vec::as_slice);
            value.is_wide() && readers.iter().all(|&pc| self.halves(&program.code[pc].op))
        };
        (used < results.len() || results.iter().any(halved)).then_some(Unused::Part)
    }

    /// Whether an instruction takes only one half of a wide register.
    fn halves(&self, op: &Op) -> bool {
        match *op {
            Op::Arith(ArithOp::Convert { how, .. }) => how.wide_source && !how.wide_destination,
            Op::Move(MoveOp::Unpack64 { d, e, .. }) => {
                ![d, e].into_iter().all(|half| self.live.contains(&Value::narrow(half)))
            }
            _ => false,
        }
    }
}

/// Whether an instruction does more than to compute registers. Predicates are not followed: what
/// computes one counts as needed.
fn has_effect(inst: &Inst) -> bool {
    match &inst.op {
        Op::Arith(_) | Op::Integer(_) | Op::Float(_) | Op::Move(_) | Op::Mma(_) => {
            writes_predicate(inst)
        }
        Op::Load { element, .. } => element.strong,
        _ => true,
    }
}

fn writes_predicate(inst: &Inst) -> bool {
    let (mut copy, mut found) = (*inst, false);
    copy.slots(&mut |file: File, role: Role, _: &mut Slot, _| {
        found |= file == File::Pred && role == Role::Write;
    });
    found
}
