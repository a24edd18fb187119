//! The parameters of a declared kernel: the types of Rust that CUDA C++ has too.
//!
//! Input: the declaration. Output: its parameters, and how CUDA C++ spells each.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Pat, PointerMutability, ReturnType, Type};

use crate::crate_path;
use crate::errors::Errors;
use crate::invisible_groups;
use crate::signature::{self, Parameter, Passing};
use crate::type_axis::{self, TypeAxis};

/// The types that a declared kernel may point to, with their spelling in CUDA C++. The first
/// [`BY_VALUE`] may be taken by value.
const TYPES: [(&str, &str, u32); 26] = [
    ("bool", "bool", 1),
    ("u8", "unsigned char", 1),
    ("i8", "signed char", 1),
    ("u16", "unsigned short", 2),
    ("i16", "short", 2),
    ("u32", "unsigned int", 4),
    ("i32", "int", 4),
    ("u64", "unsigned long long", 8),
    ("i64", "long long", 8),
    ("usize", "unsigned long", 8),
    ("isize", "long", 8),
    ("f32", "float", 4),
    ("f64", "double", 8),
    ("f16", "__half", 2),
    ("bf16", "__nv_bfloat16", 2),
    ("f16x2", "__half2", 4),
    ("bf16x2", "__nv_bfloat162", 4),
    ("u8x4", "uchar4", 4),
    ("u32x2", "uint2", 8),
    ("i32x2", "int2", 8),
    ("f32x2", "float2", 8),
    ("u32x4", "uint4", 16),
    ("i32x4", "int4", 16),
    ("f32x4", "float4", 16),
    ("u64x2", "ulonglong2", 16),
    ("f64x2", "double2", 16),
];

/// How many of [`TYPES`] may be taken by value.
const BY_VALUE: usize = 15;

/// The bytes of an address.
const ADDRESS: u32 = 8;

/// Reads the parameters of the declaration `item`, which is generic over `types`, and refuses
/// anything that no kernel declares.
pub(crate) fn parameters(item: &ItemFn, types: &[TypeAxis], errors: &mut Errors) -> Vec<Parameter> {
    let signature = &item.sig;
    if let Some(dots) = &signature.variadic {
        errors.at(dots, "a kernel takes a fixed number of parameters");
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        errors.at(
            &signature.output,
            "a kernel cannot return a value: it writes results through a `*mut T`",
        );
    }
    let types = type_axis::of_generics(&signature.generics, types);
    signature.inputs.iter().filter_map(|input| parameter(input, &types, errors)).collect()
}

fn parameter(input: &FnArg, types: &[TypeAxis], errors: &mut Errors) -> Option<Parameter> {
    let FnArg::Typed(typed) = input else {
        errors.at(input, "a kernel is a free function: it cannot take `self`");
        return None;
    };
    let name = match &*typed.pat {
        Pat::Ident(pattern) if pattern.ident != "_" => pattern.ident.clone(),
        other => {
            errors.at(other, "give the parameter a plain name");
            return None;
        }
    };
    let (passing, scalar) = match invisible_groups::ty(&typed.ty) {
        Type::Ptr(pointer) if matches!(pointer.mutability, PointerMutability::Mut(_)) => {
            (Passing::Output, invisible_groups::ty(&pointer.elem))
        }
        Type::Ptr(pointer) => (Passing::Input, invisible_groups::ty(&pointer.elem)),
        other if is_bool(other) || is_struct(other, types) => (Passing::Value, other),
        other => (Passing::Scalar, other),
    };
    check_attributes(typed, is_struct(invisible_groups::ty(&typed.ty), types), errors);
    if let Some(axis) = type_axis::find_axis(scalar, types) {
        check_types(axis, passing, &name, errors)?;
        return Some(Parameter { name, passing, scalar: scalar.clone(), sliced: false });
    }
    let known = row(scalar);
    if passing == Passing::Value && known.is_none() {
        return Some(Parameter { name, passing, scalar: scalar.clone(), sliced: false });
    }
    let by_value = || TYPES[..BY_VALUE].iter().any(|row| Some(row) == known);
    let to_bool = is_bool(scalar) && passing != Passing::Value;
    if known.is_none() || to_bool || passing == Passing::Scalar && !by_value() {
        errors.at(&typed.ty, refused(&typed.ty));
        return None;
    }
    Some(Parameter { name, passing, scalar: scalar.clone(), sliced: false })
}

/// Refuses a parameter called `name` with the types of `axis`, if one of them is not a type that a
/// declared kernel takes so.
fn check_types(axis: &TypeAxis, passing: Passing, name: &Ident, errors: &mut Errors) -> Option<()> {
    let rows = match passing {
        Passing::Scalar | Passing::Value => &TYPES[1..BY_VALUE],
        Passing::Input | Passing::Output => &TYPES[1..],
    };
    let Some(other) = axis.values.iter().find(|ty| rows.iter().all(|(rust, ..)| *ty != rust))
    else {
        return Some(());
    };
    let names: Vec<&str> = rows.iter().map(|(rust, ..)| *rust).collect();
    errors.at(
        other,
        format!("`{name}` cannot be of type `{other}`: here it takes {}", names.join(", ")),
    );
    None
}

/// Whether Rust has the type called `name` as well: whether it is a number.
pub(crate) fn is_number(name: &Ident) -> bool {
    TYPES.iter().any(|(rust, ..)| name == rust)
}

/// How CUDA C++ spells the type called `rust`, and its bytes: what is unknown, such as a functor,
/// is called as it is and never passed.
pub(crate) fn spelled_type(rust: &str) -> (String, u32) {
    let known = TYPES.iter().find(|(name, ..)| *name == rust);
    known.map_or((rust.to_owned(), 0), |(_, cpp, bytes)| ((*cpp).to_owned(), *bytes))
}

fn is_bool(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("bool"))
}

fn row(ty: &Type) -> Option<&'static (&'static str, &'static str, u32)> {
    let Type::Path(path) = ty else { return None };
    let mut segments = path.path.segments.iter().filter(|_| path.qself.is_none());
    let name = &segments.next_back()?.ident;
    // Of a longer path only the first name says whose type it is.
    let is_known = segments.next().is_none_or(|first| {
        let gpuprof = crate_path::gpuprof();
        let ours = gpuprof.segments.last().is_some_and(|own| own.ident == first.ident);
        ours || first.ident == "core" || first.ident == "std"
    });
    TYPES.iter().find(|(rust, ..)| is_known && name == rust)
}

/// Whether it is a number, or consists of numbers: the element of an array.
pub(super) fn is_held(ty: &Type) -> bool {
    row(ty).is_some() && !is_bool(ty)
}

/// Whether it is a number.
pub(super) fn is_scalar(ty: &Type) -> bool {
    is_held(ty) && TYPES[..BY_VALUE].iter().any(|known| Some(known) == row(ty))
}

/// The bytes of a type that CUDA C++ has too; 0 of another one.
pub(super) fn bytes(ty: &Type) -> u32 {
    row(ty).map_or(0, |(_, _, bytes)| *bytes)
}

/// Whether it can only be a struct, which derives gpuprof::Parameter.
fn is_struct(ty: &Type, types: &[TypeAxis]) -> bool {
    row(ty).is_none() && type_axis::find_axis(ty, types).is_none() && signature::is_value(ty)
}

/// Refuses attributes of a parameter but `#[link_name = "ns::Config"]` on a struct.
fn check_attributes(typed: &syn::PatType, is_struct: bool, errors: &mut Errors) {
    for attribute in &typed.attrs {
        if !attribute.path().is_ident("link_name") {
            errors.at(attribute, "a parameter has no attributes but #[link_name = \"ns::Config\"]");
        } else if !is_struct {
            errors.at(attribute, "only a struct has another name in C++: remove it");
        } else if link_name(typed).is_none() {
            errors.at(
                attribute,
                "write #[link_name = \"ns::Config\"], with the struct's name in C++",
            );
        }
    }
}

/// The C++ name of a parameter's struct, if given.
fn link_name(typed: &syn::PatType) -> Option<String> {
    typed.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("link_name") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The refusal of `ty`, with the types that a declared kernel can take.
fn refused(ty: &Type) -> String {
    if matches!(invisible_groups::ty(ty), Type::Ptr(pointer) if is_void(&pointer.elem)) {
        return "say what the elements are, such as `*const u8`: what the kernel takes as `void *` may be \
                declared as a pointer to anything"
            .to_owned();
    }
    let text = signature::text(ty);
    if let Type::Ptr(pointer) = invisible_groups::ty(ty)
        && matches!(invisible_groups::ty(&pointer.elem), Type::Path(_))
        && row(invisible_groups::ty(&pointer.elem)).is_none()
    {
        let is_const = matches!(pointer.mutability, PointerMutability::Const(_));
        let (bytes, of) = (if is_const { "const" } else { "mut" }, signature::text(&pointer.elem));
        return format!(
            "a declared kernel cannot take `{text}`: if `{of}` is another name of a number, write \
             the number; a buffer of structs is declared by its bytes, `*{bytes} u8`, or by the \
             numbers that they consist of"
        );
    }
    let names = |rows: &[(&str, &str, u32)]| {
        rows.iter().map(|(rust, ..)| *rust).collect::<Vec<_>>().join(", ")
    };
    format!(
        "a declared kernel cannot take `{}`: it takes bool, {} and structs that derive \
         gpuprof::Parameter by value, and `*const T` and `*mut T` of these numbers, and of {}",
        text,
        names(&TYPES[1..BY_VALUE]),
        names(&TYPES[BY_VALUE..])
    )
}

fn is_void(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|it| it.ident == "c_void"))
}

/// The type of a parameter, for the registry.
pub(crate) struct TypeNames {
    /// Its Rust spelling, in which `{T}` is replaced by the type of an axis.
    pub(crate) rust: String,
    /// As CUDA C++ spells it.
    pub(crate) cpp: String,
    /// Its bytes.
    pub(crate) bytes: TokenStream,
    /// Of a struct, its alignment.
    pub(crate) align: TokenStream,
}

/// The type of `parameter`, which is declared as `input`.
pub(crate) fn spelled(parameter: &Parameter, input: &FnArg, types: &[TypeAxis]) -> TypeNames {
    let (axis, known) = (type_axis::find_axis(&parameter.scalar, types), row(&parameter.scalar));
    if let (None, None, FnArg::Typed(typed)) = (axis, known, input) {
        return structure(typed);
    }
    let scalar = known.map_or_else(
        || parameter.scalar.to_token_stream().to_string(),
        |(rust, ..)| (*rust).to_owned(),
    );
    let (cpp, bytes) = known.map_or(("void", 0), |(_, cpp, bytes)| (cpp, *bytes));
    let axis = axis.map(|axis| format!("{{{}}}", axis.name));
    let (scalar, cpp) = match &axis {
        Some(placeholder) => (placeholder.clone(), placeholder.as_str()),
        None => (scalar, cpp),
    };
    let (rust, cpp, bytes) = match parameter.passing {
        Passing::Scalar | Passing::Value => (scalar, cpp.to_owned(), bytes),
        Passing::Input => (format!("*const {scalar}"), format!("const {cpp} *"), ADDRESS),
        Passing::Output => (format!("*mut {scalar}"), format!("{cpp} *"), ADDRESS),
    };
    TypeNames { rust, cpp, bytes: quote!(#bytes), align: quote!(0) }
}

/// A struct that is taken by value. It is called in C++ as it is in Rust, unless its `link_name`
/// says otherwise.
fn structure(typed: &syn::PatType) -> TypeNames {
    let ty = invisible_groups::ty(&typed.ty);
    let own = match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    };
    let at = ty.span();
    TypeNames {
        rust: signature::text(ty),
        cpp: link_name(typed).or(own).unwrap_or_default(),
        bytes: quote_spanned!(at=> ::core::mem::size_of::<#ty>() as u32),
        align: quote_spanned!(at=> ::core::mem::align_of::<#ty>() as u32),
    }
}
