//! The rules for a kernel's signature: a function over scalars, slices of them and pointers to
//! them.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    FnArg, GenericArgument, ItemFn, Pat, PathArguments, PointerMutability, ReturnType, Safety, Type,
};

use crate::errors::Errors;
use crate::invisible_groups;
use crate::type_axis::{self, TypeAxis};

/// The types that a kernel may take and point to. Pairs and vectors cannot be taken by value, which
/// is a type error in the registration.
const SCALARS: [&str; 34] = [
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64", "f16",
    "bf16", "f16x2", "bf16x2", "u8x4", "u32x2", "i32x2", "f32x2", "f16x4", "bf16x4", "u32x4",
    "i32x4", "f32x4", "u64x2", "i64x2", "f64x2", "f16x8", "bf16x8", "f32x8", "u32x8", "i32x8",
    "f64x4",
];

/// How a kernel takes one of its parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// By value, as a number of its type.
    Scalar,
    /// By value, as it is: a `bool` or a struct.
    Value,
    /// `*const T` or `&[T]`: device memory that the kernel reads.
    Input,
    /// `*mut T` or `DisjointSlice<T>`: device memory that the kernel writes.
    Output,
}

/// One parameter of a kernel.
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: Ident,
    /// How it is passed.
    pub(crate) passing: Passing,
    /// The scalar type, or the pointer's element type.
    pub(crate) scalar: Type,
    /// Whether the kernel gets the number of elements: a slice.
    pub(crate) sliced: bool,
}

/// Whose kernel it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Ours.
    Ours,
    /// One of cuda-oxide, which also takes `&mut [T]` and needs no `unsafe`.
    Oxide,
}

/// Reads the parameters of `item`, a kernel of the `dialect` that is generic over `types`, and
/// refuses invalid ones.
pub(crate) fn parameters(
    item: &ItemFn,
    (dialect, types): (Dialect, &[TypeAxis]),
    errors: &mut Errors,
) -> Vec<Parameter> {
    let signature = &item.sig;
    let is_safe = !matches!(signature.safety, Safety::Unsafe(_));
    if dialect == Dialect::Ours && is_safe && signature.inputs.iter().any(is_pointer) {
        errors.at(
            signature.fn_token,
            "a kernel with pointers must be an `unsafe fn`, since the caller vouches for them: make it \
             one, or take `&[T]` and `DisjointSlice<T>`",
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
            "a kernel cannot return a value: write results through a `DisjointSlice<T>` or a `*mut T`",
        );
    }
    let types = type_axis::of_generics(&signature.generics, types);
    let read = |input| parameter(input, (dialect, &types), errors);
    signature.inputs.iter().filter_map(read).collect()
}

fn parameter(
    input: &FnArg,
    (dialect, types): (Dialect, &[TypeAxis]),
    errors: &mut Errors,
) -> Option<Parameter> {
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
    let (passing, scalar, sliced) = classify(&typed.ty, dialect, errors)?;
    if let Some(axis) = type_axis::find_axis(scalar, types) {
        let passing = of_axis(axis, passing, &name.as_ref()?.to_string(), errors)?;
        return Some(Parameter { name: name?, passing, scalar: scalar.clone(), sliced });
    }
    if passing == Passing::Scalar && is_value(scalar) {
        return Some(Parameter {
            name: name?,
            passing: Passing::Value,
            scalar: scalar.clone(),
            sliced,
        });
    }
    if !is_scalar(scalar) {
        errors.at(
            &typed.ty,
            format!(
                "a kernel cannot take `{}`: its parameters are numbers of fixed size, `bool`, structs \
                 that derive gpuprof::Parameter, or `&[T]`, `DisjointSlice<T>`, `*const T` and `*mut T` \
                 of numbers",
                text(&typed.ty)
            ),
        );
        return None;
    }
    Some(Parameter { name: name?, passing, scalar: scalar.clone(), sliced })
}

/// How a parameter of the type `ty` is passed, its element type, and whether it is a slice.
fn classify<'t>(
    ty: &'t Type,
    dialect: Dialect,
    errors: &mut Errors,
) -> Option<(Passing, &'t Type, bool)> {
    Some(match invisible_groups::ty(ty) {
        Type::Ptr(pointer) if matches!(pointer.mutability, PointerMutability::Mut(_)) => {
            (Passing::Output, invisible_groups::ty(&pointer.elem), false)
        }
        Type::Ptr(pointer) => (Passing::Input, invisible_groups::ty(&pointer.elem), false),
        Type::Reference(reference) => match invisible_groups::ty(&reference.elem) {
            Type::Slice(slice) if reference.mutability.is_none() => {
                (Passing::Input, invisible_groups::ty(&slice.elem), true)
            }
            Type::Slice(slice) if dialect == Dialect::Oxide => {
                (Passing::Output, invisible_groups::ty(&slice.elem), true)
            }
            Type::Slice(slice) => {
                errors.at(ty, shared_by_all(&slice.elem));
                return None;
            }
            _ => (Passing::Scalar, invisible_groups::ty(ty), false),
        },
        Type::ImplTrait(_) if dialect == Dialect::Oxide => {
            errors.at(
                ty,
                "a closure cannot be made by an annotation: launch the kernel in a function with \
                 #[gpuprof::series]",
            );
            return None;
        }
        other => match disjoint(other, dialect) {
            Some(element) => (Passing::Output, invisible_groups::ty(element), true),
            None => (Passing::Scalar, other, false),
        },
    })
}

/// How a parameter called `name` is passed that consists of the types of `axis`: memory holds
/// numbers, and what is taken by value is a number with every type or a struct with every type.
fn of_axis(axis: &TypeAxis, passing: Passing, name: &str, errors: &mut Errors) -> Option<Passing> {
    let is_number = |value: &&Ident| SCALARS.iter().any(|scalar| *value == scalar);
    let other = axis.values.iter().find(|value| !is_number(value));
    match (passing, other) {
        (_, None) => Some(passing),
        (Passing::Scalar, Some(_)) if !axis.values.iter().any(|value| is_number(&value)) => {
            Some(Passing::Value)
        }
        (_, Some(other)) => {
            errors.at(
                other,
                format!(
                    "`{name}` cannot be of type `{other}`: a kernel's parameters are numbers of fixed \
                     size, or pointers to them"
                ),
            );
            None
        }
    }
}

/// Why a kernel cannot take `&mut [element]`.
fn shared_by_all(element: &Type) -> String {
    let element = text(element);
    format!(
        "a kernel cannot take `&mut [{element}]`: all threads would hold it at once, but `&mut` promises \
         exclusive access; take a `DisjointSlice<{element}>`, each element of which belongs to one \
         thread"
    )
}

/// Whether the type called `name` is a float, or consists of floats.
pub(crate) fn is_float(name: &str) -> bool {
    name.starts_with('f') || name.starts_with("bf")
}

/// `ty` as people write it.
pub(crate) fn text(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    let text = text.replace("& ", "&").replace("* ", "*").replace(" :: ", "::");
    text.replace(" < ", "<").replace(" >", ">")
}

fn is_pointer(input: &FnArg) -> bool {
    matches!(input, FnArg::Typed(typed) if matches!(invisible_groups::ty(&typed.ty), Type::Ptr(_)))
}

/// The `T` of `DisjointSlice<T>` or `gpuprof::DisjointSlice<'_, T>`; that of cuda-oxide may name
/// the space of its indices as well.
fn disjoint(ty: &Type, dialect: Dialect) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "DisjointSlice")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.next().filter(|_| dialect == Dialect::Oxide || types.next().is_none())
}

/// Whether `ty` is passed by value without being a number: `bool`, or a possible struct.
pub(crate) fn is_value(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last().filter(|_| path.qself.is_none()) else {
        return false;
    };
    let name = last.ident.to_string();
    name == "bool" || name != "DisjointSlice" && name.starts_with(|c: char| c.is_ascii_uppercase())
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
        let item: ItemFn = syn::parse_str(text).unwrap();
        let values = |all: &[&str]| all.iter().map(|ty| syn::parse_str(ty).unwrap()).collect();
        let types = [
            TypeAxis { name: syn::parse_quote!(T), values: values(&["f32", "f16"]) },
            TypeAxis { name: syn::parse_quote!(S), values: values(&["Shape", "Size"]) },
            TypeAxis { name: syn::parse_quote!(M), values: values(&["u32", "Shape"]) },
        ];
        let parameters = parameters(&item, (Dialect::Ours, &types), &mut errors);
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
    fn a_parameter_may_have_a_type_of_an_axis() {
        let Ok(read) = check("unsafe fn k<T, S>(a: T, s: S, x: &[T], y: *mut T) {}") else {
            panic!("refused");
        };
        assert!(
            read == [
                ("a".into(), Passing::Scalar),
                ("s".into(), Passing::Value),
                ("x".into(), Passing::Input),
                ("y".into(), Passing::Output)
            ]
        );
        for text in ["fn k<S>(x: &[S]) {}", "fn k<M>(m: M) {}"] {
            let Err(message) = check(text) else { panic!("accepted") };
            assert!(message.contains("cannot be of type `Shape`"), "{message}");
        }
        assert!(
            check("fn k<U>(x: &[U]) {}").is_ok(),
            "its types are missing, which is reported elsewhere"
        );
    }

    #[test]
    fn all_errors_of_a_signature_are_reported_at_once() {
        let text = "async fn k(x: &mut [f32], y: *mut f32, _: u32, z: &f32) -> u32 { 0 }";
        let Err(message) = check(text) else {
            panic!("accepted");
        };
        let parts: Vec<&str> = message.split(" | ").collect();
        assert_eq!(parts.len(), 6, "{parts:?}");
        assert!(parts[0].starts_with("a kernel with pointers must be an `unsafe fn`"));
        assert_eq!(parts[1], "a kernel cannot be `async`");
        assert!(parts[2].starts_with("a kernel cannot return a value"));
        assert!(parts[3].starts_with("a kernel cannot take `&mut [f32]`: all"), "{}", parts[3]);
        assert_eq!(parts[4], "give the parameter a plain name");
        assert!(parts[5].starts_with("a kernel cannot take `&f32`: its"), "{}", parts[5]);
    }

    #[test]
    fn kernels_of_cuda_oxide_take_the_slices_of_cuda_oxide() {
        let mut errors = Errors::default();
        let item = "fn k(x: *const f32, a: &mut [u32], y: DisjointSlice<f64, Runtime2DIndex>) {}";
        let read = parameters(&syn::parse_str(item).unwrap(), (Dialect::Oxide, &[]), &mut errors);
        errors.into_result().unwrap();
        let written: Vec<bool> = read.iter().map(|it| it.passing == Passing::Output).collect();
        let sliced: Vec<bool> = read.iter().map(|it| it.sliced).collect();
        assert_eq!((written, sliced), (vec![false, true, true], vec![false, true, true]));
    }

    #[test]
    fn slices_are_parameters_and_need_no_unsafe() {
        let Ok(read) = check("fn k(x: &[f32], mut y: gpuprof::DisjointSlice<'_, f64>) {}") else {
            panic!("refused");
        };
        assert!(read == [("x".into(), Passing::Input), ("y".into(), Passing::Output)]);
    }
}
