//! The checked-in JSON Schemas are those of the types. `UPDATE_SCHEMAS=1 cargo test -p
//! gpuprof-model schema` writes them again; a change that old readers cannot ignore needs a new
//! `SCHEMA_VERSION`, and a file of the old one in `cargo-gpuprof/tests/corpus`.

use schemars::schema_for;

use crate::history::Entry;
use crate::run::Run;
use crate::schemas::check;
use crate::verdict_document::VerdictDocument;

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
