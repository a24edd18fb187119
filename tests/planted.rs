//! Planted faults and sound kernels, in CUDA C++ and Rust: the emulated driver names each fault
//! with its lines and blames no sound kernel.

use std::fs;

use crate::support::{Archive, Workspace, repository_folder};
use crate::wheels::unpacked;
use csv::StringRecord;

/// Holds CUDA's headers; no later version than the emulated driver takes.
const NVRTC: &str = "nvidia-cuda-nvrtc==13.3.33";

/// Faults with another finding than their own check, or with none.
const OTHERWISE: [(&str, &str); 4] = [
    ("unwritten_read", "result"),
    ("half_unwritten_read", "result"),
    ("shuffle_from_an_ended_lane", "result"),
    ("volatile_without_syncwarp", "race"),
];

/// The output of `docs/scripts/faults.py emulated`: a row for each kernel, and the summary.
fn table() -> (Vec<StringRecord>, String) {
    let script = repository_folder().join("docs/scripts/faults.py");
    let workspace = Workspace::copy_of(&script.with_extension(""), "planted");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().display().to_string();
    let ptx = Archive::ptx(&workspace, "planted");
    fs::write(folder.path().join("planted.ptx"), ptx).expect("it can be written");
    let nvrtc = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    workspace.script(&script, &["build", &path], &[("GPUPROF_NVRTC", &nvrtc)]).exits_with(0);
    let stdout = workspace.script(&script, &["emulated", &path], &[]).exits_with(0).stdout;
    let (rows, summary) = stdout.trim_end().rsplit_once('\n').expect("it prints lines");
    let rows = csv::Reader::from_reader(rows.as_bytes()).into_records();
    (rows.map(|row| row.expect("it prints CSV")).collect(), summary.to_owned())
}

#[test]
fn planted_faults_are_named_with_their_lines_and_sound_kernels_pass() {
    let (rows, summary) = table();
    let is_wrong = |row: &&StringRecord| {
        let [kernel, _, check, _, found, _, exact] = std::array::from_fn(|at| &row[at]);
        let otherwise = OTHERWISE.iter().find(|(name, _)| *name == kernel);
        let expected = if check == "sound" { "" } else { check };
        let has_lines = exact == "yes" || expected.is_empty() || otherwise.is_some();
        found != otherwise.map_or(expected, |(_, found)| found) || !has_lines
    };
    let wrong: Vec<_> = rows.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let in_rust = |sound| {
        let counted =
            |row: &&StringRecord| row[1].ends_with(".rs") && (&row[2] == "sound") == sound;
        rows.iter().filter(counted).count()
    };
    assert_eq!((in_rust(false), in_rust(true)), (15, 15));
    // The figures of docs/claims.md and of the book; those of compute-sanitizer are an H100's.
    assert!(
        summary.starts_with("60 faulty: the emulated driver finds 60, names 57, "),
        "{summary}"
    );
    let rest = "; compute-sanitizer finds 30. 60 sound: the emulated driver blames 0, \
                compute-sanitizer 3.";
    assert!(summary.ends_with(rest), "{summary}");
}
