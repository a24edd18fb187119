//! Syntax tree in, dense [`Program`]s out: one a kernel, with the device functions that it reaches.
//!
//! This phase gives PTX its meaning. It refuses, by full name and line, every instruction that the
//! emulator does not execute exactly, so a module that loads is a module that runs. No later phase
//! looks at text.

pub mod address;
mod atomic_vector;
mod block_set;
pub mod blocks;
mod builder;
mod built_in;
mod call_graph;
mod calls;
mod carry;
mod control;
pub mod convergence;
mod declarations;
mod dispatch;
mod exchange;
mod float;
mod flow;
mod function;
mod guess;
mod half;
mod informing_atomics;
pub mod inst;
mod integer;
mod jumps;
mod loops;
mod memory;
mod mma;
mod modifiers;
mod moves;
mod polls;
pub mod post_dominators;
pub mod program;
mod rare_integer;
mod registers;
mod shared_slots;
mod signature_table;
mod signatures;
pub mod source_location;
mod stack;
mod storage;
pub mod table;
mod targets;
mod transfer;
mod unsupported;
mod unwritten;
mod video;
mod wmma;
mod word_rules;
mod yields;

pub use builder::Symbols;
pub use declarations::check_declarations;
pub use program::Program;
pub use unsupported::RefusedKernel;

use crate::ptx::{Module, PtxError, PtxErrorKind};
use call_graph::CallGraph;
use source_location::SourceFiles;
use std::sync::Arc;

/// The newest `.version` that this phase accepts.
pub const NEWEST_VERSION: (u32, u32) = (9, 5);

/// A module's kernels.
#[derive(Debug)]
pub struct Lowered {
    /// Those that run.
    pub programs: Vec<Program>,
    /// Those that reach something that is not executed.
    pub refused: Vec<RefusedKernel>,
}

/// Lowers every kernel of a module for a device of the target `device`, such as 90. One that
/// reaches an instruction that is not executed harms itself only.
///
/// # Errors
/// Invalid PTX, an undeclared name, a `.version` or `.target` that is too new, or, if no kernel
/// runs, the reason for the first.
pub fn lower(module: &Module<'_>, symbols: &Symbols, device: u32) -> Result<Lowered, PtxError> {
    if module.version > NEWEST_VERSION {
        let (major, minor) = module.version;
        return Err(PtxError {
            kind: PtxErrorKind::UnsupportedVersion,
            line: 0,
            message: format!(
                "unsupported PTX version {major}.{minor}: the emulator knows versions up to {}.{}",
                NEWEST_VERSION.0, NEWEST_VERSION.1
            ),
        });
    }
    check_target(module.target, device)?;
    check_declarations(module)?;
    let files = Arc::new(SourceFiles::new(&module.files));
    let kernels =
        module.functions.iter().filter(|function| function.is_entry && function.body.is_some());
    let mut calls = CallGraph::new(module);
    let mut lowered = Lowered { programs: Vec::new(), refused: Vec::new() };
    for kernel in kernels {
        match function::lower_kernel((module, &mut calls), symbols, kernel, &files) {
            Ok(program) => lowered.programs.push(program),
            Err(error) if error.kind == PtxErrorKind::Unsupported => {
                let why = unsupported::explained(error, module, &files);
                lowered.refused.push(RefusedKernel { name: kernel.name.to_owned(), why });
            }
            Err(error) => return Err(error),
        }
    }
    match lowered.refused.first() {
        Some(first) if lowered.programs.is_empty() => Err(first.why.clone()),
        _ => Ok(lowered),
    }
}

/// The number of a `.target`, such as 90 of `sm_90a`.
fn target_number(target: &str) -> Option<u32> {
    let digits = target.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A target such as `sm_90a` is that of one architecture, and one such as `sm_100f` of a family.
fn check_target(target: &str, device: u32) -> Result<(), PtxError> {
    let Some(number) = target_number(target) else {
        return Err(PtxError::invalid(0, format!("malformed '.target {target}'")));
    };
    let runs = match target.as_bytes().last() {
        Some(b'a') => number == device,
        Some(b'f') => number <= device && number / 10 == device / 10,
        _ => number <= device,
    };
    if runs {
        return Ok(());
    }
    Err(PtxError {
        kind: PtxErrorKind::Unsupported,
        line: 0,
        message: format!("unsupported '.target {target}': the emulated device is sm_{device}"),
    })
}
