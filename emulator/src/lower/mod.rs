//! Syntax tree in, dense [`Program`]s out: one a kernel, with the device functions that it reaches.
//!
//! This is where PTX gets its meaning. What the emulator does not execute exactly is refused here,
//! by its full name and line, so that a module that loads is a module that runs. Nothing later
//! looks at text again.

pub mod address;
mod atomic_vector;
pub mod blocks;
mod builder;
mod built_in;
mod carry;
mod control;
pub mod convergence;
mod dispatch;
mod exchange;
mod float;
mod flow;
mod function;
mod half;
pub mod inst;
mod integer;
mod memory;
mod mma;
mod modifiers;
mod moves;
mod post_dominators;
pub mod program;
mod refused;
mod storage;
mod transfer;
mod video;
mod word;
mod yields;

pub use builder::Symbols;
pub use program::Program;
pub use refused::Refused;

use crate::ptx::{Module, PtxError, PtxErrorKind};
use program::SourceTables;
use std::sync::Arc;

/// The newest `.version` whose instructions have been looked at.
pub const NEWEST_VERSION: (u32, u32) = (9, 5);

/// The newest `.target` that the emulated device runs.
const DEVICE_TARGET: u32 = 90;

/// A module's kernels.
#[derive(Debug)]
pub struct Lowered {
    /// Those that run.
    pub programs: Vec<Program>,
    /// Those that reach something that is not executed.
    pub refused: Vec<Refused>,
}

/// Lowers every kernel of a module. One that reaches an instruction that is not executed, or a
/// recursive call, harms itself only.
///
/// # Errors
/// What is not PTX, a name that is not declared, a `.version` or `.target` that is too new, or why
/// the first kernel does not run, where none does.
pub fn lower(module: &Module<'_>, symbols: &Symbols) -> Result<Lowered, PtxError> {
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
    check_target(module.target)?;
    let source = Arc::new(source_tables(module));
    let kernels =
        module.functions.iter().filter(|function| function.is_entry && function.body.is_some());
    let mut lowered = Lowered { programs: Vec::new(), refused: Vec::new() };
    for kernel in kernels {
        match function::lower_kernel(module, symbols, kernel, &source) {
            Ok(program) => lowered.programs.push(program),
            Err(error) if error.kind == PtxErrorKind::Unsupported => {
                let why = refused::explained(error, module, &source);
                lowered.refused.push(Refused { name: kernel.name.to_owned(), why });
            }
            Err(error) => return Err(error),
        }
    }
    match lowered.refused.first() {
        Some(first) if lowered.programs.is_empty() => Err(first.why.clone()),
        _ => Ok(lowered),
    }
}

fn check_target(target: &str) -> Result<(), PtxError> {
    let number: String = target
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    match number.parse::<u32>() {
        Ok(number) if number <= DEVICE_TARGET => Ok(()),
        Ok(_) => Err(PtxError {
            kind: PtxErrorKind::Unsupported,
            line: 0,
            message: format!(
                "unsupported '.target {target}': the emulated device is sm_{DEVICE_TARGET}"
            ),
        }),
        Err(_) => Err(PtxError::invalid(0, format!("malformed '.target {target}'"))),
    }
}

fn source_tables(module: &Module<'_>) -> SourceTables {
    let mut tables = SourceTables {
        files: module.files.iter().map(|(number, path)| (*number, plain(path))).collect(),
        ..SourceTables::default()
    };
    for function in &module.functions {
        function::collect_inlining(function.body.as_deref().unwrap_or_default(), &mut tables);
    }
    tables
}

/// A path as people write it: compilers put `./` before one that begins at the folder they ran in.
fn plain(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}
