//! Kernels that the emulator does not run, with the source position of the reason.
//!
//! Input: an error with its line in the PTX. Output: the same error with the function and the
//! source line of the instruction, if the compiler wrote `.loc` lines.

use super::source_location::{Place, Sites, SourceFiles};
use crate::ptx::PtxError;
use crate::ptx::ast::{Function, Module, Statement};

/// A kernel that does not run.
#[derive(Debug, Clone)]
pub struct RefusedKernel {
    /// The kernel.
    pub name: String,
    /// The unsupported instruction that it reaches.
    pub why: PtxError,
}

/// The error with function and source line; unchanged if the PTX lacks them.
pub fn explained(error: PtxError, module: &Module<'_>, files: &SourceFiles) -> PtxError {
    let Some(function) = function_at(module, error.line) else { return error };
    let Some(place) = place(function, error.line, files) else { return error };
    let what = error.message.strip_prefix("unsupported ").unwrap_or(&error.message);
    let message = format!(
        "the emulator does not support this: {what}, in '{}' {place} (PTX line {})",
        function.name, error.line
    );
    PtxError { message, line: 0, ..error }
}

/// The function that contains the line.
fn function_at<'m, 'a>(module: &'m Module<'a>, line: u32) -> Option<&'m Function<'a>> {
    let with_body = module.functions.iter().filter(|function| function.body.is_some());
    with_body.filter(|function| function.line <= line).max_by_key(|function| function.line)
}

/// The place of the last `.loc` before an instruction at `line`; else of the first that the
/// function has.
fn place(function: &Function<'_>, line: u32, files: &SourceFiles) -> Option<Place> {
    let (mut sites, mut found) = (Sites::default(), None);
    last_site(function.body.as_deref().unwrap_or_default(), line, &mut sites, &mut found);
    Place::new(&sites.frames(found?, files), || None)
}

/// Puts the site of the last `.loc` that names a line into `found`; `false` once the instruction
/// was reached.
fn last_site(
    body: &[Statement<'_>],
    line: u32,
    sites: &mut Sites,
    found: &mut Option<u32>,
) -> bool {
    for statement in body {
        match statement {
            Statement::Loc(loc) => {
                let site = sites.number(loc);
                if loc.position.line != 0 {
                    *found = Some(site);
                }
            }
            Statement::Instruction(instruction) if instruction.line >= line => {
                return found.is_none();
            }
            Statement::Block(inner) if !last_site(inner, line, sites, found) => return false,
            _ => {}
        }
    }
    true
}
