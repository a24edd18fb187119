//! What a kernel's signature must be: `unsafe fn` over scalars and pointers to scalars.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{FnArg, ItemFn, Pat, PointerMutability, ReturnType, Safety, Type};

use crate::bare;
use crate::errors::Errors;

/// The scalar types that a kernel may take and point to.
const SCALARS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64"];

/// How a kernel takes one of its parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// By value.
    Scalar,
    /// `*const T`: device memory that the kernel reads.
    Input,
    /// `*mut T`: device memory that the kernel writes.
    Output,
}

/// One parameter of a kernel.
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: Ident,
    /// How it is passed.
    pub(crate) passing: Passing,
    /// The scalar type, or what the pointer points to.
    pub(crate) scalar: Type,
}

/// Reads the parameters of `item`, and refuses what cannot be a kernel.
pub(crate) fn parameters(item: &ItemFn, errors: &mut Errors) -> Vec<Parameter> {
    let signature = &item.sig;
    if !matches!(signature.safety, Safety::Unsafe(_)) {
        errors.at(
            signature.fn_token,
            "a kernel must be an `unsafe fn`: the caller vouches for its pointers",
        );
    }
    if let Some(keyword) = &signature.asyncness {
        errors.at(keyword, "a kernel cannot be `async`");
    }
    if let Some(keyword) = &signature.constness {
        errors.at(keyword, "a kernel cannot be `const`");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "remove the ABI: the attribute sets the one that a kernel has");
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        errors.at(
            &signature.output,
            "a kernel cannot return a value: write results through a `*mut T`",
        );
    }
    signature.inputs.iter().filter_map(|input| parameter(input, errors)).collect()
}

fn parameter(input: &FnArg, errors: &mut Errors) -> Option<Parameter> {
    let FnArg::Typed(typed) = input else {
        errors.at(input, "a kernel must be a free function: it cannot take `self`");
        return None;
    };
    let name = match &*typed.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Some(pattern.ident.clone())
        }
        other => {
            errors.at(other, "give the parameter a plain name");
            None
        }
    };
    let (passing, scalar) = match bare::ty(&typed.ty) {
        Type::Ptr(pointer) if matches!(pointer.mutability, PointerMutability::Mut(_)) => {
            (Passing::Output, bare::ty(&pointer.elem))
        }
        Type::Ptr(pointer) => (Passing::Input, bare::ty(&pointer.elem)),
        other => (Passing::Scalar, other),
    };
    if !is_scalar(scalar) {
        errors.at(
            &typed.ty,
            format!(
                "a kernel cannot take `{}`: its parameters are whole numbers or floats of fixed size, \
                 or `*const T` and `*mut T` to them",
                typed.ty.to_token_stream().to_string().replace("& ", "&").replace("* ", "*")
            ),
        );
        return None;
    }
    Some(Parameter { name: name?, passing, scalar: scalar.clone() })
}

fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none()
        && path.path.get_ident().is_some_and(|name| SCALARS.iter().any(|scalar| name == scalar)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Vec<(String, Passing)>, String> {
        let mut errors = Errors::default();
        let parameters = parameters(&syn::parse_str(text).unwrap(), &mut errors);
        errors.into_result().map_err(|all| {
            all.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | ")
        })?;
        Ok(parameters.into_iter().map(|p| (p.name.to_string(), p.passing)).collect())
    }

    #[test]
    fn scalars_and_pointers_to_scalars_are_parameters() {
        let Ok(read) = check("unsafe fn k(mut n: u32, x: *const f32, y: *mut f64) -> () {}") else {
            panic!("refused");
        };
        assert!(
            read == [
                ("n".into(), Passing::Scalar),
                ("x".into(), Passing::Input),
                ("y".into(), Passing::Output)
            ]
        );
    }

    #[test]
    fn everything_wrong_with_a_signature_is_said_at_once() {
        let Err(message) = check("async fn k<const N: usize>(x: &[f32], _: u32) -> u32 { 0 }")
        else {
            panic!("accepted");
        };
        let parts: Vec<&str> = message.split(" | ").collect();
        assert_eq!(parts.len(), 5, "{parts:?}");
        assert!(parts[0].starts_with("a kernel must be an `unsafe fn`"));
        assert_eq!(parts[1], "a kernel cannot be `async`");
        assert!(parts[2].starts_with("a kernel cannot return a value"));
        assert!(parts[3].starts_with("a kernel cannot take `&[f32]`"), "{}", parts[3]);
        assert_eq!(parts[4], "give the parameter a plain name");
    }
}
