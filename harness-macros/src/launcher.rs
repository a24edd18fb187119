//! `launcher = NAME`: the type by which series functions launch a kernel.
//!
//! Input: a checked kernel, in Rust or declared. Output: the type, host-only, with the kernel's
//! constants and types as its generic parameters and one implementation of `Kernel` for each entry
//! point, so that a value that was never compiled is an error where it is named. A kernel with
//! types has a function of the launcher's name as well, which makes one:
//! `run.kernel(Scale::<f32>())`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Generics, ItemFn};

use crate::constants::{self, Instance};
use crate::kernel::Kernel;
use crate::signature::{Parameter, Passing};
use crate::type_axis;

/// The type and its implementations for a kernel in Rust; nothing where none is asked for. `place`
/// is the end of the entry points' names.
pub(crate) fn of_rust(kernel: &Kernel, item: &ItemFn, place: &TokenStream) -> TokenStream {
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    expand_launcher(kernel, item, &kernel.instances, &|instance| {
        let symbol = instance.map_or(&kernel.symbol, |instance| &instance.symbol);
        quote! {
            #gp::EntryPoint::Rust(#gp::RustEntry {
                package: ::core::env!("CARGO_PKG_NAME"),
                symbol: #symbol,
                place: #place,
            })
        }
    })
}

/// The same for a declared kernel.
pub(crate) fn of_declared(kernel: &Kernel, item: &ItemFn) -> TokenStream {
    let (gpuprof, symbol) = (&kernel.gpuprof, &kernel.symbol);
    let gp = quote!(#gpuprof::__private);
    let item = constants::with_parameters(item, &kernel.space);
    let instances = constants::instances(symbol, &item, &kernel.space);
    expand_launcher(kernel, &item, &instances, &|instance| {
        let key = instance.map_or("", |instance| &instance.key);
        quote! {
            #gp::EntryPoint::Declared {
                module_path: ::core::module_path!(),
                kernel: #symbol,
                key: #key,
            }
        }
    })
}

/// The type and an implementation for each of `instances`, or the only one; `entry` is where the
/// code of each is.
fn expand_launcher(
    kernel: &Kernel,
    item: &ItemFn,
    instances: &[Instance],
    entry: &dyn Fn(Option<&Instance>) -> TokenStream,
) -> TokenStream {
    let Some(name) = &kernel.launcher else { return TokenStream::new() };
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    let (vis, generics) = (&item.vis, &item.sig.generics);
    let conditions: Vec<_> = item.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let docs = format!("Launches `{}` in a series function.", item.sig.ident);
    let points = points(name, instances, entry);
    let types = kernel.parameters.iter().map(|parameter| argument(parameter, gpuprof, &gp));
    let types: Vec<TokenStream> = types.collect();
    let names: Vec<Ident> = (0..types.len())
        .map(|at| format_ident!("argument{at}", span = Span::mixed_site()))
        .collect();
    let passed: Vec<TokenStream> = kernel.parameters.iter().zip(&names).map(pass).collect();
    let implementations = points.iter().map(|LaunchPoint { entry, ty, aliases }| {
        let implementation = quote! {
            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl #gpuprof::Kernel for #ty {
                type Arguments<'a> = (#(#types,)*);
                const ENTRY: #gp::EntryPoint = #entry;
                #[allow(unused_variables)]
                fn pass<'a>((#(#names,)*): Self::Arguments<'a>, to: &mut #gp::LaunchArguments<'a>) {
                    #(#passed)*
                }
            }
        };
        if aliases.is_empty() {
            return implementation;
        }
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #aliases
                #implementation
            };
        }
    });
    let members = members(generics);
    let maker = maker(name, item, &docs);
    let maker = maker.map(|maker| quote!(#(#conditions)* #maker));
    let bounds = &generics.where_clause;
    quote! {
        #(#conditions)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #docs]
        #[derive(Debug, Clone, Copy)]
        #[allow(dead_code, non_upper_case_globals)]
        #vis struct #name #generics #bounds #members
        #maker
        #(#implementations)*
    }
}

/// An instance that a launcher launches.
struct LaunchPoint {
    /// The location of its code.
    entry: TokenStream,
    /// The launcher's type for it.
    ty: TokenStream,
    /// The aliases of types in its parameters.
    aliases: TokenStream,
}

/// The points of `instances`; for a kernel without instances, its own.
fn points(
    name: &Ident,
    instances: &[Instance],
    entry: &dyn Fn(Option<&Instance>) -> TokenStream,
) -> Vec<LaunchPoint> {
    if instances.is_empty() {
        let aliases = TokenStream::new();
        return vec![LaunchPoint { entry: entry(None), ty: quote!(#name), aliases }];
    }
    let point = instances.iter().map(|instance| {
        let values = &instance.values;
        LaunchPoint {
            entry: entry(Some(instance)),
            ty: quote!(#name<#(#values),*>),
            aliases: instance.aliases(),
        }
    });
    point.collect()
}

/// The members of the launcher: a launcher with type parameters mentions them.
fn members(generics: &Generics) -> TokenStream {
    match type_axis::parameters(generics).as_slice() {
        [] => quote!(;),
        types => quote!({ of: ::core::marker::PhantomData<fn() -> (#(#types,)*)> }),
    }
}

/// The function that makes the launcher called `name`, if it has type parameters: such a type
/// cannot be a unit, which its name alone would make.
fn maker(name: &Ident, item: &ItemFn, docs: &str) -> Option<TokenStream> {
    let (vis, generics) = (&item.vis, &item.sig.generics);
    if type_axis::parameters(generics).is_empty() {
        return None;
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Some(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #docs]
        #[allow(dead_code, non_snake_case)]
        #vis const fn #name #parameters () -> #name #arguments #bounds {
            #name { of: ::core::marker::PhantomData }
        }
    })
}

/// The type of the argument for `parameter`.
fn argument(parameter: &Parameter, gpuprof: &syn::Path, gp: &TokenStream) -> TokenStream {
    let ty = &parameter.scalar;
    let slice = quote!(#gpuprof::cudarc::driver::CudaSlice<<#ty as #gp::BufferElement>::Lane>);
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
