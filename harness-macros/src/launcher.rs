//! `launcher = NAME`: the type by which series functions launch a kernel.
//!
//! Input: a checked kernel. Output: the type, host-only, with the kernel's constants as its generic
//! parameters and one implementation of `Kernel` for each entry point, so that a value that was
//! never compiled is an error where it is named.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ItemFn;

use crate::kernel::Kernel;
use crate::signature::{Parameter, Passing};

/// The type and its implementations; nothing where none is asked for. `place` is the end of the
/// entry points' names.
pub(crate) fn of(kernel: &Kernel, item: &ItemFn, place: &TokenStream) -> TokenStream {
    let Some(name) = &kernel.launcher else { return TokenStream::new() };
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    let (vis, generics) = (&item.vis, &item.sig.generics);
    let conditions: Vec<_> = item.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let docs = format!("Launches `{}` in a series function.", item.sig.ident);
    let points: Vec<(&str, TokenStream)> = if kernel.instances.is_empty() {
        vec![(kernel.symbol.as_str(), quote!(#name))]
    } else {
        let point = kernel.instances.iter().map(|instance| {
            let values = &instance.values;
            (instance.symbol.as_str(), quote!(#name<#(#values),*>))
        });
        point.collect()
    };
    let types = kernel.parameters.iter().map(|parameter| argument(parameter, gpuprof, &gp));
    let types: Vec<TokenStream> = types.collect();
    let names: Vec<Ident> = (0..types.len())
        .map(|at| format_ident!("argument{at}", span = Span::mixed_site()))
        .collect();
    let passed: Vec<TokenStream> = kernel.parameters.iter().zip(&names).map(pass).collect();
    let implementations = points.iter().map(|(symbol, ty)| {
        quote! {
            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl #gpuprof::Kernel for #ty {
                type Arguments<'a> = (#(#types,)*);
                const ENTRY: #gp::EntryPoint = #gp::EntryPoint {
                    package: ::core::env!("CARGO_PKG_NAME"),
                    symbol: #symbol,
                    place: #place,
                };
                #[allow(unused_variables)]
                fn pass<'a>((#(#names,)*): Self::Arguments<'a>, to: &mut #gp::Passed<'a>) {
                    #(#passed)*
                }
            }
        }
    });
    quote! {
        #(#conditions)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #docs]
        #[derive(Debug, Clone, Copy)]
        #[allow(dead_code)]
        #vis struct #name #generics;
        #(#implementations)*
    }
}

/// The type of the argument for `parameter`.
fn argument(parameter: &Parameter, gpuprof: &syn::Path, gp: &TokenStream) -> TokenStream {
    let ty = &parameter.scalar;
    let slice = quote!(#gpuprof::cudarc::driver::CudaSlice<<#ty as #gp::Held>::Lane>);
    match parameter.passing {
        Passing::Scalar | Passing::Value => quote!(#ty),
        Passing::Input => quote!(&'a #slice),
        Passing::Output => quote!(&'a mut #slice),
    }
}

/// Hands one argument to the launch.
fn pass((parameter, name): (&Parameter, &Ident)) -> TokenStream {
    let (ty, sliced) = (&parameter.scalar, parameter.sliced);
    match parameter.passing {
        Passing::Scalar | Passing::Value => quote!(to.value(#name);),
        Passing::Input => quote!(to.input::<#ty>(#name, #sliced);),
        Passing::Output => quote!(to.output::<#ty>(#name, #sliced);),
    }
}
