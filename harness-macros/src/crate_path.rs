//! The path of gpuprof in the compiled crate, whose manifest may rename it.
//!
//! Input: the manifests of the package and of its workspace. Output: `::gpuprof`, or `::gp` for `gp
//! = { package = "gpuprof" }`. A macro cannot see the name by which it was called, and cargo gives
//! it no other source.

use std::path::Path as FilePath;
use std::{env, fs};

use proc_macro2::{Ident, Span};
use syn::Path;

/// The package that is looked for.
const PACKAGE: &str = "gpuprof";

/// The path of gpuprof if no `crate = PATH` gives it.
pub(crate) fn gpuprof() -> Path {
    let renamed = env::var_os("CARGO_MANIFEST_DIR").and_then(|package| {
        let mut folders = FilePath::new(&package).ancestors();
        let read = |folder: &FilePath| fs::read_to_string(folder.join("Cargo.toml")).ok();
        let own = read(folders.next()?)?;
        renamed(&own, || folders.filter_map(read).find(|text| text.contains("[workspace")))
    });
    let name = renamed.unwrap_or_else(|| PACKAGE.to_owned()).replace('-', "_");
    let name = syn::parse_str(&name).unwrap_or_else(|_| Ident::new(PACKAGE, Span::call_site()));
    syn::parse_quote!(::#name)
}

/// The other name that the manifest `own` gives gpuprof, or that of the workspace, which `above`
/// reads, for the packages that inherit it; none if gpuprof has its own name.
fn renamed(own: &str, above: impl FnOnce() -> Option<String>) -> Option<String> {
    let own = dependencies(own);
    let is_it = |it: &&Dependency| it.value.contains("package=\"gpuprof\"");
    if own.iter().any(|it| it.key == PACKAGE) {
        return None;
    }
    if let Some(found) = own.iter().find(is_it) {
        return Some(found.key.clone());
    }
    let inherits = |it: &&Dependency| {
        own.iter().any(|own| own.key == it.key && own.value.contains("workspace=true"))
    };
    let above = dependencies(&above()?);
    above.iter().filter(is_it).find(inherits).map(|it| it.key.clone())
}

/// A dependency of a manifest: its key, and its value without spaces.
struct Dependency {
    key: String,
    value: String,
}

/// The dependencies in the text of a manifest, by the lines of `[dependencies]`, of
/// `[dependencies.KEY]`, and of the tables of targets, tests and workspaces.
fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let (mut listed, mut of_one) = (false, false);
    for line in manifest.lines() {
        let line = line.replace([' ', '\t'], "").replace('\'', "\"");
        if let Some(table) = line.strip_prefix('[') {
            let table = table.split(']').next().unwrap_or_default();
            listed = table.ends_with("dependencies");
            let key = table.rsplit_once("dependencies.").map(|(_, key)| key.trim_matches('"'));
            of_one = key.is_some();
            found.extend(key.map(|key| Dependency { key: key.into(), value: String::new() }));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        if let (true, Some(dependency)) = (of_one, found.last_mut()) {
            dependency.value.push_str(&line);
        } else if listed {
            let (key, rest) = key.split_once('.').unwrap_or((key, ""));
            let value = if rest.is_empty() { value.to_owned() } else { format!("{rest}={value}") };
            found.push(Dependency { key: key.trim_matches('"').to_owned(), value });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_crate_is_found_in_manifest_or_workspace() {
        let name = |root: &str, own: &str| renamed(own, || Some(root.to_owned()));
        let workspace = "[workspace]\n[workspace.dependencies]\n\
                         gpu-p = { path = \"../gpuprof\", package = \"gpuprof\" }\n";
        for (root, own, expected) in [
            ("", "[dependencies]\ngpuprof = \"0.1\"\n", None),
            ("", "[dependencies]\ngp = { package = \"gpuprof\", version = \"0.1\" }\n", Some("gp")),
            ("", "[dependencies.gp]\nversion = \"0.1\"\npackage = 'gpuprof'\n", Some("gp")),
            ("", "[target.'cfg(unix)'.dependencies]\ngp = {package=\"gpuprof\"}\n", Some("gp")),
            ("", "[dependencies]\ngp.package = \"gpuprof\"\ngp.version = \"0.1\"\n", Some("gp")),
            ("", "[dependencies]\n# gp = { package = \"gpuprof\" }\nserde = \"1\"\n", None),
            (workspace, "[dependencies]\ngpu-p.workspace = true\n", Some("gpu-p")),
            (workspace, "[dependencies]\ngpu-p = { workspace = true }\n", Some("gpu-p")),
            (workspace, "[dependencies]\nserde = \"1\"\n", None),
        ] {
            assert_eq!(name(root, own).as_deref(), expected, "{own}");
        }
    }
}
