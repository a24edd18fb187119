//! The constraints on every launch from cuda-oxide's own attributes.
//!
//! Input: the attributes next to `#[kernel]`. Output: a `Contract`, which makes a configuration
//! that breaks it invalid. Errors in an attribute are left to its own macro.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprAssign, Meta, Path, Token};

/// The contract of a function with `attributes`.
///
/// # Errors
/// A cooperative launch, which gpuprof does not make.
pub(super) fn read(attributes: &[Attribute], gpuprof: &Path) -> syn::Result<TokenStream> {
    if let Some(found) = find(attributes, "cooperative_launch") {
        return Err(syn::Error::new_spanned(
            found,
            "a kernel that is launched cooperatively needs a launch that gpuprof does not make: launch \
             it in a function with #[gpuprof::series]",
        ));
    }
    let mut fields = Vec::new();
    let bounds = find(attributes, "launch_bounds").and_then(list);
    if let Some(most) = bounds.as_ref().and_then(|bounds| bounds.first()) {
        fields.push(set("max_threads", &quote!((#most) as u64)));
    }
    let cluster = find(attributes, "cluster_launch").and_then(list);
    if let Some(cluster) = cluster.as_deref().and_then(extents) {
        fields.push(set("cluster", &cluster));
    }
    if let Some(promised) = find(attributes, "launch_contract").and_then(list) {
        fields.extend(promises(&promised));
    }
    Ok(quote! {
        #gpuprof::__private::Contract { #(#fields,)* ..#gpuprof::__private::Contract::NONE }
    })
}

/// The attribute with a path that ends in `name`.
fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|it| it.path().segments.last().is_some_and(|last| last.ident == name))
}

/// The expressions between an attribute's parentheses.
fn list(attribute: &Attribute) -> Option<Vec<Expr>> {
    let Meta::List(list) = &attribute.meta else { return None };
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    parser.parse2(list.tokens.clone()).ok().map(|list| list.into_iter().collect())
}

fn set(field: &str, value: &TokenStream) -> TokenStream {
    let field = quote::format_ident!("{field}");
    quote!(#field: ::core::option::Option::Some(#value))
}

/// Up to three extents; missing ones are 1.
fn extents(given: &[Expr]) -> Option<TokenStream> {
    let one: Expr = syn::parse_quote!(1);
    let all = [0, 1, 2].map(|at| given.get(at).unwrap_or(&one));
    (1..=3).contains(&given.len()).then(|| quote!([#(#all),*]))
}

/// The fields that `launch_contract(…)` sets. One that does not apply to dynamic shared memory
/// promises that there is none.
fn promises(promised: &[Expr]) -> Vec<TokenStream> {
    let value_of = |key: &str| {
        promised.iter().find_map(|promise| match promise {
            Expr::Assign(ExprAssign { left, right, .. }) => {
                (left.to_token_stream().to_string() == key).then_some(&**right)
            }
            _ => None,
        })
    };
    let tuple = |value: Option<&Expr>| match value {
        Some(Expr::Tuple(tuple)) => Some(tuple.elems.iter().cloned().collect::<Vec<_>>()),
        _ => None,
    };
    let mut fields = Vec::new();
    if let Some(domain) = value_of("domain") {
        fields.push(set("dimensions", &quote!(#domain)));
    }
    if let Some(block) = tuple(value_of("block")).as_deref().and_then(extents) {
        fields.push(set("block", &block));
    }
    let range =
        match (value_of("dynamic_shared"), tuple(value_of("dynamic_shared_range")).as_deref()) {
            (Some(bytes), _) => quote!((#bytes, #bytes)),
            (None, Some([least, most])) => quote!((#least, #most)),
            (None, _) => quote!((0, 0)),
        };
    fields.push(set("shared", &range));
    if let Some([major, minor]) = tuple(value_of("min_compute_capability")).as_deref() {
        fields.push(set("capability", &quote!((#major, #minor))));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_fields(item: &str) -> String {
        let item: syn::ItemFn = syn::parse_str(item).unwrap();
        let fields = read(&item.attrs, &syn::parse_quote!(gp)).unwrap().to_string();
        fields.replace(":: core :: option :: Option :: ", "").replace(' ', "")
    }

    #[test]
    fn launch_bounds_clusters_and_contracts_become_constraints() {
        assert_eq!(
            expand_fields("#[launch_bounds(256, 2)] #[cuda_device::cluster_launch(4)] fn k() {}"),
            "gp::__private::Contract{max_threads:Some((256)asu64),cluster:Some([4,1,1]),\
             ..gp::__private::Contract::NONE}"
        );
        assert_eq!(
            expand_fields(
                "#[launch_contract(domain = 2, block = (16, 8, 1), dynamic_shared_range = (0, 4096), \
                 dynamic_shared_alignment = 16, min_compute_capability = (9, 0))] fn k() {}"
            ),
            "gp::__private::Contract{dimensions:Some(2),block:Some([16,8,1]),shared:Some((0,4096)),\
             capability:Some((9,0)),..gp::__private::Contract::NONE}"
        );
        assert_eq!(
            expand_fields("#[launch_contract(domain = 1)] fn k() {}"),
            "gp::__private::Contract{dimensions:Some(1),shared:Some((0,0)),\
             ..gp::__private::Contract::NONE}"
        );
    }
}
