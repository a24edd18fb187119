//! The expansion of `#[kernel]`: the device entry point, the same function on the host, and its
//! entry.

use gpuprof_model::AxisKind;
use gpuprof_model::axis::LAUNCH_AXES;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ItemFn};

use crate::axis::DeclaredAxis;
use crate::bounds;
use crate::checked_arithmetic;
use crate::constants;
use crate::declared;
use crate::kernel::Kernel;
use crate::launcher;
use crate::mention;
use crate::registration::Entry;
use crate::renamed_crate;
use crate::signature::{Parameter, Passing};
use crate::slices;
use crate::symbol_suffix;
use crate::type_axis::{self, TypeAxis};

/// The expansion of `kernel` on `item`.
pub(crate) fn kernel(kernel: &Kernel, item: &ItemFn) -> TokenStream {
    let item = &renamed_crate::in_body(item, &kernel.gpuprof);
    let entry = Entry::new(kernel, item);
    let symbol = &kernel.symbol;
    let gpuprof = &kernel.gpuprof;
    let run = local("run");
    let place = symbol_suffix::expand_suffix(&item.sig);
    let constants = kernel.space.constants().map(|(name, _)| name.to_string());
    let has_launcher = kernel.launcher.is_some();
    let body = quote! {
        #gpuprof::__private::Body::Kernel {
            symbol: #symbol,
            place: #place,
            constants: &[#(#constants),*],
            launcher: #has_launcher,
            run: #run,
        }
    };
    let mut functions_of_entry = run_function(kernel, &run);
    if !kernel.instances.is_empty() {
        functions_of_entry.extend(constants::on_host(&kernel.instances, &item.sig.ident));
    }
    let mut out = functions(kernel, item);
    out.extend(launcher::of_rust(kernel, item, &place));
    out.extend(entry.emit(&body, &functions_of_entry));
    out
}

/// The kernel twice: as the entry point of the device, and callable-looking on the host.
fn functions(kernel: &Kernel, item: &ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, sig, block, .. } = item;
    let (symbol, name, inputs, safety) = (&kernel.symbol, &sig.ident, &sig.inputs, &sig.safety);
    let (generics, bounds) = (&sig.generics, &sig.generics.where_clause);
    let place = symbol_suffix::expand_suffix(sig);
    let entry = slices::entry(item, &kernel.parameters, &kernel.gpuprof);
    let on_device = if kernel.instances.is_empty() {
        let (inputs, block) = (&entry.inputs, &entry.block);
        let bounds = bounds::emit_comment(&kernel.bounds, symbol, &place);
        let block = if bounds.is_empty() { block.clone() } else { quote!({ #bounds #block }) };
        quote! {
            #(#attrs)*
            #[cfg(target_arch = "nvptx64")]
            #[unsafe(export_name = ::core::concat!(#symbol, #place))]
            #[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
            #vis unsafe extern "ptx-kernel" fn #name(#inputs) #block
        }
    } else {
        constants::on_device(&kernel.instances, item, &entry, &place, &|symbol| {
            bounds::emit_comment(&kernel.bounds, symbol, &place)
        })
    };
    quote! {
        #on_device

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        #vis #safety fn #name #generics (#inputs) #bounds #block
    }
}

/// The function that evaluates the annotation's expressions for one configuration.
pub(crate) fn run_function(kernel: &Kernel, run: &Ident) -> TokenStream {
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    let k = local("k");
    let types = &kernel.space.types;
    let is_type = |axis: &&DeclaredAxis| types.iter().any(|other| other.name == axis.name);
    let axes = kernel.space.axes.iter().filter(|axis| !is_type(axis));
    let axes = axes.map(|axis| axis_variable(axis, &gp, &k));
    let launch = LAUNCH_AXES.iter().filter_map(|key| launch(kernel, key, &gp, &k));
    let cooperative = kernel.cooperative.as_ref().map(|value| cooperative(value, &gp, &k));
    let setting = |(key, value): &(Ident, Expr)| {
        let method = Ident::new(&key.to_string(), inner(value));
        let checked = checked_arithmetic::arithmetic(&key.to_string(), value, &gp);
        quote_spanned!(inner(value)=> #k.#method(#checked)?;)
    };
    let declared = kernel.declared.iter().map(setting);
    let bounds = kernel.bounds.iter().map(setting);
    let seed = kernel.seed.map(|seed| quote!(#k.seed(#seed);));
    let reset = kernel.reset.as_ref().map(|variant| quote!(#k.reset(#gp::Reset::#variant);));
    let arguments = kernel
        .parameters
        .iter()
        .zip(&kernel.arguments)
        .map(|(parameter, value)| argument(parameter, value, &gp, &k));
    let globals = kernel.globals.iter().map(|setting| setting.statement(&gp, &k));
    let checks = local("checks");
    let verification = kernel.verification.statements(&kernel.parameters, &gp, &checks);
    let statements = quote! {
        #(#launch)*
        #cooperative
        #(#bounds)*
        #(#declared)*
        #seed
        #reset
        #(#arguments)*
        #(#globals)*
        #verification
        #k.execute(#checks)
    };
    let word = |name: &Ident| {
        let name = name.to_string();
        quote!(#k.word(#name)?.as_str())
    };
    let otherwise = quote!(#k.not_compiled());
    let (known, words) = known_types(kernel, &statements);
    let words = words.iter().map(|name| {
        let text = name.to_string();
        quote!(let #name: &str = &#k.word(#text)?;)
    });
    let statements = type_axis::dispatched(&known, &statements, &word, &otherwise);
    quote! {
        #[allow(unused_variables, non_snake_case)]
        fn #run(#k: &mut #gp::KernelRun<'_>) -> #gp::Result<()> {
            #(#axes)*
            #(#words)*
            #statements
        }
    }
}

/// Sets whether the launch is cooperative.
fn cooperative(value: &Expr, gp: &TokenStream, k: &Ident) -> TokenStream {
    let checked = checked_arithmetic::arithmetic("cooperative", value, gp);
    quote_spanned!(inner(value)=> #k.cooperative(#checked);)
}

/// The axes of types that Rust knows, and the names of the axes that `statements` use as words. A
/// template of CUDA C++ also takes types of its file, which no argument can contain: they are types
/// in Rust only if the annotation uses them as such.
fn known_types(kernel: &Kernel, statements: &TokenStream) -> (Vec<TypeAxis>, Vec<Ident>) {
    let (mut known, mut words) = (Vec::new(), Vec::new());
    for axis in &kernel.space.types {
        if kernel.expression.is_none() || axis.values.iter().all(declared::is_number) {
            known.push(axis.clone());
            continue;
        }
        let mention = mention::mention(statements, &axis.name.to_string());
        if mention.as_type {
            known.push(axis.clone());
        }
        if mention.as_value {
            words.push(axis.name.clone());
        }
    }
    (known, words)
}

/// `let n: u64 = …`, so that the annotation's expressions can say `n`.
fn axis_variable(axis: &DeclaredAxis, gp: &TokenStream, k: &Ident) -> TokenStream {
    let variable = &axis.name;
    let name = variable.to_string();
    match axis.kind {
        AxisKind::Word if axis.constant.is_some() => {
            quote!(let #variable: bool = #k.word(#name)? == "true";)
        }
        AxisKind::Int => quote!(let #variable: u64 = #k.int(#name)?;),
        AxisKind::Dims => quote!(let #variable: #gp::Extent = #k.extent(#name)?;),
        AxisKind::Word => quote!(let #variable: &str = &#k.word(#name)?;),
    }
}

/// Sets the launch parameter `key` from its axis, or from its key, which then is a variable as
/// well.
fn launch(kernel: &Kernel, key: &str, gp: &TokenStream, k: &Ident) -> Option<TokenStream> {
    if let Some(axis) = kernel.space.axis(key) {
        let (method, variable) = (Ident::new(key, Span::mixed_site()), &axis.name);
        return Some(quote!(#k.#method(#variable)?;));
    }
    let (variable, value) = kernel.launch.iter().find(|(name, _)| name == key)?;
    let method = Ident::new(key, inner(value));
    let checked = checked_arithmetic::arithmetic(key, value, gp);
    Some(quote_spanned!(inner(value)=> let #variable = #checked; #k.#method(#variable)?;))
}

fn argument(parameter: &Parameter, value: &Expr, gp: &TokenStream, k: &Ident) -> TokenStream {
    let Parameter { name, passing, scalar, sliced } = parameter;
    let name = name.to_string();
    let at = inner(value);
    let value = checked_arithmetic::arithmetic(&name, value, gp);
    match passing {
        Passing::Scalar => quote_spanned!(at=> #k.scalar::<#scalar>(#name, #value)?;),
        Passing::Value => quote_spanned!(at=> #k.value::<#scalar>(#value);),
        Passing::Input | Passing::Output => {
            let method = match (*passing == Passing::Input, sliced) {
                (true, false) => "input",
                (true, true) => "slice",
                (false, false) => "output",
                (false, true) => "disjoint",
            };
            let method = Ident::new(method, at);
            quote_spanned! {at=>
                #k.#method::<#scalar>(#name, {
                    #[allow(unused_imports)]
                    use #gp::generators::*;
                    #value
                })?;
            }
        }
    }
}

/// A name that the user's expressions cannot see.
fn local(name: &str) -> Ident {
    format_ident!("{name}", span = Span::mixed_site())
}

/// The place of `tokens`, for names that only the expansion sees: type errors then point there.
fn inner(tokens: impl Spanned) -> Span {
    tokens.span().resolved_at(Span::mixed_site())
}
