//! Exchange between the lanes of a warp, and barriers.

use super::builder::{Builder, File, Lowered};
use super::inst::*;
use super::integer::pick;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

impl<'a> Builder<'_, 'a> {
    fn pair(&mut self, i: &Instruction<'a>, operand: &Operand<'a>) -> Lowered<(Slot, Slot)> {
        match operand {
            Operand::Pair(d, p) => Ok((
                self.destination(d, File::R32, i.line)?,
                self.destination(p, File::Pred, i.line)?,
            )),
            d => Ok((self.destination(d, File::R32, i.line)?, self.sink())),
        }
    }

    /// `shfl`
    pub(super) fn shuffle(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let sync = words.take("sync");
        let mode = match words.take_one(&["up", "down", "bfly", "idx"]) {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Butterfly,
            Some(_) => Shuffle::Index,
            None => return Err(unsupported(i)),
        };
        if words.one_type(i)?.bytes() != 4 {
            return Err(unsupported(i));
        }
        words.done(i)?;
        let [d, a, b, c, members @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        let (d, p) = self.pair(i, d)?;
        let [a, b, c] = [
            self.source32(a, WORD, i.line)?,
            self.source32(b, WORD, i.line)?,
            self.source32(c, WORD, i.line)?,
        ];
        let members = match (sync, members) {
            (true, [members]) => self.source32(members, WORD, i.line)?,
            (false, []) => self.bits32(u32::MAX),
            _ => return Err(unsupported(i)),
        };
        Ok(Op::Shuffle { mode, d, p, a, b, c, members })
    }

    /// `vote match redux activemask`
    pub(super) fn vote(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let sync = words.take("sync");
        let what = words
            .take_one(&["all", "any", "uni", "ballot", "add", "min", "max", "and", "or", "xor"]);
        let ty = words.one_type(i)?;
        words.done(i)?;
        if i.opcode == "activemask" {
            let [d] = operands(i)?;
            return Ok(Op::ActiveMask { d: self.destination(d, File::R32, i.line)? });
        }
        let (d, a, members) = match (i.operands.as_slice(), sync) {
            ([d, a, members], true) => (d, a, self.source32(members, WORD, i.line)?),
            ([d, a], false) if i.opcode == "vote" => (d, a, self.bits32(u32::MAX)),
            _ => return Err(unsupported(i)),
        };
        match (i.opcode, what) {
            ("vote", Some(mode @ ("all" | "any" | "uni" | "ballot"))) => {
                let mode = match mode {
                    "all" => Vote::All,
                    "any" => Vote::Any,
                    "uni" => Vote::Uniform,
                    _ => Vote::Ballot,
                };
                let file = if mode == Vote::Ballot { File::R32 } else { File::Pred };
                let d = self.destination(d, file, i.line)?;
                let (a, negate) = self.predicate(a, i.line)?;
                Ok(Op::Vote { mode, d, a, negate, members })
            }
            ("match", Some(mode @ ("all" | "any"))) => {
                let (d, p) = self.pair(i, d)?;
                let a = self.source(a, ty, i.line)?;
                Ok(Op::Match { wide: ty.bytes() == 8, all: mode == "all", d, p, a, members })
            }
            ("redux", Some(mode)) if ty.bytes() == 4 && !ty.is_float() => {
                let signed = ty.is_signed();
                let op = match mode {
                    "add" => Binary::Add,
                    "min" => pick(signed, Binary::MinS, Binary::MinU),
                    "max" => pick(signed, Binary::MaxS, Binary::MaxU),
                    "and" => Binary::And,
                    "or" => Binary::Or,
                    "xor" => Binary::Xor,
                    _ => return Err(unsupported(i)),
                };
                let (d, a) =
                    (self.destination(d, File::R32, i.line)?, self.source32(a, ty, i.line)?);
                Ok(Op::Redux { op, d, a, members })
            }
            _ => Err(unsupported(i)),
        }
    }

    /// `bar barrier`
    pub(super) fn barrier(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        words.take("cta");
        if i.opcode == "bar" && words.take("warp") {
            if !words.take("sync") {
                return Err(unsupported(i));
            }
            words.done(i)?;
            let [members] = operands(i)?;
            return Ok(Op::WarpSync { members: self.source32(members, WORD, i.line)? });
        }
        words.take("aligned");
        let what = words.take_one(&["sync", "arrive", "red"]);
        let reduction = words.take_one(&["popc", "and", "or"]);
        let types = words.types();
        words.done(i)?;
        let kind = match (what, reduction) {
            (Some("sync"), None) => BarrierKind::Sync,
            (Some("arrive"), None) => BarrierKind::Arrive,
            (Some("red"), Some("popc")) => BarrierKind::RedPopc,
            (Some("red"), Some("and")) => BarrierKind::RedAnd,
            (Some("red"), Some("or")) => BarrierKind::RedOr,
            _ => return Err(unsupported(i)),
        };
        let is_red = what == Some("red");
        if is_red == types.is_empty() {
            return Err(unsupported(i));
        }
        let (mut d, mut p, mut negate) = (self.sink(), self.never(), false);
        let mut rest = i.operands.as_slice();
        if is_red {
            let [first, middle @ .., last] = rest else { return Err(unsupported(i)) };
            let file = if kind == BarrierKind::RedPopc { File::R32 } else { File::Pred };
            d = self.destination(first, file, i.line)?;
            (p, negate) = self.predicate(last, i.line)?;
            rest = middle;
        }
        let (id, threads) = match rest {
            [id] => (id, None),
            [id, threads] => (id, Some(self.source32(threads, WORD, i.line)?)),
            _ => return Err(unsupported(i)),
        };
        if kind == BarrierKind::Arrive && threads.is_none() {
            return Err(unsupported(i));
        }
        let id = self.source32(id, WORD, i.line)?;
        Ok(Op::Barrier(Barrier { kind, id, threads, d, p, negate }))
    }
}
