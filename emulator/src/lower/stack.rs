//! Stack memory that a function allocates as it runs: `alloca`, `stacksave`, `stackrestore`.

use super::builder::{Builder, Lowered, file_of};
use super::inst::{ControlOp, File, Op};
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand};

/// The alignment of `alloca` that names none.
const DEFAULT_ALIGN: i64 = 8;

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn stack_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "alloca" => self.alloca(i),
            "stacksave" | "stackrestore" => self.save_or_restore(i),
            _ => return None,
        })
    }

    fn alloca(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let (d, size, align) = match i.operands.as_slice() {
            [d, size] => (d, size, DEFAULT_ALIGN),
            [d, size, Operand::Integer(align)] => (d, size, *align),
            _ => return Err(unsupported(i)),
        };
        let align = u32::try_from(align).ok().filter(|align| align.is_power_of_two());
        let align = align.ok_or_else(|| unsupported(i))?;
        let file = file_of(ty);
        let (d, size) = (self.destination(d, file, i.line)?, self.source(size, ty, i.line)?);
        Ok(ControlOp::Alloca { wide: file == File::R64, d, size, align }.into())
    }

    fn save_or_restore(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let [operand] = operands(i)?;
        let file = file_of(ty);
        let wide = file == File::R64;
        Ok(match i.opcode {
            "stacksave" => {
                ControlOp::StackSave { wide, d: self.destination(operand, file, i.line)? }.into()
            }
            _ => ControlOp::StackRestore { wide, a: self.source(operand, ty, i.line)? }.into(),
        })
    }
}
