//! `bytes` and `flops`, whose arithmetic must not wrap: a harness is built without overflow checks,
//! and a product that wrapped to a small number would be a small amount.
//!
//! Input: the expression as written. Output: the same with its outer sums and products checked; an
//! overflow ends the configuration with the text of the expression. Differences are left as they
//! are, since an amount below 0 is refused anyway.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr};

/// `value` with checked sums and products; `gp` is the path to gpuprof's private items.
pub(crate) fn arithmetic(key: &str, value: &Expr, gp: &TokenStream) -> TokenStream {
    let inner = |value: &Expr| arithmetic(key, value, gp);
    match value {
        Expr::Paren(it) => {
            let inner = inner(&it.expr);
            quote!((#inner))
        }
        Expr::Group(it) => inner(&it.expr),
        Expr::Binary(it) => {
            let (left, right, op) = (inner(&it.left), inner(&it.right), it.op);
            let function = match op {
                BinOp::Add(_) => quote!(add),
                BinOp::Mul(_) => quote!(multiply),
                _ => return quote!(#left #op #right),
            };
            let said = quote!(#value).to_string();
            quote_spanned! {op.span()=>
                #gp::checked::#function(#left, #right)
                    .ok_or_else(|| #gp::checked::overflow(#key, #said))?
            }
        }
        other => quote!(#other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_are_checked_down_to_what_is_neither() {
        let written = |text: &str| {
            let value: Expr = syn::parse_str(text).unwrap();
            arithmetic("bytes", &value, &quote!(gp)).to_string()
        };
        let checked = |text: &str| written(text).matches("checked :: ").count() / 2;
        assert_eq!(checked("4 * n"), 1);
        assert_eq!(checked("4 * (n + m) * k"), 3);
        assert_eq!(checked("n - m * 2"), 1);
        assert_eq!(checked("n.pow(2)"), 0);
    }
}
