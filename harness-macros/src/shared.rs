//! `shared!` and `dynamic_shared!`: a module-level PTX variable, and a handle on its address.
//!
//! rustc has no statics in the shared address space, so the variable is declared by `global_asm!`
//! and its 32-bit shared address read by one `mov`; the handle's accesses are then `ld.shared` and
//! `st.shared`, which a generic address would not give.

use std::sync::atomic::{AtomicU32, Ordering};

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Path, Token, Type, TypeArray};

use crate::crate_path;
use crate::invisible_groups;

/// `[crate = PATH,] TYPE`
pub(crate) struct Input {
    gpuprof: Path,
    ty: Type,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut gpuprof = crate_path::gpuprof();
        if input.peek(Token![crate]) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            gpuprof = input.call(Path::parse_mod_style)?;
            input.parse::<Token![,]>()?;
        }
        let ty = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        if !input.is_empty() {
            return Err(input.error("expected one type"));
        }
        Ok(Self { gpuprof, ty })
    }
}

/// The expansion of `shared!([T; N])`.
pub(crate) fn fixed(input: &Input) -> syn::Result<TokenStream> {
    let Type::Array(TypeArray { elem, len, .. }) = invisible_groups::ty(&input.ty) else {
        return Err(syn::Error::new_spanned(
            &input.ty,
            "shared! takes an array type: shared!([f32; 256])",
        ));
    };
    let (mut element, mut lengths) = (&**elem, vec![len]);
    while let Type::Array(TypeArray { elem, len, .. }) = invisible_groups::ty(element) {
        (element, lengths) = (&**elem, [lengths, vec![len]].concat());
    }
    if lengths.len() > 3 {
        return Err(syn::Error::new_spanned(
            &input.ty,
            "shared arrays have at most three dimensions",
        ));
    }
    let name = symbol("shared");
    let declaration = format!(".shared .align {{align}} .b8 {name}[{{size}}];");
    let (gpuprof, ty) = (&input.gpuprof, &input.ty);
    let shape = quote!((#((#lengths) as u32),*));
    Ok(handle(
        gpuprof,
        element,
        &name,
        &quote! {
            ::core::arch::global_asm!(
                #declaration,
                align = const ::core::mem::align_of::<#element>(),
                size = const ::core::mem::size_of::<#ty>(),
            );
        },
        &quote!(#gpuprof::Shared::<#element, _>::shaped(0, #shape)),
        &shape,
    ))
}

/// The expansion of `dynamic_shared!(T)`.
pub(crate) fn dynamic(input: &Input) -> syn::Result<TokenStream> {
    if let Type::Array(array) = invisible_groups::ty(&input.ty) {
        return Err(syn::Error::new_spanned(
            array,
            "dynamic_shared! takes an element type: its length is the launch's `shared` bytes",
        ));
    }
    let name = symbol("dynamic_shared");
    let declaration = format!(".extern .shared .align 16 .b8 {name}[];");
    let (gpuprof, ty) = (&input.gpuprof, &input.ty);
    Ok(handle(
        gpuprof,
        ty,
        &name,
        &quote!(::core::arch::global_asm!(#declaration);),
        &quote!(#gpuprof::Shared::<#ty>::dynamic()),
        &quote!(#gpuprof::Shared::<#ty>::dynamic_length()),
    ))
}

/// The block expression: the declaration in a separate module, since `global_asm!` is an item, then
/// the handle.
fn handle(
    gpuprof: &Path,
    element: &Type,
    name: &str,
    declaration: &TokenStream,
    on_host: &TokenStream,
    length: &TokenStream,
) -> TokenStream {
    let module = quote::format_ident!("__{name}");
    let address = format!("mov.u32 {{0}}, {name};");
    quote! {
        {
            #[cfg(target_arch = "nvptx64")]
            {
                #[allow(non_snake_case)]
                mod #module {
                    #[allow(unused_imports)]
                    use super::*;
                    #declaration
                }
                let address: u32;
                #[allow(unused_unsafe)]
                // SAFETY: the instruction only reads the address of the variable declared above,
                // which has the length given.
                unsafe {
                    ::core::arch::asm!(
                        #address,
                        out(reg32) address,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                    #gpuprof::Shared::<#element, _>::shaped(address, #length)
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            { #on_host }
        }
    }
}

/// A PTX name that no other expansion in this crate has; the package keeps it apart from others'.
pub(crate) fn symbol(kind: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let package: String =
        package.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("gpuprof_{kind}_{package}_{}", COUNTER.fetch_add(1, Ordering::Relaxed))
}
