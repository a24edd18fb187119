//! Input: the modules of a crate. Output: the dependencies between files, and the circles in them.
//!
//! A file needs the file that *defines* a name it uses: re-exports are followed to their end, and a
//! file that only re-exports a name does not need its definition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::modules::{Modules, Segments};

/// Per file, the files that it needs, each with one of the paths that lead there.
pub type Needs = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Re-exports of re-exports: deeper is a loop.
const DEPTH: usize = 32;

/// The target of a path.
enum Found {
    Item(PathBuf),
    Module,
    Outside,
}

/// Which file of a crate needs which.
pub fn needs(modules: &Modules) -> Needs {
    let mut needs = Needs::new();
    for (number, module) in modules.0.iter().enumerate() {
        let imports = module.imports.values().filter(|it| !it.public).map(|it| &it.path);
        for path in imports.chain(&module.mentions) {
            if let Found::Item(file) = resolve(modules, number, path, 0)
                && file != module.file
            {
                needs.entry(module.file.clone()).or_default().insert(file, path.join("::"));
            }
        }
    }
    needs
}

/// Follows a path that is written in a module.
fn resolve(modules: &Modules, mut number: usize, path: &[String], depth: usize) -> Found {
    let mut rest = path;
    let mut anchored = false;
    while let Some((first, more)) = rest.split_first() {
        number = match first.as_str() {
            "crate" => 0,
            "self" => number,
            "super" => modules.0[number].parent.unwrap_or(number),
            _ => break,
        };
        (rest, anchored) = (more, true);
    }
    if !anchored && !knows(modules, number, rest) {
        return Found::Outside;
    }
    follow(modules, number, rest, depth)
}

/// Whether the first name of a path is more than an item of the module itself or of the prelude.
fn knows(modules: &Modules, number: usize, path: &[String]) -> bool {
    let Some(name) = path.first() else { return false };
    let module = &modules.0[number];
    if path.len() == 1 && module.items.contains(name) {
        return false;
    }
    module.children.contains_key(name)
        || module.imports.contains_key(name)
        || glob(modules, number, name).is_some()
}

/// Follows the rest of a path inside a module.
fn follow(modules: &Modules, number: usize, path: &[String], depth: usize) -> Found {
    let module = &modules.0[number];
    let Some((name, more)) = path.split_first() else { return Found::Module };
    let child = module.children.get(name);
    if let Some(&child) = child
        && !more.is_empty()
    {
        return follow(modules, child, more, depth);
    }
    let import = module.imports.get(name);
    if module.items.contains(name) && (more.is_empty() || import.is_none()) {
        return Found::Item(module.file.clone());
    }
    if let Some(import) = import
        && depth < DEPTH
    {
        let whole: Segments = import.path.iter().chain(more).cloned().collect();
        return resolve(modules, number, &whole, depth + 1);
    }
    if child.is_some() {
        return Found::Module;
    }
    match glob(modules, number, name) {
        Some(target) if depth < DEPTH => follow(modules, target, path, depth + 1),
        _ => Found::Item(module.file.clone()),
    }
}

/// The module with all names imported here that has this one.
fn glob(modules: &Modules, number: usize, name: &str) -> Option<usize> {
    modules.0[number].globs.iter().find_map(|path| {
        let target = module_at(modules, number, path)?;
        let module = &modules.0[target];
        let has = module.items.contains(name)
            || module.imports.get(name).is_some_and(|it| it.public)
            || module.children.contains_key(name);
        (has && target != number).then_some(target)
    })
}

fn module_at(modules: &Modules, mut number: usize, path: &[String]) -> Option<usize> {
    for name in path {
        number = match name.as_str() {
            "crate" => 0,
            "self" => number,
            "super" => modules.0[number].parent?,
            name => *modules.0[number].children.get(name)?,
        };
    }
    Some(number)
}

/// The same of rooms: a room is a file or a folder directly below `source`. The root of a crate is
/// none.
pub fn of_rooms(needs: &Needs, source: &Path) -> Needs {
    let mut rooms = Needs::new();
    for (file, others) in needs {
        let Some(room) = room(file, source) else { continue };
        for (other, path) in others {
            if let Some(other) = self::room(other, source).filter(|other| *other != room) {
                rooms.entry(room.clone()).or_default().insert(other, path.clone());
            }
        }
    }
    rooms
}

fn room(file: &Path, source: &Path) -> Option<PathBuf> {
    let first = file.strip_prefix(source).ok()?.iter().next()?;
    let room = source.join(first).with_extension("");
    (!["lib", "main"].iter().any(|root| room.ends_with(root))).then_some(room)
}

/// The groups of files that need each other, directly or through others.
pub fn circles(needs: &Needs) -> Vec<BTreeSet<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        needs.keys().map(|file| (file, reachable(needs, file))).collect();
    let mut found: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, there) in &reached {
        if !there.contains(file) || found.iter().any(|it| it.contains(*file)) {
            continue;
        }
        let back = there.iter().filter(|it| reached.get(*it).is_some_and(|it| it.contains(file)));
        found.push(back.map(|it| (*it).clone()).collect());
    }
    found
}

/// Every file that a file needs, directly or through others; itself where it is in a circle.
fn reachable<'a>(needs: &'a Needs, from: &PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&PathBuf> = needs.get(from).into_iter().flat_map(|it| it.keys()).collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(needs.get(file).into_iter().flat_map(|it| it.keys()));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The circles of a crate with these files, by file name.
    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        named_circles(files, |needs, _| needs)
    }

    fn circles_of_rooms(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        named_circles(files, |needs, source| of_rooms(&needs, source))
    }

    fn named_circles(
        files: &[(&str, &str)],
        collapse: impl FnOnce(Needs, &Path) -> Needs,
    ) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let needs = needs(&Modules::of_crate(&folder.path().join("lib.rs")));
        let needs = collapse(needs, folder.path());
        let name = |it: &PathBuf| it.strip_prefix(folder.path()).unwrap().display().to_string();
        circles(&needs).iter().map(|it| it.iter().map(name).collect()).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let a = ("a.rs", "use crate::b::B; pub struct A(B);");
        let b = ("b.rs", "use super::a; pub struct B; fn a(_: a::A) {}");
        assert_eq!(circles_of(&[("lib.rs", "mod a; mod b;"), a, b]), [["a.rs", "b.rs"]]);
        let apart = ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }");
        assert!(circles_of(&[("lib.rs", "mod a; mod b;"), a, apart]).is_empty());
    }

    #[test]
    fn a_re_export_is_followed_to_the_file_that_defines_the_name() {
        let lib = ("lib.rs", "mod a; mod b; pub use b::*; pub use a::{A as Other};");
        let a = ("a.rs", "use crate::B; pub struct A(B);");
        let b = ("b.rs", "pub struct B; fn f() { let _: crate::Other; }");
        assert_eq!(circles_of(&[lib, a, b]), [["a.rs", "b.rs"]]);
        let hub = ("b.rs", "pub struct B;");
        assert!(circles_of(&[lib, a, hub]).is_empty(), "a re-export needs nothing");
    }

    #[test]
    fn rooms_are_a_circle_though_their_files_are_none() {
        let lib = ("lib.rs", "mod a; mod b;");
        let a = ("a/mod.rs", "mod low; mod high;");
        let (low, high) = ("pub struct Low;", "fn f(_: crate::b::B) {}");
        let b = ("b.rs", "pub struct B(crate::a::low::Low);");
        let rooms = |high: &'static str| {
            let files = [lib, a, ("a/low.rs", low), ("a/high.rs", high), b];
            (circles_of(&files), circles_of_rooms(&files))
        };
        assert_eq!(rooms(high), (Vec::new(), vec![vec!["a".to_owned(), "b".to_owned()]]));
        assert_eq!(rooms("fn f() {}"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_parent_and_its_child_can_be_a_circle() {
        let lib = ("lib.rs", "mod a;");
        let a = ("a/mod.rs", "mod child; pub struct A; fn f() { child::g() }");
        let child = ("a/child.rs", "use super::A; pub fn g() { let _ = A; }");
        assert_eq!(circles_of(&[lib, a, child]), [["a/child.rs", "a/mod.rs"]]);
    }
}
