//! `#[kernel]` above cuda-oxide's `#[kernel]`: kernels that NVIDIA's Rust compiler compiles.
//!
//! Input: the attribute's tokens and the function with its other attributes. Output: the function
//! as it is, for the attribute below to expand, and the entry that the attribute of a declared
//! kernel would leave. Name and code come from the items that `cuda-macros` generates next to the
//! function: the marker `__NAME_CudaKernel`, `NAME_ptx_name` of generic kernels, and `load_named`
//! of the module, which keeps the device code in the program.

mod contract;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ItemFn, Meta, Path};

use crate::expand;
use crate::kernel::{Home, Kernel};
use crate::kernel_block;
use crate::registration::Entry;
use crate::signature::{self, Parameter, Passing};
use crate::type_axis::{self, TypeAxis};

/// The beginning of the name of a function that `cuda-macros` makes of a kernel.
const GENERATED: &str = "cuda_oxide_kernel_";

/// The attribute of cuda-oxide on `item`, if it has one.
///
/// # Errors
/// It was expanded before this one: its function is no longer the user's.
pub(crate) fn attribute(item: &ItemFn) -> syn::Result<Option<&Attribute>> {
    let name = item.sig.ident.to_string();
    if name.starts_with(GENERATED) {
        return Err(syn::Error::new(
            Span::call_site(),
            "write #[gpuprof::kernel(…)] above cuda-oxide's #[kernel]: below it there is only what \
             that one generates",
        ));
    }
    Ok(item.attrs.iter().find(|attribute| is_theirs(attribute.path())))
}

/// Whether `path` is that of an attribute `kernel` that is not ours.
fn is_theirs(path: &Path) -> bool {
    let last = path.segments.last().is_some_and(|last| last.ident == "kernel");
    let ours = path.segments.iter().any(|segment| segment.ident == "gpuprof");
    last && !ours
}

/// The expansion of the attribute `tokens` on `item`; `theirs` is cuda-oxide's attribute.
pub(crate) fn kernel(
    tokens: TokenStream,
    item: &ItemFn,
    theirs: &Attribute,
) -> syn::Result<TokenStream> {
    if let Meta::List(list) = &theirs.meta
        && !list.tokens.is_empty()
    {
        return Err(syn::Error::new_spanned(
            theirs,
            "instances of #[kernel(…)] have names of their own; write #[kernel] and give the values \
             of the generic parameters in series(…)",
        ));
    }
    let kernel = Kernel::parse(tokens, item, Home::Oxide)?;
    let contract = contract::read(&item.attrs, &kernel.gpuprof)?;
    let entry = entry(&kernel, item, &contract);
    Ok(quote!(#item #entry))
}

fn entry(kernel: &Kernel, item: &ItemFn, contract: &TokenStream) -> TokenStream {
    let gpuprof = &kernel.gpuprof;
    let gp = quote!(#gpuprof::__private);
    let run = Ident::new("run", Span::mixed_site());
    let entry = Entry::new(kernel, item);
    let names = names(kernel, item);
    let loader = match &kernel.module {
        Some(module) => quote_spanned!(module.span()=> #module::load_named),
        None => quote!(load_named),
    };
    let parameters = kernel.parameters.iter().zip(&item.sig.inputs);
    let types = &kernel.space.types;
    let parameters =
        parameters.flat_map(|(parameter, input)| passed((parameter, types), input, &gp));
    let types = types.iter().flat_map(|axis| {
        let (name, gp) = (axis.name.to_string(), &gp);
        axis.values.iter().map(move |value| {
            let rust = value.to_string();
            let bytes = quote_spanned!(value.span()=> ::core::mem::size_of::<#value>() as u32);
            quote!(#gp::DeclaredType { axis: #name, rust: #rust, cpp: "", bytes: #bytes })
        })
    });
    let instance = instance(kernel);
    let symbol_at = kernel_block::place_of(item.sig.ident.span());
    let body = quote! {
        #gp::Body::Declared {
            declaration: &#gp::Declaration {
                source: #gp::KernelSource::Embedded {
                    names: &[#(#names),*],
                    keep: || #loader as *const (),
                },
                include: &[],
                defines: &[],
                options: &[],
                compiler: #gp::CudaCompiler::Auto,
                symbol: #instance,
                symbol_at: #symbol_at,
                parameters: &[#(#parameters),*],
                types: &[#(#types),*],
                globals: &[],
                contract: #contract,
            },
            launcher: false,
            run: #run,
        }
    };
    entry.emit(&body, &expand::run_function(kernel, &run))
}

/// The displayed name of an instance: `step_ITEMS_{ITEMS}`, into which the runner puts the values.
fn instance(kernel: &Kernel) -> String {
    let constants = kernel.space.constants();
    let constants = constants.map(|(name, _)| format!("_{name}_{{{name}}}"));
    constants.fold(kernel.symbol.clone(), |all, next| all + &next)
}

/// Each instance with the function that returns its name in the PTX.
fn names(kernel: &Kernel, item: &ItemFn) -> Vec<TokenStream> {
    let function = &item.sig.ident;
    if kernel.instances.is_empty() {
        let marker = format_ident!("__{function}_CudaKernel");
        let symbol = &kernel.symbol;
        return vec![quote! {
            (#symbol, || <#marker as ::cuda_host::CudaKernel>::PTX_NAME)
        }];
    }
    let named = format_ident!("{function}_ptx_name");
    let entries = kernel.instances.iter().map(|instance| {
        let (symbol, values) = (&instance.symbol, &instance.values);
        quote!((#symbol, || #named::<#(#values),*>()))
    });
    entries.collect()
}

/// The parameters of the entry point for one parameter: a slice is an address and a number of
/// elements.
fn passed(
    (parameter, types): (&Parameter, &[TypeAxis]),
    input: &FnArg,
    gp: &TokenStream,
) -> Vec<TokenStream> {
    let (name, scalar) = (parameter.name.to_string(), &parameter.scalar);
    let at = match input {
        FnArg::Typed(typed) => typed.ty.span(),
        FnArg::Receiver(_) => parameter.name.span(),
    };
    let written = match input {
        FnArg::Typed(typed) => signature::text(&typed.ty),
        FnArg::Receiver(_) => String::new(),
    };
    let one = |name: &str, rust: &str, bytes: TokenStream| {
        let (line, column) =
            (quote_spanned!(at=> ::core::line!()), quote_spanned!(at=> ::core::column!()));
        quote! {
            #gp::DeclaredParameter {
                name: #name, rust: #rust, cpp: "", bytes: #bytes, align: 0, line: #line,
                column: #column,
            }
        }
    };
    match parameter.passing {
        Passing::Scalar | Passing::Value if type_axis::find_axis(scalar, types).is_some() => {
            // The runner puts the type of a configuration in, with its size.
            vec![one(&name, &format!("{{{}}}", scalar.to_token_stream()), quote!(0))]
        }
        Passing::Scalar | Passing::Value => {
            let bytes = quote_spanned!(at=> ::core::mem::size_of::<#scalar>() as u32);
            vec![one(&name, &scalar.to_token_stream().to_string(), bytes)]
        }
        Passing::Input | Passing::Output => {
            let mut all = vec![one(&name, &written, quote!(8))];
            if parameter.sliced {
                all.push(one(&format!("{name}.len()"), "usize", quote!(8)));
            }
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(tokens: &str, item: &str) -> Result<String, String> {
        let item: ItemFn = syn::parse_str(item).unwrap();
        let theirs = attribute(&item).map_err(|error| error.to_string())?;
        let expansion = kernel(tokens.parse().unwrap(), &item, theirs.expect("it has one"));
        let text = expansion.map_err(|error| {
            error.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | ")
        })?;
        Ok(text.to_string())
    }

    const SAXPY: &str = "#[kernel] #[launch_bounds(256)] pub fn saxpy(a: f32, x: &[f32], mut y: \
                         DisjointSlice<f32>) { body() }";

    #[test]
    fn the_function_is_unchanged_and_registered_as_a_declaration() {
        let told = expanded(
            "series(block = [64], n = [1K]), grid = n / block, args(2.0, random(n), zeros(n))",
            SAXPY,
        )
        .unwrap();
        let item: ItemFn = syn::parse_str(SAXPY).unwrap();
        assert!(told.starts_with(&item.to_token_stream().to_string()), "{told}");
        assert_eq!(told.matches("body ()").count(), 1, "{told}");
        for part in [
            "(\"saxpy\" , || < __saxpy_CudaKernel as :: cuda_host :: CudaKernel > :: PTX_NAME)",
            "keep : || load_named as * const ()",
            "name : \"x.len()\" , rust : \"usize\"",
            "name : \"y\" , rust : \"DisjointSlice<f32>\"",
            "max_threads : :: core :: option :: Option :: Some ((256) as u64)",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
    }

    #[test]
    fn instances_are_named_by_the_values_of_their_constants() {
        let told = expanded(
            "series(block = [64], const STEP = [1, 8]), grid = 1, args(zeros(64)), module = super",
            "#[cuda_device::kernel] pub fn step<const STEP: usize>(y: &mut [u32]) {}",
        )
        .unwrap();
        for part in [
            "(\"step_STEP_1\" , || step_ptx_name :: < 1 > ())",
            "(\"step_STEP_8\" , || step_ptx_name :: < 8 > ())",
            "symbol : \"step_STEP_{STEP}\"",
            "keep : || super :: load_named as * const ()",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
    }

    #[test]
    fn types_of_the_series_are_arguments_of_the_generic_kernel() {
        let told = expanded(
            "series(block = [64], T = [f32, f64]), grid = 1, args(2, zeros(64))",
            "#[kernel] pub fn fill<T: Copy>(a: T, mut y: DisjointSlice<T>) {}",
        )
        .unwrap();
        for part in [
            "(\"fill_T_f64\" , || fill_ptx_name :: < f64 > ())",
            "symbol : \"fill_T_{T}\"",
            "rust : \"{T}\" , cpp : \"\" , bytes : 0",
            "axis : \"T\" , rust : \"f64\" , cpp : \"\" , bytes : :: core :: mem :: size_of :: < f64 >",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
    }

    #[test]
    fn an_unlaunchable_kernel_is_refused() {
        let series = "series(block = [64]), grid = 1, args(0)";
        let refused = |item: &str| expanded(series, item).unwrap_err();
        assert!(
            refused("fn cuda_oxide_kernel_246e25db_k(n: u32) {}")
                .starts_with("write #[gpuprof::kernel(…)] above cuda-oxide's #[kernel]")
        );
        assert!(
            refused("#[kernel(f32)] fn k<T>(n: T) {}").starts_with("instances of #[kernel(…)]")
        );
        assert!(
            refused("#[kernel] #[cooperative_launch] fn k(n: u32) {}")
                .starts_with("a kernel that is launched cooperatively")
        );
        assert!(refused("#[kernel] fn k(n: &u32) {}").starts_with("a kernel cannot take `&u32`"));
        assert!(refused("#[kernel] fn k(f: impl Fn(u32)) {}").contains("closure"));
        let bounds = format!("{series}, max_block = 64");
        assert!(
            expanded(&bounds, "#[kernel] fn k(n: u32) {}")
                .unwrap_err()
                .contains("#[launch_bounds(")
        );
    }
}
