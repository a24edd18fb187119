//! From an opcode to the routine that knows it.

use super::builder::{Builder, Lowered};
use super::inst::{Op, Unary};
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Type};

/// Whether the last type among the dot-words is a floating-point one.
fn is_float(i: &Instruction<'_>) -> bool {
    i.modifiers.iter().rev().find_map(|word| Type::from_word(word)).is_some_and(Type::is_float)
}

impl<'a> Builder<'_, 'a> {
    /// Everything but branches and calls.
    pub(super) fn plain(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        match i.opcode {
            "add" | "sub" | "mul" | "div" | "min" | "max" | "fma" | "mad" | "sqrt" | "rcp"
            | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign"
                if is_float(i) =>
            {
                self.float(i)
            }
            "neg" | "abs" if is_float(i) => self.sign(i),
            "add" | "sub" | "addc" | "subc" | "mul" | "mul24" | "div" | "rem" | "min" | "max"
            | "and" | "or" | "xor" => self.integer(i),
            "mad" => self.mad(i),
            "neg" | "abs" | "not" | "cnot" | "brev" | "popc" | "clz" | "bfind" => self.unary(i),
            "shl" | "shr" => self.shift(i),
            "shf" | "prmt" | "lop3" | "sad" | "dp4a" | "bfe" | "bfi" => self.bit_field(i),
            "setp" | "set" => self.compare(i),
            "testp" => self.testp(i),
            "selp" => self.select(i),
            "mov" => self.mov(i),
            "cvt" => self.convert(i),
            "cvta" => self.cvta(i),
            "isspacep" => self.isspacep(i),
            "ld" | "ldu" | "st" => self.load_store(i),
            "atom" | "red" => self.atomic(i),
            "shfl" => self.shuffle(i),
            "vote" | "match" | "redux" | "activemask" => self.vote(i),
            "bar" | "barrier" => self.barrier(i),
            "ret" => self.bare(i, &["uni"], Op::Return),
            "exit" => self.bare(i, &[], Op::Exit),
            "trap" => self.bare(i, &[], Op::Trap { assert: false }),
            "membar" | "fence" => self.fence(i),
            "nanosleep" => Ok(Op::Nop),
            "prefetch" | "prefetchu" => {
                let mut words = Modifiers::of(i);
                words.ignore(|word| matches!(word, "global" | "local" | "L1" | "L2"));
                words.done(i)?;
                Ok(Op::Nop)
            }
            _ => Err(unsupported(i)),
        }
    }

    fn bare(&mut self, i: &Instruction<'a>, ignorable: &[&str], op: Op) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        words.ignore(|word| ignorable.contains(&word));
        words.done(i)?;
        let [] = operands(i)?;
        Ok(op)
    }

    fn fence(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let beyond_block = words.take_one(&["gl", "sys", "gpu", "cluster"]).is_some();
        words.ignore(|word| matches!(word, "cta" | "sc" | "acq_rel" | "acquire" | "release"));
        words.done(i)?;
        self.ordered |= beyond_block;
        Ok(Op::Nop)
    }

    /// `neg` and `abs` of floats change one bit, unless subnormals are flushed.
    fn sign(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        if i.modifiers.contains(&"ftz") {
            return self.float(i);
        }
        let mut words = Modifiers::of(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let op = if i.opcode == "neg" { Unary::FloatNeg } else { Unary::FloatAbs };
        let [d, a] = operands(i)?;
        let d = self.destination(d, super::builder::file_of(ty), i.line)?;
        let a = self.source(a, ty, i.line)?;
        match ty {
            Type::Float(4) => Ok(Op::Unary32 { op, d, a }),
            Type::Float(8) => Ok(Op::Unary64 { op, d, a }),
            _ => Err(unsupported(i)),
        }
    }
}
