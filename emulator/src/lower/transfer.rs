//! `cp.async`, moves of matrices and `mbarrier`, and the way to `mma` and `wmma`.

use super::builder::{Builder, Lowered};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);
const STATE: Type = Type::Bits(8);
const BLOCK: &[&str] = &["shared", "shared::cta"];

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn transfer_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "cp" => self.copy(i),
            "ldmatrix" => self.matrix(i, false),
            "stmatrix" => self.matrix(i, true),
            "movmatrix" => self.transpose(i),
            "mbarrier" => self.mbarrier(i),
            "mma" => self.mma(i),
            "wmma" => self.wmma(i),
            _ => return None,
        })
    }

    pub(super) fn access_place(
        &mut self,
        i: &Instruction<'a>,
        operand: &Operand<'a>,
        space: Space,
    ) -> Lowered<Address> {
        let (base, wide, offset) = self.address(operand, i.line)?;
        Ok(Address { space, wide, base, offset })
    }

    /// The space of `.shared` or of no word at all.
    pub(super) fn block_space(words: &mut Modifiers<'a>) -> Space {
        if words.take_one(BLOCK).is_some() { Space::Shared } else { Space::Generic }
    }

    /// `cp.async…`
    fn copy(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        if !words.take("async") {
            return Err(unsupported(i));
        }
        let what = words
            .take_one(&["ca", "cg", "commit_group", "wait_group", "wait_all", "mbarrier"])
            .ok_or_else(|| unsupported(i))?;
        match what {
            "commit_group" | "wait_all" => {
                words.done(i)?;
                let [] = operands(i)?;
                let op = if what == "wait_all" { TransferOp::WaitAll } else { TransferOp::Commit };
                Ok(op.into())
            }
            "wait_group" => {
                words.done(i)?;
                let [Operand::Integer(left)] = operands(i)? else { return Err(unsupported(i)) };
                let left = u32::try_from(*left).map_err(|_| unsupported(i))?;
                Ok(TransferOp::Wait { left }.into())
            }
            "mbarrier" => {
                let arrives = words.take("arrive");
                let counts = words.take("noinc");
                let space = Self::block_space(&mut words);
                let b64 = words.take("b64");
                words.done(i)?;
                let [address] = operands(i)?;
                if !arrives || !b64 {
                    return Err(unsupported(i));
                }
                Ok(TransferOp::Arrive { address: self.access_place(i, address, space)?, counts }
                    .into())
            }
            cache => self.start_copy(i, words, cache == "cg"),
        }
    }

    /// `cp.async.ca` and `cp.async.cg`, the second of 16 bytes only.
    fn start_copy(
        &mut self,
        i: &Instruction<'a>,
        mut words: Modifiers<'a>,
        bypasses: bool,
    ) -> Lowered<Op> {
        let spaces = words.take_one(BLOCK).is_some() && words.take("global");
        words.ignore(|word| matches!(word, "L2::64B" | "L2::128B" | "L2::256B"));
        let given = words.without_policy(i);
        words.done(i)?;
        let [to, from, Operand::Integer(bytes), rest @ ..] = given else {
            return Err(unsupported(i));
        };
        if !spaces || !matches!((bypasses, *bytes), (_, 16) | (false, 4 | 8)) {
            return Err(unsupported(i));
        }
        let (to, from) =
            (self.access_place(i, to, Space::Shared)?, self.access_place(i, from, Space::Global)?);
        let (mut read, mut ignore) = (None, None);
        match rest {
            [] => {}
            [last] => match self.predicate(last, i.line) {
                Ok(predicate) if !matches!(last, Operand::Integer(_)) => ignore = Some(predicate),
                _ => read = Some(self.source32(last, WORD, i.line)?),
            },
            _ => return Err(unsupported(i)),
        }
        let bytes = *bytes as u8;
        Ok(TransferOp::Copy(AsyncCopy { to, from, bytes, read, ignore }).into())
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {…}, [address]`, and `stmatrix` with its
    /// operands the other way round
    fn matrix(&mut self, i: &Instruction<'a>, stores: bool) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let known = ["sync", "aligned", "m8n8", "b16"].into_iter().all(|word| words.take(word));
        let count: u8 = match words.take_one(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Err(unsupported(i)),
        };
        let transposed = words.take("trans");
        let space = Self::block_space(&mut words);
        words.done(i)?;
        let [first, second] = operands(i)?;
        let (given, address) = if stores { (second, first) } else { (first, second) };
        if !known {
            return Err(unsupported(i));
        }
        let mut registers = [self.sink(); 4];
        let role = if stores { Role::Read } else { Role::Write };
        self.registers_in(i, given, role, File::R32, &mut registers[..usize::from(count)])?;
        let address = self.access_place(i, address, space)?;
        let rows = MatrixRows { stores, address, count, transposed, registers };
        Ok(TransferOp::Matrix(rows).into())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`
    fn transpose(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let known = ["sync", "aligned", "m8n8", "trans", "b16"];
        let known = known.into_iter().all(|word| words.take(word));
        words.done(i)?;
        let [d, a] = operands(i)?;
        if !known {
            return Err(unsupported(i));
        }
        let a = self.source32(a, WORD, i.line)?;
        Ok(TransferOp::Transpose { d: self.destination(d, File::R32, i.line)?, a }.into())
    }

    /// `mbarrier…`
    fn mbarrier(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        if i.modifiers == ["pending_count", "b64"] {
            let (d, [a]) = self.registers_of(i, File::R32, [STATE])?;
            return Ok(MoveOp::PendingCount { d, a }.into());
        }
        let mut words = Modifiers::new(i);
        let what = words.take_first().ok_or_else(|| unsupported(i))?;
        let (expects, holds_on) = (words.take("expect_tx"), words.take("noComplete"));
        let parity = words.take("parity");
        words.ignore(|word| matches!(word, "relaxed" | "acquire" | "release" | "cta" | "cluster"));
        let space = Self::block_space(&mut words);
        let b64 = words.take("b64");
        words.done(i)?;
        let is_arrival = matches!(what, "arrive" | "arrive_drop");
        let is_test = matches!(what, "test_wait" | "try_wait");
        let has_width = matches!(what, "expect_tx" | "complete_tx") || b64;
        if !has_width || ((expects || holds_on) && !is_arrival) || (parity && !is_test) {
            return Err(unsupported(i));
        }
        let (address, op) = match (what, i.operands.as_slice()) {
            ("init", [address, count]) => {
                (address, MbarrierOp::Init { count: self.source32(count, WORD, i.line)? })
            }
            ("inval", [address]) => (address, MbarrierOp::Invalidate),
            ("arrive" | "arrive_drop", [d, address, rest @ ..]) if rest.len() < 2 => {
                let d = self.destination(d, File::R64, i.line)?;
                let given = match rest {
                    [given] => Some(self.source32(given, WORD, i.line)?),
                    _ => None,
                };
                if (expects || holds_on) && given.is_none() {
                    return Err(unsupported(i));
                }
                let (count, expect) = if expects {
                    (self.bits32(1), given)
                } else {
                    (given.unwrap_or(self.bits32(1)), None)
                };
                (address, MbarrierOp::Arrive { d, count, expect, drop: what == "arrive_drop" })
            }
            ("expect_tx" | "complete_tx", [address, count]) => {
                let count = self.source32(count, WORD, i.line)?;
                (address, MbarrierOp::Bytes { expected: what == "expect_tx", count })
            }
            // A limit on how long the thread sleeps changes nothing here: it never does.
            ("test_wait", [p, address, phase]) | ("try_wait", [p, address, phase, ..]) => {
                let p = self.destination(p, File::Pred, i.line)?;
                let phase = match parity {
                    true => Phase::Parity(self.source32(phase, WORD, i.line)?),
                    false => Phase::State(self.source64(phase, STATE, i.line)?),
                };
                (address, MbarrierOp::Test { p, phase })
            }
            _ => return Err(unsupported(i)),
        };
        Ok(Op::Mbarrier(Mbarrier { address: self.access_place(i, address, space)?, op }))
    }
}
