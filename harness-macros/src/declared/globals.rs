//! Variables of the device that declarations set: `static coef: [f32; 16];` in the block, which a
//! kernel sets by `globals(coef = EXPR)`.
//!
//! Input: the statics of a block, and the values that a kernel gives. Output: the assignments, or
//! every error at its place. A kernel also writes a `static mut`.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, ForeignItemStatic, Lit, Meta, StaticMutability, Type};

use super::types;
use crate::checked_arithmetic;
use crate::errors::Errors;
use crate::invisible_groups;
use crate::items::{self, Form, Item};

/// How a kernel sets variables.
pub(crate) const EXAMPLE: &str = "globals(coef = random(16))";

/// A variable of the device, as a block declares it.
#[derive(Clone)]
pub(crate) struct Variable {
    name: Ident,
    /// Its name in the source.
    symbol: String,
    /// Whether kernels write it.
    written: bool,
    /// Its type as it is written.
    ty: Type,
    /// The type of its elements.
    scalar: Type,
    /// How many there are; none if it is a number.
    length: Option<TokenStream>,
}

/// A variable with the value that a kernel gives it.
pub(crate) struct Setting {
    variable: Variable,
    value: Expr,
}

impl Variable {
    /// Reads a static of a block.
    pub(crate) fn read(item: &ForeignItemStatic, errors: &mut Errors) -> Option<Self> {
        let (scalar, lengths) = elements(&item.ty);
        let is_array = !lengths.is_empty();
        let extent = |length: &&Expr| quote!({ const EXTENT: usize = #length; EXTENT });
        let length = lengths.iter().map(extent).reduce(|all, next| quote!(#all * #next));
        if !types::is_held(scalar) || !is_array && !types::is_scalar(scalar) {
            errors.at(
                &item.ty,
                "a variable of the device is a number or an array of numbers or vectors: \
                 static coef: [f32; 16];",
            );
            return None;
        }
        let name = item.ident.clone();
        let symbol = link_name(item, errors).unwrap_or_else(|| {
            let own = name.to_string();
            own.strip_prefix("r#").unwrap_or(&own).to_owned()
        });
        Some(Self {
            symbol,
            written: matches!(item.mutability, StaticMutability::Mut(_)),
            ty: (*item.ty).clone(),
            scalar: scalar.clone(),
            length,
            name,
        })
    }

    /// The declaration as the registry has it.
    fn declared(&self, gp: &TokenStream) -> TokenStream {
        let (name, symbol) = (self.name.to_string(), &self.symbol);
        let rust = self.ty.to_token_stream().to_string().replace("[ ", "[").replace(" ;", ";");
        let rust = rust.replace(" ]", "]");
        let (element, length) = (types::bytes(&self.scalar), &self.length);
        let length = length.as_ref().map_or_else(|| quote!(1), TokenStream::clone);
        let at = self.ty.span();
        let (line, column) =
            (quote_spanned!(at=> ::core::line!()), quote_spanned!(at=> ::core::column!()));
        quote! {
            #gp::DeclaredGlobal {
                name: #name, symbol: #symbol, rust: #rust, bytes: #element as usize * #length,
                line: #line, column: #column,
            }
        }
    }
}

impl Setting {
    /// The variable's name.
    pub(crate) fn name(&self) -> String {
        self.variable.name.to_string()
    }

    /// The declaration of its variable.
    pub(crate) fn declared(&self, gp: &TokenStream) -> TokenStream {
        self.variable.declared(gp)
    }

    /// The statement that sets it for one configuration.
    pub(crate) fn statement(&self, gp: &TokenStream, k: &Ident) -> TokenStream {
        let Variable { name, written, scalar, length, .. } = &self.variable;
        let name = name.to_string();
        let at = self.value.span().resolved_at(Span::mixed_site());
        let value = checked_arithmetic::arithmetic(&name, &self.value, gp);
        match length {
            None => quote_spanned!(at=> #k.global_number::<#scalar>(#name, #written, #value)?;),
            Some(length) => quote_spanned! {at=>
                #k.global::<#scalar>(#name, #written, #length, {
                    #[allow(unused_imports)]
                    use #gp::generators::*;
                    #value
                })?;
            },
        }
    }
}

/// The element type of an array of arrays, and its extents.
fn elements(ty: &Type) -> (&Type, Vec<&Expr>) {
    let (mut ty, mut lengths) = (invisible_groups::ty(ty), Vec::new());
    while let Type::Array(array) = ty {
        lengths.push(&array.len);
        ty = invisible_groups::ty(&array.elem);
    }
    (ty, lengths)
}

/// The name in `#[link_name = "ns::coef"]`.
fn link_name(item: &ForeignItemStatic, errors: &mut Errors) -> Option<String> {
    let attribute = item.attrs.iter().find(|it| it.path().is_ident("link_name"))?;
    match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => return Some(text.value()),
            other => errors.at(other, "expected a name in quotes: #[link_name = \"ns::coef\"]"),
        },
        other => errors.at(other, "write #[link_name = \"ns::coef\"]"),
    }
    None
}

/// The names and values of `globals(…)`.
pub(crate) fn values(list: &Group, errors: &mut Errors) -> Vec<(Ident, Expr)> {
    let expected = format!("a variable and its value: {EXAMPLE}");
    let mut out: Vec<(Ident, Expr)> = Vec::new();
    for Item { name, form } in items::split(list.stream(), &expected, errors) {
        match form {
            Form::Value(_) if out.iter().any(|(other, _)| *other == name) => {
                errors.at(&name, format!("`{name}` is set twice"));
            }
            Form::Value(value) => {
                let value = errors.attempt(syn::parse2(value));
                out.extend(value.map(|value| (name, value)));
            }
            _ => errors.at(&name, format!("expected {expected}")),
        }
    }
    out
}

/// The variables that a kernel sets, among the declarations of its block.
pub(crate) fn settings(
    values: &[(Ident, Expr)],
    variables: &[Variable],
    errors: &mut Errors,
) -> Vec<Setting> {
    let mut out = Vec::new();
    for (name, value) in values {
        match variables.iter().find(|variable| variable.name == *name) {
            Some(variable) => {
                out.push(Setting { variable: variable.clone(), value: value.clone() });
            }
            None => errors.at(
                name,
                format!("the block declares no variable `{name}`: add static {name}: [f32; 16];"),
            ),
        }
    }
    out
}

/// Refuses variables that no kernel of the block sets.
pub(crate) fn check_set(variables: &[Variable], set: &[String], errors: &mut Errors) {
    for Variable { name, .. } in variables {
        if !set.contains(&name.to_string()) {
            errors.at(
                name,
                format!(
                    "no kernel sets `{name}`: add globals({name} = …) to the annotation of one"
                ),
            );
        }
    }
}
