//! The attributes of `gpuprof`, which re-exports everything here.
//!
//! Input: annotated functions. Output: the function on both sides, and an entry in the
//! registry that the harness reads. Every attribute is read into a checked description first
//! (`kernel`, `series`), with the grammars of `gpuprof-model`, so that a bad axis is a compile
//! error at its own tokens and all errors are reported at once; only then is anything expanded. On
//! an error the function stays as it was written.

#![forbid(unsafe_code)]

mod axis;
mod bare;
mod conditions;
mod constants;
mod errors;
mod expand;
mod items;
mod kernel;
mod registration;
mod series;
mod shared;
mod signature;
mod vocabulary;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

/// Makes an `unsafe fn` a CUDA kernel with a series of launch parameters.
///
/// The function becomes an entry point of the PTX that `cargo gpuprof` builds, and stays a function
/// on the host so that the crate type-checks. Its parameters are whole numbers, floats, and
/// `*const T` (device memory it reads) or `*mut T` (device memory it writes) of those.
///
/// | key | meaning |
/// |---|---|
/// | `series(AXIS = VALUES, …)` | the axes; each is a variable in the other keys' expressions |
/// | … `zip(A = VALUES, B = VALUES)` | axes that advance together |
/// | … `AXIS = EXPR` | an axis that follows from others: `threads = block * 2` |
/// | … `where CONDITION` | keeps a combination: `where block * n <= 64K` |
/// | … `const NAME = VALUES` | the values of a const generic parameter, one entry point each |
/// | `grid = EXPR`, `block = EXPR` | the launch, where it is no axis: a number, or a pair or triple |
/// | `shared = EXPR` | bytes of dynamic shared memory |
/// | `cluster = EXPR` | blocks of a thread block cluster, where it is no axis |
/// | `args(EXPR, …)` | one per parameter: numbers, and `random(len)`, `random_in(len, range)`, `zeros(len)`, `iota(len)` for pointers |
/// | `seed = INT` | the seed of the generators |
/// | `bytes = EXPR`, `flops = EXPR` | what the kernel must move and compute, for rates |
/// | `verify = PATH` | a host reference: scalars by value, `*const T` as `&[T]`, `*mut T` as `&mut [T]`; what it leaves in the latter is what the kernel must have written |
/// | `tolerance = EXPR` | how far a float may be from the reference, relative to max(\|reference\|, 1) |
/// | `metrics(NAME, …)` | the metrics to show |
/// | `threshold("…")` | a condition that the series must meet; may be repeated |
/// | `name = "…"` | the series' and entry point's name, instead of the function's |
/// | `crate = PATH` | where `gpuprof` is, if the dependency is renamed |
///
/// A whole-number axis is a `u64` in expressions, an axis of extents has the fields `x`, `y` and
/// `z`, an axis of words is a `&str`, and a constant of `true` and `false` a `bool`.
///
/// A kernel with constants is generic: `unsafe fn matmul<const TILE: usize>(…)` with
/// `const TILE = [8, 16]` becomes the entry points `matmul_TILE_8` and `matmul_TILE_16`, at most
/// 64. Its body, unlike other generic code, may say `shared!([f32; TILE * TILE])`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    on_function(item, |item| {
        Ok(expand::kernel(&kernel::Kernel::parse(attribute.into(), item)?, item))
    })
}

/// Registers a host function that launches kernels from anywhere, with a series of parameters.
///
/// The function is `fn(&mut Run<'_>) -> gpuprof::Result<()>`. In the attribute, every
/// `NAME = VALUES` is an axis; besides there are `metrics(…)`, `threshold("…")`, `name = "…"` and
/// `crate = PATH` as in [`macro@kernel`].
#[proc_macro_attribute]
pub fn series(attribute: TokenStream, item: TokenStream) -> TokenStream {
    on_function(item, |item| series::series(attribute.into(), item))
}

/// Keeps an item out of the kernel build: for functions and imports that need `std`.
#[proc_macro_attribute]
pub fn host(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    let cfg = quote!(#[cfg(not(target_arch = "nvptx64"))] #item);
    if attribute.is_empty() {
        return cfg.into();
    }
    let attribute = proc_macro2::TokenStream::from(attribute);
    errors::beside(cfg, &syn::Error::new_spanned(attribute, "#[host] takes nothing")).into()
}

/// Static shared memory: `shared!([T; N])` gives a handle on `N` elements that the block shares.
///
/// Every place in the source has memory of its own, as with `__shared__` in CUDA C++, however often
/// the code runs or is inlined. `T` and `N` may use items of the enclosing module and the constants
/// of the kernel it stands in, but not items of the function or other generic parameters.
#[proc_macro]
pub fn shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as shared::Input);
    shared::fixed(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Dynamic shared memory: `dynamic_shared!(T)` gives a handle on all of it as elements of `T`.
///
/// Its size is the launch's `shared` bytes, and every handle starts at the same address.
#[proc_macro]
pub fn dynamic_shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as shared::Input);
    shared::dynamic(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The expansion of an attribute on the function `item`, or the item as it was with the errors.
fn on_function(
    item: TokenStream,
    expand: impl FnOnce(&ItemFn) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item);
    let function = syn::parse2::<ItemFn>(original.clone()).map_err(|error| {
        syn::Error::new(error.span(), format!("this attribute goes on a function: {error}"))
    });
    match function.and_then(|item| expand(&item)) {
        Ok(expansion) => expansion.into(),
        Err(error) => errors::beside(original, &error).into(),
    }
}
