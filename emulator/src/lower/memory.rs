//! Loads, stores and atomics.

use super::builder::{Binding, Builder, Lowered};
use super::half;
use super::inst::*;
use super::integer::{pick, scalar};
use super::modifiers::{Modifiers, unsupported};
use super::program::{Const32, Const64};
use crate::ptx::PtxError;
use crate::ptx::ast::{AddressBase, Instruction, Operand, Type};

/// Whether a dot-word is a cache or prefetch hint, which changes no result and no count.
fn is_hint(word: &str) -> bool {
    matches!(word, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "weak")
        || (word.starts_with("L1::") && word != "L1::cache_hint")
        || matches!(
            word,
            "L2::64B"
                | "L2::128B"
                | "L2::256B"
                | "L2::evict_first"
                | "L2::evict_last"
                | "L2::evict_normal"
        )
}

/// The dot-words of scopes.
pub(super) const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

pub(super) fn space_of(word: Option<&str>) -> Space {
    match word {
        None => Space::Generic,
        Some("global") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("local") => Space::Local,
        Some("const") => Space::Const,
        Some(_) => Space::Param,
    }
}

/// How a load or store shares its place with other threads, and how it orders other accesses of
/// the grid.
fn order_of(words: &mut Modifiers<'_>) -> (Sharing, GridOrder) {
    let order = words.take_one(&["volatile", "relaxed", "acquire", "release"]);
    // No memory here belongs to another device.
    if order == Some("relaxed") {
        words.take("mmio");
    }
    let scope = if order.is_some() { words.take_one(SCOPES) } else { None };
    let sharing = match order {
        None => Sharing::Plain,
        Some("volatile") => Sharing::Volatile,
        Some(_) => Sharing::Ordered,
    };
    (sharing, GridOrder::from_modifiers(order, scope))
}

const SPACES: &[&str] =
    &["global", "shared", "shared::cta", "local", "const", "param", "param::entry", "param::func"];

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn memory_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "ld" | "ldu" | "st" => self.load_store(i),
            "atom" | "red"
                if i.modifiers.iter().any(|word| matches!(*word, "v2" | "v4" | "b128")) =>
            {
                self.atomic_vector(i)
            }
            "atom" | "red" => self.atomic(i),
            _ => return None,
        })
    }

    /// `ld ldu st`
    fn load_store(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let (sharing, order) = order_of(&mut words);
        let space = space_of(words.take_one(SPACES));
        let read_only = words.take("nc");
        words.ignore(is_hint);
        let count = match words.take_one(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let ty = words.one_type(i)?;
        let given = words.without_policy(i);
        words.done(i)?;
        let bytes = ty.bytes() as u8;
        let is_store = i.opcode == "st";
        let [first, second] = given else { return Err(unsupported(i)) };
        let (address, value) = if is_store { (first, second) } else { (second, first) };
        let is_128 = bytes == 16 && count == 1;
        if !(matches!(bytes, 1 | 2 | 4 | 8) || is_128)
            || bytes * count > 16
            || ty == Type::Packed && is_store && count > 4
        {
            return Err(unsupported(i));
        }
        let (slots, wide) = if is_128 {
            let [low, high] = self.register128(value, i.line)?;
            ([low, high, self.sink(), self.sink()], true)
        } else {
            self.values(i, value, ty, count)?
        };
        let (bytes, count) = if is_128 { (8, 2) } else { (bytes, count) };
        let signed = ty.is_signed();
        let element = Element { bytes, signed, wide, count, sharing, order, read_only };
        if space == Space::Param
            && let Some(op) = self.parameter(i, is_store, element, address, slots)?
        {
            return Ok(op);
        }
        let address = self.access_place(i, address, space)?;
        if is_store && matches!(space, Space::Const | Space::Param) {
            return Err(unsupported(i));
        }
        self.program.blocks_interact |=
            element.is_strong() && matches!(space, Space::Generic | Space::Global);
        Ok(if is_store {
            Op::Store { element, address, a: slots }
        } else {
            Op::Load { element, address, d: slots }
        })
    }

    /// The registers that an access moves, and whether they are 64-bit ones.
    fn values(
        &mut self,
        i: &Instruction<'a>,
        value: &Operand<'a>,
        ty: Type,
        count: u8,
    ) -> Lowered<([Slot; 4], bool)> {
        let parts = match value {
            Operand::Vector(parts) if parts.len() == usize::from(count) => parts.as_slice(),
            Operand::Vector(_) => return Err(unsupported(i)),
            value if count == 1 => std::slice::from_ref(value),
            _ => return Err(unsupported(i)),
        };
        let eight = ty.bytes() == 8;
        let mut slots = [self.sink(); 4];
        let mut wide = None;
        for (slot, part) in slots.iter_mut().zip(parts) {
            let natural = if eight { File::R64 } else { File::R32 };
            let (found, is_wide) = if i.opcode == "st" {
                self.source_any(part, ty, i.line)?
            } else {
                let (found, file) = self.destination_any(part, natural, i.line)?;
                (found, file == File::R64)
            };
            *slot = found;
            let sink = *part == Operand::Sink;
            if (!sink && *wide.get_or_insert(is_wide) != is_wide) || (eight && !is_wide) {
                return Err(PtxError::invalid(
                    i.line,
                    "the registers of a vector must have one width of at least the type's",
                ));
            }
        }
        Ok((slots, wide.unwrap_or(eight)))
    }

    /// An access to a named parameter, at a place that is known now.
    fn parameter(
        &mut self,
        i: &Instruction<'a>,
        is_store: bool,
        element: Element,
        address: &Operand<'a>,
        slots: [Slot; 4],
    ) -> Lowered<Option<Op>> {
        let Operand::Address(AddressBase::Name(name), offset) = address else { return Ok(None) };
        let outside =
            || PtxError::invalid(i.line, format!("access beyond the end of parameter '{name}'"));
        let inside = |bytes: u32| {
            let offset = u32::try_from(*offset).map_err(|_| outside())?;
            if offset.saturating_add(element.total()) > bytes { Err(outside()) } else { Ok(offset) }
        };
        match self.find(name) {
            Some(Binding::LaunchParam(at, bytes)) if !is_store => {
                let offset = inside(bytes)?;
                let mut a = [self.sink(); 4];
                for (index, slot) in (0u32..).zip(a.iter_mut().take(usize::from(element.count))) {
                    let at = at + offset + index * u32::from(element.bytes);
                    *slot = if element.wide {
                        self.constant64(Const64::Param(at, element.bytes, element.signed))
                    } else {
                        self.constant32(Const32::Param(at, element.bytes, element.signed))
                    };
                }
                Ok(Some(match (element.count, element.wide) {
                    (1, false) => ArithOp::Mov32 { d: slots[0], a: a[0] }.into(),
                    (1, true) => ArithOp::Mov64 { d: slots[0], a: a[0] }.into(),
                    (count, wide) => MoveOp::Gather { wide, count, d: slots, a }.into(),
                }))
            }
            Some(Binding::Words(first, bytes)) => {
                let offset = inside(bytes)?;
                let word = Slot(first.0 + (offset / 4) as u16);
                let byte = (offset % 4) as u8;
                Ok(Some(if is_store {
                    MoveOp::WriteWords { element, a: slots, word, byte }.into()
                } else {
                    MoveOp::ReadWords { element, d: slots, word, byte }.into()
                }))
            }
            Some(Binding::Register(..)) if !is_store => Ok(None),
            _ => Err(unsupported(i)),
        }
    }

    /// `atom red`
    fn atomic(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let (order, orders, space) = atomic_order(&mut words);
        let given = words.without_policy(i);
        let half = i.modifiers.iter().find_map(|word| half::format(word));
        let noftz = words.take("noftz");
        let ty = words.one_type(i)?;
        let op = words.take_first();
        words.done(i)?;
        let op = op.and_then(|op| atomic_op(op, half, noftz));
        let cell = half.map_or_else(|| scalar(ty), |(format, _)| Some(half::scalar(format)));
        let (Some(cell), Some(op)) = (cell, op) else {
            return Err(unsupported(i));
        };
        let cell = atomic_cell(op, cell).ok_or_else(|| unsupported(i))?;
        let file = if cell.is_wide() { File::R64 } else { File::R32 };
        let (d, [address, b], c) = atomic_operands(i, given, op)?;
        let d = d.map_or(Ok(self.sink()), |d| self.destination(d, file, i.line))?;
        let b = self.source(b, ty, i.line)?;
        let c = c.map_or(Ok(b), |c| self.source(c, ty, i.line))?;
        let address = self.access_place(i, address, space)?;
        // Whether and how the old value is used is settled when the whole kernel is known.
        let (ty, result_used, informs) = (cell, d != self.sink(), false);
        Ok(Op::Atomic(Atomic { address, op, ty, result_used, informs, orders, order, d, b, c }))
    }
}

/// How an atomic orders other accesses of the grid, whether it does, and its space.
pub(super) fn atomic_order(words: &mut Modifiers<'_>) -> (GridOrder, bool, Space) {
    let order = words.take_one(&["relaxed", "acquire", "release", "acq_rel"]);
    let orders = order.is_some_and(|word| word != "relaxed");
    let order = GridOrder::from_modifiers(order, words.take_one(SCOPES));
    (order, orders, space_of(words.take_one(&["global", "shared", "shared::cta"])))
}

/// The operands of an atomic: its result, the address, the operand, and what `cas` stores.
pub(super) fn atomic_operands<'i, 'a>(
    i: &Instruction<'a>,
    given: &'i [Operand<'a>],
    op: AtomicOp,
) -> Lowered<(Option<&'i Operand<'a>>, [&'i Operand<'a>; 2], Option<&'i Operand<'a>>)> {
    let (d, rest) = match given {
        rest if i.opcode == "red" => (None, rest),
        [d, rest @ ..] => (Some(d), rest),
        [] => return Err(unsupported(i)),
    };
    match (rest, op == AtomicOp::CompareSwap) {
        ([address, b, c], true) => Ok((d, [address, b], Some(c))),
        ([address, b], false) => Ok((d, [address, b], None)),
        _ => Err(unsupported(i)),
    }
}

/// The cell of an atomic operation on a type; `None` if PTX has no such operation.
fn atomic_cell(op: AtomicOp, cell: Scalar) -> Option<Scalar> {
    Some(match (op, cell) {
        (AtomicOp::AddHalf | AtomicOp::AddPair, cell) => cell,
        (AtomicOp::CompareSwap, Scalar::U16) => cell,
        (
            AtomicOp::Add,
            Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64 | Scalar::F32 | Scalar::F64,
        ) => cell,
        (AtomicOp::Min | AtomicOp::Max, Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64) => {
            cell
        }
        (AtomicOp::Inc | AtomicOp::Dec, Scalar::U32) => cell,
        (
            AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Exchange
            | AtomicOp::CompareSwap,
            Scalar::U32 | Scalar::U64 | Scalar::S32 | Scalar::S64,
        ) => pick(cell.is_wide(), Scalar::U64, Scalar::U32),
        (AtomicOp::Exchange, Scalar::F32) => Scalar::U32,
        (AtomicOp::Exchange, Scalar::F64) => Scalar::U64,
        _ => return None,
    })
}

/// The operation of a dot-word; on halves, of a pair or not, there is only the addition, which has
/// to say that it flushes nothing.
fn atomic_op(word: &str, half: Option<(HalfFormat, bool)>, noftz: bool) -> Option<AtomicOp> {
    if half.is_some() != noftz {
        return None;
    }
    Some(match (word, half) {
        ("add", Some((_, true))) => AtomicOp::AddPair,
        ("add", Some((_, false))) => AtomicOp::AddHalf,
        (_, Some(_)) => return None,
        (word, None) => return plain_op(word),
    })
}

fn plain_op(word: &str) -> Option<AtomicOp> {
    Some(match word {
        "add" => AtomicOp::Add,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "inc" => AtomicOp::Inc,
        "dec" => AtomicOp::Dec,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "exch" => AtomicOp::Exchange,
        "cas" => AtomicOp::CompareSwap,
        _ => return None,
    })
}
