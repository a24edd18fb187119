//! Launch bounds: the largest block that an entry point is compiled for, and how many blocks a
//! multiprocessor shall hold.
//!
//! Input: the keys `max_block` and `min_blocks`. Output: a line in the PTX, a comment, that the
//! subcommand turns into `.maxntid` and `.minnctapersm` of the entry point: rustc has no attribute
//! for them.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Expr;

use crate::axis::DeclaredSpace;
use crate::errors::Errors;

/// The keys.
pub(crate) const KEYS: [&str; 2] = ["max_block", "min_blocks"];

/// Refuses bounds that only a launch would know, and the second one without the first.
pub(crate) fn check(bounds: &[(Ident, Expr)], space: &DeclaredSpace, errors: &mut Errors) {
    if let [(key, _)] = bounds
        && key == "min_blocks"
    {
        errors.at(
            key,
            "`min_blocks` needs to know how large a block is: add max_block = 256, or what the largest \
             one is",
        );
    }
    for (key, value) in bounds {
        let fixed = |name: &Ident| {
            space.axis(&name.to_string()).is_some_and(|axis| axis.constant.is_some())
        };
        let names = names(value.to_token_stream());
        let varies = |name: &&Ident| space.names.contains(name) && !fixed(name);
        if let Some(axis) = names.iter().find(varies) {
            errors.at(
                axis,
                format!(
                    "`{key}` is fixed when the kernel is compiled, and the axis `{axis}` is not: write a \
                     constant, or an axis of constants (const NAME = [128, 256])"
                ),
            );
        }
    }
}

fn names(tokens: TokenStream) -> Vec<Ident> {
    let of = |token| match token {
        TokenTree::Ident(name) => vec![name],
        TokenTree::Group(group) => names(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

/// The statement in the body of the entry point `symbol`; its name ends in `place`.
pub(crate) fn emit_comment(
    bounds: &[(Ident, Expr)],
    symbol: &str,
    place: &TokenStream,
) -> TokenStream {
    let [(_, max), rest @ ..] = bounds else { return TokenStream::new() };
    let min = rest.first().map_or_else(|| quote!(0), |(_, min)| min.to_token_stream());
    let module = Ident::new("launch_bounds", Span::mixed_site());
    quote! {
        mod #module {
            #[allow(unused_imports)]
            use super::*;
            ::core::arch::global_asm!(
                ::core::concat!("// gpuprof: launch bounds of ", #symbol, #place, " {max} {min}"),
                max = const (#max) as u32,
                min = const (#min) as u32,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::{Home, Kernel};

    fn refused(bounds: &[(&str, &str)], series: &str) -> Vec<String> {
        let item: syn::ItemFn = syn::parse_quote!(
            fn k<const SIZE: u32>() {}
        );
        let bounds: Vec<String> =
            bounds.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let attribute =
            format!("series({series}), block = 64, grid = 1, args(), {}", bounds.join(", "));
        let parsed = Kernel::parse(attribute.parse().unwrap(), &item, Home::Here);
        let errors = parsed.err().map_or_else(Vec::new, |all| all.into_iter().collect::<Vec<_>>());
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bounds_are_constants_or_axes_of_constants() {
        let series = "const SIZE = [64, 128], n = [1K]";
        assert!(refused(&[("max_block", "SIZE * 2"), ("min_blocks", "2")], series).is_empty());
        let told = refused(&[("max_block", "256 * n.min(2)")], series);
        assert_eq!(
            told,
            ["`max_block` is fixed when the kernel is compiled, and the axis `n` is not: write a \
              constant, or an axis of constants (const NAME = [128, 256])"]
        );
        let alone = refused(&[("min_blocks", "2")], series);
        assert!(alone[0].starts_with("`min_blocks` needs to know how large a block is"));
    }
}
