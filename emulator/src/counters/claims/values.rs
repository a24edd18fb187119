//! The registers of a kernel: the instructions that write each, and how addresses follow from them.
//!
//! Every register of the PTX has its own slot, so a slot with one writer is one expression.

use crate::lower::inst::{
    Address, ArithOp, Binary, ControlOp, File, Guard, IntegerOp, Op, Register, Role, Shift, Slot,
    Space, Ternary,
};
use crate::lower::program::{Const32, Const64, Program};
use std::collections::HashMap;

/// A register of up to 32 bits.
pub fn narrow(slot: Slot) -> Register {
    (File::R32, slot)
}

/// A register of 64 bits.
pub fn wide(slot: Slot) -> Register {
    (File::R64, slot)
}

/// A predicate.
pub fn predicate(slot: Slot) -> Register {
    (File::Pred, slot)
}

/// An address as a register, which is written once or in a loop, plus a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The register; none for a constant address.
    pub base: Option<Register>,
    /// The constant.
    pub offset: i64,
}

/// Expressions deeper than this count as unknown.
const DEPTH: u32 = 16;

/// A multiple of every power of two.
const ANY: u64 = 1 << 63;

/// The writers of each register.
pub struct Values<'p> {
    program: &'p Program,
    writes: HashMap<Register, Vec<usize>>,
}

impl<'p> Values<'p> {
    /// Of a program.
    pub fn new(program: &'p Program) -> Self {
        let mut writes: HashMap<Register, Vec<usize>> = HashMap::new();
        for (pc, inst) in program.code.iter().enumerate() {
            for value in inst.registers(Role::Write) {
                writes.entry(value).or_default().push(pc);
            }
        }
        // A call writes arguments; it is not arithmetic.
        let calls = program.code.iter().enumerate().filter_map(|(pc, inst)| match inst.op {
            Op::Control(ControlOp::Call { copies, .. }) => Some((pc, copies)),
            _ => None,
        });
        for (pc, copies) in calls {
            for (_, to) in &program.copies[copies as usize] {
                writes.entry(narrow(*to)).or_default().push(pc);
            }
        }
        Self { program, writes }
    }

    /// The instructions that write a register.
    pub fn writes(&self, value: Register) -> &[usize] {
        self.writes.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The instruction that alone writes a register.
    fn definition(&self, value: Register) -> Option<&'p ArithOp> {
        match self.writes(value)[..] {
            [pc] => match &self.program.code[pc].op {
                Op::Arith(op) => Some(op),
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(&self, (file, slot): Register) -> Option<i64> {
        if slot.0 & Slot::PRIVATE != 0 {
            return None;
        }
        let at = usize::from(slot.0);
        match file {
            File::Pred => None,
            File::R32 => match self.program.const32.get(at)? {
                Const32::Bits(bits) => Some(i64::from(*bits as i32)),
                _ => None,
            },
            File::R64 => match self.program.const64.get(at)? {
                Const64::Bits(bits) => Some(*bits as i64),
                _ => None,
            },
        }
    }

    /// The bits of a register that is a constant, or a copy of one.
    pub fn bits(&self, mut value: Register) -> Option<u64> {
        for _ in 0..DEPTH {
            if let Some(constant) = self.constant(value) {
                let bits = constant.cast_unsigned();
                return Some(if value.0 == File::R64 { bits } else { bits & u64::from(u32::MAX) });
            }
            value = match *self.definition(value)? {
                ArithOp::Mov32 { a, .. } => narrow(a),
                ArithOp::Mov64 { a, .. } => wide(a),
                _ => return None,
            };
        }
        None
    }

    /// The place of an access.
    pub fn place(&self, address: Address) -> Place {
        let value = (File::by_width(address.wide), address.base);
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
    fn sum(&self, value: Register) -> Option<(Register, i64)> {
        match *self.definition(value)? {
            ArithOp::Mov32 { a, .. } => Some((narrow(a), 0)),
            ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. } => Some((wide(a), 0)),
            ArithOp::Binary32 { op: Binary::Add, a, b, .. } => self.plus(narrow(a), narrow(b)),
            ArithOp::Binary64 { op: Binary::Add, a, b, .. } => self.plus(wide(a), wide(b)),
            _ => None,
        }
    }

    fn plus(&self, a: Register, b: Register) -> Option<(Register, i64)> {
        match (self.constant(a), self.constant(b)) {
            (_, Some(added)) => Some((a, added)),
            (Some(added), _) => Some((b, added)),
            _ => None,
        }
    }

    /// A power of two that a place is known to be a multiple of.
    pub fn alignment(&self, place: Place) -> u64 {
        let base = place.base.map_or(0, |base| self.multiple(base, &mut Vec::new()));
        lowest_bit(base | place.offset as u64)
    }

    /// A power of two that a register is a multiple of, whichever of its writers ran last, if the
    /// registers of `open`, which depend on it, do not say less.
    fn multiple(&self, value: Register, open: &mut Vec<Register>) -> u64 {
        if let Some(constant) = self.constant(value) {
            return lowest_bit(constant as u64);
        }
        if open.contains(&value) {
            return ANY;
        }
        let writes = self.writes(value);
        if writes.is_empty() || open.len() >= DEPTH as usize {
            return 1;
        }
        open.push(value);
        let ops = writes.iter().map(|&pc| &self.program.code[pc].op);
        let multiple = ops.map(|op| self.multiple_of_result(op, open)).min().unwrap_or(1);
        open.pop();
        multiple
    }

    fn multiple_of_result(&self, op: &Op, open: &mut Vec<Register>) -> u64 {
        let mut narrow = |slot| self.multiple(narrow(slot), open);
        match *op {
            Op::Arith(ArithOp::Mov32 { a, .. }) => narrow(a),
            Op::Arith(ArithOp::Convert { how, a, .. }) => {
                self.multiple((File::by_width(how.wide_source), a), open)
            }
            Op::Arith(ArithOp::Select32 { a, b, .. }) => narrow(a).min(narrow(b)),
            Op::Arith(ArithOp::Binary32 { op, a, b, .. }) => combined(op, narrow(a), narrow(b)),
            Op::Arith(ArithOp::MulWide { a, b, .. }) => product(narrow(a), narrow(b)),
            Op::Arith(ArithOp::Shift32 { op: Shift::Left, a, b, .. }) => {
                product(narrow(a), 1 << self.shift(b))
            }
            Op::Arith(ArithOp::Ternary32 { op: Ternary::MadLo, a, b, c, .. }) => {
                product(narrow(a), narrow(b)).min(narrow(c))
            }
            Op::Integer(IntegerOp::MadWide { a, b, c, .. }) => {
                product(narrow(a), narrow(b)).min(self.multiple(wide(c), open))
            }
            ref op => self.multiple_of_wide(op, open),
        }
    }

    fn multiple_of_wide(&self, op: &Op, open: &mut Vec<Register>) -> u64 {
        let mut wide = |slot| self.multiple(wide(slot), open);
        match *op {
            Op::Arith(ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. }) => wide(a),
            Op::Arith(ArithOp::Binary64 { op, a, b, .. }) => combined(op, wide(a), wide(b)),
            Op::Integer(IntegerOp::Shift64 { op: Shift::Left, a, b, .. }) => {
                product(wide(a), 1 << self.shift(b))
            }
            Op::Integer(IntegerOp::MadLo64 { a, b, c, .. }) => {
                product(wide(a), wide(b)).min(wide(c))
            }
            Op::Integer(IntegerOp::Select64 { a, b, .. }) => wide(a).min(wide(b)),
            _ => 1,
        }
    }

    /// The constant bits of a shift, or 0.
    fn shift(&self, by: Slot) -> i64 {
        self.constant(narrow(by)).filter(|by| (0..32).contains(by)).unwrap_or(0)
    }

    /// Whether a register is known to hold the same for all lanes of a warp. Of a register with
    /// several writers that means each of their values.
    pub fn is_uniform(&self, value: Register) -> bool {
        self.is_uniform_within(value, &mut Vec::new())
    }

    fn is_uniform_within(&self, value: Register, open: &mut Vec<Register>) -> bool {
        if value.1.0 & Slot::PRIVATE == 0 {
            let lane = |known: &Const32| matches!(known, Const32::Lane | Const32::LaneMask(_));
            let known = self.program.const32.get(usize::from(value.1.0));
            return value.0 == File::R64 || !known.is_some_and(lane);
        }
        if open.contains(&value) {
            return true;
        }
        let writes = self.writes(value);
        if writes.is_empty() || open.len() >= DEPTH as usize {
            return false;
        }
        open.push(value);
        let uniform = writes.iter().all(|&pc| {
            let inst = &self.program.code[pc];
            let computes = match inst.op {
                Op::Arith(ArithOp::Select32 { .. }) => false,
                Op::Arith(_) => true,
                Op::Load { address, .. } => address.space != Space::Local,
                _ => false,
            };
            computes
                && inst.guard == Guard::Always
                && inst
                    .registers(Role::Read)
                    .into_iter()
                    .filter(|read| read.0 != File::Pred)
                    .all(|read| self.is_uniform_within(read, open))
        });
        open.pop();
        uniform
    }

    /// By how much a register grows in each round of the loop with the instructions of `inside`;
    /// none if that is unknown.
    pub fn step(&self, value: Register, inside: &dyn Fn(usize) -> bool) -> Option<i64> {
        self.step_within(value, inside, DEPTH)
    }

    fn step_within(
        &self,
        value: Register,
        inside: &dyn Fn(usize) -> bool,
        depth: u32,
    ) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let mut written = self.writes(value).iter().filter(|&&pc| inside(pc));
        let (Some(&pc), None) = (written.next(), written.next()) else {
            // Not written in the loop, or more than once.
            return self.writes(value).iter().all(|&pc| !inside(pc)).then_some(0);
        };
        let Op::Arith(op) = &self.program.code[pc].op else { return None };
        let of = |value| self.step_within(value, inside, depth);
        let constant = |value| self.constant(value);
        let product = |a: Register, b: Register| match (constant(a), constant(b)) {
            (_, Some(times)) => of(a)?.checked_mul(times),
            (Some(times), _) => of(b)?.checked_mul(times),
            _ => (of(a)? == 0 && of(b)? == 0).then_some(0),
        };
        match *op {
            ArithOp::Mov32 { a, .. } => of(narrow(a)),
            ArithOp::Mov64 { a, .. } | ArithOp::Window { a, .. } => of(wide(a)),
            ArithOp::Convert { how, a, .. } => of((File::by_width(how.wide_source), a)),
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
                of(narrow(a))?.checked_mul(1 << self.shift(b))
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
        value: Register,
        addends: [Register; 2],
        of: impl Fn(Register) -> Option<i64>,
    ) -> Option<i64> {
        match addends {
            [counter, added] | [added, counter] if counter == value => self.constant(added),
            [a, b] => of(a)?.checked_add(of(b)?),
        }
    }
}

fn lowest_bit(bits: u64) -> u64 {
    if bits == 0 { ANY } else { bits & bits.wrapping_neg() }
}

/// A multiple of both factors' powers of two.
fn product(a: u64, b: u64) -> u64 {
    1u64.checked_shl(a.trailing_zeros() + b.trailing_zeros()).unwrap_or(ANY)
}

fn combined(op: Binary, a: u64, b: u64) -> u64 {
    match op {
        Binary::Add
        | Binary::Sub
        | Binary::Or
        | Binary::Xor
        | Binary::MinU
        | Binary::MinS
        | Binary::MaxU
        | Binary::MaxS => a.min(b),
        Binary::MulLo => product(a, b),
        Binary::And => a.max(b),
        _ => 1,
    }
}
