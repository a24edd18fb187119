//! Stored documents: their checked-in JSON Schemas are those of the types, and files of every format
//! ever released stay readable.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p cargo-gpuprof --test documents` writes the schemas anew. A change that
//! old readers cannot ignore needs a new `SCHEMA_VERSION`, and a file of the old one in `tests/corpus`.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_gpuprof::report::{Csv, Json, Markdown, Report};
use cargo_gpuprof::store::document;
use gpuprof_model::run::Run;
use gpuprof_model::verdict::VerdictDocument;
use schemars::{Schema, schema_for};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn check(name: &str, schema: &Schema) {
    let path = folder("../docs/schema").join(name);
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
fn old_files_stay_readable_and_can_be_reported() {
    let mut read = 0;
    for entry in fs::read_dir(folder("tests/corpus")).expect("the corpus is there") {
        let path = entry.expect("it can be listed").path();
        let path = camino::Utf8PathBuf::from_path_buf(path).expect("names are UTF-8");
        let run = document::read(&path).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!run.series.is_empty(), "{path}");
        for report in [&Csv as &dyn Report, &Json, &Markdown] {
            let mut out = Vec::new();
            report.write(&run, &mut out).expect("memory can be written");
            assert!(!out.is_empty(), "{path}");
        }
        let again = serde_json::to_vec(&run).expect("runs are plain data");
        assert_eq!(document::parse(&again, &path), Ok(run), "{path}");
        read += 1;
    }
    assert!(read >= 2, "the corpus is not whole: {read} files");
}
