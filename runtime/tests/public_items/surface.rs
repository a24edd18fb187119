//! The items of a crate that its users see.
//!
//! Input: the tree of its modules. Output: its public items under the paths at which users find
//! them, each with its documentation, its aliases and the names in its signature. Private modules
//! are seen through the `pub use` that re-exports their items; hidden items are not seen.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, ImplItem, Item as Syntax, Lit, Meta, TraitItem, UseTree, Visibility};

use crate::source::Module;

/// Names that every Rust file has.
const PRELUDE: [&str; 17] = [
    "Self",
    "Option",
    "Some",
    "Result",
    "Vec",
    "String",
    "Box",
    "Into",
    "From",
    "Fn",
    "FnMut",
    "FnOnce",
    "Copy",
    "Iterator",
    "Item",
    "PartialOrd",
    // Of `Add<Output = Self>` and its like.
    "Output",
];

/// One public item.
pub struct Item {
    /// Its path in the crate: `warp::SIZE`, `Run::measure`.
    pub path: String,
    /// Its `doc(alias)` names.
    pub aliases: BTreeSet<String>,
    docs: String,
    /// The names of types and traits in its signature, but for its generic parameters.
    types: BTreeSet<String>,
    /// Where the file that it is in has the names that it imports: `Arc` from `std`.
    imports: BTreeMap<String, String>,
}

impl Item {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or_default()
    }

    /// Adds the documentation of `original`, of which this is a re-export.
    pub fn join(&mut self, original: Self) {
        self.docs.push_str(&original.docs);
        self.aliases.extend(original.aliases);
        self.types.extend(original.types);
        self.imports.extend(original.imports);
    }

    /// Whether its documentation has an example that `cargo test` compiles.
    pub fn has_example(&self) -> bool {
        let mut fences = self.docs.lines().map(str::trim).filter(|line| line.starts_with("```"));
        let mut found = false;
        while let Some(opened) = fences.next() {
            fences.next();
            found |= ["```", "```no_run", "```should_panic"].contains(&opened);
        }
        found
    }

    /// The types in its signature that are neither Rust's, nor cudarc's, nor among the `public`
    /// ones of the crate.
    pub fn foreign_types(&self, public: &BTreeSet<&str>) -> Vec<&str> {
        let is_known = |name: &str| {
            let from = self.imports.get(name).map(String::as_str);
            PRELUDE.contains(&name)
                || ["Clone", "Sized", "Send", "Sync", "Arc"].contains(&name)
                || matches!(from, Some("std" | "core" | "proc_macro" | "cudarc"))
                || public.contains(name)
        };
        self.types.iter().map(String::as_str).filter(|name| !is_known(name)).collect()
    }
}

/// The public items of the crate with this root.
pub fn of_crate(root: &Module) -> Vec<Item> {
    let mut walk = Walk { root, items: Vec::new() };
    walk.module(root, "");
    let shown: BTreeSet<String> = walk.items.iter().map(|item| item.path.clone()).collect();
    walk.methods(root, &shown);
    walk.items
}

struct Walk<'a> {
    root: &'a Module,
    items: Vec<Item>,
}

impl Walk<'_> {
    /// The public items of `module`, under `path`.
    fn module(&mut self, module: &Module, path: &str) {
        if is_hidden(&module.attributes) {
            return;
        }
        for item in &module.items {
            match item {
                Syntax::Use(reexport)
                    if is_public(&reexport.vis) && !is_hidden(&reexport.attrs) =>
                {
                    let mut leaves = Vec::new();
                    leaves_of(&reexport.tree, &mut Vec::new(), &mut leaves);
                    leaves
                        .iter()
                        .for_each(|leaf| self.reexport(module, leaf, path, &reexport.attrs));
                }
                item => self.item(module, item, path),
            }
        }
        for (_, child) in module.modules.iter().filter(|(is_public, _)| *is_public) {
            self.public_module(child, path);
        }
    }

    fn public_module(&mut self, module: &Module, path: &str) {
        if is_hidden(&module.attributes) {
            return;
        }
        let own = joined(path, &module.name);
        self.push(module, own.clone(), &module.attributes, TokenStream::new());
        // The prelude repeats items from elsewhere.
        if module.name != "prelude" {
            self.module(module, &own);
        }
    }

    /// The items that `pub use` of `leaf` in `module` shows, under `path`.
    fn reexport(&mut self, module: &Module, leaf: &[String], path: &str, attributes: &[Attribute]) {
        let Some((last, folders)) = leaf.split_last() else { return };
        let from = folders.iter().try_fold(module, |at, name| match name.as_str() {
            "crate" => Some(self.root),
            "self" => Some(at),
            name => at.child(name),
        });
        let Some(from) = from else {
            return self.push(module, joined(path, last), attributes, TokenStream::new());
        };
        if last == "*" {
            return self.module(from, path);
        }
        if folders.is_empty() && from.child(last).is_none() {
            // Another crate as a whole.
            return self.push(module, joined(path, last), attributes, TokenStream::new());
        }
        let found = from.items.iter().find(|item| name_of(item).is_some_and(|name| name == *last));
        match found {
            Some(item) => self.item(from, item, path),
            None => from
                .items
                .iter()
                .filter_map(|item| match item {
                    Syntax::Use(inner) if is_public(&inner.vis) => Some(inner),
                    _ => None,
                })
                .for_each(|inner| {
                    let mut leaves = Vec::new();
                    leaves_of(&inner.tree, &mut Vec::new(), &mut leaves);
                    let named = leaves.iter().filter(|leaf| leaf.last() == Some(last));
                    named.for_each(|leaf| self.reexport(from, leaf, path, &inner.attrs));
                }),
        }
    }

    /// The item itself, and its declarations.
    fn item(&mut self, module: &Module, item: &Syntax, path: &str) {
        let (Some(name), Some((vis, attributes))) = (name_of(item), head_of(item)) else { return };
        let is_macro = attributes.iter().any(|a| a.path().is_ident("macro_export"));
        if !(is_public(vis) || is_macro) || is_hidden(attributes) {
            return;
        }
        let own = joined(path, &name);
        self.push(module, own.clone(), attributes, signature(item));
        let Syntax::Trait(declared) = item else { return };
        for item in &declared.items {
            let (name, attributes, types) = match item {
                TraitItem::Fn(of) => {
                    let types = without(&of.sig, &of.sig.generics, &declared.generics);
                    (&of.sig.ident, &of.attrs, types)
                }
                TraitItem::Type(of) => (&of.ident, &of.attrs, of.bounds.to_token_stream()),
                _ => continue,
            };
            if !is_hidden(attributes) {
                self.push(module, joined(&own, &name.to_string()), attributes, types);
            }
        }
    }

    /// The public methods of the types among `shown`, wherever they are implemented.
    fn methods(&mut self, module: &Module, shown: &BTreeSet<String>) {
        for item in &module.items {
            let Syntax::Impl(block) = item else { continue };
            let syn::Type::Path(ty) = &*block.self_ty else { continue };
            let name = ty.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
            if block.trait_.is_some() || !shown.contains(&name) {
                continue;
            }
            for item in &block.items {
                let ImplItem::Fn(function) = item else { continue };
                if is_public(&function.vis) && !is_hidden(&function.attrs) {
                    let path = joined(&name, &function.sig.ident.to_string());
                    let types = without(&function.sig, &function.sig.generics, &block.generics);
                    self.push(module, path, &function.attrs, types);
                }
            }
        }
        module.modules.iter().for_each(|(_, child)| self.methods(child, shown));
    }

    fn push(
        &mut self,
        module: &Module,
        path: String,
        attributes: &[Attribute],
        types: TokenStream,
    ) {
        let mut names = BTreeSet::new();
        upper_case(types, &mut names);
        self.items.push(Item {
            path,
            aliases: aliases(attributes),
            docs: docs(attributes),
            types: names,
            imports: imports(module),
        });
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") }
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string() == "hidden",
        _ => false,
    })
}

/// The name of `item` for users: of a derive macro, the derived trait.
fn name_of(item: &Syntax) -> Option<String> {
    let derived;
    let name = match item {
        Syntax::Fn(item) if item.attrs.iter().any(is_derive) => {
            let attribute = item.attrs.iter().find(|attribute| is_derive(attribute))?;
            derived = attribute.parse_args::<syn::Ident>().ok()?;
            &derived
        }
        Syntax::Fn(item) => &item.sig.ident,
        Syntax::Struct(item) => &item.ident,
        Syntax::Enum(item) => &item.ident,
        Syntax::Trait(item) => &item.ident,
        Syntax::Type(item) => &item.ident,
        Syntax::Const(item) => &item.ident,
        Syntax::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_derive(attribute: &Attribute) -> bool {
    attribute.path().is_ident("proc_macro_derive")
}

fn head_of(item: &Syntax) -> Option<(&Visibility, &[Attribute])> {
    Some(match item {
        Syntax::Fn(item) => (&item.vis, &item.attrs),
        Syntax::Struct(item) => (&item.vis, &item.attrs),
        Syntax::Enum(item) => (&item.vis, &item.attrs),
        Syntax::Trait(item) => (&item.vis, &item.attrs),
        Syntax::Type(item) => (&item.vis, &item.attrs),
        Syntax::Const(item) => (&item.vis, &item.attrs),
        Syntax::Macro(item) => (&Visibility::Inherited, &item.attrs),
        _ => return None,
    })
}

/// The tokens of an item that users have to understand: no bodies, no private fields.
fn signature(item: &Syntax) -> TokenStream {
    match item {
        Syntax::Fn(item) => without(&item.sig, &item.sig.generics, &syn::Generics::default()),
        Syntax::Struct(item) => {
            let public = item.fields.iter().filter(|field| is_public(&field.vis));
            public.map(|field| field.ty.to_token_stream()).collect()
        }
        Syntax::Enum(item) => item.variants.iter().flat_map(|v| &v.fields).map(|f| &f.ty).fold(
            TokenStream::new(),
            |mut all, ty| {
                ty.to_tokens(&mut all);
                all
            },
        ),
        // A sealed trait has a private parent.
        Syntax::Trait(item) => item
            .supertraits
            .iter()
            .filter(|parent| !parent.to_token_stream().to_string().starts_with("sealed"))
            .map(ToTokens::to_token_stream)
            .collect(),
        Syntax::Type(item) => without(&item.ty, &item.generics, &syn::Generics::default()),
        Syntax::Const(item) => item.ty.to_token_stream(),
        _ => TokenStream::new(),
    }
}

/// `tokens` without the names of generic parameters.
fn without(tokens: impl ToTokens, own: &syn::Generics, outer: &syn::Generics) -> TokenStream {
    let names: BTreeSet<String> = [own, outer]
        .into_iter()
        .flat_map(|generics| generics.type_params().map(|p| p.ident.to_string()))
        .collect();
    removed(tokens.to_token_stream(), &names)
}

fn removed(tokens: TokenStream, names: &BTreeSet<String>) -> TokenStream {
    let kept = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Ident(name) if names.contains(&name.to_string()) => None,
        TokenTree::Group(group) => Some(removed(group.stream(), names)),
        token => Some(TokenStream::from(token)),
    });
    kept.collect()
}

fn upper_case(tokens: TokenStream, out: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name.to_string().starts_with(char::is_uppercase) => {
                out.insert(name.to_string());
            }
            TokenTree::Group(group) => upper_case(group.stream(), out),
            _ => {}
        }
    }
}

/// The paths that a `use` names.
fn leaves_of(tree: &UseTree, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            leaves_of(&inner.tree, path, out);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves_of(tree, path, out)),
        UseTree::Name(name) => out.push([path.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => out.push([path.as_slice(), &[name.rename.to_string()]].concat()),
        UseTree::Glob(_) => out.push([path.as_slice(), &["*".to_owned()]].concat()),
    }
}

/// The crate that each imported name comes from.
fn imports(module: &Module) -> BTreeMap<String, String> {
    let mut leaves = Vec::new();
    for item in &module.items {
        if let Syntax::Use(import) = item {
            leaves_of(&import.tree, &mut Vec::new(), &mut leaves);
        }
    }
    leaves.into_iter().filter_map(|l| Some((l.last()?.clone(), l.first()?.clone()))).collect()
}

fn docs(attributes: &[Attribute]) -> String {
    let mut out = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            out.push_str(&text.value());
            out.push('\n');
        }
    }
    out
}

/// The literals of `doc(alias = "…")` and `doc(alias("…", "…"))`.
fn aliases(attributes: &[Attribute]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::List(list) = &attribute.meta
            && list.tokens.to_string().starts_with("alias")
        {
            literals(list.tokens.clone(), &mut out);
        }
    }
    out
}

fn literals(tokens: TokenStream, out: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => literals(group.stream(), out),
            TokenTree::Literal(literal) => {
                if let Ok(text) =
                    syn::parse2::<syn::LitStr>(TokenStream::from(TokenTree::from(literal)))
                {
                    out.insert(text.value());
                }
            }
            _ => {}
        }
    }
}
