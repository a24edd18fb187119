//! `#[kernel(…)]`: its contents, checked.
//!
//! Input: the attribute's tokens and the function. Output: a [`Kernel`] with all data for its
//! expansion, or every error at its place.

use gpuprof_model::axis::LAUNCH_AXES;
use gpuprof_model::suggest;
use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ItemFn, LitInt, LitStr, Path, Token};

use crate::axis::{self, DeclaredSpace};
use crate::bounds;
use crate::conditions;
use crate::constants::{self, Instance};
use crate::crate_path;
use crate::declared::{self, Block, Setting};
use crate::errors::Errors;
use crate::invisible_groups;
use crate::items::{self, Form, Item};
use crate::number_suffix;
use crate::per_buffer::PerBuffer;
use crate::signature::{self, Dialect, Parameter, Passing};
use crate::tolerance;
use crate::type_axis;
use crate::verification::Verification;
use crate::vocabulary::{
    GENERATORS, LIST_KEYS, OF_BUFFERS, OF_DECLARED, OF_OXIDE, OF_RUST, VALUE_KEYS, count, example,
    example_of_buffers, keys, unknown_key,
};

/// The location of a kernel's code.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// In the annotated function.
    Here,
    /// The source of its declaring block.
    Elsewhere(&'a Block),
    /// In the annotated function, which NVIDIA's Rust compiler compiles.
    Oxide,
}

/// A kernel and its series, as annotated.
pub(crate) struct Kernel {
    /// The beginning of the entry point's name.
    pub(crate) symbol: String,
    /// The name of a declared kernel in its source.
    pub(crate) expression: Option<String>,
    /// Where `symbol = …` says so.
    pub(crate) expression_at: Option<Span>,
    /// The path to the `gpuprof` crate.
    pub(crate) gpuprof: Path,
    /// The axes and how they combine.
    pub(crate) space: DeclaredSpace,
    /// The entry points, if the kernel has constants.
    pub(crate) instances: Vec<Instance>,
    /// The keys `block`, `grid`, `shared` and `cluster`, if they are not axes.
    pub(crate) launch: Vec<(Ident, Expr)>,
    /// Whether the driver has to run all blocks of the grid together.
    pub(crate) cooperative: Option<Expr>,
    /// `max_block` and `min_blocks`.
    pub(crate) bounds: Vec<(Ident, Expr)>,
    /// `bytes` and `flops`.
    pub(crate) declared: Vec<(Ident, Expr)>,
    /// One expression a parameter.
    pub(crate) arguments: Vec<Expr>,
    /// The variables of the device that it sets.
    pub(crate) globals: Vec<Setting>,
    /// The kernel's parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// The metrics asked for.
    pub(crate) metrics: Vec<String>,
    /// The names of the checks of the emulated driver.
    pub(crate) check: Vec<String>,
    /// The thresholds.
    pub(crate) thresholds: Vec<LitStr>,
    /// How its results are checked.
    pub(crate) verification: Verification,
    /// The variant of `Reset` that was asked for.
    pub(crate) reset: Option<Ident>,
    /// The generators' seed.
    pub(crate) seed: Option<u64>,
    /// The type by which series functions launch it.
    pub(crate) launcher: Option<Ident>,
    /// The module of cuda-oxide that it is in, if that is not the one it is written in.
    pub(crate) module: Option<Path>,
}

impl Kernel {
    /// Reads the attribute `tokens` on `item` with its code at `home`.
    pub(crate) fn parse(tokens: TokenStream, item: &ItemFn, home: Home<'_>) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let types = type_axis::parameters(&item.sig.generics);
        let mut keys = Keys { types, ..Keys::default() };
        for item in items::split(tokens, "KEY = VALUE or KEY(LIST)", &mut errors) {
            keys.read(item, &mut errors);
        }
        let (parameters, expression) = keys.of_home(item, home, &mut errors);
        conditions::check(&keys.thresholds, &keys.space, &mut errors);
        keys.check_launch(&mut errors);
        bounds::check(&keys.take(&bounds::KEYS), &keys.space, &mut errors);
        keys.check_arguments(item, &mut errors);
        keys.check_generators(&parameters, &mut errors);
        let verification = keys.verification(&parameters, home, &mut errors);
        let symbol = keys.symbol(&item.sig.ident, &mut errors);
        let (of_block, globals) = match home {
            Home::Here | Home::Oxide => (None, Vec::new()),
            Home::Elsewhere(block) => {
                let globals = declared::settings(&keys.globals, &block.variables, &mut errors);
                (block.gpuprof.clone(), globals)
            }
        };
        let gpuprof = keys.path("crate", &mut errors).or(of_block);
        let instances = match home {
            Home::Here | Home::Oxide if errors.is_empty() => {
                constants::instances(&symbol, item, &keys.space)
            }
            _ => Vec::new(),
        };
        let kernel = Self {
            symbol,
            expression,
            expression_at: keys.value("symbol").map(Spanned::span),
            instances,
            gpuprof: gpuprof.unwrap_or_else(crate_path::gpuprof),
            launch: keys.take(&LAUNCH_AXES),
            cooperative: keys.value("cooperative").cloned(),
            bounds: keys.take(&bounds::KEYS),
            declared: keys.take(&["bytes", "flops"]),
            arguments: keys.args.take().map_or_else(Vec::new, |(_, list)| list),
            globals,
            parameters,
            verification,
            reset: keys.value("reset").and_then(|value| tolerance::reset(value, &mut errors)),
            seed: keys.seed(&mut errors),
            launcher: keys.launcher(&mut errors),
            module: keys.path("module", &mut errors),
            space: keys.space,
            metrics: keys.metrics,
            check: keys.check,
            thresholds: keys.thresholds,
        };
        errors.into_result().map(|()| kernel)
    }
}

/// The keys as they are read.
#[derive(Default)]
struct Keys {
    /// The type parameters of the kernel.
    types: Vec<Ident>,
    seen: Vec<Ident>,
    /// The suggestions for misspelt keys: these are not reported as missing too.
    meant: Vec<&'static str>,
    /// Keys with unreadable values: present, so that they are not reported as missing too.
    values: Vec<(Ident, Option<Expr>)>,
    space: DeclaredSpace,
    args: Option<(Ident, Vec<Expr>)>,
    /// The values of `tolerance(…)` and `compare(…)` for each buffer.
    of_buffers: Vec<(Ident, Vec<(Ident, Expr)>)>,
    /// The settings of `globals(…)`.
    globals: Vec<(Ident, Expr)>,
    metrics: Vec<String>,
    check: Vec<String>,
    thresholds: Vec<LitStr>,
}

impl Keys {
    fn read(&mut self, item: Item, errors: &mut Errors) {
        let Item { name, form } = item;
        let key = name.to_string();
        if key != "threshold" {
            if self.seen.contains(&name) {
                errors.at(&name, format!("duplicate key `{key}`"));
                return;
            }
            self.seen.push(name.clone());
        }
        match form {
            Form::Value(value) if VALUE_KEYS.contains(&key.as_str()) => {
                let value = syn::parse2(number_suffix::expanded(value)).map_err(|error| {
                    syn::Error::new(error.span(), format!("{error} in the value of `{key}`"))
                });
                let value = errors.attempt(value);
                self.values.push((name, value));
            }
            Form::List(list)
                if LIST_KEYS.contains(&key.as_str()) || OF_BUFFERS.contains(&key.as_str()) =>
            {
                self.read_list(name, &list, errors);
            }
            Form::Value(_) if LIST_KEYS.contains(&key.as_str()) => {
                errors.at(&name, format!("`{key}` takes a list: {}", example(&key)));
            }
            Form::List(_) if VALUE_KEYS.contains(&key.as_str()) => {
                errors.at(&name, format!("`{key}` takes a value: {}", example(&key)));
            }
            Form::Where(_) | Form::Constant(_) => {
                errors.at(&name, format!("`{key}` belongs in series(…)"));
            }
            _ => {
                self.meant.extend(suggest::nearest(&key, keys()));
                errors.at(&name, unknown_key(&key));
            }
        }
    }

    /// The parameters of `item`, and its name in a declared source; both are checked by the rules
    /// of its `home`.
    fn of_home(
        &self,
        item: &ItemFn,
        home: Home<'_>,
        errors: &mut Errors,
    ) -> (Vec<Parameter>, Option<String>) {
        self.check_home(home, errors);
        match home {
            Home::Here => {
                let types = &self.space.types;
                let parameters = signature::parameters(item, (Dialect::Ours, types), errors);
                constants::check(item, &self.space, errors);
                (parameters, None)
            }
            Home::Oxide => {
                let parameters =
                    signature::parameters(item, (Dialect::Oxide, &self.space.types), errors);
                // Its body is not copied, so its own compiler checks it.
                let block = syn::parse_quote!({});
                let bodiless = ItemFn { block: Box::new(block), ..item.clone() };
                constants::check(&bodiless, &self.space, errors);
                (parameters, None)
            }
            Home::Elsewhere(block) => {
                let key = self.value("symbol").and_then(|value| {
                    let text: syn::Result<LitStr> = syn::parse2(value.to_token_stream());
                    if text.is_err() {
                        errors.at(value, format!("`symbol` takes a text: {}", example("symbol")));
                    }
                    text.ok()
                });
                let parameters = declared::parameters(item, &self.space.types, errors);
                let name = declared::symbol(key.as_ref(), item, &self.space, block, errors);
                (parameters, Some(name))
            }
        }
    }

    /// Refuses keys that a kernel of this `home` does not have.
    fn check_home(&self, home: Home<'_>, errors: &mut Errors) {
        let mut refuse = |keys: &[&str], why: &dyn Fn(&Ident) -> String| {
            if let Some(key) = self.seen.iter().find(|seen| keys.iter().any(|key| *seen == key)) {
                errors.at(key, why(key));
            }
        };
        if !matches!(home, Home::Elsewhere(_)) {
            refuse(&OF_DECLARED, &|key| {
                format!("`{key}` is for kernels that #[kernels(…)] declares")
            });
        }
        if !matches!(home, Home::Oxide) {
            refuse(&OF_OXIDE, &|key| {
                format!("`{key}` is for kernels in a #[cuda_module] of cuda-oxide")
            });
        }
        match home {
            Home::Here => {}
            Home::Elsewhere(_) => {
                refuse(&bounds::KEYS, &|_| {
                    "set the launch bounds of a declared kernel in its own source: \
                     __launch_bounds__(256, 2)"
                        .to_owned()
                });
            }
            Home::Oxide => {
                refuse(&OF_RUST, &|key| {
                    format!(
                        "`{key}` is for kernels that gpuprof builds: series functions launch this one by \
                         its own LoadedModule"
                    )
                });
                refuse(&bounds::KEYS, &|_| {
                    "the launch bounds of a kernel of cuda-oxide are its own attribute: \
                     #[launch_bounds(256, 2)]"
                        .to_owned()
                });
            }
        }
    }

    fn read_list(&mut self, name: Ident, list: &Group, errors: &mut Errors) {
        match name.to_string().as_str() {
            "series" => {
                let items = items::split(list.stream(), "AXIS = VALUES", errors);
                self.space = axis::declared(items, &self.types, errors);
            }
            "args" => {
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                let list = number_suffix::expanded(list.stream());
                if let Some(list) = errors.attempt(parser.parse2(list)) {
                    self.args = Some((name, list.into_iter().collect()));
                }
            }
            key if OF_BUFFERS.contains(&key) => {
                let each = verification_list(key, list, errors);
                self.of_buffers.push((name, each));
            }
            "globals" => self.globals = declared::values(list, errors),
            "metrics" => self.metrics = conditions::metrics(list, errors),
            "check" => self.check = conditions::checks(list, errors),
            _ => self.thresholds.extend(conditions::thresholds(list, errors)),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.seen.iter().any(|seen| seen == key)
    }

    fn value(&self, key: &str) -> Option<&Expr> {
        self.values
            .iter()
            .find(|(name, _)| name == key)
            .and_then(|(_, value)| value.as_ref().map(invisible_groups::expr))
    }

    /// The values of `keys`, in that order.
    fn take(&mut self, keys: &[&str]) -> Vec<(Ident, Expr)> {
        let value = |key: &&str| self.values.iter().find(|(name, _)| name == key).cloned();
        keys.iter().filter_map(value).filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn check_launch(&self, errors: &mut Errors) {
        for key in LAUNCH_AXES {
            let axis = self.space.names.iter().find(|name| *name == key);
            match (axis, self.has(key)) {
                (Some(axis), true) => {
                    errors
                        .at(axis, format!("`{key}` is both an axis and a key: remove one of them"));
                }
                (None, false) if ["block", "grid"].contains(&key) && !self.meant.contains(&key) => {
                    errors.push(self.missing(key));
                }
                _ => {}
            }
        }
    }

    fn missing(&self, key: &str) -> syn::Error {
        let near = |axis: &&Ident| !suggest::nearest(&axis.to_string(), [key]).is_empty();
        if let Some(axis) = self.space.names.iter().find(near) {
            return syn::Error::new(
                axis.span(),
                format!("`{key}` is missing: is the axis `{axis}` a misspelling of it?"),
            );
        }
        let example = example(key);
        syn::Error::new(
            Span::call_site(),
            format!("`{key}` is missing: give it as a key ({example}) or as an axis of the series"),
        )
    }

    fn check_arguments(&self, item: &ItemFn, errors: &mut Errors) {
        let inputs = &item.sig.inputs;
        let (place, given) = match &self.args {
            Some((name, given)) => (name, given.as_slice()),
            None if self.has("args") => return,
            None => (&item.sig.ident, [].as_slice()),
        };
        if let Some(extra) = given.get(inputs.len()) {
            let (kernel, takes) = (&item.sig.ident, count(inputs.len(), "parameter"));
            errors.at(extra, format!("too many arguments: `{kernel}` takes {takes}"));
        }
        let missing: Vec<String> = inputs
            .iter()
            .skip(given.len())
            .map(|input| match input {
                syn::FnArg::Typed(typed) => match &*typed.pat {
                    syn::Pat::Ident(pattern) => format!("`{}`", pattern.ident),
                    _ => "a parameter without a name".to_owned(),
                },
                syn::FnArg::Receiver(_) => "`self`".to_owned(),
            })
            .collect();
        if !missing.is_empty() {
            let message = if self.args.is_some() {
                format!("no argument for {}", missing.join(", "))
            } else {
                format!("`args` is missing: give one argument each for {}", missing.join(", "))
            };
            errors.at(place, message);
        }
    }

    /// How the results of a kernel with `parameters` are checked.
    fn verification(
        &self,
        parameters: &[Parameter],
        home: Home<'_>,
        errors: &mut Errors,
    ) -> Verification {
        let written = match home {
            Home::Here => "`DisjointSlice<T>` or `*mut T`",
            Home::Oxide => "`DisjointSlice<T>`, `&mut [T]` or `*mut T`",
            Home::Elsewhere(_) => "`*mut T`",
        };
        let given = |key: &str| {
            let each = self.of_buffers.iter().find(|(name, _)| name == key);
            let each = each.map(|(name, each)| (name.clone(), PerBuffer::Each(each.clone())));
            let name = self.seen.iter().find(|seen| *seen == key);
            let all = name
                .cloned()
                .zip(self.value(key).cloned().map(|value| PerBuffer::All(Box::new(value))));
            each.or(all)
        };
        let tolerance = given("tolerance");
        if let Some((_, given)) = &tolerance {
            tolerance::check_types(given, parameters, &self.space.types, errors);
        }
        let (verify, compare) = (self.value("verify"), given("compare"));
        Verification::read(verify, tolerance, compare, (parameters, written), errors)
    }

    /// Refuses generators, which fill buffers, for parameters that are numbers.
    fn check_generators(&self, parameters: &[Parameter], errors: &mut Errors) {
        let Some((_, given)) = &self.args else { return };
        if given.len() != parameters.len() {
            return;
        }
        for (parameter, value) in parameters.iter().zip(given) {
            let Expr::Call(call) = invisible_groups::expr(value) else { continue };
            let Expr::Path(path) = &*call.func else { continue };
            let Some(name) = path.path.get_ident() else { continue };
            let of = &parameter.name;
            let is_buffer = matches!(parameter.passing, Passing::Input | Passing::Output);
            if !is_buffer && GENERATORS.iter().any(|g| name == g) {
                errors.at(
                    value,
                    format!(
                        "`{name}` fills a buffer, but `{of}` is not a buffer: give its value, or make it a \
                         slice"
                    ),
                );
                continue;
            }
            for ty in type_axis::possible(&parameter.scalar, &self.space.types) {
                let remedy = match (name.to_string().as_str(), signature::is_float(&ty)) {
                    ("permutation", true) => {
                        "gives whole numbers, and `X` is of T: take an integer type"
                    }
                    ("normal", false) => {
                        "gives floats, and `X` is of T: take random_in(n, low..high)"
                    }
                    _ => continue,
                };
                let remedy = remedy.replace('X', &of.to_string()).replace('T', &ty);
                errors.at(value, format!("`{name}` {remedy}"));
            }
        }
    }

    fn symbol(&self, function: &Ident, errors: &mut Errors) -> String {
        let own = function.to_string();
        let own = own.strip_prefix("r#").unwrap_or(&own);
        let (name, place) = match self.value("name") {
            Some(Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) => {
                (text.value(), text.span())
            }
            Some(other) => {
                errors.at(other, "expected a name in quotes");
                (own.to_owned(), function.span())
            }
            None => (own.to_owned(), function.span()),
        };
        let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !(name.starts_with(starts) && name.chars().all(|c| starts(c) || c.is_ascii_digit())) {
            errors.push(syn::Error::new(
                place,
                format!("`{name}` cannot name an entry point: PTX names are ASCII letters, digits and `_`; give one with name = \"…\""),
            ));
        }
        name
    }

    fn path(&self, key: &str, errors: &mut Errors) -> Option<Path> {
        match self.value(key)? {
            Expr::Path(path) if path.qself.is_none() => Some(path.path.clone()),
            other => {
                errors.at(other, format!("`{key}` takes a path: {}", example(key)));
                None
            }
        }
    }

    /// The name in `launcher = NAME`.
    fn launcher(&self, errors: &mut Errors) -> Option<Ident> {
        let value = self.value("launcher")?;
        let name = match value {
            Expr::Path(path) if path.qself.is_none() => path.path.get_ident().cloned(),
            _ => None,
        };
        if name.is_none() {
            let example = example("launcher");
            errors.at(value, format!("`launcher` takes the name of a new type: {example}"));
        }
        name
    }

    fn seed(&self, errors: &mut Errors) -> Option<u64> {
        let value = self.value("seed")?;
        let literal: syn::Result<LitInt> = syn::parse2(quote::ToTokens::to_token_stream(value));
        literal
            .and_then(|literal| literal.base10_parse())
            .map_err(|_| {
                errors.push(syn::Error::new(value.span(), "`seed` takes a whole number: seed = 42"))
            })
            .ok()
    }
}

/// The buffers of `tolerance(…)` or `compare(…)` with their values.
fn verification_list(key: &str, list: &Group, errors: &mut Errors) -> Vec<(Ident, Expr)> {
    let expected = format!("a buffer and its value: {}", example_of_buffers(key));
    let mut each = Vec::new();
    for Item { name, form } in items::split(list.stream(), &expected, errors) {
        match form {
            Form::Value(value) => {
                let value = errors.attempt(syn::parse2(value));
                each.extend(value.map(|value| (name, value)));
            }
            _ => errors.at(&name, format!("expected {expected}")),
        }
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_for_a_number_is_refused() {
        let item: ItemFn = syn::parse_quote!(
            unsafe fn k(n: u32, x: *const f32) {}
        );
        let parse = |arguments: &str| {
            let attribute = format!("series(block = [64]), grid = 1, args({arguments})");
            Kernel::parse(attribute.parse().unwrap(), &item, Home::Here)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            parse("random(4), random(4)").as_deref(),
            Some(
                "`random` fills a buffer, but `n` is not a buffer: give its value, or make it a slice"
            )
        );
        for generator in GENERATORS {
            assert!(parse(&format!("{generator}(4), zeros(4)")).is_some(), "{generator}");
        }
        assert_eq!(parse("mine::random(4), zeros(4)"), None);
        assert_eq!(parse("count(4), iota(4)"), None);
    }

    #[test]
    fn a_generator_beyond_the_element_type_is_refused() {
        let item: ItemFn = syn::parse_quote!(
            unsafe fn k(index: *const f16x2, x: &[u32]) {}
        );
        let parse = |arguments: &str| {
            let attribute = format!("series(block = [64]), grid = 1, args({arguments})");
            let read = Kernel::parse(attribute.parse().unwrap(), &item, Home::Here);
            read.err().map(|error| error.to_string())
        };
        assert_eq!(
            parse("permutation(4), zeros(4)").as_deref(),
            Some(
                "`permutation` gives whole numbers, and `index` is of f16x2: take an integer type"
            )
        );
        assert_eq!(
            parse("zeros(4), normal(4, 0, 1)").as_deref(),
            Some("`normal` gives floats, and `x` is of u32: take random_in(n, low..high)")
        );
        assert_eq!(parse("normal(4, 0, 1), permutation(4)"), None);
    }

    #[test]
    fn a_tolerance_is_refused_for_integers_only() {
        let parse = |verification: &str, types: &str, item: &ItemFn| {
            let attribute = format!(
                "series(block = [64]{types}), grid = 1, args(zeros(4), zeros(4)), verify = on_host, \
                 {verification}"
            );
            let read = Kernel::parse(attribute.parse().unwrap(), item, Home::Here);
            read.err().map(|error| error.to_string())
        };
        let integers: ItemFn = syn::parse_quote!(
            unsafe fn k(x: *mut u32, y: *mut i32x2) {}
        );
        let of_integers = |names: &str| {
            Some(format!(
                "integers must equal the reference's exactly, and {names} no floats: remove \
                 `tolerance`, or use compare = function"
            ))
        };
        assert_eq!(parse("tolerance = 0.1", "", &integers), of_integers("`x`, `y` hold"));
        assert_eq!(parse("tolerance(y = 0.1)", "", &integers), of_integers("`y` holds"));
        let mixed: ItemFn = syn::parse_quote!(
            unsafe fn k(x: *mut u32, y: *mut f32) {}
        );
        assert_eq!(parse("tolerance = 0.1", "", &mixed), None);
        assert_eq!(parse("tolerance(x = 0.1)", "", &mixed), of_integers("`x` holds"));
        let generic: ItemFn = syn::parse_quote!(
            unsafe fn k<T: Real>(x: *mut T, y: *mut u32) {}
        );
        assert_eq!(parse("tolerance = 0.1", ", T = [f32, u32]", &generic), None);
        assert_eq!(
            parse("tolerance = 0.1", ", T = [i64, u32]", &generic),
            of_integers("`x`, `y` hold")
        );
    }

    #[test]
    fn a_reference_for_a_kernel_that_writes_nothing_is_refused() {
        let parse = |item: ItemFn| {
            let attribute = "series(block = [64]), grid = 1, args(zeros(4)), verify = on_host";
            Kernel::parse(attribute.parse().unwrap(), &item, Home::Here)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            parse(syn::parse_quote!(
                unsafe fn k(x: *const f32) {}
            ))
            .as_deref(),
            Some(
                "`verify` compares the buffers that the kernel writes, and no parameter is a \
                 `DisjointSlice<T>` or `*mut T`: take the results through one, or remove `verify`"
            )
        );
        assert_eq!(
            parse(syn::parse_quote!(
                unsafe fn k(x: *mut f32) {}
            )),
            None
        );
    }
}
