//! The entry that an annotated function leaves in the registry at link time.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Expr, ExprLit, ItemFn, Lit, LitStr, Meta, Path};

use crate::kernel::Kernel;

/// The common data of every entry, for any launching code.
pub(crate) struct Entry<'a> {
    /// `::gpuprof`, or the path that `crate = …` gives.
    pub(crate) gpuprof: &'a Path,
    /// The annotated function's name, at its own place.
    pub(crate) function: &'a Ident,
    /// The name of the series.
    pub(crate) name: &'a str,
    /// The attributes of the annotated function.
    pub(crate) attributes: &'a [Attribute],
    /// The axes and conditions, checked.
    pub(crate) clauses: &'a [String],
    /// The thresholds, checked.
    pub(crate) thresholds: &'a [LitStr],
    /// The metrics, checked.
    pub(crate) metrics: &'a [String],
    /// The names of the checks of the emulated driver, checked.
    pub(crate) check: &'a [String],
}

impl<'a> Entry<'a> {
    /// That of `kernel`, annotated on `item`.
    pub(crate) fn new(kernel: &'a Kernel, item: &'a ItemFn) -> Self {
        Self {
            gpuprof: &kernel.gpuprof,
            function: &item.sig.ident,
            name: &kernel.symbol,
            attributes: &item.attrs,
            clauses: &kernel.space.clauses,
            thresholds: &kernel.thresholds,
            metrics: &kernel.metrics,
            check: &kernel.check,
        }
    }

    /// The host-only constant that registers the series; `body` is its `Body`, and `functions` are
    /// its dependencies.
    pub(crate) fn emit(&self, body: &TokenStream, functions: &TokenStream) -> TokenStream {
        let gpuprof = self.gpuprof;
        let gp = quote!(#gpuprof::__private);
        let name = self.name;
        let docs = docs(self.attributes);
        let conditions = self.attributes.iter().filter(|a| a.path().is_ident("cfg"));
        let (clauses, thresholds, metrics) = (self.clauses, self.thresholds, self.metrics);
        let check = self.check;
        // `line!()` at the place of the name, so that the entry points at the function.
        let line = quote_spanned!(self.function.span()=> ::core::line!());
        let entry = Ident::new("__GPUPROF_ENTRY", Span::mixed_site());
        // A constant of a type needs a name: in an `impl` it is one.
        let place = quote::format_ident!("__GPUPROF_{}", self.function);
        quote! {
            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(dead_code, non_upper_case_globals)]
            const #place: () = {
                #[#gp::linkme::distributed_slice(#gp::SERIES)]
                #[linkme(crate = #gp::linkme)]
                static #entry: #gp::SeriesEntry = #gp::SeriesEntry {
                    source_package: ::core::env!("CARGO_PKG_NAME"),
                    source_folder: ::core::env!("CARGO_MANIFEST_DIR"),
                    module_path: ::core::module_path!(),
                    kernel: #name,
                    file: ::core::file!(),
                    line: #line,
                    docs: #docs,
                    clauses: &[#(#clauses),*],
                    thresholds: &[#(#thresholds),*],
                    metrics: &[#(#metrics),*],
                    check: &[#(#check),*],
                    body: #body,
                };
                #functions
            };
        }
    }
}

/// The text of the doc comments among `attributes`.
fn docs(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            let text = text.value();
            lines.push(text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned());
        }
    }
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_comments_lose_their_leading_space() {
        let item: syn::ItemFn =
            syn::parse_str("/// One.\n///\n/// Two.\n#[inline] fn f() {}").unwrap();
        assert_eq!(docs(&item.attrs), "One.\n\nTwo.");
    }
}
