//! Disks that fill up and folders that vanish while a sweep continues: exit code 110, and
//! everything that was measured is on standard output all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use crate::support::{Packed, Tool, wait_beside};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

/// A sweep that is held up in its fourth configuration until the test lets it continue.
const SWEEP: [&str; 1] = ["waits"];
const CONFIGURATIONS: usize = 8;

/// The file that lets it continue, in the folder of the archive.
const GO: &str = "go";

fn journal_lines(run: &Path) -> usize {
    let bytes = fs::read(run.join("journal.jsonl")).unwrap_or_default();
    bytes.iter().filter(|&&b| b == b'\n').count()
}

/// The sweep with `arguments`.
fn sweep(packed: &Packed, arguments: &[&str]) -> Tool {
    packed.tool(&[&SWEEP[..], arguments].concat()).env("WAITS_FOR", packed.path().join(GO))
}

/// Starts the sweep with `arguments`, and returns it with its folder once three passes have ended:
/// two lines come before theirs.
fn under_way(packed: &Packed, arguments: &[&str]) -> (Child, PathBuf) {
    let mut child =
        sweep(packed, arguments).into_command().spawn().expect("the subcommand can be started");
    // Nothing reads its output yet, and events are long.
    let stdout = child.stdout.as_ref().expect("it is a pipe");
    fcntl_setpipe_size(stdout, 1 << 20).expect("a pipe can be that large");
    let run = wait_beside(&mut child, "three passes", || {
        packed.runs().into_iter().find(|run| journal_lines(run) > 4)
    });
    (child, run)
}

/// Lets the sweep continue.
fn go_on(packed: &Packed) {
    fs::write(packed.path().join(GO), "").expect("it can be written");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is UTF-8")
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().expect("it can be waited for");
    assert_eq!(output.status.code(), Some(110), "{output:?}");
    output
}

/// The events of one reason.
fn events(output: &Output, reason: &str) -> Vec<Value> {
    let event = |line: &str| serde_json::from_str::<Value>(line).expect("every line is JSON");
    text(&output.stdout).lines().map(event).filter(|event| event["reason"] == reason).collect()
}

/// Asserts that the measured rows are reported, and the others with `reason`.
fn assert_told(output: &Output, reason: &str) {
    let rows = events(output, "configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    let (finished, skipped): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row["status"] == "finished");
    assert!(finished.len() >= 3, "{} finished", finished.len());
    assert!(finished.iter().all(|row| row["metrics"]["ptx_instructions"]["value"].is_number()));
    assert!(!skipped.is_empty());
    for row in skipped {
        assert_eq!(row["status"], "skipped");
        let told = row["status_reason"].as_str().unwrap_or_default();
        assert!(told.starts_with("cannot write ") && told.contains(reason), "{told}");
    }
    let end = events(output, "run-finished");
    assert_eq!(end.iter().map(|end| &end["exit_code"]).collect::<Vec<_>>(), [110]);
    let stderr = text(&output.stderr);
    let last = stderr.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("error: cannot write ") && last.contains(reason), "{stderr}");
    assert!(stderr.contains("to continue where it stopped, add --resume "), "{stderr}");
}

#[test]
fn a_limit_on_the_size_of_files_is_reported_and_the_run_continues_once_it_is_lifted() {
    let packed = Packed::new();
    let (child, run) = under_way(&packed, &["--message-format", "json"]);
    // The limit is a little above the current size of the journal.
    let size = fs::metadata(run.join("journal.jsonl")).expect("it is there").len() + 100;
    let limit = Rlimit { current: Some(size), maximum: Some(size) };
    prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).expect("it still runs");
    go_on(&packed);
    let output = ended(child);
    assert_told(&output, "journal.jsonl: File too large");
    let whole = journal_lines(&run) - 2;
    let outcome = sweep(&packed, &["--resume", "--message-format", "json"]).run().exits_with(0);
    let id = run.file_name().and_then(|name| name.to_str()).expect("runs have names");
    assert!(
        outcome.stderr.contains(&format!("gpuprof: resuming {id}: {whole} passes are done")),
        "{}",
        outcome.stderr
    );
    let rows = outcome.events_of("configuration-finished");
    assert!(rows.len() == CONFIGURATIONS && rows.iter().all(|row| row["status"] == "finished"));
}

#[test]
fn table_and_exports_survive_a_vanished_run_folder() {
    let packed = Packed::new();
    let (child, run) = under_way(&packed, &["--export-csv", "out.csv", "--export-json", "-"]);
    // As a clean-up that does not look would; a file stays in its place, so that root cannot write
    // there.
    fs::rename(&run, packed.path().join("moved")).expect("it can be renamed");
    fs::write(&run, "").expect("it can be written");
    go_on(&packed);
    let output = ended(child);
    let (document, table) = (text(&output.stdout), text(&output.stderr));
    assert!(table.contains("\nendings::waits  endings/src/lib.rs:"), "{table}");
    assert!(table.contains("\n8 configurations of 1 series: "), "{table}");
    let document: Value = serde_json::from_str(&document).expect("it is JSON");
    let rows = document["series"][0]["configurations"].as_array().expect("it has rows");
    let finished = rows.iter().filter(|row| row["status"]["status"] == "finished").count();
    assert!((3..CONFIGURATIONS).contains(&finished), "{finished}");
    let mut csv = csv::Reader::from_path(packed.path().join("out.csv")).expect("it was written");
    let statuses: Vec<String> = csv
        .deserialize::<std::collections::BTreeMap<String, String>>()
        .map(|row| row.expect("every row is whole")["status"].clone())
        .collect();
    assert!(statuses.contains(&"finished".to_owned()), "{statuses:?}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("error: cannot write ") && stderr.contains("/passes/"), "{stderr}");
}

/// The journal of the one slice in the folder.
fn journal_of_slice(packed: &Packed) -> Option<PathBuf> {
    let of = |folder: &Path| fs::read_dir(folder).ok()?.flatten().next().map(|it| it.path());
    let slice = of(&of(&packed.path().join("slices"))?)?;
    Some(slice.join("journal.jsonl"))
}

#[test]
fn a_vanished_driver_fails_no_configuration_of_a_slice() {
    let packed = Packed::new();
    let slice = ["--slices", "slices", "--resume=auto"];
    let command = sweep(&packed, &slice).into_command().spawn();
    let mut child = command.expect("the subcommand can be started");
    let journal = wait_beside(&mut child, "a result", || {
        let journal = journal_of_slice(&packed)?;
        (journal_lines(journal.parent()?) > 4).then_some(journal)
    });
    // The driver is all that a slice has there.
    fs::remove_dir_all(packed.path().join("target")).expect("it can be removed");
    go_on(&packed);
    let output = ended(child);
    let stderr = text(&output.stderr);
    let last = stderr.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("error: /") && last.contains("/libcuda.so, which "), "{stderr}");
    let journalled = fs::read_to_string(&journal).expect("it is there");
    assert!(!journalled.contains("failed"), "{journalled}");
    let outcome = sweep(&packed, &slice).run().exits_with(0);
    assert!(outcome.stderr.contains("passes are done"), "{}", outcome.stderr);
    let merged = packed.other(&["merge", "slices", "--message-format", "json"]).run();
    let rows = merged.exits_with(0).events_of("configuration-finished");
    assert!(rows.len() == CONFIGURATIONS && rows.iter().all(|row| row["status"] == "finished"));
}

#[test]
fn an_export_to_a_full_disk_does_not_affect_other_exports() {
    let packed = Packed::new();
    let few = ["gather", "--series", "stride=1..4", "--quiet", "--save-baseline", "kept"];
    let exports = ["--export-csv", "/dev/full", "--export-markdown", "out.md"];
    let exports = [&exports[..], &["--export-junit", "out.xml"]].concat();
    let outcome = packed.tool(&[few.as_slice(), &exports].concat()).run().exits_with(110);
    assert!(outcome.stdout.contains("3 configurations of 1 series: 3 finished"));
    assert_eq!(
        outcome.stderr,
        "error: cannot write /dev/full: No space left on device (os error 28)\n"
    );
    let markdown = fs::read_to_string(packed.path().join("out.md")).expect("it was written");
    assert!(markdown.contains("stride"), "{markdown}");
    let junit = fs::read_to_string(packed.path().join("out.xml")).expect("it was written");
    assert!(junit.contains("exit code 110: output could not be written"), "{junit}");
    let run = &packed.runs()[0];
    assert!(run.join("run.json").exists());
    let verdict = fs::read(run.join("verdict.json")).expect("it was written");
    let verdict: Value = serde_json::from_slice(&verdict).expect("it is JSON");
    assert_eq!(
        (&verdict["exit_code"], &verdict["meaning"]),
        (&110.into(), &"output could not be written".into())
    );
    assert!(!packed.path().join("target/gpuprof/baselines/kept.json").exists());
}

#[test]
fn a_baseline_that_cannot_be_written_is_in_the_exit_code_of_every_document() {
    let packed = Packed::new();
    // A file cannot replace a folder that is not empty.
    let in_its_place = packed.path().join("target/gpuprof/baselines/kept.json/file");
    fs::create_dir_all(in_its_place.parent().expect("it has one")).expect("it can be made");
    fs::write(&in_its_place, "").expect("it can be written");
    let few = ["gather", "--series", "stride=1..4", "--quiet", "--save-baseline", "kept"];
    let outcome = packed.tool(&[&few[..], &["--export-junit", "out.xml"]].concat()).run();
    let outcome = outcome.exits_with(110);
    assert!(outcome.stderr.contains("kept.json"), "{}", outcome.stderr);
    let junit = fs::read_to_string(packed.path().join("out.xml")).expect("it was written");
    assert!(junit.contains("exit code 110: output could not be written"), "{junit}");
    let verdict = fs::read(packed.runs()[0].join("verdict.json")).expect("it was written");
    let verdict: Value = serde_json::from_slice(&verdict).expect("it is JSON");
    assert_eq!(verdict["exit_code"], 110);
}

/// A separate file system, which fills up once the first pass has ended.
const FILLED: &str = r#"
mkdir -p target && mount -t tmpfs -o size=300m none target || exit 77
"$0" "$@" &
tool=$!
while ! grep -q '"line":"pass"' target/gpuprof/runs/*/journal.jsonl 2>/dev/null; do sleep 0.01; done
dd if=/dev/zero of=target/fill bs=4k 2>/dev/null
: > "$WAITS_FOR"
wait $tool
"#;

#[test]
fn a_full_disk_is_reported_and_results_are_shown() {
    let packed = Packed::new();
    let tool = sweep(&packed, &["--message-format", "json"]).into_command();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", FILLED]);
    command.arg(tool.get_program()).args(tool.get_args()).current_dir(packed.path());
    command.env_clear().envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Ok(output) = command.output() else { return };
    if text(&output.stderr).contains("unshare: ") || output.status.code() == Some(77) {
        // Containers often may not mount anything; there the limit on file sizes replaces the disk.
        eprintln!("no file system can be mounted here: {}", text(&output.stderr));
        return;
    }
    assert_eq!(output.status.code(), Some(110), "{output:?}");
    let rows = events(&output, "configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    assert!(rows.iter().any(|row| row["status"] == "finished"));
    assert_eq!(events(&output, "run-finished")[0]["exit_code"], 110);
    assert!(text(&output.stderr).contains("No space left on device"), "{}", text(&output.stderr));
}

#[test]
fn an_unwritable_reply_does_not_fail_its_configuration() {
    let packed = Packed::new();
    let (child, run) = under_way(&packed, &["--message-format", "json"]);
    // The processes that wait for the test have not replied; a folder lies where each would.
    let mut in_the_way = Vec::new();
    for entry in fs::read_dir(run.join("passes")).expect("it is there") {
        let path = text(entry.expect("it can be read").path().as_os_str().as_encoded_bytes());
        let Some(pass) = path.strip_suffix(".request.json") else { continue };
        if !Path::new(&format!("{pass}.reply.json")).exists() {
            in_the_way.push(format!("{pass}.reply.json.unfinished"));
        }
    }
    in_the_way.iter().for_each(|path| fs::create_dir(path).expect("it can be made"));
    go_on(&packed);
    let output = ended(child);
    assert_told(&output, "reply.json: Is a directory");
    in_the_way.iter().for_each(|path| fs::remove_dir(path).unwrap_or_default());
    let outcome = sweep(&packed, &["--resume", "--message-format", "json"]).run().exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert!(rows.len() == CONFIGURATIONS && rows.iter().all(|row| row["status"] == "finished"));
}
