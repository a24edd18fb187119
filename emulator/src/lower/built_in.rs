//! Calls of functions that the driver defines: `__assertfail`, `vprintf`, `malloc` and `free`.

use super::builder::{Builder, Lowered};
use super::inst::{ControlOp, Op, Slot};
use super::modifiers::unsupported;
use crate::ptx::ast::{Instruction, Operand};

impl<'a> Builder<'_, 'a> {
    /// The call of `name`, if the driver defines that.
    pub(super) fn built_in(
        &mut self,
        i: &Instruction<'a>,
        results: &[Operand<'a>],
        name: &str,
        arguments: &[Operand<'a>],
    ) -> Lowered<Option<Op>> {
        if self.numbers.contains_key(name) {
            return Ok(None);
        }
        let op = match (name, results, arguments) {
            // The message omits the name of the function and the size of a character.
            ("__assertfail", [], [message, file, line, _, _]) => {
                let arguments = self.words(i, &[(message, 2), (file, 2), (line, 1)])?;
                ControlOp::Assert { arguments }
            }
            ("vprintf", results, [format, values]) => {
                let d = match results {
                    [] => self.sink(),
                    [result] => self.first_word(i, result, 4)?,
                    _ => return Err(unsupported(i)),
                };
                let arguments = self.words(i, &[(format, 2), (values, 2)])?;
                ControlOp::Print { arguments, d }
            }
            ("malloc", [result], [size]) => {
                let (d, arguments) = (self.first_word(i, result, 8)?, self.words(i, &[(size, 2)])?);
                ControlOp::Malloc { arguments, d }
            }
            ("__nv_aligned_device_malloc", [result], [size, align]) => {
                let d = self.first_word(i, result, 8)?;
                ControlOp::Malloc { arguments: self.words(i, &[(size, 2), (align, 2)])?, d }
            }
            ("free", [], [address]) => {
                ControlOp::Free { arguments: self.words(i, &[(address, 2)])? }
            }
            ("__assertfail" | "vprintf", _, _) => return Err(unsupported(i)),
            _ => return Ok(None),
        };
        // The addresses of blocks of the heap depend on the order of calls.
        self.program.blocks_interact |=
            matches!(op, ControlOp::Malloc { .. } | ControlOp::Free { .. });
        Ok(Some(op.into()))
    }

    /// The first word of a parameter of at least `bytes`.
    fn first_word(&self, i: &Instruction<'a>, operand: &Operand<'a>, bytes: u32) -> Lowered<Slot> {
        let (slot, size) = self.parameter_words(i, operand)?;
        if size >= bytes { Ok(slot) } else { Err(unsupported(i)) }
    }

    /// A table of the words of `arguments`, each with as many as it has.
    fn words(&mut self, i: &Instruction<'a>, arguments: &[(&Operand<'a>, u16)]) -> Lowered<u32> {
        let mut words = Vec::new();
        for &(argument, count) in arguments {
            let first = self.first_word(i, argument, 4 * u32::from(count))?;
            words.extend((0..count).map(|at| Slot(first.0 + at)));
        }
        self.program.copies.push(words.into_iter().map(|word| (word, word)).collect());
        Ok(self.program.copies.len() as u32 - 1)
    }
}
