//! The layout of a kernel's parameters and shared variables.

use super::builder::{Binding, Builder, Lowered, RESERVED};
use crate::ptx::PtxError;
use crate::ptx::ast::{AddressBase, Function, Operand, Space, Statement, Variable};
use std::collections::HashSet;

/// So many bytes between shared arrays belong to none of them, so that an index beyond the end of
/// one does not find the next. A multiple of 128: every array keeps its banks.
const GAP: u32 = 1024;

/// The bytes of [`RESERVED`], which are no array of the kernel.
const RESERVED_BYTES: u32 = 288;

impl<'m, 'a> Builder<'m, 'a> {
    /// Gives launch parameters their offsets in the parameter buffer.
    pub(super) fn bind_launch_params(&mut self, kernel: &Function<'a>) -> Lowered<()> {
        for formal in &kernel.params {
            let variable = &formal.variable;
            let Some(bytes) = variable.bytes else {
                let text = "a kernel parameter must have a size";
                return Err(PtxError::invalid(variable.line, text));
            };
            let at = self.program.param_bytes.next_multiple_of(variable.align.max(1));
            self.program.param_bytes = at + bytes;
            self.program.params.push((at, bytes));
            self.bind(variable.name, Binding::LaunchParam(at, bytes));
        }
        Ok(())
    }

    /// Places the shared variables that these functions use; dynamic shared memory follows the
    /// static.
    pub(super) fn lay_out_shared(&mut self, functions: &[&'m Function<'a>]) -> Lowered<()> {
        let mut used = HashSet::new();
        let mut inside = Vec::new();
        for function in functions {
            gather(function.body.as_deref().unwrap_or_default(), &mut used, &mut inside);
        }
        if used.contains(RESERVED) {
            self.shared.insert(RESERVED, 0);
            self.program.reserved_shared = RESERVED_BYTES;
            self.program.shared_arrays.push(0..RESERVED_BYTES);
        }
        let module = self.module;
        for variable in module.variables.iter().filter(|variable| variable.space == Space::Shared) {
            if let Some(bytes) = variable.bytes.filter(|_| used.contains(variable.name)) {
                let at = self.place(variable, bytes);
                self.shared.insert(variable.name, at);
            }
        }
        for variable in inside.iter().filter(|variable| variable.bytes.is_some()) {
            let at = self.place(variable, variable.bytes.unwrap_or(0));
            self.shared_inside.insert((variable.line, variable.name), at);
        }
        let module_dynamic =
            module.variables.iter().filter(|v| v.space == Space::Shared && used.contains(v.name));
        let dynamic: Vec<_> = module_dynamic
            .chain(inside.iter().copied())
            .filter(|variable| variable.bytes.is_none())
            .collect();
        self.dynamic_align =
            dynamic.iter().map(|variable| variable.align.max(1)).max().unwrap_or(1).max(16);
        let start = self.dynamic_start();
        for variable in dynamic {
            self.shared.insert(variable.name, start);
            self.shared_inside.insert((variable.line, variable.name), start);
        }
        Ok(())
    }

    /// The offset here, with gaps, of the next array, which is at `at` on hardware.
    fn behind_gaps(&self, at: u32) -> u32 {
        at + GAP * self.program.shared_arrays.len() as u32
    }

    /// Offset of dynamic shared memory.
    pub(super) fn dynamic_start(&self) -> u32 {
        self.behind_gaps(self.program.shared_bytes.next_multiple_of(self.dynamic_align))
    }

    fn place(&mut self, variable: &Variable<'_>, bytes: u32) -> u32 {
        let on_hardware = self.program.shared_bytes.next_multiple_of(variable.align.max(1));
        let at = self.behind_gaps(on_hardware);
        self.program.shared_bytes = on_hardware + bytes;
        self.program.shared_arrays.push(at..at + bytes);
        at
    }
}

/// Names that instructions mention, and shared variables declared inside.
fn gather<'m, 'a>(
    body: &'m [Statement<'a>],
    used: &mut HashSet<&'a str>,
    inside: &mut Vec<&'m Variable<'a>>,
) {
    for statement in body {
        match statement {
            Statement::Block(inner) => gather(inner, used, inside),
            Statement::Variable(variable) if variable.space == Space::Shared => {
                inside.push(variable)
            }
            Statement::Instruction(instruction) => {
                used.extend(instruction.operands.iter().filter_map(|operand| match operand {
                    Operand::Name(name) | Operand::Offset(name, _) => Some(*name),
                    Operand::Address(AddressBase::Name(name), _) => Some(*name),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
}
