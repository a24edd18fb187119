//! `tolerance` and `reset`, as far as they can be checked where they are written.
//!
//! Input: the keys' values. Output: an error at its place for a tolerance that nothing can meet or
//! that checks nothing, if it is a literal; what is computed is checked when it has its value.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, Lit, UnOp};

use crate::errors::Errors;
use crate::invisible_groups;
use crate::per_buffer::PerBuffer;
use crate::signature::{Parameter, Passing};
use crate::type_axis::{self, TypeAxis};
use crate::vocabulary::example;

/// Checks the literals in `value`, the tolerance.
pub(crate) fn check(value: &Expr, errors: &mut Errors) {
    match invisible_groups::expr(value) {
        Expr::Tuple(pair) if pair.elems.len() == 2 => {
            pair.elems.iter().for_each(|part| check_part(invisible_groups::expr(part), true, errors));
        }
        Expr::Tuple(other) => errors.at(
            other,
            "`tolerance` takes a number, or a pair of the absolute and the relative part: tolerance = (1e-7, \
             1e-5)",
        ),
        part => check_part(part, true, errors),
    }
}

/// Checks a part; for a share also that zeros would not pass.
fn check_part(part: &Expr, share: bool, errors: &mut Errors) {
    let refused = match part {
        Expr::Call(call) => {
            let share = !matches!(&*call.func, Expr::Path(path) if path.path.is_ident("absolute"));
            return call
                .args
                .iter()
                .for_each(|part| check_part(invisible_groups::expr(part), share, errors));
        }
        Expr::Unary(minus) if matches!(minus.op, UnOp::Neg(_)) => {
            matches!(invisible_groups::expr(&minus.expr), Expr::Lit(_) | Expr::Path(_))
        }
        Expr::Lit(literal) => !matches!(literal.lit, Lit::Int(_) | Lit::Float(_)),
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            ["NAN", "INFINITY", "NEG_INFINITY"].iter().any(|n| last.ident == n)
        }),
        _ => false,
    };
    if share && literal(part).is_some_and(|value| value >= 1.0) {
        errors.at(
            part,
            "with 1 or more a buffer of zeros would pass: write less than 1, or the absolute part in the buffer's \
             unit, tolerance = absolute(…)",
        );
    }
    if refused {
        let example = example("tolerance");
        errors.at(part, format!("a tolerance is a number that is not negative: {example}"));
    }
}

/// The value of a number that is written as one.
fn literal(part: &Expr) -> Option<f64> {
    let Expr::Lit(literal) = part else { return None };
    match &literal.lit {
        Lit::Int(number) => number.base10_digits().parse().ok(),
        Lit::Float(number) => number.base10_digits().parse().ok(),
        _ => None,
    }
}

/// Refuses a tolerance for buffers of integers alone, which must equal the reference's.
pub(crate) fn check_types(
    given: &PerBuffer,
    parameters: &[Parameter],
    types: &[TypeAxis],
    errors: &mut Errors,
) {
    let outputs = || parameters.iter().filter(|parameter| parameter.passing == Passing::Output);
    let holds_integers = |parameter: &Parameter| {
        type_axis::possible(&parameter.scalar, types).iter().all(|ty| is_integer(ty))
    };
    let mut refuse = |place: &dyn ToTokens, names: String| {
        let message = format!(
            "integers must equal the reference's exactly, and {names} no floats: remove \
             `tolerance`, or use compare = function"
        );
        errors.at(place, message);
    };
    match given {
        PerBuffer::All(value) if outputs().all(holds_integers) => {
            let names: Vec<String> = outputs().map(|output| format!("`{}`", output.name)).collect();
            match names.as_slice() {
                [] => {}
                [one] => refuse(value, format!("{one} holds")),
                several => refuse(value, format!("{} hold", several.join(", "))),
            }
        }
        PerBuffer::All(_) => {}
        PerBuffer::Each(each) => {
            let of_integers = |name: &Ident| {
                outputs().any(|output| output.name == *name && holds_integers(output))
            };
            let refused = each.iter().filter(|(name, _)| of_integers(name));
            refused.for_each(|(name, _)| refuse(name, format!("`{name}` holds")));
        }
    }
}

/// Whether the type called `name` is an integer, or a vector of integers.
fn is_integer(name: &str) -> bool {
    let bits = name.strip_prefix(['u', 'i']).map(|rest| rest.split('x').next().unwrap_or(rest));
    bits.is_some_and(|bits| bits == "size" || bits.parse::<u8>().is_ok())
}

/// The variant of `Reset` that `value` names.
pub(crate) fn reset(value: &Expr, errors: &mut Errors) -> Option<Ident> {
    let name = match value {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    };
    let variant = match name.as_deref() {
        Some("each") => "Each",
        Some("once") => "Once",
        _ => {
            errors.at(
                value,
                "`reset` is `each` (inputs are restored before every timed sample) or `once` (a sample \
                 continues from what the previous one left)",
            );
            return None;
        }
    };
    Some(Ident::new(variant, value.span().resolved_at(Span::mixed_site())))
}
