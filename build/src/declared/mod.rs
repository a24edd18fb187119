//! Declared kernels: from `#[gpuprof::kernels]`, or `#[gpuprof::kernel]` of a kernel that another
//! compiler compiles, to modules that can be loaded.
//!
//! Input: described series with the configurations that are wanted of each. Output: [`Entries`]:
//! for every instance the module that holds it and its name there, or why there is none. A
//! declaration that does not fit its kernel is an error at its place; a kernel that cannot be
//! compiled with the constants of one configuration makes that configuration *invalid*.

mod build;
mod built;
mod compile;
mod embedded;
mod entries;
mod globals;
mod grouped_messages;
mod instances;
mod mangled;
mod module;
mod module_file;
mod signature;

pub use build::build;
pub use built::Built;
pub use compile::Tools;
pub use entries::Entries;
pub use instances::Needed;
pub use module_file::file_name;
