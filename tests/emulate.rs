//! `cargo gpuprof emulate`: foreign programs on the emulated driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Outcome, Tool, target_folder, wait_beside, wait_for};

/// The program, compiled once.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = target_folder().join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("launches");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/launches.c");
    let mut command = Command::new("cc");
    command.args(["-O1", "-o"]).arg(&program).args([source, "-ldl"]);
    assert!(command.status().expect("cc starts").success(), "cc builds {source}");
    program
});

fn emulate(folder: &Path, before: &[&str], mode: &str) -> Outcome {
    let program = PROGRAM.to_str().unwrap();
    let arguments = [&["emulate"], before, &["--", program, mode]].concat();
    Tool::new(&arguments, folder, folder).run()
}

#[test]
fn a_program_runs_without_a_gpu_and_its_launches_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["--export-csv", "launches.csv", "--export-json", "launches.json"];
    let outcome = emulate(folder.path(), &files, "fine").exits_with(0);
    assert_eq!(outcome.stdout, "the program ends well\n");
    let row = outcome.stderr.lines().find(|line| line.contains("fill")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    // 32 threads store 128 bytes, four sectors, three times.
    assert_eq!(cells, ["3", "fill", "1", "32", "18", "12", "0", "0"], "{}", outcome.stderr);
    let checks = " checks: memory, init, race, sync in all 3 blocks\n";
    assert_eq!(outcome.stderr.matches(checks).count(), 1, "{}", outcome.stderr);

    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let document: Value = serde_json::from_str(&read("launches.json")).unwrap();
    let counters = &document["launches"][0]["counters"];
    assert_eq!(counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], 12);
    let text = read("launches.csv");
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let column = rows.headers().unwrap().iter().position(|name| name == "launches").unwrap();
    let first = rows.records().next().unwrap().unwrap();
    assert_eq!((&first[0], &first[column]), ("fill", "3"));
}

#[test]
fn a_fault_fails_even_if_the_program_ignores_it() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = emulate(folder.path(), &["-q"], "fault").exits_with(105);
    assert_eq!(outcome.stdout, "the program ends well\n");
    let expected = "emulated CUDA driver: kernel 'fill' at PTX line 11, block (0,0,0), thread \
                    (32,0,0): writes 4 bytes of global memory at";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("instructions"), "{}", outcome.stderr);
}

#[test]
fn a_fault_is_reported_even_if_the_program_closed_all_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = emulate(folder.path(), &["--export-json", "run.json"], "closes");
    let outcome = outcome.exits_with(105);
    assert!(outcome.stderr.contains("emulated CUDA driver: kernel 'fill' at PTX line 11"));
    let json = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(json.contains("writes 4 bytes of global memory"), "{json}");
    assert_eq!(std::fs::metadata(folder.path().join("own")).unwrap().len(), 0);
}

#[test]
fn an_unwritable_log_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    // As a disk that is full: no file may have a byte.
    let program = format!("trap '' XFSZ; ulimit -f 0; {} fault; exit 0", PROGRAM.display());
    let arguments = ["emulate", "--export-json", "run.json", "--", "sh", "-c", &program];
    let outcome = Tool::new(&arguments, folder.path(), folder.path()).run().exits_with(110);
    assert!(outcome.stderr.contains("events.jsonl: File too large"), "{}", outcome.stderr);
    let last = "error: the emulated driver's report could not be written";
    assert!(outcome.stderr.contains(last), "{}", outcome.stderr);
    assert!(!folder.path().join("run.json").exists(), "it would say that nothing faulted");
}

#[test]
fn an_unwritable_table_is_an_error_and_files_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let program = PROGRAM.to_str().unwrap();
    for (quiet, code) in [(&[][..], 110), (&["-q"], 0)] {
        let files = ["--export-json", "run.json", "--", program, "fine"];
        let arguments = [&["emulate"], quiet, &files].concat();
        let mut command = Tool::new(&arguments, folder.path(), folder.path()).into_command();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(command.stderr(full).status().unwrap().code(), Some(code));
        std::fs::remove_file(folder.path().join("run.json")).unwrap();
    }
}

#[test]
fn a_refusal_gives_the_reason_and_keeps_the_programs_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = emulate(folder.path(), &[], "refused").exits_with(3);
    let reason = outcome.stdout.strip_prefix("code 218: ").unwrap().trim_end();
    assert!(reason.contains("line 3"), "{reason}");
    assert!(outcome.stderr.contains(&format!("emulated CUDA driver: {reason}")));

    let outcome = emulate(folder.path(), &[], "unsupported").exits_with(0);
    let told =
        "emulated CUDA driver: cuArrayCreate_v2 is not supported (CUDA_ERROR_NOT_SUPPORTED)\n";
    assert_eq!(outcome.stderr.matches(told).count(), 1, "{}", outcome.stderr);
}

#[test]
fn events_give_the_time_of_this_computer_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = emulate(folder.path(), &["--export-json", "run.json"], "timed").exits_with(0);
    let expected = "not recorded 400, not timed 400, both 0 0, some time\n";
    assert!(outcome.stdout.starts_with(expected), "{}", outcome.stdout);
    let told = "emulated CUDA driver: times between events are this computer's: they say how long \
                emulation took\n";
    assert_eq!(outcome.stderr.matches(told).count(), 1, "{}", outcome.stderr);
    let json = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(json.contains("\"event_times\": \"host\""), "{json}");
}

#[test]
fn a_program_ends_with_its_parent_and_what_was_left_behind_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let (scratch, begun) = (folder.path().join("scratch"), folder.path().join("begun"));
    std::fs::create_dir(&scratch).unwrap();
    let program = "echo $$ > begun.new; mv begun.new begun; exec sleep 600";
    let tool = |command: &[&str]| {
        let arguments = [&["emulate", "--"], command].concat();
        Tool::new(&arguments, folder.path(), folder.path()).env("TMPDIR", &scratch)
    };
    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::KILL, None)] {
        let mut child = tool(&["sh", "-c", program]).into_command().spawn().unwrap();
        let pid = wait_beside(&mut child, "the program", || std::fs::read_to_string(&begun).ok());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        // A process without a waiting parent is a zombie.
        let stat = format!("/proc/{}/stat", pid.trim());
        let ended = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z"));
        wait_for("the program's end", || ended().then_some(()));
        std::fs::remove_file(&begun).unwrap();
    }
    let left = || std::fs::read_dir(&scratch).unwrap().count();
    assert_eq!(left(), 1, "no later process could remove the killed one's folder");
    tool(&["true"]).run().exits_with(0);
    assert_eq!(left(), 0);
}

#[test]
fn a_program_that_is_killed_in_a_kernel_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let program = PROGRAM.to_str().unwrap();
    // Once the file with the place is there.
    let script = format!(
        "(while ! test -s $GPUEMU_WHERE; do sleep 0.1; done; kill -9 $$) & exec {program} hangs"
    );
    let arguments = ["emulate", "--", "sh", "-c", &script];
    let outcome = Tool::new(&arguments, folder.path(), folder.path()).run().exits_with(137);
    let place = "signal 9 ended the program: kernel 'hang' at PTX line 16, block (0,0,0), thread \
                 (0,0,0): it was still running\n";
    assert!(outcome.stderr.contains(place), "{}", outcome.stderr);
}

#[test]
fn missing_programs_and_programs_without_launches_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| Tool::new(arguments, folder.path(), folder.path()).run();
    let outcome = run(&["emulate", "--", "./no-such-program"]).exits_with(127);
    assert!(outcome.stderr.contains("cannot start `./no-such-program`: No such file"));
    let outcome = run(&["emulate", "--", "sh", "-c", "kill -KILL $$"]).exits_with(137);
    assert!(outcome.stderr.contains("signal 9 ended the program"), "{}", outcome.stderr);
    // It may have been about to launch one.
    assert!(!outcome.stderr.contains("launched no kernel"), "{}", outcome.stderr);
    let outcome = run(&["emulate", "--", "true"]).exits_with(0);
    assert!(outcome.stderr.contains("launched no kernel on the emulated driver"));
    let outcome = run(&["emulate", "--export-csv", "-", "--", "true"]).exits_with(2);
    assert!(outcome.stderr.contains("standard output belongs to the program"));
    run(&["emulate"]).exits_with(2);
}
