//! Suggests items to mark `#[gpuprof::host]`, from the positions of rustc's errors.
//!
//! Input: files and lines of the errors of a kernel build. Output: a sentence for each function and
//! import that only the host needs, as far as its source shows: certain if an attribute's `verify`
//! names it, possible for any other that is not a kernel. A crate without gpuprof that kernels use
//! has no such items: it lacks `#![no_std]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::Utf8Path;
use gpuprof_model::each_once::add_new;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, Item};

use crate::messages::ErrorPosition;

/// A function or import at the level of modules.
struct ModuleItem {
    /// As people call it.
    name: String,
    first: usize,
    last: usize,
    /// Whether an attribute says on which side it is.
    is_decided: bool,
}

/// A sentence for each item that holds one of the errors, and the errors that are neither in a
/// function which the host needs for certain nor in a crate that needs the standard library.
pub(super) fn advice<'p>(
    root: &Utf8Path,
    errors: &'p [ErrorPosition],
) -> (Vec<String>, Vec<&'p ErrorPosition>) {
    let mut by_file: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for ErrorPosition { file, line, .. } in errors {
        by_file.entry(file).or_default().insert(*line);
    }
    let (mut sentences, mut others) = (Vec::new(), errors.iter().collect::<Vec<_>>());
    for (file, lines) in by_file {
        if let Some(sentence) = lacks_no_std(root, file) {
            add_new(&mut sentences, [sentence]);
            others.retain(|it| it.file != file);
            continue;
        }
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        let Ok(parsed) = syn::parse_file(&text) else { continue };
        let (mut found, mut references) = (Vec::new(), BTreeMap::new());
        collect(&parsed.items, &mut found, &mut references);
        let holds = |item: &&ModuleItem| lines.range(item.first..=item.last).next().is_some();
        for item in found.iter().filter(|item| !item.is_decided).filter(holds) {
            let (name, line) = (&item.name, item.first);
            sentences.push(match references.get(name) {
                Some((key, kernel)) => {
                    others.retain(|it| it.file != file || !(line..=item.last).contains(&it.line));
                    format!(
                        "`{name}`, which `{key}` of `{kernel}` names, runs on the host: put #[gpuprof::host] above it \
                         ({file}:{line})"
                    )
                }
                None => format!(
                    "If only the host needs `{name}`, put #[gpuprof::host] above it ({file}:{line})"
                ),
            });
        }
    }
    (sentences, others)
}

/// That the crate of `file`, which does not depend on gpuprof, needs the standard library.
fn lacks_no_std(root: &Utf8Path, file: &str) -> Option<String> {
    let path = root.join(file);
    let package = path.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").is_file())?;
    let manifest = fs::read_to_string(package.join("Cargo.toml")).ok()?;
    let lines = || manifest.lines().map(|line| line.replace(' ', ""));
    let is_ours =
        |line: String| line.starts_with("gpuprof") || line.contains("package=\"gpuprof\"");
    let library = package.join("src/lib.rs");
    if lines().any(is_ours) {
        return None;
    }
    let name = lines()
        .find_map(|line| Some(line.strip_prefix("name=\"")?.split_once('"')?.0.to_owned()))?;
    let problem = format!("The crate `{name}`, which kernels use, needs the standard library");
    if ["/registry/src/", "/git/checkouts/"].iter().any(|cargos| path.as_str().contains(cargos)) {
        return Some(format!(
            "{problem}: leave out its feature for std, often by default-features = false; if only the \
             host uses it, put it under [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]"
        ));
    }
    if fs::read_to_string(&library).ok()?.contains("no_std") {
        return None;
    }
    let library = library.strip_prefix(root).unwrap_or(&library);
    Some(format!(
        "{problem}: put #![no_std] at the top of {library}, or #![cfg_attr(not(feature = \"std\"), \
         no_std)]"
    ))
}

/// The key of a kernel's attribute that names a function, and the kernel.
type Naming = (&'static str, String);

/// Puts the functions and imports among `items` into `found`, and the references of kernels'
/// `verify` into `references`, by name.
fn collect(items: &[Item], found: &mut Vec<ModuleItem>, references: &mut BTreeMap<String, Naming>) {
    for item in items {
        let (name, attributes) = match item {
            Item::Fn(function) => (function.sig.ident.to_string(), &function.attrs),
            Item::Use(import) => (
                format!("use {};", path(&import.tree.to_token_stream().to_string())),
                &import.attrs,
            ),
            Item::Mod(module) => {
                let inner = module.content.as_ref().map(|(_, items)| items.as_slice());
                collect(inner.unwrap_or_default(), found, references);
                continue;
            }
            _ => continue,
        };
        for attribute in attributes {
            for key in ["verify", "compare"] {
                if let Some(reference) = reference(attribute, key) {
                    references.insert(reference, (key, name.clone()));
                }
            }
        }
        let decides = |attribute: &Attribute| {
            let last = attribute.path().segments.last().map(|segment| segment.ident.to_string());
            last.is_some_and(|last| ["kernel", "series", "host", "cfg"].contains(&last.as_str()))
        };
        let (first, last) = (item.span().start().line, item.span().end().line);
        let is_decided = attributes.iter().any(decides);
        found.push(ModuleItem { name, first, last, is_decided });
    }
}

/// The last name of `key = PATH` in a kernel's attribute.
fn reference(attribute: &Attribute, key: &str) -> Option<String> {
    let text = path(&attribute.meta.to_token_stream().to_string());
    let rest = text.split(&format!("{key}=")).nth(1)?;
    let named = rest.split([',', ')']).next()?;
    Some(named.rsplit("::").next()?.to_owned())
}

/// Tokens without the spaces between them.
fn path(tokens: &str) -> String {
    tokens.replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, line: usize) -> ErrorPosition {
        ErrorPosition { file: file.to_owned(), line, column: 1, unknown: None }
    }

    #[test]
    fn the_verify_function_gets_its_own_advice() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let text = "use std::collections::HashMap;\n\
                    #[gpuprof::kernel(grid = 1, verify = crate::exp_on_host, args(1))]\n\
                    pub unsafe fn exp(x: u32) {\n    x.foo();\n}\n\n\
                    mod inner {\n    /// Docs.\n    fn exp_on_host(x: u32) {\n        x.exp();\n    }\n}\n\
                    fn other() {\n    vec![1];\n}\n\
                    #[gpuprof::host]\nfn fine() {\n    vec![1];\n}\n";
        fs::write(root.join("lib.rs"), text).unwrap();
        let at = |lines: &[usize]| {
            let places: Vec<_> = lines.iter().map(|&line| place("lib.rs", line)).collect();
            let (sentences, others) = advice(root, &places);
            (sentences, others.into_iter().map(|place| place.line).collect::<Vec<_>>())
        };
        let (sentences, others) = at(&[10, 14, 1]);
        assert_eq!(
            sentences,
            [
                "If only the host needs `use std::collections::HashMap;`, put #[gpuprof::host] above it (lib.rs:1)",
                "`exp_on_host`, which `verify` of `exp` names, runs on the host: put #[gpuprof::host] above it \
                 (lib.rs:8)",
                "If only the host needs `other`, put #[gpuprof::host] above it (lib.rs:13)",
            ]
        );
        assert_eq!(others, [14, 1], "a kernel's errors, perhaps");
        assert_eq!(at(&[4, 18]), (Vec::new(), vec![4, 18]), "a kernel, and one that is marked");
        assert_eq!(advice(root, &[place("nowhere.rs", 1)]).0, [""; 0]);
    }

    #[test]
    fn a_helper_crate_without_no_std_is_advised_to_add_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let write = |file: &str, text: &str| {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        };
        let told = |file: &str| advice(root, &[place(file, 1), place(file, 2)]).0.join("; ");
        write("lanes/Cargo.toml", "[package]\nname = \"lanes\"\n");
        write("lanes/src/lib.rs", "pub mod sums;\n");
        write("lanes/src/sums.rs", "pub fn sum(x: &[f32]) -> f32 {\n    x.to_vec().len()\n}\n");
        assert_eq!(
            told("lanes/src/sums.rs"),
            "The crate `lanes`, which kernels use, needs the standard library: put #![no_std] at the \
             top of lanes/src/lib.rs, or #![cfg_attr(not(feature = \"std\"), no_std)]"
        );
        write("lanes/src/lib.rs", "#![no_std]\npub mod sums;\n");
        assert!(told("lanes/src/sums.rs").contains("#[gpuprof::host]"));
        write("lanes/src/lib.rs", "pub mod sums;\n");
        let of_kernels = "[package]\nname = \"lanes\"\n[dependencies]\ngpuprof = \"0.1\"\n";
        write("lanes/Cargo.toml", of_kernels);
        assert!(told("lanes/src/sums.rs").contains("#[gpuprof::host]"));
        write("registry/src/i/rng-1.0.0/Cargo.toml", "[package]\nname = \"rng\"\n");
        write("registry/src/i/rng-1.0.0/src/lib.rs", "pub fn seed() -> Vec<u8> {}\n");
        // A crate of cargo's, or next to the workspace, has a whole path.
        let workspace = root.join("workspace");
        let of = |file: &str| {
            let file = root.join(file);
            advice(&workspace, &[place(file.as_str(), 1)]).0.join("; ")
        };
        let told = of("registry/src/i/rng-1.0.0/src/lib.rs");
        let said = "The crate `rng`, which kernels use, needs the standard library: leave out its";
        assert!(told.starts_with(said), "{told}");
        write("lanes/Cargo.toml", "[package]\nname = \"lanes\"\n");
        assert!(of("lanes/src/sums.rs").contains(&format!("top of {root}/lanes/src/lib.rs")));
    }
}
