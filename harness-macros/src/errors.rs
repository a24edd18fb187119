//! Every error of one attribute, gathered so that all of them are reported at once.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds `error`.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Adds `message` at the place of `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// The value of `result`, or nothing and its error added.
    pub(crate) fn attempt<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Whether there were none so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// `Ok` if there were no errors.
    pub(crate) fn into_result(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// `item` as it was written, followed by `error`: the function stays known, so that the user sees
/// the mistake and not its consequences.
pub(crate) fn append_error(item: TokenStream, error: &syn::Error) -> TokenStream {
    let mut out = item;
    out.extend(error.to_compile_error());
    out
}
