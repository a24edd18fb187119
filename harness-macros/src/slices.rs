//! Slices as the device's entry point takes them: an address and a number of elements.
//!
//! Input: an annotated function. Output: the parameters and the body of its entry point. The body
//! first makes each slice of the two parameters in which it arrives, under the function's name for
//! it. A `&[T]` arrives as a reference to no elements: this tells LLVM that the memory is not
//! written while the kernel runs, so that its loads may be `ld.global.nc`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{FnArg, ItemFn, Path};

use crate::signature::{Parameter, Passing};

/// The suffix of an entry point's name.
pub(crate) struct Entry {
    /// Its parameters.
    pub(crate) inputs: TokenStream,
    /// Its body.
    pub(crate) block: TokenStream,
}

/// The entry point of `item` with its checked `parameters`.
pub(crate) fn entry(item: &ItemFn, parameters: &[Parameter], gpuprof: &Path) -> Entry {
    let (inputs, block) = (&item.sig.inputs, &item.block);
    if parameters.iter().all(|parameter| !parameter.sliced) {
        return Entry { inputs: inputs.to_token_stream(), block: block.to_token_stream() };
    }
    let (mut taken, mut made) = (Vec::new(), Vec::new());
    for (at, (input, parameter)) in inputs.iter().zip(parameters).enumerate() {
        let FnArg::Typed(typed) = input else { continue };
        if !parameter.sliced {
            taken.push(input.to_token_stream());
            continue;
        }
        let element = &parameter.scalar;
        let start = format_ident!("start{at}", span = Span::mixed_site());
        let length = format_ident!("length{at}", span = Span::mixed_site());
        let (pointer, make) = match parameter.passing {
            Passing::Input => (quote!(&[#element; 0]), quote!(slice)),
            Passing::Output | Passing::Scalar | Passing::Value => {
                (quote!(*mut #element), quote!(disjoint))
            }
        };
        taken.push(quote!(#start: #pointer, #length: usize));
        let (pattern, ty) = (&typed.pat, &typed.ty);
        // SAFETY: it is the launch that passes an address and the number of elements there.
        made.push(quote! {
            let #pattern: #ty = unsafe { #gpuprof::__device::#make(#start, #length) };
        });
    }
    Entry { inputs: quote!(#(#taken),*), block: quote!({ #(#made)* #block }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Errors;
    use crate::signature;

    fn expanded(text: &str) -> (String, String) {
        let item: ItemFn = syn::parse_str(text).unwrap();
        let dialect = (signature::Dialect::Ours, &[][..]);
        let parameters = signature::parameters(&item, dialect, &mut Errors::default());
        let entry = entry(&item, &parameters, &syn::parse_quote!(gp));
        (entry.inputs.to_string(), entry.block.to_string())
    }

    #[test]
    fn a_slice_arrives_as_address_and_length() {
        let (inputs, block) =
            expanded("fn k(n: u32, x: &[f32], mut y: DisjointSlice<f64>) { body() }");
        assert_eq!(
            inputs,
            "n : u32 , start1 : & [f32 ; 0] , length1 : usize , start2 : * mut f64 , length2 : usize"
        );
        let first = "{ let x : & [f32] = unsafe { gp :: __device :: slice (start1 , length1) } ;";
        assert!(block.starts_with(first), "{block}");
        assert!(block.contains("let mut y : DisjointSlice < f64 >"), "{block}");
    }

    #[test]
    fn a_kernel_without_slices_is_unchanged() {
        let (inputs, block) = expanded("unsafe fn k(x: *const f32) { body() }");
        assert_eq!((inputs.as_str(), block.as_str()), ("x : * const f32", "{ body () }"));
    }
}
