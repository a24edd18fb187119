//! The lock of a device between real processes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{Talking, as_process, until};
use cargo_gpuprof::options::ClockControl;
use gpuprof_engine::device::lock::FOLDER_ENV;
use gpuprof_engine::device::{Hold, HoldRequest};
use gpuprof_model::ExitCode;
use gpuprof_system::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process};

const UUID: &str = "GPU-00000000-0000-0000-0000-000000000001";

fn terms(wait: bool) -> HoldRequest<'static> {
    HoldRequest { clocks: ClockControl::None, nvml: None, wait }
}

/// A process that takes the device, says so, holds it until its standard input ends, and says so.
#[test]
#[ignore = "a process of the other tests"]
fn holder() {
    let interrupt = Interrupt::listen().expect("signals can be listened for");
    let wait = std::env::var_os("NO_WAIT").is_none();
    println!("asks");
    match Hold::take(UUID, &terms(wait), &interrupt) {
        Ok(hold) => {
            println!("holds");
            std::io::stdin().read_line(&mut String::new()).expect("it is a pipe");
            println!("gives");
            drop(hold);
        }
        Err(failure) => {
            println!("fails {} {failure}", failure.code.code());
        }
    }
}

fn process(folder: &Path) -> Command {
    let mut command = as_process("device_lock::holder");
    command.env(FOLDER_ENV, folder).env("USER", "alice").env_remove("NO_WAIT");
    command
}

/// One that has the device by now.
fn holding(folder: &Path) -> Talking {
    let mut process = Talking::start(process(folder));
    process.says("holds");
    process
}

fn kill(process: &Talking, signal: Signal) {
    kill_process(Pid::from_child(&process.child), signal).expect("it runs");
}

/// Everything that a process wrote to standard error once it has ended.
fn stderr(process: Talking) -> String {
    let output = process.child.wait_with_output().expect("it ends");
    String::from_utf8(output.stderr).expect("it is UTF-8")
}

#[test]
fn a_second_run_waits_for_the_device_and_names_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = holding(folder.path());
    let mut second = Talking::start(process(folder.path()));
    let mut told = BufReader::new(second.child.stderr.take().unwrap());
    let mut text = String::new();
    told.read_line(&mut text).unwrap();
    // It waits.
    writeln!(first.child.stdin.as_ref().unwrap()).unwrap();
    first.says("gives");
    second.says("holds");
    writeln!(second.child.stdin.as_ref().unwrap()).unwrap();
    told.read_to_string(&mut text).unwrap();
    second.child.wait().unwrap();
    let pid = first.child.id();
    let start = format!(
        "gpuprof: waiting for {UUID}: another gpuprof is measuring on it (process {pid} of alice \
         on "
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains(" UTC: gpuprof --exact device_lock::holder"), "{text}");
    first.child.wait().unwrap();
}

#[test]
fn a_killed_owner_releases_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = holding(folder.path());
    kill(&owner, Signal::KILL);
    owner.child.wait().unwrap();
    // Not waiting at all is enough.
    let mut command = process(folder.path());
    command.env("NO_WAIT", "1");
    let mut next = Talking::start(command);
    next.says("holds");
    drop(next.child.stdin.take());
    assert_eq!(stderr(next), "");
}

#[test]
fn without_waiting_a_busy_device_is_refused_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = holding(folder.path());
    let mut command = process(folder.path());
    command.env("NO_WAIT", "1");
    let mut other = Talking::start(command);
    let failure = other.says("fails");
    let start = format!(
        "{} another gpuprof is measuring on {UUID} (process {} of alice on ",
        ExitCode::NotPossible.code(),
        owner.child.id()
    );
    assert!(failure.starts_with(&start), "{failure}");
    assert!(failure.ends_with("); leave out --no-wait to wait for it"), "{failure}");
    drop(owner.child.stdin.take());
    owner.child.wait().unwrap();
    other.child.wait().unwrap();
}

#[test]
fn an_interrupt_ends_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = holding(folder.path());
    let mut other = Talking::start(process(folder.path()));
    other.says("asks");
    kill(&other, Signal::INT);
    let failure = other.says("fails");
    assert_eq!(failure, "130 interrupted while waiting for the device; nothing was measured");
    drop(owner.child.stdin.take());
    owner.child.wait().unwrap();
    other.child.wait().unwrap();
}

#[test]
fn concurrent_runs_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let crowd: Vec<Talking> = (0..5).map(|_| Talking::start(process(folder.path()))).collect();
    let threads: Vec<_> = crowd
        .into_iter()
        .map(|mut one| {
            let log = log.clone();
            thread::spawn(move || {
                one.says("holds");
                let mut text = fs::read_to_string(&log).unwrap_or_default();
                text.push_str("begin\n");
                fs::write(&log, &text).unwrap();
                thread::sleep(Duration::from_millis(20));
                fs::write(&log, text + "end\n").unwrap();
                drop(one.child.stdin.take());
                one.child.wait().unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(fs::read_to_string(log).unwrap(), "begin\nend\n".repeat(5));
}

#[test]
fn different_devices_are_locked_independently() {
    let folder = tempfile::tempdir().unwrap();
    let path = gpuprof_engine::device::lock::path(folder.path(), "GPU-2");
    let me = gpuprof_engine::device::lock::Owner::this_process();
    let held = gpuprof_engine::device::lock::try_lock(&path, &me).unwrap();
    let mut one = holding(folder.path());
    until("the file is there", || folder.path().join(format!("gpuprof-{UUID}.lock")).exists());
    drop((held, one.child.stdin.take()));
    one.child.wait().unwrap();
}
