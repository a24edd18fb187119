//! Locked clocks against a fake NVML: put back however the runner ends.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Talking, as_process, until};
use cargo_gpuprof::options::ClockControl;
use gpuprof_engine::device::lock::FOLDER_ENV;
use gpuprof_engine::device::{clocks, guard, lock};
use gpuprof_system::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process};

const UUID: &str = "GPU-1";

/// A runner: locks, says so, waits for the end of its standard input or an interrupt, and puts
/// back.
#[test]
#[ignore = "a process of the other tests"]
fn runner() {
    let interrupt = Interrupt::listen().expect("signals can be listened for");
    let variable = |name| env::var(name).expect("the test sets it");
    let control = match variable("CONTROL").as_str() {
        "base" => ClockControl::Base,
        _ => ClockControl::Boost,
    };
    let nvml = camino::Utf8PathBuf::from(variable("NVML"));
    let program = Path::new(env!("CARGO_BIN_EXE_cargo-gpuprof"));
    let uuid = variable("DEVICE");
    match clocks::lock(program, &uuid, control, Some(&nvml), &interrupt) {
        Ok(locked) => {
            println!("locked {}", locked.guard());
            match variable("ENDING").as_str() {
                "panic" => panic!("the run went wrong"),
                "interrupt" => {
                    until("an interrupt", || interrupt.signal().is_some());
                }
                _ => {
                    std::io::stdin().read_line(&mut String::new()).expect("it is a pipe");
                }
            }
            match locked.restore() {
                Ok(()) => println!("restored"),
                Err(failure) => println!("fails {failure}"),
            }
        }
        Err(failure) => println!("fails {} {failure}", failure.code.code()),
    }
}

/// The fake NVML, built once a test process; which folder it serves says `FAKE_NVML`.
fn fake_nvml() -> &'static Path {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &LIBRARY.get_or_init(build_fake_nvml).1
}

fn build_fake_nvml() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let library = folder.path().join("libnvidia-ml.so.1");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fakes/nvml.rs");
    let status = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "nvml", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(status.expect("rustc can be started").success());
    (folder, library)
}

/// The requests that the fake NVML in `folder` received.
fn done(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("nvml-log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Makes the fake NVML behave in this way.
    fn with(self, behaviour: &str) -> Self {
        fs::write(self.folder.path().join(behaviour), "").unwrap();
        self
    }

    fn command(&self, control: &str, ending: &str) -> Command {
        let mut command = as_process("clocks::runner");
        command
            .env("FAKE_NVML", self.folder.path())
            .env(FOLDER_ENV, self.folder.path())
            .env("NVML", fake_nvml())
            .env("DEVICE", UUID)
            .env("CONTROL", control)
            .env("ENDING", ending);
        command
    }

    fn start(&self, control: &str, ending: &str) -> Talking {
        Talking::start(self.command(control, ending))
    }

    fn done(&self) -> Vec<String> {
        done(self.folder.path())
    }

    fn lock_file(&self) -> String {
        let path = lock::path(self.folder.path(), &format!("{UUID}-clocks"));
        fs::read_to_string(path).unwrap_or_default()
    }
}

const BASE: [&str; 2] = ["GPU-1 locked to tdp..tdp", "GPU-1 reset"];

#[test]
fn clocks_are_locked_during_a_run_and_restored_at_its_end() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "input");
    let guard = runner.says("locked");
    assert_eq!(scene.done(), BASE[..1]);
    assert!(scene.lock_file().contains(&format!("\"pid\":{guard}")), "{}", scene.lock_file());
    drop(runner.child.stdin.take());
    runner.says("restored");
    assert_eq!(scene.done(), BASE);
    assert_eq!(scene.lock_file(), "");
    runner.child.wait().unwrap();
}

#[test]
fn boost_is_the_highest_clock_and_base_without_symbols_the_default_application_clock() {
    let boost = Scene::new();
    let mut runner = boost.start("boost", "input");
    runner.says("locked");
    drop(runner.child.stdin.take());
    runner.child.wait().unwrap();
    assert_eq!(boost.done(), ["GPU-1 locked to 1980..1980", "GPU-1 reset"]);
    let base = Scene::new().with("no-symbols");
    let mut runner = base.start("base", "input");
    runner.says("locked");
    drop(runner.child.stdin.take());
    runner.child.wait().unwrap();
    assert_eq!(base.done(), ["GPU-1 locked to 1410..1410", "GPU-1 reset"]);
}

#[test]
fn clocks_are_restored_after_a_panic() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "panic");
    runner.says("locked");
    assert!(!runner.child.wait().unwrap().success());
    assert_eq!(scene.done(), BASE);
}

#[test]
fn clocks_are_restored_after_interrupt_and_termination() {
    for signal in [Signal::INT, Signal::TERM] {
        let scene = Scene::new();
        let mut runner = scene.start("base", "interrupt");
        runner.says("locked");
        kill_process(Pid::from_child(&runner.child), signal).unwrap();
        runner.says("restored");
        runner.child.wait().unwrap();
        assert_eq!(scene.done(), BASE, "{signal:?}");
    }
}

#[test]
fn clocks_are_restored_after_the_runner_is_killed() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "input");
    runner.says("locked");
    kill_process(Pid::from_child(&runner.child), Signal::KILL).unwrap();
    runner.child.wait().unwrap();
    until("the guard puts them back", || scene.done() == BASE);
    until("the guard gives its file back", || scene.lock_file().is_empty());
}

#[test]
fn the_guard_ignores_signals_for_the_runner() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "input");
    let guard = Pid::from_raw(runner.says("locked").parse().unwrap()).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::TERM, Signal::INT]
    {
        kill_process(guard, signal).unwrap();
    }
    let own_session = rustix::process::getsid(Some(guard)).unwrap();
    assert_eq!(own_session, guard, "a closed terminal does not reach it");
    assert_eq!(scene.done(), BASE[..1]);
    drop(runner.child.stdin.take());
    runner.says("restored");
    runner.child.wait().unwrap();
    assert_eq!(scene.done(), BASE);
}

#[test]
fn a_killed_guard_is_replaced_and_the_clocks_are_restored() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "input");
    let guard = Pid::from_raw(runner.says("locked").parse().unwrap()).unwrap();
    kill_process(guard, Signal::KILL).unwrap();
    drop(runner.child.stdin.take());
    runner.says("restored");
    let output = runner.child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told,
        "gpuprof: the clock guard of GPU-1 was killed; a second one reset the \
                      clocks\n"
    );
    assert_eq!(scene.done(), BASE);
    assert_eq!(scene.lock_file(), "");
}

#[test]
fn clocks_left_locked_are_reported_to_the_next_run() {
    let scene = Scene::new();
    let mut runner = scene.start("base", "input");
    let pid = runner.says("locked");
    let guard = Pid::from_raw(pid.parse().unwrap()).unwrap();
    // The guard first: it would be done before it can be killed.
    kill_process(guard, Signal::KILL).unwrap();
    kill_process(Pid::from_child(&runner.child), Signal::KILL).unwrap();
    runner.child.wait().unwrap();
    assert_eq!(scene.done(), BASE[..1]);
    let mut next = as_process("clocks::settled");
    next.env(FOLDER_ENV, scene.folder.path());
    let warning = Talking::start(next).says("warns");
    let start = "the clocks of GPU-1 are still locked: the gpuprof that locked them and its clock \
                 guard were killed. Reset them with `nvidia-smi -i GPU-1 --reset-gpu-clocks` as an \
                 administrator (process ";
    assert!(warning.starts_with(&format!("{start}{pid} of ")), "{warning}");
}

#[test]
#[ignore = "a process of another test"]
fn settled() {
    let found = clocks::settled(UUID, &Interrupt::default()).unwrap();
    println!("warns {}", found.expect("something was left"));
}

#[test]
fn without_permission_the_run_is_refused_with_the_remedy() {
    let scene = Scene::new().with("deny");
    let mut runner = scene.start("base", "input");
    assert_eq!(
        runner.says("fails"),
        "107 --clock-control base cannot lock the clocks of GPU-1: the current user does not have \
         permission to perform this operation. Only an administrator can lock them: run as root, \
         or ask one to run `nvidia-smi -i GPU-1 --lock-gpu-clocks=tdp,tdp` (afterwards \
         `--reset-gpu-clocks`); otherwise, use --clock-control none, which records the clock of \
         every sample. Nothing was run"
    );
    runner.child.wait().unwrap();
    assert_eq!(scene.done(), [""; 0]);
    assert_eq!(scene.lock_file(), "");
}

#[test]
fn clocks_that_cannot_be_restored_are_reported_with_the_remedy() {
    let scene = Scene::new().with("no-reset");
    let mut runner = scene.start("base", "input");
    runner.says("locked");
    drop(runner.child.stdin.take());
    let told = runner.says("fails");
    assert!(told.starts_with("the clocks of GPU-1 are still locked: "), "{told}");
    assert!(
        told.ends_with("`nvidia-smi -i GPU-1 --reset-gpu-clocks` as an administrator"),
        "{told}"
    );
    assert_ne!(scene.lock_file(), "", "the next run reports it as well");
    let output = runner.child.wait_with_output().unwrap();
    let reason = String::from_utf8(output.stderr).unwrap();
    assert!(reason.contains("does not have permission"), "{reason}");
}

#[test]
fn a_mig_instance_and_a_missing_library_are_refused_with_the_remedy() {
    let scene = Scene::new();
    let mut command = scene.command("boost", "input");
    command.env("DEVICE", "MIG-1");
    let mut slice = Talking::start(command);
    assert_eq!(
        slice.says("fails"),
        "107 --clock-control boost is not possible on MIG-1: it is a MIG slice, and the whole GPU \
         shares its clocks. Use --clock-control none, which records the clock of every sample"
    );
    slice.child.wait().unwrap();
    let mut command = scene.command("base", "input");
    command.env("NVML", "/nonexistent/libnvidia-ml.so.1");
    let mut missing = Talking::start(command);
    let told = missing.says("fails");
    assert!(told.contains("NVML (/nonexistent/libnvidia-ml.so.1) does not work: "), "{told}");
    assert!(told.contains("to use another one, set --nvml-path or GPUPROF_NVML"), "{told}");
    missing.child.wait().unwrap();
}

#[test]
fn the_clock_guards_file_is_next_to_the_lock() {
    assert!(guard::path("GPU-1").ends_with("gpuprof-GPU-1-clocks.lock"));
}
