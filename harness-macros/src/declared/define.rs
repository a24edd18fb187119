//! The definitions of a block for the compiler: `define(RADIX = 4, FAST)`.

use proc_macro2::{Group, Ident};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, Token};

use crate::errors::Errors;
use crate::invisible_groups;

/// Names whose definition breaks the built-in headers of NVRTC.
const TAKEN: [&str; 2] = ["T", "x"];

/// One definition.
pub(crate) struct Define {
    /// Its name.
    pub(crate) name: Ident,
    /// Its value as the preprocessor takes it; 1 where none is given, as `-D` has it.
    pub(crate) value: String,
}

impl Parse for Define {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        if !input.peek(Token![=]) {
            return Ok(Self { name, value: "1".to_owned() });
        }
        input.parse::<Token![=]>()?;
        let value: Expr = input.parse()?;
        let value = match invisible_groups::expr(&value) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.value(),
            other => other.to_token_stream().to_string(),
        };
        Ok(Self { name, value })
    }
}

/// The definitions in `define(…)`.
pub(super) fn all(list: &Group, errors: &mut Errors) -> Vec<Define> {
    let parser = Punctuated::<Define, Token![,]>::parse_terminated;
    let mut out: Vec<Define> = Vec::new();
    for define in errors.attempt(parser.parse2(list.stream())).into_iter().flatten() {
        check_name(&define.name, errors);
        if out.iter().any(|other| other.name == define.name) {
            errors.at(&define.name, format!("`{}` is defined twice", define.name));
        } else {
            out.push(define);
        }
    }
    out
}

/// Refuses a name that no program may define.
pub(super) fn check_name(name: &Ident, errors: &mut Errors) {
    if TAKEN.iter().any(|taken| name == taken) {
        errors.at(
            name,
            format!(
                "defining `{name}` breaks the headers that NVRTC has built in: use another name"
            ),
        );
    }
}
