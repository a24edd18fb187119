//! What is known of a kernel's registers: where each is written, and how an address is made.
//!
//! Every register of the PTX has a slot of its own, so a slot that is written once stands for one
//! expression.

use crate::lower::inst::{Address, ArithOp, Binary, File, Inst, Op, Role, Shift, Slot, Ternary};
use crate::lower::program::{Const32, Const64, Program};
use std::collections::HashMap;

/// A slot with its register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    wide: bool,
    slot: Slot,
}

impl Value {
    /// A register of up to 32 bits.
    pub fn narrow(slot: Slot) -> Self {
        Self { wide: false, slot }
    }

    /// Whether it has 64 bits.
    pub fn is_wide(self) -> bool {
        self.wide
    }

    fn wide(slot: Slot) -> Self {
        Self { wide: true, slot }
    }
}

/// An address as a register, which is written once or in a loop, plus a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The register; none for a constant address.
    pub base: Option<Value>,
    /// The constant.
    pub offset: i64,
}

/// Expressions deeper than this count as unknown.
const DEPTH: u32 = 16;

/// Where each register is written.
pub struct Values<'p> {
    program: &'p Program,
    writes: HashMap<Value, Vec<usize>>,
}

/// The registers, predicates left out, that an instruction reads and writes.
pub fn operands(inst: &Inst) -> (Vec<Value>, Vec<Value>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let mut copy = *inst;
    copy.slots(&mut |file: File, role: Role, slot: &mut Slot, count: u16| {
        if file != File::Pred {
            let list = if role == Role::Read { &mut reads } else { &mut writes };
            let next = |at| Value { wide: file == File::R64, slot: Slot(slot.0 + at) };
            list.extend((0..count).map(next));
        }
    });
    (reads, writes)
}

impl<'p> Values<'p> {
    /// Of a program.
    pub fn new(program: &'p Program) -> Self {
        let mut writes: HashMap<Value, Vec<usize>> = HashMap::new();
        for (pc, inst) in program.code.iter().enumerate() {
            for value in operands(inst).1 {
                writes.entry(value).or_default().push(pc);
            }
        }
        for (_, to) in program.copies.iter().flatten() {
            // An argument: nothing is known of it.
            writes.entry(Value::narrow(*to)).or_default().extend([0, 0]);
        }
        Self { program, writes }
    }

    /// Where a register is written.
    pub fn writes(&self, value: Value) -> &[usize] {
        self.writes.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The instruction that alone writes a register.
    fn definition(&self, value: Value) -> Option<&'p ArithOp> {
        match self.writes(value)[..] {
            [pc] => match &self.program.code[pc].op {
                Op::Arith(op) => Some(op),
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(&self, value: Value) -> Option<i64> {
        let Value { wide, slot } = value;
        if slot.0 & Slot::PRIVATE != 0 {
            return None;
        }
        let at = usize::from(slot.0);
        match wide {
            false => match self.program.const32.get(at)? {
                Const32::Bits(bits) => Some(i64::from(*bits as i32)),
                _ => None,
            },
            true => match self.program.const64.get(at)? {
                Const64::Bits(bits) => Some(*bits as i64),
                _ => None,
            },
        }
    }

    /// The place of an access.
    pub fn place(&self, address: Address) -> Place {
        let value = Value { wide: address.wide, slot: address.base };
        let mut place = Place { base: Some(value), offset: i64::from(address.offset) };
        for _ in 0..DEPTH {
            let Some(base) = place.base else { break };
            if let Some(constant) = self.constant(base) {
                return Place { base: None, offset: place.offset.wrapping_add(constant) };
            }
            let Some((from, added)) = self.sum(base) else { break };
            place = Place { base: Some(from), offset: place.offset.wrapping_add(added) };
        }
        place
    }

    /// A register as another one plus a constant.
    fn sum(&self, value: Value) -> Option<(Value, i64)> {
        match *self.definition(value)? {
            ArithOp::Mov32 { a, .. } => Some((Value::narrow(a), 0)),
            ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. } => Some((Value::wide(a), 0)),
            ArithOp::Binary32 { op: Binary::Add, a, b, .. } => {
                self.plus(Value::narrow(a), Value::narrow(b))
            }
            ArithOp::Binary64 { op: Binary::Add, a, b, .. } => {
                self.plus(Value::wide(a), Value::wide(b))
            }
            _ => None,
        }
    }

    fn plus(&self, a: Value, b: Value) -> Option<(Value, i64)> {
        match (self.constant(a), self.constant(b)) {
            (_, Some(added)) => Some((a, added)),
            (Some(added), _) => Some((b, added)),
            _ => None,
        }
    }

    /// A power of two that a place is known to be a multiple of.
    pub fn alignment(&self, place: Place) -> u64 {
        let base = place.base.map_or(u64::MAX, |base| self.multiple(base, DEPTH));
        lowest_bit(base | place.offset as u64)
    }

    fn multiple(&self, value: Value, depth: u32) -> u64 {
        if let Some(constant) = self.constant(value) {
            return if constant == 0 { 1 << 63 } else { lowest_bit(constant as u64) };
        }
        let Some(depth) = depth.checked_sub(1) else { return 1 };
        let (of32, of64) = (
            |slot| self.multiple(Value::narrow(slot), depth),
            |slot| self.multiple(Value::wide(slot), depth),
        );
        match self.definition(value) {
            Some(&(ArithOp::Mov32 { a, .. } | ArithOp::Convert { a, .. })) if !value.wide => {
                of32(a)
            }
            Some(&(ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. })) => of64(a),
            Some(&ArithOp::Binary32 { op, a, b, .. }) => combined(op, of32(a), of32(b)),
            Some(&ArithOp::Binary64 { op, a, b, .. }) => combined(op, of64(a), of64(b)),
            Some(&ArithOp::MulWide { a, b, .. }) => of32(a).saturating_mul(of32(b)),
            Some(&ArithOp::Shift32 { op: Shift::Left, a, b, .. }) => {
                let by = self.constant(Value::narrow(b)).filter(|by| (0..32).contains(by));
                of32(a).saturating_mul(1 << by.unwrap_or(0))
            }
            Some(&ArithOp::Ternary32 { op: Ternary::MadLo, a, b, c, .. }) => {
                of32(a).saturating_mul(of32(b)).min(of32(c))
            }
            _ => 1,
        }
    }

    /// By how much a register grows with each round of a loop, which consists of the instructions
    /// of `inside`. None: by nobody knows how much.
    pub fn step(&self, value: Value, inside: &dyn Fn(usize) -> bool) -> Option<i64> {
        self.step_within(value, inside, DEPTH)
    }

    fn step_within(&self, value: Value, inside: &dyn Fn(usize) -> bool, depth: u32) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let mut written = self.writes(value).iter().filter(|&&pc| inside(pc));
        let (Some(&pc), None) = (written.next(), written.next()) else {
            // Not written in the loop, or more than once.
            return self.writes(value).iter().all(|&pc| !inside(pc)).then_some(0);
        };
        let Op::Arith(op) = &self.program.code[pc].op else { return None };
        let of = |value| self.step_within(value, inside, depth);
        let constant = |value| self.constant(value);
        let product = |a: Value, b: Value| match (constant(a), constant(b)) {
            (_, Some(times)) => of(a)?.checked_mul(times),
            (Some(times), _) => of(b)?.checked_mul(times),
            _ => (of(a)? == 0 && of(b)? == 0).then_some(0),
        };
        let (narrow, wide) = (Value::narrow, Value::wide);
        match *op {
            ArithOp::Mov32 { a, .. } => of(narrow(a)),
            ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. } => of(wide(a)),
            ArithOp::Convert { how, a, .. } => of(Value { wide: how.wide_source, slot: a }),
            ArithOp::Binary32 { op: Binary::Add, a, b, .. } => {
                self.grown(value, [narrow(a), narrow(b)], of)
            }
            ArithOp::Binary64 { op: Binary::Add, a, b, .. } => {
                self.grown(value, [wide(a), wide(b)], of)
            }
            ArithOp::Binary32 { op: Binary::MulLo, a, b, .. } | ArithOp::MulWide { a, b, .. } => {
                product(narrow(a), narrow(b))
            }
            ArithOp::Shift32 { op: Shift::Left, a, b, .. } => {
                let by = constant(narrow(b)).filter(|by| (0..32).contains(by))?;
                of(narrow(a))?.checked_mul(1 << by)
            }
            ArithOp::Ternary32 { op: Ternary::MadLo, a, b, c, .. } => {
                product(narrow(a), narrow(b))?.checked_add(of(narrow(c))?)
            }
            _ => None,
        }
    }

    /// The step of a sum that is stored to `value`: a counter if it is one of the addends.
    fn grown(
        &self,
        value: Value,
        addends: [Value; 2],
        of: impl Fn(Value) -> Option<i64>,
    ) -> Option<i64> {
        match addends {
            [counter, added] | [added, counter] if counter == value => self.constant(added),
            [a, b] => of(a)?.checked_add(of(b)?),
        }
    }
}

fn lowest_bit(bits: u64) -> u64 {
    if bits == 0 { 1 << 63 } else { bits & bits.wrapping_neg() }
}

fn combined(op: Binary, a: u64, b: u64) -> u64 {
    match op {
        Binary::Add | Binary::Sub | Binary::Or | Binary::Xor => a.min(b),
        Binary::MulLo => a.saturating_mul(b),
        Binary::And => a.max(b),
        _ => 1,
    }
}
