//! Fragments that a `macro_rules!` macro passed on come in invisible groups; these look inside.

use syn::{Expr, Type};

/// The type without the groups and parentheses around it.
pub(crate) fn ty(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            other => return other,
        };
    }
}

/// The expression without the groups and parentheses around it.
pub(crate) fn expr(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::Group(group) => &group.expr,
            Expr::Paren(paren) => &paren.expr,
            other => return other,
        };
    }
}
