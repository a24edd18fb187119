//! Kernels that the emulator does not run, and what of their source it is.
//!
//! Input: an error with its line in the PTX. Output: the same in the words of the source: the
//! function and the line that the compiler made the instruction of, where it left `.loc` lines.

use super::program::SourceTables;
use crate::ptx::PtxError;
use crate::ptx::ast::{Function, Loc, Module, Statement};

/// A kernel that does not run.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The kernel.
    pub name: String,
    /// What it reaches.
    pub why: PtxError,
}

/// The error with function and source line; as it is where the PTX does not tell them.
pub fn explained(error: PtxError, module: &Module<'_>, source: &SourceTables) -> PtxError {
    let Some(function) = function_at(module, error.line) else { return error };
    let Some((file, line, column)) = place(function, error.line, source) else { return error };
    let what = error.message.strip_prefix("unsupported ").unwrap_or(&error.message);
    let message = format!(
        "the emulator does not support this: {what}, in '{}' at {file}:{line}:{column} (PTX line {})",
        function.name, error.line
    );
    PtxError { message, line: 0, ..error }
}

/// The function whose text holds the line.
fn function_at<'m, 'a>(module: &'m Module<'a>, line: u32) -> Option<&'m Function<'a>> {
    let with_body = module.functions.iter().filter(|function| function.body.is_some());
    with_body.filter(|function| function.line <= line).max_by_key(|function| function.line)
}

/// File, line and column of the last `.loc` before an instruction at `line`, at its outermost call
/// site; else of the first that the function has.
fn place<'s>(
    function: &Function<'_>,
    line: u32,
    source: &'s SourceTables,
) -> Option<(&'s str, u32, u32)> {
    let mut found = None;
    last_loc(function.body.as_deref().unwrap_or_default(), line, &mut found);
    let loc = found?;
    let position = loc.inlined_at.unwrap_or(loc.position);
    let (_, file) = source.files.iter().find(|(number, _)| *number == position.file)?;
    Some((file, position.line, position.column))
}

/// Puts the last `.loc` that names a line into `found`; `false` once the instruction was reached.
fn last_loc(body: &[Statement<'_>], line: u32, found: &mut Option<Loc>) -> bool {
    for statement in body {
        match statement {
            Statement::Loc(loc) if loc.position.line != 0 => *found = Some(*loc),
            Statement::Instruction(instruction) if instruction.line >= line => {
                return found.is_none();
            }
            Statement::Block(inner) if !last_loc(inner, line, found) => return false,
            _ => {}
        }
    }
    true
}
