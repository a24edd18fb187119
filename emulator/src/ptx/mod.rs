//! PTX text in, syntax tree out.
//!
//! [`parse`] reads one module. The tree borrows from the text, keeps the line of everything, and
//! does not know the meaning of an instruction: an unknown opcode still parses, and
//! [`lower`](crate::lower) refuses it later.

pub mod ast;
mod constant;
mod directive;
mod error;
mod initial;
pub mod lexer;
mod link;
mod parser;
mod statement;

pub use ast::Module;
pub use error::{PtxError, PtxErrorKind};
pub use link::link;

/// Parses one PTX module.
///
/// # Errors
/// [`PtxErrorKind::Invalid`] with the line of the first text that is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, PtxError> {
    parser::Parser::new(text)?.module()
}
