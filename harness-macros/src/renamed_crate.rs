//! `crate = gp` for the `shared!`, `dynamic_shared!` and `device_print!` in a kernel's body.
//!
//! Input: a function and the path of `gpuprof`. Output: the function, in which every such macro
//! without a path gets this one: the macro has no other way to know the user's name of the crate.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{ItemFn, Path};

/// Those macros.
const MACROS: [&str; 3] = ["shared", "dynamic_shared", "device_print"];

/// The function with macros that know `gpuprof`.
pub(crate) fn in_body(item: &ItemFn, gpuprof: &Path) -> ItemFn {
    let default: Path = syn::parse_quote!(::gpuprof);
    if *gpuprof == default {
        return item.clone();
    }
    let block = tokens(item.block.to_token_stream(), gpuprof);
    match syn::parse2(block) {
        Ok(block) => ItemFn { block: Box::new(block), ..item.clone() },
        // It was a block before: the compiler reports why it no longer is one.
        Err(_) => item.clone(),
    }
}

fn tokens(body: TokenStream, gpuprof: &Path) -> TokenStream {
    let mut renamed = Vec::new();
    let mut before: [Option<String>; 2] = [None, None];
    for token in body {
        let text = match &token {
            TokenTree::Group(_) => None,
            other => Some(other.to_string()),
        };
        let token = match token {
            TokenTree::Group(group) => {
                let is_call = before[1].as_deref() == Some("!")
                    && before[0].as_deref().is_some_and(|name| MACROS.contains(&name));
                TokenTree::Group(inside(&group, is_call, gpuprof))
            }
            other => other,
        };
        renamed.push(token);
        before = [before[1].take(), text];
    }
    renamed.into_iter().collect()
}

/// The group with `crate = PATH,` in front where it is the argument of such a macro.
fn inside(group: &Group, is_call: bool, gpuprof: &Path) -> Group {
    let stream = group.stream();
    let first = stream.clone().into_iter().next().map(|token| token.to_string());
    let stream = match first.as_deref() {
        Some("crate") if is_call => stream,
        _ if is_call => quote!(crate = #gpuprof, #stream),
        _ => tokens(stream, gpuprof),
    };
    let mut renamed = Group::new(group.delimiter(), stream);
    renamed.set_span(group.span());
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_macros_get_the_name_of_the_crate() {
        let item: ItemFn = syn::parse_quote! {
            fn k() {
                if x { let a = shared!([f32; 4]); }
                let b = gp::dynamic_shared!(f32);
                let c = shared!(crate = other, [u8; 1]);
                let d = shared != (a);
                device_print!("{}", b);
            }
        };
        let expected: ItemFn = syn::parse_quote! {
            fn k() {
                if x { let a = shared!(crate = gp, [f32; 4]); }
                let b = gp::dynamic_shared!(crate = gp, f32);
                let c = shared!(crate = other, [u8; 1]);
                let d = shared != (a);
                device_print!(crate = gp, "{}", b);
            }
        };
        let text = |item: &ItemFn| item.to_token_stream().to_string();
        assert_eq!(text(&in_body(&item, &syn::parse_quote!(gp))), text(&expected));
        assert_eq!(text(&in_body(&item, &syn::parse_quote!(::gpuprof))), text(&item));
    }
}
