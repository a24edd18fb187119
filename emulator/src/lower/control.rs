//! Barriers, fences and instructions that end a thread. Branches and calls are lowered with their
//! function.

use super::builder::{Builder, Lowered};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use super::program::Const64;
use crate::ptx::PtxError;
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn control_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "bar" | "barrier" => self.barrier(i),
            "ret" => self.bare(i, &["uni"], ControlOp::Return.into()),
            "exit" => self.bare(i, &[], ControlOp::Exit.into()),
            "trap" => self.bare(i, &[], ControlOp::Trap.into()),
            "brkpt" => self.bare(i, &[], ControlOp::Breakpoint.into()),
            "pmevent" => event(i),
            "membar" | "fence" => self.fence(i),
            "nanosleep" => Ok(Op::Sleep),
            "griddepcontrol" => grid_dependency(i),
            "prefetch" | "prefetchu" => prefetch(i),
            "applypriority" | "discard" => line_hint(i),
            "createpolicy" => self.policy(i),
            _ => return None,
        })
    }

    fn bare(&mut self, i: &Instruction<'a>, ignorable: &[&str], op: Op) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.ignore(|word| ignorable.contains(&word));
        words.done(i)?;
        let [] = operands(i)?;
        Ok(op)
    }

    fn fence(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let beyond_block = words.take_one(&["gl", "sys", "gpu", "cluster"]).is_some();
        words.ignore(|word| {
            matches!(word, "cta" | "sc" | "acq_rel" | "acquire" | "release" | "mbarrier_init")
        });
        // The emulator completes an asynchronous copy at once, so its data is already in memory.
        if words.take("proxy") {
            words.ignore(|word| {
                matches!(word, "alias" | "async" | "global" | "shared::cta" | "shared::cluster")
            });
        }
        words.done(i)?;
        self.program.blocks_interact |= beyond_block;
        Ok(Op::Fence { beyond_block })
    }

    /// `bar barrier`
    fn barrier(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.take("cta");
        if i.opcode == "bar" && words.take("warp") {
            if !words.take("sync") {
                return Err(unsupported(i));
            }
            words.done(i)?;
            let [members] = operands(i)?;
            let members = self.source32(members, WORD, i.line)?;
            return Ok(ExchangeOp::WarpSync { members }.into());
        }
        let aligned = words.take("aligned") || i.opcode == "bar";
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
        check_barrier(rest, i.line)?;
        let id = self.source32(id, WORD, i.line)?;
        Ok(Op::Barrier(Barrier { kind, aligned, id, threads, d, p, negate }))
    }

    /// `createpolicy`: a policy changes no result, and no instruction reads its value.
    fn policy(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let form = i.modifiers.first().copied();
        let (Some("fractional" | "range" | "cvt"), [d, ..], Some(&"b64")) =
            (form, i.operands.as_slice(), i.modifiers.last())
        else {
            return Err(unsupported(i));
        };
        let d = self.destination(d, File::R64, i.line)?;
        Ok(ArithOp::Mov64 { d, a: self.constant64(Const64::Bits(0)) }.into())
    }
}

/// Refuses a constant number of a barrier, or of its threads, that no block has.
fn check_barrier(operands: &[Operand<'_>], line: u32) -> Lowered<()> {
    let text = match operands {
        [Operand::Integer(id), ..] if !(0..16).contains(id) => {
            format!("barrier {id}; a block has barriers 0 to 15")
        }
        [_, Operand::Integer(threads)] if threads % 32 != 0 => {
            format!("{threads} threads at a barrier are not a multiple of a warp")
        }
        _ => return Ok(()),
    };
    Err(PtxError::invalid(line, text))
}

/// `pmevent` signals a profiler and has no effect on the kernel.
fn event(i: &Instruction<'_>) -> Lowered<Op> {
    let mut words = Modifiers::new(i);
    words.take("mask");
    words.done(i)?;
    let [_] = operands(i)?;
    Ok(Op::Nop)
}

/// `griddepcontrol`: a grid begins only after the previous one has ended, so nothing waits.
fn grid_dependency(i: &Instruction<'_>) -> Lowered<Op> {
    let mut words = Modifiers::new(i);
    words.take_one(&["wait", "launch_dependents"]).ok_or_else(|| unsupported(i))?;
    words.done(i)?;
    let [] = operands(i)?;
    Ok(Op::Nop)
}

/// `applypriority`, and `discard`, after which a line is undefined: here it keeps its contents.
fn line_hint(i: &Instruction<'_>) -> Lowered<Op> {
    let mut words = Modifiers::new(i);
    words.take("global");
    let known = words.take_one(&["L2", "L2::evict_normal"]).is_some();
    words.done(i)?;
    match operands(i)? {
        [Operand::Address(..), Operand::Integer(128)] if known => Ok(Op::Nop),
        _ => Err(unsupported(i)),
    }
}

fn prefetch(i: &Instruction<'_>) -> Lowered<Op> {
    let mut words = Modifiers::new(i);
    words.ignore(|word| {
        matches!(word, "global" | "local" | "L1" | "L2" | "L2::evict_last" | "L2::evict_normal")
    });
    words.done(i)?;
    Ok(Op::Nop)
}
