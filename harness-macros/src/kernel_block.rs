//! `#[kernels(…)]` on an `unsafe extern "C"` block: kernels in CUDA C++ or PTX.
//!
//! Input: the attribute's tokens and the block. Output: for each of its functions the entry that
//! `#[kernel]` would leave, with the data that the subcommand needs to compile or find the kernel;
//! or every error at its place. Of the block itself only the types of `launcher = NAME` remain: a
//! kernel can only be launched.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, ForeignItem, ForeignItemFn, ItemFn, ItemForeignMod, Meta, Safety};

use crate::declared::{Block, Setting, Variable, check_set, types};
use crate::errors::Errors;
use crate::expand;
use crate::kernel::{Home, Kernel};
use crate::launcher;
use crate::registration::Entry;
use crate::signature::Parameter;

/// The expansion of the attribute `tokens` on the block `item`.
pub(crate) fn kernels(tokens: TokenStream, item: &ItemForeignMod) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let mut block = Block::parse(tokens, &mut errors);
    if item.unsafety.is_none() {
        errors.at(
            &item.abi,
            "declared kernels stand in an `unsafe extern \"C\"` block, since nothing but their \
             declaration says what they take: write `unsafe` in front",
        );
    }
    if item.abi.name.as_ref().is_some_and(|name| name.value() != "C") {
        errors.at(&item.abi, "a kernel is declared in an `extern \"C\"` block");
    }
    let variables = item.items.iter().filter_map(|item| match item {
        ForeignItem::Static(variable) => Variable::read(variable, &mut errors),
        _ => None,
    });
    block.variables = variables.collect();
    let (mut out, mut set) = (TokenStream::new(), Vec::new());
    for item in &item.items {
        match item {
            ForeignItem::Fn(function) => match function_of(&block, function, &mut set) {
                Ok(expansion) => out.extend(expansion),
                Err(error) => errors.push(error),
            },
            ForeignItem::Static(_) => {}
            other => errors.at(
                other,
                "a block of kernels declares functions: fn scan(n: u32, x: *const f32, y: *mut f32);",
            ),
        }
    }
    if errors.is_empty() {
        check_set(&block.variables, &set, &mut errors);
    }
    errors.into_result().map(|()| out)
}

/// The entry of one declared kernel; the variables that it sets are added to `set`.
fn function_of(
    block: &Block,
    declared: &ForeignItemFn,
    set: &mut Vec<String>,
) -> syn::Result<TokenStream> {
    let (tokens, attributes) = attribute(declared)?;
    let mut item: ItemFn = syn::parse_quote!(
        fn declared() {}
    );
    item.attrs = attributes;
    item.vis = declared.vis.clone();
    item.sig = declared.sig.clone();
    if let Safety::Safe(keyword) = &item.sig.safety {
        return Err(syn::Error::new(
            keyword.span(),
            "a kernel is not `safe`: nothing but its declaration says what it takes",
        ));
    }
    item.sig.safety = Safety::Default;
    let kernel = Kernel::parse(tokens, &item, Home::Elsewhere(block))?;
    set.extend(kernel.globals.iter().map(Setting::name));
    let mut out = launcher::of_declared(&kernel, &item);
    out.extend(entry(block, &kernel, &item));
    Ok(out)
}

/// The tokens of `#[kernel(…)]` above a declared function, and its other attributes.
fn attribute(declared: &ForeignItemFn) -> syn::Result<(TokenStream, Vec<Attribute>)> {
    let is_kernel = |attribute: &&Attribute| {
        attribute.path().segments.last().is_some_and(|last| last.ident == "kernel")
    };
    let mut of_kernel = declared.attrs.iter().filter(is_kernel);
    let name = &declared.sig.ident;
    let Some(first) = of_kernel.next() else {
        return Err(syn::Error::new(
            name.span(),
            format!(
                "`{name}` has no annotation: add #[kernel(series(block = 64..=1024), grid = …, args(…))] \
                 above it"
            ),
        ));
    };
    if let Some(second) = of_kernel.next() {
        return Err(syn::Error::new_spanned(
            second,
            "a declared kernel has one annotation: declare it again under another name, with \
             symbol = \"…\"",
        ));
    }
    let tokens = match &first.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) => TokenStream::new(),
        Meta::NameValue(pair) => {
            return Err(syn::Error::new_spanned(pair, "write #[kernel(KEY = VALUE, …)]"));
        }
    };
    let others = declared.attrs.iter().filter(|attribute| !is_kernel(attribute));
    Ok((tokens, others.cloned().collect()))
}

/// The types that axes of types have, as the registry has them.
fn types_of(kernel: &Kernel, gp: &TokenStream) -> Vec<TokenStream> {
    let types = kernel.space.types.iter().flat_map(|axis| {
        let name = axis.name.to_string();
        axis.values.iter().map(move |value| {
            let rust = value.to_string();
            let (cpp, bytes) = types::spelled_type(&rust);
            quote!(#gp::DeclaredType { axis: #name, rust: #rust, cpp: #cpp, bytes: #bytes })
        })
    });
    types.collect()
}

/// The registry entry of one declared kernel.
fn entry(block: &Block, kernel: &Kernel, item: &ItemFn) -> TokenStream {
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    let run = Ident::new("run", proc_macro2::Span::mixed_site());
    let entry = Entry::new(kernel, item);
    let (source, include, options) = (block.source(&gp), &block.include, &block.options);
    let compiler = block.compiler(&gp);
    let defines = block.defines.iter().map(|define| {
        let (name, value) = (define.name.to_string(), &define.value);
        quote!((#name, #value))
    });
    let types = types_of(kernel, &gp);
    let globals = kernel.globals.iter().map(|setting| setting.declared(&gp));
    let has_launcher = kernel.launcher.is_some();
    let symbol = kernel.expression.as_deref().unwrap_or(&kernel.symbol);
    let symbol_at = place_of(kernel.expression_at.unwrap_or_else(|| item.sig.ident.span()));
    let parameters = kernel.parameters.iter().zip(&item.sig.inputs).map(|(parameter, input)| {
        let name = parameter.name.to_string();
        let types::TypeNames { rust, cpp, bytes, align } =
            types::spelled(parameter, input, &kernel.space.types);
        let at = place(parameter, input);
        // `line!()` at the place of the type.
        let (line, column) =
            (quote_spanned!(at=> ::core::line!()), quote_spanned!(at=> ::core::column!()));
        quote! {
            #gp::DeclaredParameter {
                name: #name, rust: #rust, cpp: #cpp, bytes: #bytes, align: #align, line: #line,
                column: #column,
            }
        }
    });
    let body = quote! {
        #gp::Body::Declared {
            declaration: &#gp::Declaration {
                source: #source,
                include: &[#(#include),*],
                defines: &[#(#defines),*],
                options: &[#(#options),*],
                compiler: #compiler,
                symbol: #symbol,
                symbol_at: #symbol_at,
                parameters: &[#(#parameters),*],
                types: &[#(#types),*],
                globals: &[#(#globals),*],
                contract: #gp::Contract::NONE,
            },
            launcher: #has_launcher,
            run: #run,
        }
    };
    entry.emit(&body, &expand::run_function(kernel, &run))
}

/// The line and the column of a place.
pub(crate) fn place_of(at: proc_macro2::Span) -> TokenStream {
    quote_spanned!(at=> (::core::line!(), ::core::column!()))
}

/// The span of a parameter's type.
fn place(parameter: &Parameter, input: &syn::FnArg) -> proc_macro2::Span {
    match input {
        syn::FnArg::Typed(typed) => typed.ty.span(),
        syn::FnArg::Receiver(_) => parameter.name.span(),
    }
}
