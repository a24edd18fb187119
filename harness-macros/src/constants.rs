//! Constants and types: a kernel's generic parameters, and the copies of it that are compiled.
//!
//! Input: a generic kernel and the axes that say which values its parameters take. Output: one
//! [`Instance`] a combination of values. On the device each is a module with the parameters as
//! plain constants and type aliases, and a copy of the function, and not an instantiation of it:
//! `shared!` declares its memory by an item, and an item cannot name the generic parameters of the
//! function around it.

use gpuprof_model::declared::instance_key;
use gpuprof_model::series::entry_point;
use gpuprof_model::{AxisValue, Configuration};
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ConstParam, GenericParam, ItemFn, TypeParam};

use crate::axis::DeclaredSpace;
use crate::errors::Errors;
use crate::slices::Entry;

/// The most entry points that one kernel may become.
pub(crate) const MOST: usize = 64;

/// One entry point: a value for every constant, and a type for every type parameter.
pub(crate) struct Instance {
    /// The beginning of its name in the PTX.
    pub(crate) symbol: String,
    /// The values of its constants, as text.
    pub(crate) key: String,
    /// The values and types as Rust has them, in the order of the generic parameters.
    pub(crate) values: Vec<TokenStream>,
    /// The types alone, each behind its parameter.
    pub(crate) types: Vec<(Ident, Ident)>,
}

impl Instance {
    /// An alias for each of its types, so that the parameter's name means the type.
    pub(crate) fn aliases(&self) -> TokenStream {
        let (names, types): (Vec<_>, Vec<_>) = self.types.iter().map(|(n, t)| (n, t)).unzip();
        quote!(#(#[allow(dead_code, non_camel_case_types)] pub type #names = #types;)*)
    }
}

/// Refuses generics without an axis each, and constants that are not generics.
pub(crate) fn check(item: &ItemFn, space: &DeclaredSpace, errors: &mut Errors) {
    let generics = &item.sig.generics;
    for parameter in &generics.params {
        let parameter = match parameter {
            GenericParam::Const(parameter) => parameter,
            GenericParam::Type(parameter) => {
                check_type(parameter, space, errors);
                continue;
            }
            GenericParam::Lifetime(_) => {
                errors.at(parameter, "a kernel has no lifetime parameters: leave them out");
                continue;
            }
        };
        let name = &parameter.ident;
        match space.axis(&name.to_string()) {
            Some(axis) if axis.constant.is_some() => {}
            Some(axis) => errors.at(
                &axis.name,
                format!("`{name}` is a constant of the kernel: write const {name} = VALUES"),
            ),
            None if space.names.contains(name) => {}
            None => errors.at(
                parameter,
                format!("`{name}` needs its values: const {name} = [8, 16] in series(…)"),
            ),
        }
    }
    check_values(item, space, errors);
    if !generics.params.is_empty()
        && let Some(place) = find_super(item.block.to_token_stream())
    {
        errors.push(syn::Error::new(
            place,
            "`super` names another module here, because a generic kernel is compiled once per \
             value, each in its own module: write the path from `crate`",
        ));
    }
}

/// Refuses a type parameter without a list of types.
pub(crate) fn check_type(parameter: &TypeParam, space: &DeclaredSpace, errors: &mut Errors) {
    let name = &parameter.ident;
    if space.types.iter().any(|axis| axis.name == *name) {
        return;
    }
    match space.names.iter().find(|own| *own == name) {
        Some(axis) => errors.at(
            axis,
            format!("`{name}` is a type of the kernel: list its types alone, {name} = [f32, f64]"),
        ),
        None => errors
            .at(parameter, format!("`{name}` needs its types: {name} = [f32, f64] in series(…)")),
    }
}

/// Refuses constants without a parameter, values that Rust has no constant for, and too many entry
/// points.
fn check_values(item: &ItemFn, space: &DeclaredSpace, errors: &mut Errors) {
    let mut count = 1_usize;
    for (name, values) in space.constants() {
        let is_type = space.types.iter().any(|axis| axis.name == *name);
        if !is_type && parameters(item).all(|parameter| parameter.ident != *name) {
            errors.at(
                name,
                format!(
                    "`{}` has no const generic parameter `{name}`: add <const {name}: usize>",
                    item.sig.ident
                ),
            );
        }
        let wrong = |value: &&AxisValue| !is_type && literal(value, name.span()).is_none();
        if let Some(value) = values.iter().find(wrong) {
            errors.at(
                name,
                format!("invalid constant `{value}`; expected a whole number, `true` or `false`"),
            );
        }
        let before = count <= MOST;
        count = count.saturating_mul(values.len());
        if before && count > MOST {
            errors
                .at(name, format!("the constants make {count} entry points; the limit is {MOST}"));
        }
    }
}

fn parameters(item: &ItemFn) -> impl Iterator<Item = &ConstParam> {
    item.sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Const(parameter) => Some(parameter),
        _ => None,
    })
}

fn find_super(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(name) if name == "super" => Some(name.span()),
        TokenTree::Group(group) => find_super(group.stream()),
        _ => None,
    })
}

/// `item` with a const generic parameter for every constant of `space`: its own, and then those
/// that a declaration leaves to its name or to definitions.
pub(crate) fn with_parameters(item: &ItemFn, space: &DeclaredSpace) -> ItemFn {
    let mut with = item.clone();
    for (name, values) in space.constants() {
        let is_known = |parameter: &GenericParam| match parameter {
            GenericParam::Const(parameter) => parameter.ident == *name,
            GenericParam::Type(parameter) => parameter.ident == *name,
            GenericParam::Lifetime(_) => false,
        };
        if item.sig.generics.params.iter().any(is_known) {
            continue;
        }
        let ty = match values.first() {
            Some(AxisValue::Word(_)) => quote!(bool),
            _ => quote!(u64),
        };
        with.sig.generics.params.push(syn::parse_quote!(const #name: #ty));
    }
    with
}

/// The value as a Rust literal; errors in it are reported at `place`.
fn literal(value: &AxisValue, place: Span) -> Option<TokenStream> {
    match value {
        AxisValue::Int(n) => {
            let mut literal = Literal::u64_unsuffixed(*n);
            literal.set_span(place);
            Some(literal.to_token_stream())
        }
        AxisValue::Word(word) if word == "true" => Some(quote_spanned!(place=> true)),
        AxisValue::Word(word) if word == "false" => Some(quote_spanned!(place=> false)),
        _ => None,
    }
}

/// The entry points of a checked kernel; none if it has no constants.
pub(crate) fn instances(symbol: &str, item: &ItemFn, space: &DeclaredSpace) -> Vec<Instance> {
    let constants: Vec<(String, &[AxisValue])> =
        space.constants().map(|(name, values)| (name.to_string(), values)).collect();
    if constants.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = constants.iter().map(|(name, _)| name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let mut points = vec![Configuration::default()];
    for (name, values) in &constants {
        let longer = |point: &Configuration| {
            let point = point.clone();
            values.iter().map(move |value| {
                let mut longer = point.clone();
                longer.0.push((name.clone(), value.clone()));
                longer
            })
        };
        points = points.iter().flat_map(longer).collect();
    }
    let ty = |name: &Ident, point: &Configuration| {
        let axis = space.types.iter().find(|axis| axis.name == *name)?;
        axis.value(&point.get(&name.to_string())?.to_string()).cloned()
    };
    let value = |parameter: &GenericParam, point: &Configuration| match parameter {
        GenericParam::Const(parameter) => {
            let name = parameter.ident.to_string();
            let place = space.axis(&name)?.name.span();
            literal(point.get(&name)?, place)
        }
        GenericParam::Type(parameter) => Some(ty(&parameter.ident, point)?.to_token_stream()),
        GenericParam::Lifetime(_) => None,
    };
    let instance = |point: Configuration| Instance {
        symbol: entry_point(symbol, &names, &point),
        key: instance_key(sorted.iter().copied(), &point),
        values: item.sig.generics.params.iter().filter_map(|p| value(p, &point)).collect(),
        types: space
            .types
            .iter()
            .filter_map(|axis| Some((axis.name.clone(), ty(&axis.name, &point)?)))
            .collect(),
    };
    points.into_iter().map(instance).collect()
}

/// The copies of `item` that the device compiles, and the first of them under the function's name.
///
/// `place` is the end of their names in the PTX, and `statement` the statement in the body of each.
pub(crate) fn on_device(
    instances: &[Instance],
    item: &ItemFn,
    entry: &Entry,
    place: &TokenStream,
    statement: &dyn Fn(&str) -> TokenStream,
) -> TokenStream {
    let ItemFn { attrs, vis, sig, .. } = item;
    let (name, Entry { inputs, block }) = (&sig.ident, entry);
    let conditions: Vec<_> = attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let module = |instance: &Instance| format_ident!("__gpuprof_{}", instance.symbol);
    let copies = instances.iter().map(|instance| {
        let (module, symbol, aliases) = (module(instance), &instance.symbol, instance.aliases());
        let constants = item.sig.generics.params.iter().zip(&instance.values).filter_map(constant);
        let statement = statement(symbol);
        let block =
            if statement.is_empty() { block.clone() } else { quote!({ #statement #block }) };
        quote! {
            #(#conditions)*
            #[cfg(target_arch = "nvptx64")]
            #[allow(non_snake_case)]
            mod #module {
                #[allow(unused_imports)]
                use super::*;
                #aliases
                #(#constants)*
                #(#attrs)*
                #[unsafe(export_name = ::core::concat!(#symbol, #place))]
                #[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
                pub unsafe extern "ptx-kernel" fn #name(#inputs) #block
            }
        }
    });
    let first = instances.first().map(module);
    quote! {
        #(#copies)*
        #(#conditions)*
        #[cfg(target_arch = "nvptx64")]
        #[allow(unused_imports)]
        #vis use #first::#name;
    }
}

/// A generic constant as a plain one.
fn constant((parameter, value): (&GenericParam, &TokenStream)) -> Option<TokenStream> {
    let GenericParam::Const(ConstParam { ident, ty, .. }) = parameter else { return None };
    Some(quote!(#[allow(non_upper_case_globals)] pub const #ident: #ty = #value;))
}

/// Names every instantiation on the host, so that a value that its parameter cannot hold is an
/// error there, and not first in the kernels' build.
pub(crate) fn on_host(instances: &[Instance], function: &Ident) -> TokenStream {
    let values = instances.iter().map(|instance| &instance.values);
    let check = Ident::new("instances", Span::mixed_site());
    quote! {
        #[allow(dead_code)]
        fn #check() {
            #(let _ = #function::<#(#values),*>;)*
        }
    }
}
