//! Stored documents: files of every format ever released stay readable. Their checked-in JSON
//! Schemas are kept true by `model/src/schema_tests.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use gpuprof_analysis::fixture;
use gpuprof_engine::store::document;
use gpuprof_model::run::Status;
use gpuprof_model::verdict_document::VerdictDocument;
use gpuprof_report::{Csv, Json, Markdown, Report};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of the corpus whose names begin with `kind`, `run-` for instance.
fn corpus(kind: &str) -> Vec<camino::Utf8PathBuf> {
    let entries = fs::read_dir(folder("tests/corpus")).expect("the corpus is there");
    let path = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("it can be listed").path();
        camino::Utf8PathBuf::from_path_buf(path).expect("names are UTF-8")
    };
    let named = |path: &camino::Utf8PathBuf| path.file_name().is_some_and(|n| n.starts_with(kind));
    entries.map(path).filter(named).collect()
}

#[test]
fn old_runs_and_baselines_stay_readable_and_can_be_reported() {
    let mut read = 0;
    for path in corpus("run-").into_iter().chain(corpus("baseline-")) {
        let run = document::read(&path).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!run.series.is_empty(), "{path}");
        for report in [&Csv as &dyn Report, &Json, &Markdown::default()] {
            let mut out = Vec::new();
            report.write(&run, &mut out).expect("memory can be written");
            assert!(!out.is_empty(), "{path}");
        }
        let again = serde_json::to_vec(&run).expect("runs are plain data");
        assert_eq!(document::parse(&again, &path), Ok(run), "{path}");
        read += 1;
    }
    assert!(read >= 3, "the corpus is not whole: {read} files");
}

#[test]
fn a_stored_row_stays_below_4200_bytes() {
    let rows = |count: u64| (1..=count).map(|at| fixture::emulated(64, 1024 * at)).collect();
    let size = |count| {
        let run = fixture::run("x", vec![fixture::series(rows(count))]);
        serde_json::to_vec(&run).expect("runs are plain data").len()
    };
    let (few, many) = (size(10), size(110));
    // 117 metrics of which 54 have no value, each with unit and reason, were 19 KB.
    assert!((many - few) / 100 < 4200, "a row has {} bytes", (many - few) / 100);
}

#[test]
fn old_verdicts_stay_readable() {
    let all = corpus("verdict-");
    assert!(!all.is_empty(), "the corpus is not whole");
    for path in all {
        let text = fs::read_to_string(&path).expect("it can be read");
        let verdict: VerdictDocument =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(!verdict.judgements.is_empty(), "{path}");
        // Nothing is dropped: a reader of today's type sees everything that an old file holds.
        let old: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let now = serde_json::to_value(&verdict).expect("verdicts are plain data");
        for (key, value) in old.as_object().expect("it is an object") {
            assert_eq!(now.get(key), Some(value), "{path}: {key}");
        }
    }
}

#[test]
fn old_journals_can_be_resumed_by_their_version() {
    use gpuprof_engine::store::journal::{FILE, Journal, RunIdentity, Start};
    let all = corpus("journal-");
    assert!(!all.is_empty(), "the corpus is not whole");
    let mut read = 0;
    for path in all {
        let bytes = fs::read(&path).expect("it can be read");
        let first = bytes.split(|&b| b == b'\n').next().expect("it has a line");
        // One that today's type does not read is refused by its version: see `hostile.rs`.
        let Ok(made) = serde_json::from_slice::<RunIdentity>(first) else { continue };
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        fs::write(folder.path().join(FILE), &bytes).expect("it can be written");
        let folder = camino::Utf8Path::from_path(folder.path()).expect("its path is UTF-8");
        let (_, replayed) = Journal::resume(folder, &made, Start::default())
            .unwrap_or_else(|f| panic!("{path}: {f}"));
        assert!(!replayed.is_empty(), "{path}");
        read += 1;
    }
    assert!(read > 0, "no journal of the corpus is read any more");
}

/// Both slices of a plan of commit 9e5f27d (2026-11-23): manifests and journals.
#[test]
fn old_slices_can_be_merged() {
    let here = tempfile::tempdir().expect("there is a temporary folder");
    let merged = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"))
        .arg("merge")
        .arg(folder("tests/corpus/slices-1"))
        .args(["--no-config", "--no-gate", "--export-json", "merged.json"])
        .current_dir(&here)
        .output()
        .expect("it can be started");
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    let path = camino::Utf8PathBuf::from_path_buf(here.path().join("merged.json"));
    let run = document::read(&path.expect("its path is UTF-8")).unwrap_or_else(|f| panic!("{f}"));
    let ids: Vec<String> = run.series.iter().map(|series| series.id.to_string()).collect();
    assert_eq!(ids, ["reduce::reduce", "saxpy::saxpy"]);
    let rows = || run.series.iter().flat_map(|series| &series.configurations);
    assert!(rows().count() == 2 && rows().all(|row| row.status == Status::Finished), "{run:#?}");
    let judged: usize = run.series.iter().map(|series| series.judgements.len()).sum();
    assert_eq!(judged, 5, "{run:#?}");
}
