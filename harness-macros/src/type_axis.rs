//! Axes of types: `T = [f32, f64, f16]` for a kernel that is generic over `T`.
//!
//! Input: the tokens of such an axis. Output: its types with their spans, so that a type that does
//! not fit the kernel is an error at its span. To the model the axis is a constant with words as
//! values: one entry point per type.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type};

use crate::errors::Errors;

/// An axis of types.
#[derive(Clone)]
pub(crate) struct TypeAxis {
    /// The type parameter.
    pub(crate) name: Ident,
    /// The types.
    pub(crate) values: Vec<Ident>,
}

/// The names of the type parameters in `generics`.
pub(crate) fn parameters(generics: &Generics) -> Vec<Ident> {
    let name = |parameter: &GenericParam| match parameter {
        GenericParam::Type(parameter) => Some(parameter.ident.clone()),
        _ => None,
    };
    generics.params.iter().filter_map(name).collect()
}

impl TypeAxis {
    /// Reads the types of `name` from `tokens`, which are `[f32, f64]`, `f32, f64` or `f32`; none
    /// if one is not a type.
    pub(crate) fn read(name: &Ident, tokens: &TokenStream, errors: &mut Errors) -> Self {
        let tokens: Vec<TokenTree> = match tokens.clone().into_iter().collect::<Vec<_>>().as_slice()
        {
            [TokenTree::Group(list)] if list.delimiter() == Delimiter::Bracket => {
                list.stream().into_iter().collect()
            }
            all => all.to_vec(),
        };
        let is_comma =
            |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
        let mut values = Vec::new();
        let mut sound = true;
        for value in tokens.split(is_comma).filter(|value| !value.is_empty()) {
            match value {
                [TokenTree::Ident(value)] => values.push(value.clone()),
                other => {
                    let tokens: TokenStream = other.iter().cloned().collect();
                    errors.at(
                        &tokens,
                        format!(
                            "`{}` is no name of a type, and `{name}` is a type of the kernel: \
                             {name} = [f32, f64]",
                            tokens.to_string().replace(' ', "")
                        ),
                    );
                    sound = false;
                }
            }
        }
        if !sound {
            values.clear();
        }
        Self { name: name.clone(), values }
    }

    /// The type that is called `word`.
    pub(crate) fn value(&self, word: &str) -> Option<&Ident> {
        self.values.iter().find(|value| *value == word)
    }
}

/// The axis among `axes` that `ty` is the parameter of.
pub(crate) fn find_axis<'a>(ty: &Type, axes: &'a [TypeAxis]) -> Option<&'a TypeAxis> {
    let Type::Path(path) = ty else { return None };
    let name = path.path.get_ident().filter(|_| path.qself.is_none())?;
    axes.iter().find(|axis| axis.name == *name)
}

/// `axes`, and one without types for each type parameter of `generics` that has none: the lack is
/// reported once, and not at every parameter as well.
pub(crate) fn of_generics(generics: &Generics, axes: &[TypeAxis]) -> Vec<TypeAxis> {
    let mut all = axes.to_vec();
    for name in parameters(generics) {
        if axes.iter().all(|axis| axis.name != name) {
            all.push(TypeAxis { name, values: Vec::new() });
        }
    }
    all
}

/// The types that `ty` may be: those of its axis, or itself.
pub(crate) fn possible(ty: &Type, axes: &[TypeAxis]) -> Vec<String> {
    match find_axis(ty, axes) {
        Some(axis) => axis.values.iter().map(ToString::to_string).collect(),
        None => vec![ty.to_token_stream().to_string()],
    }
}

/// Statements for every combination of types: the output of `make`, after aliases that give the
/// type parameters their types. `word` gives the type of an axis in a configuration as text, and
/// `otherwise` handles a combination that was not compiled.
pub(crate) fn dispatched(
    axes: &[TypeAxis],
    statements: &TokenStream,
    word: &dyn Fn(&Ident) -> TokenStream,
    otherwise: &TokenStream,
) -> TokenStream {
    let Some((first, rest)) = axes.split_first() else { return statements.clone() };
    let inner = dispatched(rest, statements, word, otherwise);
    let (name, asked) = (&first.name, word(&first.name));
    let arms = first.values.iter().map(|value| {
        let text = value.to_string();
        quote! {
            #text => {
                #[allow(dead_code, non_camel_case_types)]
                type #name = #value;
                #inner
            }
        }
    });
    quote! {
        match #asked {
            #(#arms)*
            _ => #otherwise
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let mut errors = Errors::default();
        let name = Ident::new("T", proc_macro2::Span::call_site());
        let axis = TypeAxis::read(&name, &text.parse().unwrap(), &mut errors);
        errors.into_result().map_err(|error| error.to_string())?;
        Ok(axis.values.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn types_are_listed_as_other_values_are() {
        for text in ["[f32, f64]", "f32, f64", "[f32, f64,]"] {
            assert_eq!(read(text).unwrap(), ["f32", "f64"], "{text}");
        }
        assert_eq!(read("bf16").unwrap(), ["bf16"]);
        assert_eq!(
            read("[f32, 8, Vec<u8>]").unwrap_err(),
            "`8` is no name of a type, and `T` is a type of the kernel: T = [f32, f64]"
        );
    }

    #[test]
    fn every_combination_of_types_has_its_own_arm() {
        let axis = |text: &str, types: &[&str]| TypeAxis {
            name: Ident::new(text, proc_macro2::Span::call_site()),
            values: types.iter().map(|ty| Ident::new(ty, proc_macro2::Span::call_site())).collect(),
        };
        let axes = [axis("T", &["f32", "f64"]), axis("U", &["u8", "u16", "u32"])];
        let told = dispatched(&axes, &quote!(launch()), &|name| quote!(word(#name)), &quote!(no()));
        assert_eq!(told.to_string().matches("launch ()").count(), 6);
        assert_eq!(told.to_string().matches("type T = f32 ;").count(), 1);
    }
}
