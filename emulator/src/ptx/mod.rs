//! PTX text in, syntax tree out.
//!
//! [`parse`] reads one module. The tree borrows from the text, keeps the line of everything, and
//! knows nothing of what an instruction means: an opcode that nobody can execute still parses, and
//! is refused later by [`lower`](crate::lower), where meaning begins.

pub mod ast;
mod constant;
mod directive;
mod error;
pub mod lexer;
mod parser;
mod statement;

pub use ast::Module;
pub use error::{PtxError, PtxErrorKind};

/// Parses one PTX module.
///
/// # Errors
/// [`PtxErrorKind::Invalid`] with the line of the first text that is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, PtxError> {
    parser::Parser::new(text)?.module()
}
