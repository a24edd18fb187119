//! The arithmetic in an annotation's expressions, checked: a harness is built without overflow
//! checks, and a product that wrapped would be another launch, or a small amount.
//!
//! Input: the expression as written. Output: the same, in which every operator on numbers is a call
//! that ends the configuration as invalid where the result does not fit. Closures, blocks and
//! macros are left as they are: they are the user's code. Two literals are left to rustc, which
//! calculates with them while it compiles.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Token};

/// `value` with checked operators; `gp` is the path to gpuprof's private items.
pub(crate) fn arithmetic(key: &str, value: &Expr, gp: &TokenStream) -> TokenStream {
    let inner = |value: &Expr| arithmetic(key, value, gp);
    let each = |list: &Punctuated<Expr, Token![,]>| list.iter().map(inner).collect::<Vec<_>>();
    match value {
        Expr::Paren(it) => {
            let inner = inner(&it.expr);
            quote!((#inner))
        }
        Expr::Group(it) => inner(&it.expr),
        Expr::Cast(it) => {
            let (from, to) = (inner(&it.expr), &it.ty);
            quote!((#from) as #to)
        }
        Expr::Unary(it) => {
            let (op, of) = (it.op, inner(&it.expr));
            quote!(#op #of)
        }
        Expr::Tuple(it) => {
            let parts = each(&it.elems);
            quote!((#(#parts,)*))
        }
        Expr::Call(it) => {
            let (function, given) = (&it.func, each(&it.args));
            quote!(#function(#(#given),*))
        }
        Expr::MethodCall(it) => {
            let (of, method, generics) = (inner(&it.receiver), &it.method, &it.turbofish);
            let given = each(&it.args);
            quote!(#of.#method #generics(#(#given),*))
        }
        Expr::Binary(it) => {
            let (left, right, op) = (inner(&it.left), inner(&it.right), it.op);
            let literals = matches!((&*it.left, &*it.right), (Expr::Lit(_), Expr::Lit(_)));
            let Some(function) = function(op).filter(|_| !literals) else {
                return quote!(#left #op #right);
            };
            let text = written(value);
            quote_spanned! {op.span()=>
                #gp::checked::#function(#gp::checked::ExpressionPart { key: #key, text: #text }, #left, #right)?
            }
        }
        other => quote!(#other),
    }
}

/// The checked function for `op`, if it can fail.
fn function(op: BinOp) -> Option<TokenStream> {
    Some(match op {
        BinOp::Add(_) => quote!(add),
        BinOp::Sub(_) => quote!(subtract),
        BinOp::Mul(_) => quote!(multiply),
        BinOp::Div(_) => quote!(divide),
        BinOp::Rem(_) => quote!(remainder),
        BinOp::Shl(_) => quote!(shift_left),
        BinOp::Shr(_) => quote!(shift_right),
        _ => return None,
    })
}

/// `value` with the spaces that people write.
fn written(value: &Expr) -> String {
    let spaced = quote!(#value).to_string();
    let tight = [(" . ", "."), (" (", "("), ("( ", "("), (" )", ")"), (" ,", ","), (" :: ", "::")];
    let text = tight.iter().fold(spaced, |text, (from, to)| text.replace(from, to));
    // A space belongs between an operator and the parenthesis behind it.
    let operators = ["+", "-", "*", "/", "%", "<<", ">>", "as", ","];
    operators.iter().fold(text, |text, op| text.replace(&format!("{op}("), &format!("{op} (")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> String {
        let value: Expr = syn::parse_str(text).unwrap();
        arithmetic("bytes", &value, &quote!(gp)).to_string()
    }

    #[test]
    fn every_operator_is_checked_wherever_the_annotation_calculates() {
        let checked =
            |text: &str| expanded(text).matches("gp :: checked :: ExpressionPart").count();
        assert_eq!(checked("4 * n"), 1);
        assert_eq!(checked("4 * (n + m) * k"), 3);
        assert_eq!(checked("n - m * 2"), 2);
        assert_eq!(checked("1 << n"), 1);
        assert_eq!(checked("(n - 64).div_ceil(block * 2)"), 2);
        assert_eq!(checked("(n / 2, max(n % 3, m >> 1))"), 3);
        assert_eq!(checked("(n * 2) as usize"), 1);
        assert_eq!(checked("from(n * 2, |i| i * 2)"), 1);
        assert_eq!(checked("n.pow(2)"), 0);
        assert_eq!(checked("1 << 40"), 0);
        assert_eq!(checked("n <= m"), 0);
    }

    #[test]
    fn a_subexpression_is_reported_as_written() {
        let told = |text: &str| written(&syn::parse_str(text).unwrap());
        for text in [
            "n - 64",
            "(n - 64).div_ceil(block * 2) * 3",
            "u64::from(a) + (b - 1)",
            "4 * (n + m) << (k)",
            "max(n, (m + 1))",
        ] {
            assert_eq!(told(text), text);
        }
    }
}
