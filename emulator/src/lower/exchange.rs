//! Exchange between the lanes of a warp.

use super::builder::{Builder, Lowered};
use super::inst::*;
use super::integer::pick;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn exchange_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "shfl" => self.shuffle(i),
            "vote" | "match" | "redux" => self.vote(i),
            "activemask" => self.active_mask(i),
            "elect" => self.elect(i),
            _ => return None,
        })
    }

    fn active_mask(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.one_type(i)?;
        words.done(i)?;
        let [d] = operands(i)?;
        Ok(MoveOp::ActiveMask { d: self.destination(d, File::R32, i.line)? }.into())
    }

    /// `elect.sync d|p, members`
    fn elect(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        if i.modifiers != ["sync"] {
            return Err(unsupported(i));
        }
        let [d @ Operand::Pair(..), members] = operands(i)? else { return Err(unsupported(i)) };
        let (d, p) = self.pair(i, d)?;
        let members = self.source32(members, WORD, i.line)?;
        Ok(ExchangeOp::Elect { d, p, members }.into())
    }

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
    fn shuffle(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
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
        let [a, b, c] = self.sources([a, b, c], WORD, i.line)?;
        let members = match (sync, members) {
            (true, [members]) => self.source32(members, WORD, i.line)?,
            (false, []) => self.bits32(u32::MAX),
            _ => return Err(unsupported(i)),
        };
        Ok(ExchangeOp::Shuffle { mode, d, p, a, b, c, members }.into())
    }

    /// `vote match redux`
    fn vote(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let sync = words.take("sync");
        let what = words
            .take_one(&["all", "any", "uni", "ballot", "add", "min", "max", "and", "or", "xor"]);
        let ty = words.one_type(i)?;
        words.done(i)?;
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
                let d = self.destination(d, mode.result_file(), i.line)?;
                let (a, negate) = self.predicate(a, i.line)?;
                Ok(ExchangeOp::Vote { mode, d, a, negate, members }.into())
            }
            ("match", Some(mode @ ("all" | "any"))) => {
                let (d, p) = self.pair(i, d)?;
                let a = self.source(a, ty, i.line)?;
                Ok(ExchangeOp::Match {
                    wide: ty.bytes() == 8,
                    all: mode == "all",
                    d,
                    p,
                    a,
                    members,
                }
                .into())
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
                Ok(ExchangeOp::Redux { op, d, a, members }.into())
            }
            _ => Err(unsupported(i)),
        }
    }
}
