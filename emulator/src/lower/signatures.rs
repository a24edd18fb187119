//! The types of operands: which types an instruction has, and which registers and constants fit.
//!
//! Input: an instruction that was lowered. Output: an error if ptxas refuses its types. An operand
//! of a type of bits takes every register of its size; one of an integer takes no floats, and one
//! of a float no integers. Loads, stores and conversions also take wider registers.

use super::builder::{Binding, Builder, Lowered};
use super::signature_table::Signature;
use super::word_rules::broken_rule;
use crate::ptx::PtxError;
use crate::ptx::ast::{AddressBase, Instruction, Operand, Type};

/// The type of a dot-word, also of one for pairs of integers.
fn type_of(word: &str) -> Option<Type> {
    match word {
        "u16x2" | "s16x2" => Some(Type::Packed),
        word => Type::from_word(word),
    }
}

/// How registers and constants have to fit a type.
#[derive(Clone, Copy)]
struct Wanted {
    ty: Type,
    /// Wider registers fit too.
    or_wider: bool,
    /// Registers of `.f16x2` fit too, if those of integers do.
    or_pairs: bool,
}

impl Wanted {
    fn exactly(ty: Type) -> Self {
        Self { ty, or_wider: false, or_pairs: true }
    }

    /// Whether a register that was declared with this type fits.
    fn takes(self, register: Type) -> bool {
        let (size, wanted) = (register.bytes(), self.ty.bytes());
        let is_wider = self.or_wider && size > wanted && self.ty != Type::BFloat16;
        let is_kind = match (self.ty, register) {
            (Type::Pred, register) => register == Type::Pred,
            (_, Type::Pred) => false,
            (Type::Bits(_), _) | (_, Type::Bits(_)) => true,
            (Type::Unsigned(_) | Type::Signed(_), register) => {
                !register.is_float() || register == Type::Packed && self.or_pairs
            }
            (wanted, register) => wanted == register,
        };
        is_kind && (size == wanted || is_wider)
    }

    /// Whether a constant fits.
    fn takes_constant(self, constant: &Operand<'_>) -> bool {
        let is_integer = matches!(constant, Operand::Integer(_));
        match self.ty {
            Type::Float(4 | 8) => !is_integer,
            Type::Float(_) | Type::BFloat16 | Type::Packed => false,
            Type::Bits(4) => !matches!(constant, Operand::Float64(_)),
            Type::Bits(8) => !matches!(constant, Operand::Float32(_)),
            _ => is_integer,
        }
    }
}

/// Whether a name that nothing declares is that of a special register.
fn is_special(name: &str) -> bool {
    const BEGINNINGS: &str = "tid ntid ctaid nctaid laneid warpid nwarpid smid nsmid gridid \
                              lanemask_ clock globaltimer envreg pm dynamic_smem total_smem \
                              aggr_smem reserved_smem cluster nclusterid current_graph";
    let begins = |rest: &str| BEGINNINGS.split(' ').any(|each| rest.starts_with(each));
    name.strip_prefix('%').is_some_and(begins)
}

/// The meaning of a letter: `t` the last type, `d` the first, `w` twice the width of the last, `n`
/// and `c` 32 bits of an integer, `u` and `r` these or a pair of halves, `l` 64 bits of an integer,
/// `f` an `f32`, `h` 16 bits, `b` 32 bits, `p` a predicate, `a` an address of any width. `v` and
/// `D` are the last and the first type or a wider one, and `s` is what `v` is or, of an integer, a
/// special register.
fn wanted(letter: &str, first: Type, last: Type) -> Wanted {
    match letter {
        "d" => Wanted::exactly(first),
        "w" => Wanted::exactly(Type::Unsigned(2 * last.bytes() as u8)),
        "n" | "c" => Wanted { or_pairs: false, ..Wanted::exactly(Type::Unsigned(4)) },
        "u" | "r" | "i" => Wanted::exactly(Type::Unsigned(4)),
        "l" => Wanted::exactly(Type::Unsigned(8)),
        "f" => Wanted::exactly(Type::Float(4)),
        "h" => Wanted::exactly(Type::BFloat16),
        "b" => Wanted::exactly(Type::Bits(4)),
        "p" => Wanted::exactly(Type::Pred),
        "a" => Wanted { or_wider: true, ..Wanted::exactly(Type::Unsigned(4)) },
        "v" | "s" => Wanted { or_wider: true, ..Wanted::exactly(last) },
        "D" => Wanted { or_wider: true, ..Wanted::exactly(first) },
        _ => Wanted::exactly(last),
    }
}

impl<'a> Builder<'_, 'a> {
    /// Refuses an instruction with types that it does not have, or with operands that do not fit.
    pub(super) fn check_types(&self, i: &Instruction<'a>) -> Lowered<()> {
        let is_constant =
            |operand: &Operand<'_>| matches!(operand, Operand::Address(AddressBase::Absolute, _));
        if !i.modifiers.contains(&"local") && i.operands.iter().any(is_constant) {
            let text = format!("'{}' has a constant address outside local memory", i.full_name());
            return Err(PtxError::invalid(i.line, text));
        }
        let Some(signature) = Signature::find(i) else { return Ok(()) };
        let (types, words): (Vec<&str>, Vec<&str>) =
            i.modifiers.iter().partition(|word| type_of(word).is_some());
        if !signature.has_types(&types) || !signature.has_words(&words) {
            let text = format!("'{}' is not an instruction of PTX", i.full_name());
            return Err(PtxError::invalid(i.line, text));
        }
        let types: Vec<Type> = types.into_iter().filter_map(type_of).collect();
        if let Some(rule) = broken_rule(i, &types) {
            return Err(PtxError::invalid(i.line, format!("'{}' {rule}", i.full_name())));
        }
        self.check_operands(i, signature.operands, &types)
    }

    /// Refuses operands that are too few, too many, or do not match `letters`.
    fn check_operands(&self, i: &Instruction<'a>, letters: &str, types: &[Type]) -> Lowered<()> {
        let policy = usize::from(i.modifiers.contains(&"L2::cache_hint"));
        let given = &i.operands[..i.operands.len().saturating_sub(policy)];
        let mut operands = given.iter();
        for letters in letters.split_terminator(' ') {
            let Some(operand) = operands.next() else {
                if letters.ends_with('?') {
                    continue;
                }
                return Err(count(i));
            };
            let letters = letters.trim_end_matches('?');
            let (operand, pair) = match (letters.strip_prefix('|'), operand) {
                (Some(_), Operand::Pair(first, second)) => (&**first, Some(&**second)),
                (_, operand) => (operand, None),
            };
            let letters = letters.trim_start_matches('|');
            let may_drop = letters.starts_with('_') || pair.is_some();
            let letter = letters.trim_start_matches('_');
            let mut fits = *operand == Operand::Sink && may_drop;
            fits |= self.fits(letter, types, operand);
            fits &= pair.is_none_or(|pair| *pair == Operand::Sink || self.fits("p", types, pair));
            if !fits {
                let text =
                    format!("an operand of '{}' has a type that does not fit", i.full_name());
                return Err(PtxError::invalid(i.line, text));
            }
        }
        if operands.next().is_some() { Err(count(i)) } else { Ok(()) }
    }

    /// Whether an operand matches `letter`: `x` anything, `@` an address in brackets, `m` what
    /// `mov` moves, `i` a constant, `r`, `c`, `h` and `b` a register, `V` registers of 32 bits in
    /// braces, otherwise a register or a constant of [`wanted`].
    fn fits(&self, letter: &str, types: &[Type], operand: &Operand<'a>) -> bool {
        let last = types.last().copied().unwrap_or(Type::Unsigned(4));
        let wanted = wanted(letter, types.first().copied().unwrap_or(last), last);
        let is_float = types.iter().any(|ty| ty.is_float());
        let has_special = matches!(letter, "m" | "s") && !is_float;
        match operand {
            _ if letter == "x" => true,
            Operand::Address(base, _) => letter == "@" && self.is_address(*base),
            _ if letter == "@" => false,
            Operand::Vector(parts) if letter == "V" => {
                self.takes_parts(Wanted::exactly(Type::Bits(4)), parts)
            }
            _ if letter == "V" => false,
            Operand::Vector(parts) if letter == "m" => {
                let size = last.bytes() as usize / parts.len().max(1);
                let part = Wanted::exactly(Type::Bits(size as u8));
                matches!(last, Type::Bits(_)) && self.takes_parts(part, parts)
            }
            Operand::Vector(parts) => {
                matches!(letter, "v" | "t") && self.takes_parts(wanted, parts)
            }
            Operand::Sink => false,
            Operand::Integer(_) | Operand::Float32(_) | Operand::Float64(_) => {
                !matches!(letter, "r" | "c" | "h" | "b") && wanted.takes_constant(operand)
            }
            Operand::Component(name, _) if self.find(name).is_none() => has_special,
            operand => match self.declared(operand) {
                Some(ty) => letter != "i" && wanted.takes(ty),
                None => letter == "m" && !is_float || !self.is_value(operand, has_special),
            },
        }
    }

    /// Whether an operand is a variable or, unless it may be one, a special register.
    fn is_value(&self, operand: &Operand<'a>, has_special: bool) -> bool {
        match operand {
            Operand::Offset(..) => true,
            Operand::Name(name) | Operand::Not(name) => match self.find(name) {
                Some(Binding::Variable(_) | Binding::StackVariable(_)) => true,
                Some(_) => false,
                None => !has_special && is_special(name),
            },
            _ => false,
        }
    }

    /// Whether the elements of a vector fit. Registers of several types count as bits.
    fn takes_parts(&self, wanted: Wanted, parts: &[Operand<'a>]) -> bool {
        let mut types = parts.iter().filter_map(|part| self.declared(part));
        let Some(first) = types.next() else { return true };
        let (mut is_one, mut is_even) = (true, true);
        for ty in types {
            is_one &= ty == first;
            is_even &= ty.bytes() == first.bytes();
        }
        is_even && wanted.takes(if is_one { first } else { Type::Bits(first.bytes() as u8) })
    }

    /// The type that a register was declared with; none of other names.
    fn declared(&self, operand: &Operand<'a>) -> Option<Type> {
        let (Operand::Name(name) | Operand::Not(name)) = operand else { return None };
        match self.find(name)? {
            Binding::Register(_, _, ty) => Some(ty),
            Binding::Register128(_) => Some(Type::Bits(16)),
            _ => None,
        }
    }

    /// Whether a base of an address is a register of bits or of an integer, or a variable.
    fn is_address(&self, base: AddressBase<'a>) -> bool {
        let AddressBase::Name(name) = base else { return true };
        match self.find(name) {
            Some(Binding::Register(_, _, ty)) => !ty.is_float() && ty != Type::Pred,
            _ => true,
        }
    }
}

fn count(i: &Instruction<'_>) -> PtxError {
    let (name, count) = (i.full_name(), i.operands.len());
    PtxError::invalid(
        i.line,
        format!("'{name}' has {count} operands, which are too few or too many"),
    )
}
