//! The value of a key that may hold for all buffers or name several of them.

use proc_macro2::Ident;
use syn::Expr;

/// The value of `tolerance` or `compare`: one for all, or a list of buffers with theirs.
pub(crate) enum PerBuffer {
    All(Box<Expr>),
    Each(Vec<(Ident, Expr)>),
}
