use super::*;
use gpuprof_model::ExitCode;

use gpuprof_analysis::fixture;

fn run(id: &str) -> Run {
    fixture::run(id, Vec::new())
}

fn baselines() -> (tempfile::TempDir, Baselines) {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, Baselines::new(&root, &root.join("target")))
}

fn found(all: &Baselines, name: &str) -> std::result::Result<Run, String> {
    all.read(name).unwrap().into()
}

#[test]
fn a_baseline_in_git_has_precedence_and_is_never_replaced() {
    let (_keep, all) = baselines();
    write(&all.place("main", false).unwrap(), &run("local")).unwrap();
    assert_eq!(found(&all, "main").unwrap().id, "local");
    write(&all.checked_in.join("main.json"), &run("git")).unwrap();
    assert_eq!(found(&all, "main").unwrap().id, "git");
    assert_eq!(all.all().len(), 1);
    let refused = all.place_of_run("main").unwrap_err();
    assert_eq!(refused.code, ExitCode::Usage);
    assert!(
        refused.message.ends_with("use `cargo gpuprof baseline accept main`"),
        "{}",
        refused.message
    );
    assert_eq!(all.place("main", false).unwrap(), all.checked_in.join("main.json"));
}

#[test]
fn a_missing_baseline_is_reported_with_the_nearest_name() {
    let (_keep, all) = baselines();
    write(&all.place("main", false).unwrap(), &run("x")).unwrap();
    assert_eq!(
        found(&all, "mian").unwrap_err(),
        "no baseline is named `mian`: did you mean `main`?"
    );
    assert_eq!(
        found(&all, "zzzzzz").unwrap_err(),
        "no baseline is named `zzzzzz`: make one with --save-baseline zzzzzz"
    );
    assert_eq!(
        found(&all, "latest").unwrap_err(),
        "no baseline is named `latest`: `cargo gpuprof baseline accept NAME` makes one of the last \
         run"
    );
    assert_eq!(found(&all, "./no.json").unwrap_err(), "there is no baseline file ./no.json");
}

#[test]
fn a_torn_baseline_is_an_error() {
    let (_keep, all) = baselines();
    let path = all.place("main", false).unwrap();
    write(&path, &run("x")).unwrap();
    fs::write(&path, "{\"schema_version\": 1, \"id\": \"x").unwrap();
    let failure = all.read("main").unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    assert!(
        failure.message.contains("main.json is not a run document: byte 30"),
        "{}",
        failure.message
    );
}

#[test]
fn replacing_a_baseline_by_a_partial_run_is_reported() {
    use gpuprof_analysis::fixture::{emulated, series};
    let (_keep, all) = baselines();
    let path = all.place("main", false).unwrap();
    let of = |blocks: &[u64]| {
        let rows = blocks.iter().map(|&block| emulated(block, 1024)).collect();
        Run { series: vec![series(rows)], ..run("x") }
    };
    assert_eq!(lost(&path, &of(&[64])), None);
    write(&path, &of(&[64, 128, 256])).unwrap();
    assert_eq!(
        lost(&path, &of(&[64])).unwrap(),
        "it no longer contains saxpy::saxpy/block=128,n=1024 and 1 more, which the \
         previous one did"
    );
    assert_eq!(lost(&path, &of(&[64, 128, 256, 512])), None);
}

#[test]
fn a_lost_column_is_reported() {
    use gpuprof_analysis::fixture::{rows, series};
    let (_keep, all) = baselines();
    let path = all.place("main", false).unwrap();
    let mut counted = series(rows("global_sectors", &[1.0, 2.0]));
    counted.columns = vec!["global_sectors".into()];
    let mut denied = counted.clone();
    for row in &mut denied.configurations {
        row.metrics.get_mut("global_sectors").unwrap().value = Err("no permission".into());
    }
    let of = |series: &SeriesResult| Run { series: vec![series.clone()], ..run("x") };
    write(&path, &of(&counted)).unwrap();
    assert_eq!(lost(&path, &of(&counted)), None);
    assert_eq!(
        lost(&path, &of(&denied)).unwrap(),
        "it no longer contains global_sectors of saxpy::saxpy, which the previous one did"
    );
}

#[test]
fn a_baseline_series_without_a_finished_configuration_is_reported() {
    use gpuprof_analysis::fixture::{emulated, invalid, series};
    let named = |kernel: &str, rows| {
        let mut named = series(rows);
        named.id.kernel = kernel.into();
        named
    };
    let fine = named("fine", vec![emulated(64, 1024), invalid(2048)]);
    let of = |all: Vec<SeriesResult>| unfinished(&Run { series: all, ..run("x") });
    assert_eq!(of(vec![fine.clone()]), None);
    let bad = || named("bad", vec![invalid(64)]);
    assert_eq!(
        of(vec![fine.clone(), bad()]).unwrap(),
        "it has no finished configuration of saxpy::bad, so nothing can be compared \
         there; measure again and accept that run"
    );
    let two = of(vec![named("empty", vec![]), fine, bad()]).unwrap();
    assert!(two.contains("of saxpy::empty and 1 more series, so"), "{two}");
}

#[test]
fn baseline_names_outside_the_folder_are_refused() {
    let (_keep, all) = baselines();
    for bad in ["", "..", "../x", "a b", "-x", ".x", "_x", "ä", &"x".repeat(101)] {
        assert_eq!(all.place(bad, false).unwrap_err().code, ExitCode::Usage, "{bad}");
    }
    let why = |name: &str| all.place(name, false).unwrap_err().message;
    assert_eq!(
        why("latest"),
        "`latest` cannot name a baseline: `latest` always means the last run"
    );
    assert_eq!(why("main.json"), "`main.json` cannot name a baseline: this ending makes it a file");
    assert!(why(&"x".repeat(101)).ends_with(": it has 101 characters; the limit is 100"));
    assert!(all.place("v1.2-rc_3", false).is_ok());
}
