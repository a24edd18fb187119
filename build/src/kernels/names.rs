//! Names of entry points as people and other tools know them.
//!
//! Input: PTX in which every entry point's name ends in its place (`scale$1a2b3c4d$12$1$`), since
//! all kernels of a package and of the kernel crates it depends on are one module. Output: the same
//! with the plain name (`scale`) wherever only one entry point has it.

use std::collections::BTreeMap;

use gpuprof_model::series::without_place;

/// `ptx` with the shortest unique names of its entry points.
pub(super) fn shortened(ptx: String) -> String {
    let mut of_one_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (at, directive) in ptx.match_indices(".entry ") {
        let rest = ptx[at + directive.len()..].trim_start();
        let name = rest.split(|c: char| c == '(' || c == '{' || c.is_whitespace()).next();
        let name = name.unwrap_or_default();
        of_one_name.entry(without_place(name)).or_default().push(name);
    }
    let unique = of_one_name.into_iter().filter_map(|(plain, names)| match *names.as_slice() {
        [one] if one != plain => Some((one.to_owned(), plain.to_owned())),
        _ => None,
    });
    // A place ends in a `$` and is never the end of another: no name is a part of another one.
    let unique: Vec<(String, String)> = unique.collect();
    unique.iter().fold(ptx, |ptx, (name, plain)| ptx.replace(name, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unique_entry_names_lose_their_suffix() {
        let ptx = "\t// .globl scale$0a$1$1$\n.visible .entry scale$0a$1$1$(\n)\n\
                   .visible .entry scale$0b$1$1$(\n)\n.visible .entry rescale$0c$2$1$(\n)\n\
                   .visible .entry plain(\n)\n";
        let expected = ptx.replace("rescale$0c$2$1$", "rescale");
        assert_eq!(shortened(ptx.to_owned()), expected);
    }
}
