//! Compares a checked-in JSON Schema with its type. The tests of the package `cargo-gpuprof`, whose
//! commands write further documents, include this file as well.

use std::fs;
use std::path::Path;

use schemars::Schema;

/// Holds `docs/schema/NAME` to `schema`.
pub fn check(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema").join(name);
    let text = serde_json::to_string_pretty(schema).expect("schemas are plain data") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).expect("the schema can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not the schema of the types; UPDATE_SCHEMAS=1 updates it",
        path.display()
    );
}
