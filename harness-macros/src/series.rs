//! `#[series(…)]` on a host function: its axes stand directly in the attribute.
//!
//! `NAME = VALUES` is an axis, except for `name = "…"` and `crate = …`; `metrics(…)`,
//! `threshold("…")` and `check(…)` are lists as in `#[kernel]`. Keys of `#[kernel]` that a function
//! does for itself are refused with what to call instead. `setup = FUNCTION` makes data once for
//! each process.

use gpuprof_model::suggest;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{ItemFn, LitStr, Path};

use crate::axis::{self, DeclaredSpace};
use crate::conditions;
use crate::crate_path;
use crate::errors::Errors;
use crate::items::{self, Form, Item};
use crate::registration::Entry;

/// A host function and its series, as annotated.
struct Series {
    name: String,
    gpuprof: Path,
    space: DeclaredSpace,
    metrics: Vec<String>,
    check: Vec<String>,
    thresholds: Vec<LitStr>,
    /// Makes the data that the function takes as well.
    setup: Option<Path>,
}

/// The expansion of the attribute `tokens` on `item`.
pub(crate) fn series(tokens: TokenStream, item: &ItemFn) -> syn::Result<TokenStream> {
    let series = Series::parse(tokens, item)?;
    let function = &item.sig.ident;
    let entry = Entry {
        gpuprof: &series.gpuprof,
        function,
        name: &series.name,
        attributes: &item.attrs,
        clauses: &series.space.clauses,
        thresholds: &series.thresholds,
        metrics: &series.metrics,
        check: &series.check,
    };
    let (gpuprof, own) = (&series.gpuprof, function.to_string());
    let called = match &series.setup {
        None => quote!(#function),
        Some(setup) => {
            let private = quote!(#gpuprof::__private);
            let name = quote!(::core::concat!(::core::module_path!(), "::", #own));
            quote!(|run| #private::with_setup(run, #name, #setup, #function))
        }
    };
    let entry = entry.emit(&quote!(#gpuprof::__private::Body::Series(#called)), &quote!());
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #item
        #entry
    })
}

impl Series {
    fn parse(tokens: TokenStream, item: &ItemFn) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let own = item.sig.ident.to_string();
        let mut series = Self {
            name: own.strip_prefix("r#").unwrap_or(&own).to_owned(),
            gpuprof: crate_path::gpuprof(),
            space: DeclaredSpace::default(),
            metrics: Vec::new(),
            check: Vec::new(),
            thresholds: Vec::new(),
            setup: None,
        };
        let mut axes = Vec::new();
        for item in items::split(tokens, "AXIS = VALUES", &mut errors) {
            axes.extend(series.read(item, &mut errors));
        }
        series.space = axis::declared(axes, &[], &mut errors);
        for (name, _) in series.space.constants() {
            errors.at(name, "constants belong to a #[kernel]: a host function compiles its own");
        }
        conditions::check(&series.thresholds, &series.space, &mut errors);
        check_signature(item, series.setup.is_some(), &mut errors);
        errors.into_result().map(|()| series)
    }

    /// Reads a key, or hands the item back where it is an axis.
    fn read(&mut self, item: Item, errors: &mut Errors) -> Option<Item> {
        let Item { name, form } = item;
        match (name.to_string().as_str(), form) {
            ("name", Form::Value(value)) => {
                if let Some(text) = errors.attempt(syn::parse2::<LitStr>(value)) {
                    self.name = text.value();
                }
            }
            ("crate", Form::Value(value)) => {
                if let Some(path) = errors.attempt(syn::parse2(value)) {
                    self.gpuprof = path;
                }
            }
            ("setup", Form::Value(value)) => self.setup = errors.attempt(syn::parse2(value)),
            ("metrics", Form::List(list)) => self.metrics = conditions::metrics(&list, errors),
            ("check", Form::List(list)) => self.check = conditions::checks(&list, errors),
            ("threshold", Form::List(list)) => {
                self.thresholds.extend(conditions::thresholds(&list, errors));
            }
            (key, form) => match (elsewhere(key), form) {
                (Some(instead), _) => {
                    errors.at(&name, format!("`{key}` is a key of #[kernel]: {instead}"));
                }
                (None, Form::List(list)) if key == "zip" => {
                    return Some(Item { name, form: Form::List(list) });
                }
                (None, Form::List(_)) => errors.at(&name, unknown_list(&name)),
                (None, form) => return Some(Item { name, form }),
            },
        }
        None
    }
}

fn elsewhere(key: &str) -> Option<&'static str> {
    Some(match key {
        "series" => "here the axes stand directly in the attribute",
        "bytes" => "call run.bytes(…) in the function",
        "flops" => "call run.flops(…) in the function",
        "args" => "a host function sets its arguments up itself",
        "verify" | "tolerance" => "check the results in the function",
        "reset" => "put the inputs back in `run.measure`, which times that as well",
        "seed" => "a host function makes its own inputs",
        _ => return None,
    })
}

fn unknown_list(name: &Ident) -> String {
    let key = name.to_string();
    suggest::did_you_mean(&key, ["metrics", "threshold", "check"]).map_or_else(
        || format!("`{key}` is not an axis: write {key} = VALUES"),
        |near| format!("unknown key `{key}`: {near}"),
    )
}

fn check_signature(item: &ItemFn, has_setup: bool, errors: &mut Errors) {
    let signature = &item.sig;
    if let Some(keyword) = &signature.asyncness {
        errors.at(keyword, "a series function cannot be `async`");
    }
    if !signature.generics.params.is_empty() {
        errors.at(&signature.generics, "a series function cannot be generic");
    }
    match (signature.inputs.len(), has_setup) {
        (1, false) | (2, true) => {}
        (_, false) => errors.at(
            &signature.ident,
            "a series function takes one argument: fn(run: &mut Run<'_>) -> gpuprof::Result<()>",
        ),
        (_, true) => errors.at(
            &signature.ident,
            "with `setup` a series function takes the data as well: fn(run: &mut Run<'_>, data: \
             &Data) -> gpuprof::Result<()>",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(attribute: &str) -> Result<Series, String> {
        let item = syn::parse_quote!(
            fn copy(run: &mut Run<'_>) -> gpuprof::Result<()> {}
        );
        Series::parse(attribute.parse().unwrap(), &item)
            .map_err(|all| all.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | "))
    }

    #[test]
    fn unknown_keys_are_axes() {
        let series =
            parse("block = 64..1024, n = 1K, 2K, name = \"c\", metrics(registers), check(race)")
                .unwrap();
        assert_eq!(series.space.clauses, ["block=64..1024", "n=1K, 2K"]);
        assert_eq!(
            (series.name.as_str(), series.metrics.as_slice(), series.check.as_slice()),
            ("c", &["registers".into()][..], &["race".into()][..])
        );
    }

    #[test]
    fn a_function_with_a_setup_takes_its_data() {
        let Err(message) = parse("n = 1, setup = keys") else { panic!("accepted") };
        assert!(message.starts_with("with `setup` a series function takes the data"), "{message}");
    }

    #[test]
    fn keys_of_a_kernel_on_a_series_are_refused_with_the_remedy() {
        let Err(message) = parse("bytes = 4, series(n = 1), treshold(\"x\")") else {
            panic!("accepted");
        };
        assert_eq!(
            message,
            "`bytes` is a key of #[kernel]: call run.bytes(…) in the function | \
             `series` is a key of #[kernel]: here the axes stand directly in the attribute | \
             unknown key `treshold`: did you mean `threshold`?"
        );
    }
}
