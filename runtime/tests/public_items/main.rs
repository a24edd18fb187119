//! The public items of `gpuprof`, read from its source: every public item has an example that
//! compiles, CUDA's names find their counterparts, and no signature names a type that users cannot.
//!
//! Input: the sources of `gpuprof` and `gpuprof-macros`. Output: nothing, or the items that break a
//! rule. `cargo test --doc` checks that the examples compile.

mod cuda_names;
mod source;
mod surface;

use std::collections::BTreeSet;
use std::path::Path;

use surface::Item;

/// The public items of the crate. Its macros are documented in two places, which rustdoc joins.
fn items() -> Vec<Item> {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut items = surface::of_crate(&source::read(&runtime.join("src/lib.rs")));
    let macros = runtime.join("../harness-macros/src/lib.rs");
    for original in surface::of_crate(&source::read(&macros)) {
        let shown = items.iter_mut().find(|item| item.path == original.path);
        shown.unwrap_or_else(|| panic!("`{}` is not re-exported", original.path)).join(original);
    }
    items
}

#[test]
fn every_public_item_has_an_example_that_compiles() {
    let items = items();
    let without: Vec<&str> =
        items.iter().filter(|item| !item.has_example()).map(|item| item.path.as_str()).collect();
    assert_eq!(without, [""; 0], "of {} items", items.len());
    // A walk that finds next to nothing would pass as well.
    for path in ["thread::global_x", "Shared::atomic_add", "FastMath::rsqrt", "Run::measure"] {
        assert!(items.iter().any(|item| item.path == path), "{path} was not found");
    }
}

#[test]
fn cudas_names_find_their_counterparts() {
    let items = items();
    for (cuda, path) in cuda_names::COUNTERPARTS {
        let item = items.iter().find(|item| item.path == *path);
        let item = item.unwrap_or_else(|| panic!("there is no `{path}` for {cuda}"));
        assert!(item.aliases.contains(*cuda), "`{path}` has no #[doc(alias = \"{cuda}\")]");
    }
}

#[test]
fn public_signatures_name_only_public_types() {
    let items = items();
    let public: BTreeSet<&str> = items.iter().map(|item| item.name()).collect();
    let mut private = BTreeSet::new();
    for item in &items {
        for name in item.foreign_types(&public) {
            private.insert(format!("{} names {name}", item.path));
        }
    }
    assert_eq!(private, BTreeSet::new());
}
