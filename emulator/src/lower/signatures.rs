//! The types of operands: which types an instruction has, and which registers and constants fit.
//!
//! Input: an instruction that was lowered. Output: an error if ptxas refuses its types. An operand
//! of a type of bits takes every register of its size; one of an integer takes no floats, and one
//! of a float no integers. Loads, stores and conversions also take wider registers.

use super::builder::{Binding, Builder, Lowered};
use crate::ptx::PtxError;
use crate::ptx::ast::{AddressBase, Instruction, Operand, Type};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The types and operands of some instructions.
struct Signature {
    /// Opcodes, or opcodes with a dot-word that makes the difference.
    names: &'static str,
    /// The dot-words that its types may be; empty if that is not checked.
    types: &'static str,
    /// Its other dot-words: those between `/` exclude each other, and `!` says that one must be
    /// there. `-` is none; empty if that is not checked.
    words: &'static str,
    /// A letter of [`wanted`] for each operand. Before it `|` if it may be a pair with a predicate,
    /// and `_` if its value may be dropped; after it `?` if it may be left out.
    operands: &'static str,
}

const INTEGERS: &str = "u16 u32 u64 s16 s32 s64";
const ADDED: &str = "u16 u32 u64 s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2 u16x2 s16x2";
const SIGNED: &str = "s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2";
const FUSED: &str = "f32 f64 f16 f16x2 bf16 bf16x2";
const APPROXIMATE: &str = "f32 f16 f16x2 bf16 bf16x2";
const CONVERTED: &str = "u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 bf16 f16x2 bf16x2";
const MOVED: &str = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64";
const COMPARED: &str = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2";

/// All of them, the special ones first.
const SIGNATURES: &[Signature] = &[
    row("mul.wide", "u16 u32 s16 s32", "wide!", "w t t"),
    row("mad.wide", "u16 u32 s16 s32", "wide!", "w t t w"),
    row("add sub mul", ADDED, "", "t t t"),
    row("min max", ADDED, "ftz NaN xorsign abs relu", "t t t"),
    row("fma", FUSED, "rn/rz/rm/rp! ftz sat relu", "t t t t"),
    row("mad", "u16 u32 u64 s16 s32 s64 f32 f64", "", "t t t t"),
    row("div.f32", "f32", "approx/full/rn/rz/rm/rp! ftz", "t t t"),
    row("div.f64", "f64", "rn/rz/rm/rp!", "t t t"),
    row("div rem", INTEGERS, "-", "t t t"),
    row("neg abs", SIGNED, "ftz", "t t"),
    row("and or xor", "pred b16 b32 b64", "-", "t t t"),
    row("not", "pred b16 b32 b64", "-", "t t"),
    row("cnot", "b16 b32 b64", "-", "t t"),
    row("shl", "b16 b32 b64", "-", "t t n"),
    row("shr", "b16 b32 b64 u16 u32 u64 s16 s32 s64", "-", "t t n"),
    row("shf", "b32", "l/r! clamp/wrap!", "t t t n"),
    row("lop3.and lop3.or", "b32", "and/or!", "|t t t t x p"),
    row("lop3", "b32", "-", "_t t t t x"),
    row("bfe", "u32 u64 s32 s64", "-", "t t n n"),
    row("bfi", "b32 b64", "-", "t t t n n"),
    row("bfind", "u32 u64 s32 s64", "shiftamt", "n t"),
    row("popc clz", "b32 b64", "-", "n t"),
    row("brev", "b32 b64", "-", "t t"),
    row("fns", "b32", "-", "t t t t"),
    row("prmt", "b32", "f4e/b4e/rc8/ecl/ecr/rc16", "t t t t"),
    row("bmsk", "b32", "clamp/wrap!", "t n n"),
    row("szext", "u32 s32", "clamp/wrap!", "t t n"),
    row("sad", INTEGERS, "-", "t t t t"),
    row("slct", "s32 f32", "ftz", "d d d t"),
    row("mul24", "u32 s32", "lo/hi!", "t t t"),
    row("mad24", "u32 s32", "lo/hi! sat", "t t t t"),
    row("dp4a", "", "-", "n n n n"),
    row("dp2a", "", "lo/hi!", "n n n n"),
    row("addc subc", "u32 u64 s32 s64", "cc", "t t t"),
    row("madc", "u32 u64 s32 s64", "lo/hi! cc", "t t t t"),
    row("vadd vsub vabsdiff vmin vmax vshl vshr vset", "", "", "n n n n?"),
    row("vmad vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2", "", "", "n n n n"),
    row("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4", "", "", "n n n n"),
    row("copysign", "f32 f64", "-", "t t t"),
    row("testp", "f32 f64", "finite/infinite/number/notanumber/normal/subnormal!", "p t"),
    row("rcp", "f32 f64", "approx/rn/rz/rm/rp! ftz", "t t"),
    row("sqrt.f32", "f32", "approx/rn/rz/rm/rp! ftz", "t t"),
    row("sqrt", "f64", "rn/rz/rm/rp!", "t t"),
    row("rsqrt", "f32 f64", "approx! ftz", "t t"),
    row("sin cos lg2", "f32", "approx! ftz", "t t"),
    row("ex2", APPROXIMATE, "approx! ftz", "t t"),
    row("tanh", APPROXIMATE, "approx!", "t t"),
    row("setp", COMPARED, "", "|_p t t p?"),
    row("set", COMPARED, "", "d t t p?"),
    row("selp", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "-", "t t t p"),
    row("cvta", "u32 u64", "", "t t"),
    row("isspacep", "", "", "p a"),
    row("mov.v4", "", "v4!", "x x"),
    row("mov", "pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64", "-", "m m"),
    row("cvt.pack cvt.tf32 cvt.e4m3x2 cvt.e5m2x2", "", "", "x x x? x?"),
    row("cvt", CONVERTED, "", "D v v?"),
    row("shfl", "b32", "", "|t t n n n?"),
    row("vote.ballot", "b32", "", "t p n?"),
    row("vote", "pred", "", "p p n?"),
    row("match.all", "b32 b64", "", "|n t n"),
    row("match", "b32 b64", "", "n t n"),
    row("redux", "u32 s32 b32", "", "t t n"),
    row("activemask", "b32", "-", "t"),
    row("ld ldu", MOVED, "", "v @"),
    row("st", MOVED, "", "@ v"),
    row("atom", "", "", "_t @ t t?"),
    row("red", "", "", "@ t"),
    row("nanosleep", "u32", "-", "n"),
];

/// The names and signatures of each opcode, in their order.
static BY_OPCODE: LazyLock<HashMap<&str, Vec<(&str, &Signature)>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<(&str, &Signature)>> = HashMap::new();
    for signature in SIGNATURES {
        for name in signature.names.split(' ') {
            let opcode = name.split_once('.').map_or(name, |(opcode, _)| opcode);
            rows.entry(opcode).or_default().push((name, signature));
        }
    }
    rows
});

const fn row(
    names: &'static str,
    types: &'static str,
    words: &'static str,
    operands: &'static str,
) -> Signature {
    Signature { names, types, words, operands }
}

impl Signature {
    /// The signature of an instruction, if its types are checked.
    fn find(i: &Instruction<'_>) -> Option<&'static Self> {
        let rows = BY_OPCODE.get(i.opcode)?;
        let is_of = |words: &str| words.split('.').skip(1).all(|word| i.modifiers.contains(&word));
        rows.iter().find(|(name, _)| is_of(name)).map(|(_, signature)| *signature)
    }

    /// Whether an instruction has these types: one, unless another one is that of the result.
    fn has_types(&self, types: &[&str]) -> bool {
        let is_type = |ty: &&str| self.types.split(' ').any(|known| known == *ty);
        let most = if self.operands.contains(['d', 'D']) { 2 } else { 1 };
        let result = if self.operands.contains('d') { 1 } else { 0 };
        self.types.is_empty()
            || (1..=most).contains(&types.len()) && types.iter().skip(result).all(is_type)
    }

    /// Whether an instruction has these other words.
    fn has_words(&self, words: &[&str]) -> bool {
        let groups = || self.words.split(' ').map(|group| group.trim_end_matches('!'));
        let is_in = |group: &str, word: &str| group.split('/').any(|known| known == word);
        let is_known = |word: &&str| groups().any(|group| is_in(group, word));
        let count = |group: &str| words.iter().filter(|word| is_in(group, word)).count();
        let is_once = |group: &str| match group.strip_suffix('!') {
            Some(group) => count(group) == 1,
            None => count(group) <= 1,
        };
        self.words.is_empty() || words.iter().all(is_known) && self.words.split(' ').all(is_once)
    }
}

/// The type of a dot-word, also of one for pairs of integers.
fn type_of(word: &str) -> Option<Type> {
    match word {
        "u16x2" | "s16x2" => Some(Type::Bits(4)),
        word => Type::from_word(word),
    }
}

/// How registers and constants have to fit a type.
#[derive(Clone, Copy)]
struct Wanted {
    ty: Type,
    /// Wider registers fit too.
    or_wider: bool,
}

impl Wanted {
    fn exactly(ty: Type) -> Self {
        Self { ty, or_wider: false }
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
                !matches!(register, Type::Float(_) | Type::BFloat16)
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

/// Whether a conversion says how it rounds if it may not be exact, and only then.
fn is_rounded(types: &[Type], words: &[&str]) -> bool {
    let &[to, from] = types else { return true };
    let to_integer = words.iter().any(|word| matches!(*word, "rni" | "rzi" | "rmi" | "rpi"));
    let to_float = words.iter().any(|word| matches!(*word, "rn" | "rz" | "rm" | "rp" | "rna"));
    let is_narrower = to.bytes() < from.bytes() || to == Type::Packed;
    match (to.is_float(), from.is_float()) {
        (false, false) => !to_integer && !to_float && !words.contains(&"ftz"),
        (false, true) => to_integer && !to_float,
        (true, false) => to_float && !to_integer,
        (true, true) if is_narrower => to_float,
        (true, true) => !to_float || to != from && from.bytes() == 2 && to.bytes() == 2,
    }
}

/// What a letter means: `t` the last type, `d` the first, `w` twice the width of the last, `n` 32
/// bits of an integer, `p` a predicate, `a` an address of any width, and `v` and `D` the last or
/// the first type or a wider one.
fn wanted(letter: &str, first: Type, last: Type) -> Wanted {
    match letter {
        "d" => Wanted::exactly(first),
        "w" => Wanted::exactly(Type::Unsigned(2 * last.bytes() as u8)),
        "n" => Wanted::exactly(Type::Unsigned(4)),
        "p" => Wanted::exactly(Type::Pred),
        "a" => Wanted { ty: Type::Unsigned(4), or_wider: true },
        "v" => Wanted { ty: last, or_wider: true },
        "D" => Wanted { ty: first, or_wider: true },
        _ => Wanted::exactly(last),
    }
}

impl<'a> Builder<'_, 'a> {
    /// Refuses an instruction with types that it does not have, or with operands that do not fit.
    pub(super) fn check_types(&self, i: &Instruction<'a>) -> Lowered<()> {
        let Some(signature) = Signature::find(i) else { return Ok(()) };
        let (types, words): (Vec<&str>, Vec<&str>) =
            i.modifiers.iter().partition(|word| type_of(word).is_some());
        if !signature.has_types(&types) || !signature.has_words(&words) {
            let text = format!("'{}' is not an instruction of PTX", i.full_name());
            return Err(PtxError::invalid(i.line, text));
        }
        let types: Vec<Type> = types.into_iter().filter_map(type_of).collect();
        if i.opcode == "cvt" && !is_rounded(&types, &words) {
            let text = format!("'{}' rounds where it cannot, or does not", i.full_name());
            return Err(PtxError::invalid(i.line, text));
        }
        let policy = usize::from(i.modifiers.contains(&"L2::cache_hint"));
        let given = &i.operands[..i.operands.len().saturating_sub(policy)];
        let mut operands = given.iter();
        for letters in signature.operands.split(' ') {
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
            fits |= self.fits(letter, &types, operand);
            fits &= pair.is_none_or(|pair| *pair == Operand::Sink || self.fits("p", &types, pair));
            if !fits {
                let text =
                    format!("an operand of '{}' has a type that does not fit", i.full_name());
                return Err(PtxError::invalid(i.line, text));
            }
        }
        if operands.next().is_some() { Err(count(i)) } else { Ok(()) }
    }

    /// Whether an operand is what `letter` says: `x` anything, `@` an address in brackets, `m` what
    /// `mov` moves, otherwise a register or a constant of [`wanted`].
    fn fits(&self, letter: &str, types: &[Type], operand: &Operand<'a>) -> bool {
        let last = types.last().copied().unwrap_or(Type::Unsigned(4));
        let wanted = wanted(letter, types.first().copied().unwrap_or(last), last);
        match operand {
            _ if letter == "x" => true,
            Operand::Address(base, _) => letter == "@" && self.is_address(*base),
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
                wanted.takes_constant(operand)
            }
            operand => self.declared(operand).is_none_or(|ty| wanted.takes(ty)),
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
