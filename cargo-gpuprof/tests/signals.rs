//! SIGINT and SIGTERM end every command that has nothing to clean up, at once and with 128 + n.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpuprof_analysis::fixture;
use rustix::process::{Pid, Signal, kill_process};

/// Starts the tool, and returns when it has begun to write: the reader stops, so it writes for
/// ever.
fn writing(arguments: &[&str], folder: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"))
        .arg("gpuprof")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    let mut first = [0];
    let stdout = child.stdout.as_mut().expect("standard output is piped");
    stdout.read_exact(&mut first).unwrap_or_else(|e| panic!("{arguments:?} wrote nothing: {e}"));
    child
}

/// The exit status of `child`; none if it still runs after a while.
fn exit_code(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    None
}

#[test]
fn the_first_signal_ends_a_command_without_results_to_keep() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    // More than a pipe holds, in every format.
    let [run, other] = ["x", "y"].map(|id| {
        let rows = (1..=100).map(|at| fixture::emulated(64, 1024 * at)).collect();
        let run = serde_json::to_vec(&fixture::run(id, vec![fixture::series(rows)]));
        let file = folder.path().join(format!("{id}.json"));
        fs::write(&file, run.expect("runs are plain data")).expect("it can be written");
        file.to_str().expect("its path is UTF-8").to_owned()
    });
    let (run, other) = (run.as_str(), other.as_str());
    let load = ["run", "--load-baseline", run, "--baseline", other, "--message-format", "json"];
    let commands: [&[&str]; 5] = [
        &["report", run, "--format", "json"],
        &["compare", run, other, "--format", "json"],
        &["metrics", "--chip", "GH100"],
        &["completions", "bash"],
        &load,
    ];
    for command in commands {
        for signal in [Signal::INT, Signal::TERM] {
            let mut child = writing(command, folder.path());
            kill_process(Pid::from_child(&child), signal).expect("it still runs");
            assert_eq!(exit_code(&mut child), Some(128 + signal.as_raw()), "{command:?}");
        }
    }
}
