//! Sources that compile for a later architecture alone.
//!
//! Input: errors. Output: whether they may depend on the architecture, which costs a compile to
//! find out; and the remedy.

use super::diagnostic::{Diagnostic, Note};
use super::program::Architecture;

/// Parts of errors that may depend on the architecture: an undeclared intrinsic, and checks of
/// headers.
const SIGNS: [&str; 6] =
    ["identifier \"__", "compute capability", "__CUDA_ARCH__", "sm_", "SM_", "architecture"];

/// Whether one of the `errors` may be about the architecture.
pub(super) fn may_help<'e>(errors: impl IntoIterator<Item = &'e Diagnostic>) -> bool {
    let is_about_it = |text: &str| SIGNS.iter().any(|sign| text.contains(sign));
    errors.into_iter().any(|error| is_about_it(&error.message))
}

/// That the sources compile for `newer`.
pub(super) fn note(newer: Architecture) -> Note {
    let compute = newer.compute;
    let message = format!(
        "it compiles for {newer}: add `--kernel-arch sm_{compute}`, or kernel-arch = \"sm_{compute}\" \
         to .config/gpuprof.toml, for GPUs of compute capability {}.{} and later",
        compute / 10,
        compute % 10
    );
    Note { message, span: None }
}
