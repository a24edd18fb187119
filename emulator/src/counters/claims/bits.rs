//! The bits of registers that have one value whatever the kernel loads.
//!
//! ptxas folds results with known bits, and drops their operands. A register with several writers
//! has the bits that all of them agree on. Loops are assumed to change nothing until a round shows
//! that they do.

use super::forms::integer_bits;
use super::values::Values;
use super::wires::{Compare, Form, ones, width};
use crate::lower::inst::{Cmp, Combine, File, Register, Slot};
use crate::lower::program::Program;
use std::collections::HashMap;

/// Rounds over a program after which a register that still changes counts as unknown.
const ROUNDS: usize = 12;

/// Known bits of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bits {
    /// Those that are 0.
    pub zeros: u64,
    /// Those that are 1.
    pub ones: u64,
}

impl Bits {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { zeros: 0, ones: 0 };

    /// All are those of a value.
    pub fn exact(value: u64) -> Self {
        Self { zeros: !value, ones: value }
    }

    /// Those that are known.
    pub fn known(self) -> u64 {
        self.zeros | self.ones
    }

    fn join(self, other: Self) -> Self {
        Self { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// Whether the `count` lowest bits are 0.
    fn is_zero(self, count: u32) -> bool {
        self.zeros & ones(count) == ones(count)
    }

    fn truth(self) -> Option<bool> {
        (self.known() & 1 != 0).then_some(self.ones & 1 != 0)
    }
}

/// A register's writer in a program.
pub struct Definition {
    /// The instruction; none for the argument of a call.
    pub pc: Option<usize>,
    /// The register.
    pub d: Register,
    /// The bits that it writes.
    pub form: Form,
}

/// The known bits of a program's registers.
pub struct KnownBits<'v> {
    values: &'v Values<'v>,
    found: HashMap<Register, Bits>,
}

impl<'v> KnownBits<'v> {
    /// Follows the definitions of a program.
    pub fn new(program: &Program, values: &'v Values<'v>, definitions: &[Definition]) -> Self {
        let mut this = Self { values, found: HashMap::new() };
        for &(register, _) in &program.warp_init {
            this.found.insert((File::R32, Slot::private(register)), Bits::UNKNOWN);
        }
        for round in 0.. {
            let mut changed = false;
            for definition in definitions {
                // Not reached in any round so far.
                let Some(mut new) = this.result(&definition.form) else { continue };
                if let Some(&old) = this.found.get(&definition.d) {
                    new = new.join(old);
                    if new == old {
                        continue;
                    }
                    if round >= ROUNDS {
                        new = Bits::UNKNOWN;
                    }
                }
                this.found.insert(definition.d, new);
                changed = true;
            }
            if !changed {
                break;
            }
        }
        this
    }

    /// The known bits of a register.
    pub fn get(&self, register: Register) -> Bits {
        self.reached(register).unwrap_or(Bits::UNKNOWN)
    }

    /// The same; none while nothing has written it.
    fn reached(&self, register: Register) -> Option<Bits> {
        if let Some(constant) = self.values.bits(register) {
            return Some(Bits::exact(constant));
        }
        let is_input = register.1.0 & Slot::PRIVATE == 0;
        self.found.get(&register).copied().or(is_input.then_some(Bits::UNKNOWN))
    }

    fn result(&self, form: &Form) -> Option<Bits> {
        match form {
            Form::Wires(wires) => {
                let mut bits = Bits { zeros: u64::MAX, ones: 0 };
                for wire in wires {
                    let (from, mask) = (self.reached(wire.from)?, ones(wire.count) << wire.to);
                    let moved = |bits: u64| (bits >> wire.low << wire.to) & mask;
                    bits.zeros = bits.zeros & !mask | moved(from.zeros);
                    bits.ones |= moved(from.ones);
                }
                Some(bits)
            }
            Form::Logic { table, sources } => {
                let mut known = [Bits::UNKNOWN; 3];
                for (known, source) in known.iter_mut().zip(sources) {
                    *known = self.reached(*source)?;
                }
                Some(looked_up(*table, sources, known))
            }
            Form::Select { p, a, b } => {
                let (a, b) = (self.reached(*a), self.reached(*b));
                match self.get(*p).truth() {
                    Some(first) => {
                        if first {
                            a
                        } else {
                            b
                        }
                    }
                    None => Some(a?.join(b?)),
                }
            }
            Form::Sum([a, b]) => {
                let zeros = self.reached(*a)?.zeros & self.reached(*b)?.zeros;
                Some(Bits { zeros: ones(zeros.trailing_ones()), ones: 0 })
            }
            Form::Product { factors: [a, b], low, added } => {
                let (first, second) = (self.reached(*a)?, self.reached(*b)?);
                let zero = first.is_zero(width(a.0)) || second.is_zero(width(b.0));
                match added {
                    Some(added) if zero => self.reached(*added),
                    Some(_) => Some(Bits::UNKNOWN),
                    None if zero => Some(Bits::exact(0)),
                    None if *low => {
                        let count = first.zeros.trailing_ones() + second.zeros.trailing_ones();
                        Some(Bits { zeros: ones(count), ones: 0 })
                    }
                    None => Some(Bits::UNKNOWN),
                }
            }
            Form::Compare(compare) => Some(match self.outcome(compare) {
                Some(true) => Bits::exact(compare.yes),
                Some(false) => Bits::exact(0),
                None => Bits { zeros: !compare.yes, ones: 0 },
            }),
            Form::Opaque { zeros, .. } => Some(Bits { zeros: *zeros, ones: 0 }),
        }
    }

    /// The result of a comparison, if it is known.
    fn outcome(&self, compare: &Compare) -> Option<bool> {
        let compared = self.compared(compare).map(|holds| holds != compare.inverted);
        let Some((combine, c, negate)) = compare.with else { return compared };
        // A predicate that nothing writes is never set.
        let with = self.reached(c).map_or(Some(false), Bits::truth).map(|set| set != negate);
        match (combine, compared, with) {
            (Combine::And, Some(false), _) | (Combine::And, _, Some(false)) => Some(false),
            (Combine::Or, Some(true), _) | (Combine::Or, _, Some(true)) => Some(true),
            (Combine::And, Some(a), Some(b)) => Some(a && b),
            (Combine::Or, Some(a), Some(b)) => Some(a || b),
            (Combine::Xor, Some(a), Some(b)) => Some(a != b),
            _ => None,
        }
    }

    fn compared(&self, compare: &Compare) -> Option<bool> {
        let &Compare { ty, cmp, a, b, .. } = compare;
        let integer = integer_bits(ty);
        if a == b {
            return match cmp {
                Cmp::EqU | Cmp::LeU | Cmp::GeU => Some(true),
                Cmp::Ne | Cmp::Lt | Cmp::Gt => Some(false),
                Cmp::Eq | Cmp::Le | Cmp::Ge => integer.map(|_| true),
                Cmp::NeU | Cmp::LtU | Cmp::GtU => integer.map(|_| false),
                Cmp::Num | Cmp::Nan => None,
            };
        }
        let (bits, signed) = integer?;
        let (a, b) = (self.reached(a)?, self.reached(b)?);
        let field = ones(bits);
        let sign = if signed { 1 << (bits - 1) } else { 0 };
        // Of signed values, the smallest has the sign and the largest has none.
        let least = |v: Bits| ((v.ones | !v.zeros & sign) & field) ^ sign;
        let most = |v: Bits| ((!v.zeros & !sign | v.ones & sign) & field) ^ sign;
        let below = |a, b| match () {
            () if most(a) < least(b) => Some(true),
            () if least(a) >= most(b) => Some(false),
            () => None,
        };
        let differ = (a.ones & b.zeros | a.zeros & b.ones) & field != 0;
        let same = a.known() & b.known() & field == field && !differ;
        let equal = if differ { Some(false) } else { same.then_some(true) };
        match cmp {
            Cmp::Eq | Cmp::EqU => equal,
            Cmp::Ne | Cmp::NeU => equal.map(|equal| !equal),
            Cmp::Lt | Cmp::LtU => below(a, b),
            Cmp::Gt | Cmp::GtU => below(b, a),
            Cmp::Ge | Cmp::GeU => below(a, b).map(|below| !below),
            Cmp::Le | Cmp::LeU => below(b, a).map(|below| !below),
            Cmp::Num | Cmp::Nan => None,
        }
    }
}

/// The combinations of operand bits that are possible, bit by bit: for each index of the table the
/// bits of the result that may come from it.
pub fn combinations(sources: &[Register; 3], known: [Bits; 3]) -> [u64; 8] {
    let mut possible = [u64::MAX; 8];
    for (index, possible) in possible.iter_mut().enumerate() {
        let value = |at: usize| index >> (2 - at) & 1;
        for (at, bits) in known.iter().enumerate() {
            *possible &= if value(at) == 1 { !bits.zeros } else { !bits.ones };
            for other in 0..at {
                if sources[other] == sources[at] && value(other) != value(at) {
                    *possible = 0;
                }
            }
        }
    }
    possible
}

fn looked_up(table: u8, sources: &[Register; 3], known: [Bits; 3]) -> Bits {
    let (mut may_be_one, mut may_be_zero) = (0, 0);
    for (index, possible) in combinations(sources, known).into_iter().enumerate() {
        match table >> index & 1 == 1 {
            true => may_be_one |= possible,
            false => may_be_zero |= possible,
        }
    }
    Bits { zeros: !may_be_one, ones: !may_be_zero }
}
