//! `#[constant]`: a static with its value in PTX's constant memory.
//!
//! rustc has no statics in that address space. The device half of the expansion is a static with a
//! name that the subcommand knows: it moves the variable from `.global` to `.const` in the PTX. The
//! item that users name has no size; it dereferences to the [`Constant`] at the variable's address,
//! which one `mov` reads.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, ItemStatic, Path, StaticMutability, Token};

use crate::crate_path;
use crate::shared::symbol;

/// `[crate = PATH]`
pub(crate) struct Arguments {
    gpuprof: Path,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self { gpuprof: crate_path::gpuprof() });
        }
        let wrong = "#[constant] takes no arguments but `crate = PATH`";
        if !input.peek(Token![crate]) {
            return Err(input.error(wrong));
        }
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        let gpuprof = input.call(Path::parse_mod_style)?;
        if !input.is_empty() {
            return Err(input.error(wrong));
        }
        Ok(Self { gpuprof })
    }
}

/// The expansion on a static.
pub(crate) fn constant(arguments: &Arguments, item: &ItemStatic) -> syn::Result<TokenStream> {
    if let StaticMutability::Mut(mutable) = &item.mutability {
        return Err(syn::Error::new_spanned(
            mutable,
            "constant memory cannot be written: make it a `static` without `mut`",
        ));
    }
    let gpuprof = &arguments.gpuprof;
    let ItemStatic { attrs, vis, ident, ty, expr, .. } = item;
    let on_device = on_device(gpuprof, item);
    Ok(quote! {
        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #vis static #ident: #gpuprof::Constant<#ty> = #gpuprof::Constant::new(#expr);
        #on_device
    })
}

/// The static's value, and the item for users.
fn on_device(gpuprof: &Path, item: &ItemStatic) -> TokenStream {
    let ItemStatic { attrs, vis, ident, ty, expr, .. } = item;
    let name = symbol("constant");
    let value = Ident::new(&format!("__{name}"), ident.span());
    let address = format!("mov.u64 {{0}}, {name};");
    quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        #vis struct #ident;

        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[allow(non_upper_case_globals)]
            #[unsafe(export_name = #name)]
            static #value: #ty = #gpuprof::Constant::<#ty>::fits(#expr);

            impl ::core::ops::Deref for #ident {
                type Target = #gpuprof::Constant<#ty>;

                #[inline(always)]
                fn deref(&self) -> &Self::Target {
                    let address: u64;
                    // SAFETY: the instruction only reads the address of the static above, which
                    // the subcommand has put into constant memory.
                    unsafe {
                        ::core::arch::asm!(
                            #address,
                            out(reg64) address,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                        #gpuprof::Constant::at(address)
                    }
                }
            }
        };
    }
}
