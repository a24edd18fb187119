//! The attributes of `gpuprof`, which re-exports everything here. Each re-export explains the
//! purpose of its macro with an example, and rustdoc adds the details that are documented here:
//! examples in this package would need a second build of `gpuprof`, for the host's procedural
//! macros.
//!
//! Input: annotated functions. Output: the function on both sides, and an entry in the registry
//! that the harness reads. Every attribute is read into a checked description first (`kernel`,
//! `series`), with the grammars of `gpuprof-model`, so that a bad axis is a compile error at its
//! own tokens and all errors are reported at once; only then is anything expanded. On an error the
//! function stays unchanged.

#![forbid(unsafe_code)]

mod axis;
mod bounds;
mod checked_arithmetic;
mod conditions;
mod constant;
mod constants;
mod crate_path;
mod declared;
mod derive_parameter;
mod errors;
mod expand;
mod invisible_groups;
mod items;
mod kernel;
mod kernel_block;
mod launcher;
mod mention;
mod number_suffix;
mod oxide;
mod per_buffer;
mod print;
mod registration;
mod renamed_crate;
mod series;
mod shared;
mod signature;
mod slices;
mod symbol_suffix;
mod tolerance;
mod type_axis;
mod verification;
mod vocabulary;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemStatic, parse_macro_input};

/// The function becomes an entry point of the PTX that `cargo gpuprof` builds, and stays a function
/// on the host so that the crate type-checks. Its parameters are whole numbers, floats, `bool` and
/// structs that derive [`macro@Parameter`]; device memory of numbers that it reads, as `&[T]` or
/// `*const T`; and memory that it writes, as `DisjointSlice<T>` or `*mut T`. With pointers it must
/// be an `unsafe fn`.
///
/// # Keys
///
/// Axes, in `series(…)`:
///
/// | form | meaning |
/// |---|---|
/// | `AXIS = VALUES` | an axis; it is a variable in the other keys' expressions |
/// | `zip(A = VALUES, B = VALUES)` | axes that advance together |
/// | `AXIS = EXPR` | an axis that follows from others: `threads = block * 2` |
/// | `where CONDITION` | keeps a combination: `where block * n <= 64K` |
/// | `const NAME = VALUES` | the values of a const generic parameter, one entry point each |
///
/// The launch:
///
/// | key | meaning |
/// |---|---|
/// | `grid = EXPR`, `block = EXPR` | a number, or a pair or triple, unless it is an axis |
/// | `shared = EXPR` | bytes of dynamic shared memory, unless it is an axis |
/// | `cluster = EXPR` | blocks of a thread block cluster, unless it is an axis |
/// | `max_block = CONST`, `min_blocks = CONST` | launch bounds, see below |
/// | `args(EXPR, …)` | one expression per parameter; a generator for each slice and pointer |
/// | `seed = INT` | the seed of the generators |
///
/// The contents of a buffer before the first launch:
///
/// | form | elements |
/// |---|---|
/// | `random(len)`, `random_in(len, range)` | random numbers: integers over their range, floats in 0..1 |
/// | `normal(len, mean, deviation)` | floats of the normal distribution |
/// | `zeros(len)`, `iota(len)` | 0; 0, 1, 2, … |
/// | `permutation(len)` | the whole numbers below `len`, each once, in random order |
/// | `sorted(len)`, `sorted(GENERATOR)` | the elements of `random(len)`, or of a generator, in ascending order |
/// | `from_file(len, PATH)` | the elements of a file, little-endian and without a header |
/// | any other expression | the elements of a `Vec<T>`, or of a `Result` of one |
///
/// Reporting and judging:
///
/// | key | meaning |
/// |---|---|
/// | `bytes = EXPR`, `flops = EXPR` | the bytes that the kernel must move and its operations, for rates |
/// | `metrics(NAME, …)` | the metrics to show |
/// | `threshold("…")` | a condition that the series must meet; may be repeated |
/// | `check(NAME, …)` | checks of the emulated driver, as for the option `--check` |
/// | `verify = FUNCTION` | a host reference, see below |
/// | `tolerance = EXPR`, `tolerance(BUFFER = EXPR, …)` | how far a float may be from it, see below |
/// | `compare = FUNCTION`, `compare(BUFFER = FUNCTION, …)` | a function that compares a buffer instead, see below |
/// | `reset = each`, `reset = once` | the state of the buffers at each timed sample, see below |
/// | `launcher = TYPE` | a new type that lets [`macro@series`] functions launch the kernel, see below |
/// | `name = "…"` | the series' and entry point's name, in place of the function's |
/// | `crate = PATH` | the path of `gpuprof`, if another crate re-exports it |
///
/// The host reference takes scalars by value, inputs as `&[T]` and outputs as `&mut [T]`. It is the
/// path of a function, or a closure, which may use the axes. It computes the expected outputs:
/// integers must be equal, floats within absolute + relative × \|reference\|. `tolerance = (A, R)`
/// gives both parts; A is a multiple of the median \|reference\| of the elements that the reference
/// changes, without zeros, infinities and NaN; `(absolute(A), R)` gives A in the buffer's unit;
/// `absolute(A)` and `relative(R)` are one part alone, and a number is both. The default is 1e-5
/// for `f32` and 1e-12 for `f64`. NaN agrees with NaN alone. A kernel that changes nothing although
/// the reference does fails at any tolerance. The function of `compare` takes the device's and the
/// host's elements of one buffer as `&[T]`, and returns `Ok(())` if they agree, or an error with
/// the reason. A closure may use the axes here too.
///
/// A kernel that reads its own outputs would time its own results: before each timed sample, the
/// buffers that it reads and writes are restored, outside the timed window. `reset = once` leaves
/// them as the previous sample left them, `reset = each` restores every `*mut` buffer.
///
/// A whole-number axis is a `u64` in expressions, an axis of extents has the fields `x`, `y` and
/// `z`, an axis of words is a `&str`, and a constant of `true` and `false` a `bool`.
///
/// # Launch bounds
///
/// `max_block` is the largest number of threads of a block that the kernel is compiled for, and
/// `min_blocks` the number of such blocks that must fit on a multiprocessor: the driver's compiler
/// limits the registers accordingly. Both are constants, or made of the kernel's [constants](#constants). A
/// launch with a larger block is invalid.
///
/// # Constants
///
/// A kernel with constants is generic: `unsafe fn matmul<const TILE: usize>(…)` with
/// `const TILE = [8, 16]` becomes the entry points `matmul_TILE_8` and `matmul_TILE_16`, at most
/// 64. Its body, unlike other generic code, may say `shared!([f32; TILE * TILE])`.
///
/// # Launchers
///
/// `launcher = Saxpy` declares the type `Saxpy` next to the kernel, as visible as the kernel is and
/// with its constants as generic parameters. `run.kernel(Saxpy)` in a series function makes a
/// launcher of it, whose arguments are those of the kernel: numbers and structs by value, and a
/// `&CudaSlice<T>` or `&mut CudaSlice<T>` for memory that the kernel reads or writes.
///
/// # Kernels of cuda-oxide
///
/// Above `#[kernel]` of NVIDIA's Rust compiler, in a `#[cuda_module]`, the attribute leaves the
/// function to that compiler. `&mut [T]` is memory that the kernel writes as well, and
/// `#[launch_bounds]`, `#[launch_contract]` and `#[cluster_launch]` say which launches are invalid;
/// `max_block`, `min_blocks` and `launcher` are not for these kernels. In a module within the
/// `#[cuda_module]`, `module = PATH` names that one: `module = super`.
#[doc(alias = "__global__")]
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    on_function(item, |item| match oxide::attribute(item)? {
        Some(theirs) => oxide::kernel(attribute.into(), item, theirs),
        None => Ok(expand::kernel(
            &kernel::Kernel::parse(attribute.into(), item, kernel::Home::Here)?,
            item,
        )),
    })
}

/// The block declares kernels in CUDA C++ files or in PTX, each with the annotation of
/// [`macro@kernel`]. `cargo gpuprof` compiles the files before anything runs. Rust code cannot call
/// the functions.
///
/// # Keys
///
/// | key | meaning |
/// |---|---|
/// | `cuda = "FILE"`, `cuda = ["FILE", …]` | CUDA C++ files, relative to the package's folder |
/// | `ptx = "FILE"` | a PTX file, likewise |
/// | `ptx = EXPR` | PTX that is a `&'static str`, such as another crate's constant |
/// | `include = ["FOLDER", …]` | folders with headers, relative to the package's folder |
/// | `define(NAME = VALUE, …)` | definitions for the preprocessor, as `-D` |
/// | `options = ["…", …]` | more options for NVRTC |
/// | `crate = PATH` | the path of `gpuprof`, if another crate re-exports it |
///
/// # Functions
///
/// Parameters are whole numbers, `bool`, `f32`, `f64`, `f16` and `bf16`, and pointers to numbers or
/// vectors such as `f32x4`: `*const T` for inputs, `*mut T` for outputs. `verify` takes a `*const
/// T` as `&[T]` and a `*mut T` as `&mut [T]`.
///
/// `symbol = "…"` is the name of the kernel in its source, if it differs from the function's name:
/// `symbol = "ns::scan<{ITEMS}, float>"` with the value of the constant `ITEMS` of the series. The
/// const generic parameters of a function are template arguments, in their order; any other
/// constant is a definition for the preprocessor.
#[doc(alias = "__global__")]
#[proc_macro_attribute]
pub fn kernels(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item);
    let block = match syn::parse2::<syn::ItemForeignMod>(original.clone()) {
        Ok(block) => block,
        Err(error) => {
            let text = format!("this attribute belongs on an `unsafe extern \"C\"` block: {error}");
            return errors::append_error(original, &syn::Error::new(error.span(), text)).into();
        }
    };
    // A block that is wrong is not kept: nothing defines its functions.
    let expanded = kernel_block::kernels(attribute.into(), &block);
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The function is `fn(&mut Run<'_>) -> gpuprof::Result<()>`. In the attribute, every
/// `NAME = VALUES` is an axis; `metrics(…)`, `threshold("…")`, `check(…)`, `name = "…"` and
/// `crate = PATH` are as in [`macro@kernel`].
#[proc_macro_attribute]
pub fn series(attribute: TokenStream, item: TokenStream) -> TokenStream {
    on_function(item, |item| series::series(attribute.into(), item))
}

/// The static keeps its value on the host and lies in PTX's constant memory on the device, where
/// `NAME` is a `gpuprof::Constant` of the static's type. The value is whatever the compiler
/// evaluates; all of a package's statics together have at most 64 KiB. `#[constant(crate = PATH)]`
/// says where `gpuprof` is, if another crate re-exports it.
#[doc(alias("__constant__", "ConstantMemory", "ld.const"))]
#[proc_macro_attribute]
pub fn constant(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item);
    let expanded = syn::parse(attribute).and_then(|arguments| {
        let item = syn::parse2::<ItemStatic>(original.clone()).map_err(|error| {
            syn::Error::new(error.span(), format!("this attribute belongs on a `static`: {error}"))
        })?;
        constant::constant(&arguments, &item)
    });
    match expanded {
        Ok(expansion) => expansion.into(),
        Err(error) => errors::append_error(original, &error).into(),
    }
}

/// The item is given `#[cfg(not(target_arch = "nvptx64"))]`.
#[doc(alias = "__host__")]
#[proc_macro_attribute]
pub fn host(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    let cfg = quote!(#[cfg(not(target_arch = "nvptx64"))] #item);
    if attribute.is_empty() {
        return cfg.into();
    }
    let attribute = proc_macro2::TokenStream::from(attribute);
    errors::append_error(cfg, &syn::Error::new_spanned(attribute, "#[host] takes no arguments"))
        .into()
}

/// The struct must be `Copy`. Its fields are written to the launch at the offsets that C gives
/// them.
#[doc(alias("DeviceRepr", "DeviceCopy"))]
#[proc_macro_derive(Parameter)]
pub fn derive_parameter(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    derive_parameter::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Every place in the source has its own memory, as with `__shared__` in CUDA C++, regardless of
/// how often the code runs or is inlined. `T` and `N` may use items of the enclosing module and the
/// constants of the surrounding kernel, but not items of the function or other generic parameters.
#[doc(alias("__shared__", "SharedArray"))]
#[proc_macro]
pub fn shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as shared::Input);
    shared::fixed(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Its size is the launch's `shared` bytes, and every handle starts at the same address.
#[doc(alias("__shared__", "dynamicSmemBytes", "DynamicSharedArray"))]
#[proc_macro]
pub fn dynamic_shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as shared::Input);
    shared::dynamic(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The text is as `println!` takes it, with at most eight values: numbers, and `bool` as 0 and 1.
/// `{}` and `{x}` show a float with six digits, as `%g` of C; `{:.3}`, `{:8}`, `{:08}`, `{:<8}`,
/// `{:+}`, `{:x}`, `{:#x}`, `{:o}` and `{:e}` are as in Rust.
#[doc(alias("printf", "vprintf", "gpu_printf"))]
#[proc_macro]
pub fn device_print(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as print::Input);
    print::print(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The expansion of an attribute on the function `item`, or the item as it was with the errors.
fn on_function(
    item: TokenStream,
    expand: impl FnOnce(&ItemFn) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item);
    let function = syn::parse2::<ItemFn>(original.clone()).map_err(|error| {
        syn::Error::new(error.span(), format!("this attribute belongs on a function: {error}"))
    });
    match function.and_then(|item| expand(&item)) {
        Ok(expansion) => expansion.into(),
        Err(error) => errors::append_error(original, &error).into(),
    }
}
