//! The name of a declared kernel in its source: `symbol = "ns::scan<{ITEMS}, float>"`.
//!
//! Input: the key, or the function's name and its generic parameters. Output: the text, in which
//! `{NAME}` is replaced by the value of a constant or a type. A constant that it does not name is a
//! definition (`-D`) instead.

use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{AxisKind, AxisValue};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{GenericParam, ItemFn, LitStr};

use super::block::Block;
use super::define;
use crate::axis::DeclaredSpace;
use crate::constants::{self, MOST};
use crate::errors::Errors;

/// The name of the kernel of `item`, if it has the `key`; and the errors of its constants.
pub(crate) fn symbol(
    key: Option<&LitStr>,
    item: &ItemFn,
    space: &DeclaredSpace,
    block: &Block,
    errors: &mut Errors,
) -> String {
    let generics = generics(item, space, errors);
    let text = match key {
        Some(text) => text.value(),
        None => {
            let name = item.sig.ident.to_string();
            let name = name.strip_prefix("r#").unwrap_or(&name);
            let arguments: Vec<String> =
                generics.iter().map(|name| format!("{{{name}}}")).collect();
            match arguments.as_slice() {
                [] => name.to_owned(),
                all => format!("{name}<{}>", all.join(", ")),
            }
        }
    };
    if let Some(key) = key {
        check_names(key, &item.sig.ident, space, errors);
    }
    check_constants(&text, space, block, errors);
    text
}

/// The names of the generic parameters, each of which needs an axis.
fn generics(item: &ItemFn, space: &DeclaredSpace, errors: &mut Errors) -> Vec<String> {
    let mut names = Vec::new();
    for parameter in &item.sig.generics.params {
        let constant = match parameter {
            GenericParam::Const(constant) => constant,
            GenericParam::Type(ty) => {
                constants::check_type(ty, space, errors);
                names.push(ty.ident.to_string());
                continue;
            }
            GenericParam::Lifetime(_) => {
                errors.at(parameter, "a kernel has no lifetime parameters: leave them out");
                continue;
            }
        };
        let name = constant.ident.to_string();
        let is_known = space.constants().any(|(known, _)| *known == name);
        if !is_known && !space.names.is_empty() && !space.is_unknown(&name) {
            errors.at(
                parameter,
                format!("`{name}` needs its values: const {name} = [8, 16] in series(…)"),
            );
        }
        names.push(name);
    }
    names
}

/// Refuses `{NAME}` that is not a constant of the series.
fn check_names(key: &LitStr, function: &Ident, space: &DeclaredSpace, errors: &mut Errors) {
    for name in placeholders(&key.value()) {
        if space.constants().any(|(known, _)| *known == name) || space.is_unknown(&name) {
            continue;
        }
        let known: Vec<String> = space.constants().map(|(name, _)| name.to_string()).collect();
        let near = did_you_mean(&name, known.iter().map(String::as_str));
        let near = near.map(|near| format!(": {near}")).unwrap_or_default();
        let axis = space.axis(&name);
        let message = match axis.map(|axis| axis.kind) {
            Some(AxisKind::Word) => format!(
                "`{name}` is an axis of words, which name no kernel: declare it as a type parameter \
                 of the function, fn {function}<{name}>(…), and each word is an argument of the \
                 template"
            ),
            Some(_) => format!(
                "`{name}` is an axis, and only constants name a kernel: write const {name} = … in \
                 series(…)"
            ),
            None => format!(
                "`{{{name}}}` is no constant of the series, such as const {name} = [8, 16]{near}"
            ),
        };
        errors.at(key.to_token_stream(), message);
    }
}

/// Refuses constants without a use, values that C++ has no constant for, and too many instances.
fn check_constants(text: &str, space: &DeclaredSpace, block: &Block, errors: &mut Errors) {
    let used = placeholders(text);
    let mut count = 1_usize;
    for (name, values) in space.constants() {
        let own = name.to_string();
        if !used.contains(&own) {
            if block.is_compiled() {
                define::check_name(name, errors);
            } else {
                errors.at(
                    name,
                    format!("PTX is compiled already, so `{own}` can only choose an entry point: name it in symbol = \"…\""),
                );
            }
            if let Some(define) = block.defines.iter().find(|define| define.name == own) {
                errors.at(name, format!("`{}` is in define(…) as well", define.name));
            }
        }
        let is_type = space.types.iter().any(|axis| axis.name == own);
        let constant = |value: &AxisValue| match value {
            AxisValue::Int(_) => true,
            AxisValue::Word(word) => is_type || word == "true" || word == "false",
            AxisValue::Dims(_) => false,
        };
        if let Some(value) = values.iter().find(|value| !constant(value)) {
            errors.at(
                name,
                format!("invalid constant `{value}`; expected a whole number, `true` or `false`"),
            );
        }
        let before = count <= MOST;
        count = count.saturating_mul(values.len());
        if before && count > MOST {
            errors.at(name, format!("the constants make {count} instances; the limit is {MOST}"));
        }
    }
}

/// The names in braces of `text`.
fn placeholders(text: &str) -> Vec<String> {
    let parts = text.split('{').skip(1);
    parts.filter_map(|part| Some(part.split_once('}')?.0.trim().to_owned())).collect()
}
