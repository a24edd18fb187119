//! `verify`, `tolerance` and `compare`: the host's reference, and the comparison with its output.
//!
//! Input: the parsed keys, and the kernel's parameters. Output: a [`Verification`], or every error
//! at its place; and the statements that fill the harness's `Checks` with it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprClosure, Path};

use crate::errors::Errors;
use crate::invisible_groups;
use crate::per_buffer::PerBuffer;
use crate::signature::{Parameter, Passing};
use crate::tolerance;
use crate::vocabulary::example;

/// A function, or a closure that uses the configuration.
pub(crate) enum Callable {
    Path(Path),
    Closure(ExprClosure),
}

/// How the results of a kernel are checked.
#[derive(Default)]
pub(crate) struct Verification {
    /// The host reference.
    pub(crate) verify: Option<Callable>,
    /// The tolerance of all buffers.
    pub(crate) tolerance: Option<Expr>,
    /// Those of one buffer each.
    pub(crate) tolerances: Vec<(Ident, Expr)>,
    /// The functions that compare one buffer each.
    pub(crate) comparers: Vec<(Ident, Callable)>,
}

impl Callable {
    /// The kind of the key's `value`.
    fn read(key: &str, value: &Expr, errors: &mut Errors) -> Option<Self> {
        match invisible_groups::expr(value) {
            Expr::Path(path) if path.qself.is_none() => Some(Self::Path(path.path.clone())),
            Expr::Closure(closure) => Some(Self::Closure(closure.clone())),
            other => {
                errors
                    .at(other, format!("`{key}` takes a function or a closure: {}", example(key)));
                None
            }
        }
    }
}

impl Verification {
    /// Reads the values of the keys; `written` is the form of an output parameter in this home.
    pub(crate) fn read(
        verify: Option<&Expr>,
        tolerance: Option<(Ident, PerBuffer)>,
        compare: Option<(Ident, PerBuffer)>,
        (parameters, written): (&[Parameter], &str),
        errors: &mut Errors,
    ) -> Self {
        let outputs: Vec<&Ident> = parameters
            .iter()
            .filter(|parameter| parameter.passing == Passing::Output)
            .map(|parameter| &parameter.name)
            .collect();
        if let Some(reference) = verify.filter(|_| outputs.is_empty()) {
            errors.at(
                reference,
                format!(
                    "`verify` compares the buffers that the kernel writes, and no parameter is a \
                     {written}: take the results through one, or remove `verify`"
                ),
            );
        }
        let mut read = Self {
            verify: verify.and_then(|value| Callable::read("verify", value, errors)),
            ..Self::default()
        };
        let given = [&tolerance, &compare].into_iter().flatten().map(|(key, _)| key);
        for key in given.filter(|_| verify.is_none()) {
            let message = format!(
                "`{key}` says how results compare with the reference's: add verify = \
                 function_on_host"
            );
            errors.at(key, message);
        }
        match tolerance.map(|(_, given)| given) {
            None => {}
            Some(PerBuffer::All(value)) => {
                tolerance::check(&value, errors);
                read.tolerance = Some(*value);
            }
            Some(PerBuffer::Each(each)) => {
                check_buffers(&each, &outputs, errors);
                each.iter().for_each(|(_, value)| tolerance::check(value, errors));
                read.tolerances = each;
            }
        }
        if let Some((_, given)) = compare {
            read.read_compare(given, &outputs, errors);
        }
        read
    }

    fn read_compare(&mut self, given: PerBuffer, outputs: &[&Ident], errors: &mut Errors) {
        let each = match given {
            PerBuffer::Each(each) => {
                check_buffers(&each, outputs, errors);
                each
            }
            PerBuffer::All(value) => match outputs {
                [only] => vec![((*only).clone(), *value)],
                [] => return,
                [first, ..] => {
                    let names = list(outputs);
                    errors.at(
                        value,
                        format!(
                            "the kernel writes {names}: name the one that this compares, compare({first} \
                             = function)"
                        ),
                    );
                    return;
                }
            },
        };
        for (buffer, value) in each {
            if self.tolerances.iter().any(|(other, _)| *other == buffer) {
                errors.at(
                    &buffer,
                    format!(
                        "`{buffer}` has a tolerance and a function that compares it: remove one of them"
                    ),
                );
            }
            let callable = Callable::read("compare", &value, errors);
            self.comparers.extend(callable.map(|callable| (buffer, callable)));
        }
    }

    /// The statements that make `checks`, to be given to the launch.
    pub(crate) fn statements(
        &self,
        parameters: &[Parameter],
        gp: &TokenStream,
        checks: &Ident,
    ) -> TokenStream {
        let tolerance = self.tolerance.as_ref().map(|value| {
            let value = in_words_of_tolerances(value, gp);
            quote_spanned!(inner(&value)=> #checks.tolerance(#value)?;)
        });
        let tolerances = self.tolerances.iter().map(|(buffer, value)| {
            let (name, value) = (buffer.to_string(), in_words_of_tolerances(value, gp));
            quote_spanned!(inner(&value)=> #checks.tolerance_of(#name, #value)?;)
        });
        let comparers = self.comparers.iter().filter_map(|(buffer, callable)| {
            let of = parameters.iter().find(|parameter| parameter.name == *buffer)?;
            let (name, scalar) = (buffer.to_string(), &of.scalar);
            let value = match callable {
                Callable::Path(path) => path.to_token_stream(),
                Callable::Closure(closure) => closure.to_token_stream(),
            };
            Some(quote_spanned!(inner(&value)=> #checks.compare::<#scalar, _>(#name, #value);))
        });
        let verify = self.verify.as_ref().map(|callable| verify(callable, parameters, gp, checks));
        quote! {
            let mut #checks = #gp::Checks::new();
            #tolerance
            #(#tolerances)*
            #(#comparers)*
            #verify
        }
    }
}

/// `value`, which may call the functions of tolerances.
fn in_words_of_tolerances(value: &Expr, gp: &TokenStream) -> TokenStream {
    quote_spanned! {inner(value)=>
        {
            #[allow(unused_imports)]
            use #gp::tolerances::*;
            #value
        }
    }
}

/// Refuses names of buffers that the kernel does not write.
fn check_buffers(each: &[(Ident, Expr)], outputs: &[&Ident], errors: &mut Errors) {
    for (at, (buffer, _)) in each.iter().enumerate() {
        if each[..at].iter().any(|(other, _)| other == buffer) {
            errors.at(buffer, format!("`{buffer}` is given twice"));
        } else if !outputs.contains(&buffer) {
            errors.at(
                buffer,
                format!(
                    "`{buffer}` is not a buffer that the kernel writes: it writes {}",
                    list(outputs)
                ),
            );
        }
    }
}

/// `` `a` and `b` ``.
fn list(names: &[&Ident]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => format!("`{one}`"),
        [others @ .., last] => {
            let others: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
            format!("{} and `{last}`", others.join(", "))
        }
    }
}

/// Hands the host reference its arguments: scalars by value, buffers as slices.
fn verify(
    callable: &Callable,
    parameters: &[Parameter],
    gp: &TokenStream,
    checks: &Ident,
) -> TokenStream {
    let at = match callable {
        Callable::Path(path) => inner(path),
        Callable::Closure(closure) => inner(closure),
    };
    let h = Ident::new("h", proc_macro2::Span::mixed_site());
    let (mut takes, mut passes) = (Vec::new(), Vec::new());
    let (mut puts, mut types) = (Vec::new(), Vec::new());
    for (position, parameter) in parameters.iter().enumerate() {
        let (p, scalar) = (format_ident!("p{position}", span = at), &parameter.scalar);
        match parameter.passing {
            Passing::Scalar | Passing::Value => {
                takes.push(quote!(let #p: #scalar = #h.scalar(#position);));
                passes.push(p.to_token_stream());
                types.push(quote!(#scalar));
            }
            Passing::Input => {
                takes.push(quote!(let #p: ::std::vec::Vec<#scalar> = #h.take(#position);));
                passes.push(quote_spanned!(at=> &#p));
                types.push(quote!(&[#scalar]));
            }
            Passing::Output => {
                takes.push(quote!(let mut #p: ::std::vec::Vec<#scalar> = #h.take(#position);));
                passes.push(quote_spanned!(at=> &mut #p));
                puts.push(quote!(#h.put(#position, #p);));
                types.push(quote!(&mut [#scalar]));
            }
        }
    }
    let (made, call) = match callable {
        Callable::Path(path) => (None, quote_spanned!(at=> #path(#(#passes),*);)),
        Callable::Closure(closure) => {
            let reference = Ident::new("reference", proc_macro2::Span::mixed_site());
            // The bound gives the closure's parameters their types. This function must have another
            // name than any function that the closure calls.
            let made = quote_spanned! {at=>
                fn __gpuprof_typed<F: ::core::ops::FnMut(#(#types),*)>(reference: F) -> F {
                    reference
                }
                let mut #reference = __gpuprof_typed(#closure);
            };
            (Some(made), quote_spanned!(at=> #reference(#(#passes),*);))
        }
    };
    quote! {
        #made
        #checks.verify(|#h: &mut #gp::HostArguments| { #(#takes)* #call #(#puts)* });
    }
}

/// The place of `tokens`, for names that only the expansion sees: type errors then point there.
fn inner(tokens: impl Spanned) -> proc_macro2::Span {
    tokens.span().resolved_at(proc_macro2::Span::mixed_site())
}
