//! From an opcode to the routine that knows it. Each file of opcodes lists its own.

use super::builder::{Builder, Lowered};
use super::inst::Op;
use super::modifiers::unsupported;
use crate::ptx::ast::Instruction;

impl<'a> Builder<'_, 'a> {
    /// Everything but branches and calls.
    pub(super) fn plain(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        // Rare forms first: `min.s16x2` is not the integer file's `min`. Then floats: nor is
        // `add.f32` its `add`.
        self.rare_integer_group(i)
            .or_else(|| self.video_group(i))
            .or_else(|| self.float_group(i))
            .or_else(|| self.integer_group(i))
            .or_else(|| self.move_group(i))
            .or_else(|| self.memory_group(i))
            .or_else(|| self.exchange_group(i))
            .or_else(|| self.transfer_group(i))
            .or_else(|| self.control_group(i))
            .or_else(|| self.stack_group(i))
            .unwrap_or_else(|| Err(unsupported(i)))
    }
}
