//! The checked-in JSON Schemas are those of the types. `UPDATE_SCHEMAS=1 cargo test -p
//! gpuprof-model schema` writes them anew; a change that old readers cannot ignore needs a new
//! `SCHEMA_VERSION`, and a file of the old one in `cargo-gpuprof/tests/corpus`.

use std::fs;
use std::path::Path;

use schemars::{Schema, schema_for};

use crate::history::Entry;
use crate::run::Run;
use crate::verdict_document::VerdictDocument;

fn check(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema").join(name);
    let text = serde_json::to_string_pretty(schema).expect("schemas are plain data") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).expect("the schema can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not the schema of the types; UPDATE_SCHEMAS=1 writes it anew",
        path.display()
    );
}

#[test]
fn the_schema_of_the_run_document_is_that_of_its_type() {
    check("run.schema.json", &schema_for!(Run));
}

#[test]
fn the_schema_of_the_verdict_is_that_of_its_type() {
    check("verdict.schema.json", &schema_for!(VerdictDocument));
}

#[test]
fn the_schema_of_a_line_of_a_history_is_that_of_its_type() {
    check("history.schema.json", &schema_for!(Entry));
}
