//! The contents of a block of declared kernels: their files, names, types and statics.

mod block;
mod define;
mod file;
mod globals;
mod symbol;
pub(crate) mod types;

pub(crate) use block::Block;
pub(crate) use globals::{
    EXAMPLE as GLOBALS_EXAMPLE, Setting, Variable, check_set, settings, values,
};
pub(crate) use symbol::symbol;
pub(crate) use types::{is_number, parameters};
