//! `#[derive(Parameter)]`: structs that kernels take by value.
//!
//! Input: a struct. Output: how its fields are written to the bytes of a launch, each at its
//! offset; or every error at its place.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Index, Member};

use crate::crate_path;
use crate::errors::Errors;

/// The expansion of the derive on `input`.
pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let fields = match &input.data {
        Data::Struct(data) => Some(&data.fields),
        Data::Enum(_) | Data::Union(_) => {
            errors.at(&input.ident, "a kernel takes structs by value, and no enums or unions");
            None
        }
    };
    if !input.generics.params.is_empty() {
        errors
            .at(&input.generics, "a struct that a kernel takes by value has no generic parameters");
    }
    if fields.is_some() && !is_c(input) {
        errors.at(
            &input.ident,
            format!(
                "`{}` needs #[repr(C)]: without it the order of the fields is not the kernel's",
                input.ident
            ),
        );
    }
    errors.into_result()?;
    let (name, gpuprof) = (&input.ident, crate_path::gpuprof());
    let writes = fields.into_iter().flat_map(Fields::iter).enumerate().map(|(at, field)| {
        let member = match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index::from(at)),
        };
        quote_spanned! {field.ty.span()=>
            Field::write(
                self.#member,
                &mut to[::core::mem::offset_of!(Self, #member)..],
            );
        }
    });
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        impl #gpuprof::Parameter for #name {
            fn write(self, to: &mut [u8]) {
                #[allow(unused_imports, reason = "a struct may have no fields")]
                use #gpuprof::Parameter as Field;
                let _ = &to;
                #(#writes)*
            }
        }
    })
}

/// Whether `input` has `#[repr(C)]`, alone or among others.
fn is_c(input: &DeriveInput) -> bool {
    let mut found = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // rustc reports any other error there.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("C");
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let input = syn::parse_str(text).unwrap();
        derive(&input).map(|tokens| tokens.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_field_is_written_at_its_offset() {
        let told =
            expanded("#[repr(C, align(16))] struct Shape { rows: u32, scale: f32 }").unwrap();
        assert!(told.contains("offset_of ! (Self , rows)"), "{told}");
        assert!(told.contains("offset_of ! (Self , scale)"), "{told}");
        let told = expanded("#[repr(align(16), C)] struct Pair(u32, [f32; 2]);").unwrap();
        assert!(told.contains("self . 1"), "{told}");
    }

    #[test]
    fn types_without_repr_c_are_refused() {
        assert_eq!(
            expanded("struct Shape { rows: u32 }").unwrap_err(),
            "`Shape` needs #[repr(C)]: without it the order of the fields is not the kernel's"
        );
        assert!(expanded("#[repr(u8)] enum Way { Up }").unwrap_err().contains("no enums"));
        assert!(expanded("#[repr(C)] struct Of<T>(T);").unwrap_err().contains("generic"));
    }
}
