//! A crate's source as a tree of modules, each with its file read in.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

/// One module.
pub struct Module {
    /// Its name; empty for the crate.
    pub name: String,
    /// Its own attributes and those of its declaration.
    pub attributes: Vec<Attribute>,
    /// Its items but for modules.
    pub items: Vec<Item>,
    /// The modules that it declares, and whether each is `pub`.
    pub modules: Vec<(bool, Module)>,
}

impl Module {
    /// The module that it declares as `name`.
    pub fn child(&self, name: &str) -> Option<&Module> {
        self.modules.iter().map(|(_, module)| module).find(|module| module.name == name)
    }
}

/// Reads the crate whose root is `file`.
pub fn read(file: &Path) -> Module {
    let folder = file.parent().unwrap();
    from_file(String::new(), file, folder, Vec::new())
}

fn from_file(name: String, file: &Path, folder: &Path, declared: Vec<Attribute>) -> Module {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let attributes = [parsed.attrs, declared].concat();
    from_items(name, attributes, parsed.items, folder)
}

/// `folder` contains the files of its modules.
fn from_items(name: String, attributes: Vec<Attribute>, all: Vec<Item>, folder: &Path) -> Module {
    let mut module = Module { name, attributes, items: Vec::new(), modules: Vec::new() };
    for item in all {
        let Item::Mod(child) = item else {
            module.items.push(item);
            continue;
        };
        let is_public = matches!(child.vis, syn::Visibility::Public(_));
        let name = child.ident.to_string();
        let below = folder.join(&name);
        let child = match child.content {
            Some((_, items)) => from_items(name, child.attrs, items, &below),
            None => from_file(name.clone(), &file_of(folder, &name), &below, child.attrs),
        };
        module.modules.push((is_public, child));
    }
    module
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(format!("{name}.rs"));
    if beside.exists() { beside } else { folder.join(name).join("mod.rs") }
}
