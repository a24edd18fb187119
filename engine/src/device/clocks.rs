//! Clock control: the runner's side.
//!
//! Input: a device and the policy. Output: clocks that are locked until this is dropped. One
//! process, the [`guard`], both locks and restores them, so they are never locked without a process
//! to restore them.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::words::Word;

use super::guard::{self, Said};
use super::lock::{self, Left};
use super::nvml::{Lockable, MIG_PREFIX};
use gpuprof_model::machine::ClockControl;
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// How long putting clocks back may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clocks that are locked while this lives.
#[derive(Debug)]
pub struct LockedClocks {
    /// None once it was asked to put them back.
    guard: Option<Child>,
    id: u32,
    program: PathBuf,
    uuid: String,
    nvml: Option<Utf8PathBuf>,
    /// The locked clocks.
    pub clocks: Lockable,
}

/// Locks the clocks of `uuid` by a guard, which is `program` with its hidden subcommand.
///
/// # Errors
/// They cannot be locked, with the remedy (exit code 107).
pub fn lock(
    program: &Path,
    uuid: &str,
    control: ClockControl,
    nvml: Option<&Utf8Path>,
    interrupt: &Interrupt,
) -> Result<LockedClocks> {
    let option = control.word();
    if uuid.starts_with(MIG_PREFIX) {
        let message = format!(
            "--clock-control {option} is not possible on {uuid}: it is a MIG slice, and the whole \
             GPU shares its clocks. Use --clock-control none, which records the clock of every \
             sample"
        );
        return Err(Failure::new(ExitCode::NotPossible, message));
    }
    let (mut guard, said) = start(program, uuid, control, nvml, interrupt)?;
    match said {
        Some(Said::Locked(clocks)) => Ok(LockedClocks {
            id: guard.id(),
            guard: Some(guard),
            program: program.to_owned(),
            uuid: uuid.to_owned(),
            nvml: nvml.map(ToOwned::to_owned),
            clocks,
        }),
        Some(Said::Refused(reason)) => {
            let _ = guard.wait();
            Err(refused(uuid, option, &reason, ""))
        }
        Some(Said::Denied(reason)) => {
            let _ = guard.wait();
            let limit = match control {
                ClockControl::Base => "tdp,tdp",
                ClockControl::None | ClockControl::Boost => "MHZ,MHZ",
            };
            let remedy = format!(
                "Only an administrator can lock them: run as root, or ask one to run `nvidia-smi \
                 -i {uuid} --lock-gpu-clocks={limit}` (afterwards `--reset-gpu-clocks`); \
                 otherwise, "
            );
            Err(refused(uuid, option, &reason, &remedy))
        }
        Some(Said::Restored) | None => {
            drop(guard.stdin.take());
            let how = guard.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            let reason = format!("the process that should lock them ended: {how}");
            Err(refused(uuid, option, &reason, ""))
        }
    }
}

fn start(
    program: &Path,
    uuid: &str,
    control: ClockControl,
    nvml: Option<&Utf8Path>,
    interrupt: &Interrupt,
) -> Result<(Child, Option<Said>)> {
    let mut command = Command::new(program);
    command.args(["gpuprof", guard::SUBCOMMAND, "--device", uuid, "--clocks", control.word()]);
    if let Some(path) = nvml {
        command.args(["--nvml-path", path.as_str()]);
    }
    let mut guard = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| {
        let message = format!("cannot start the clock guard {}: {e}", program.display());
        Failure::new(ExitCode::NotPossible, message)
    })?;
    let out = guard.stdout.take().expect("standard output is piped");
    let answer = BlockingCall::start(move || {
        let mut line = String::new();
        // A guard that dies without a word ends the pipe.
        let _ = BufReader::new(out.take(4096)).read_line(&mut line);
        line
    });
    let answer = answer.map_err(unheard)?;
    loop {
        if let Some(line) = answer.result() {
            return Ok((guard, serde_json::from_str(&line).ok()));
        }
        if let Some(signal) = interrupt.signal() {
            // The guard's pipe ends, and it restores the clocks that it may have locked.
            return Err(Failure::new(
                ExitCode::Signal(signal),
                "interrupted while clocks were being locked",
            ));
        }
        interrupt.wait(&[answer.as_fd()], None).map_err(unheard)?;
    }
}

fn unheard(error: io::Error) -> Failure {
    let message = format!("cannot wait for the clock guard: {error}");
    Failure::new(ExitCode::NotPossible, message)
}

/// `remedy` is a sentence up to its "or"; empty if the only remedy is to run without.
fn refused(uuid: &str, option: &str, reason: &str, remedy: &str) -> Failure {
    let on = if remedy.is_empty() { "Use" } else { "use" };
    let message = format!(
        "--clock-control {option} cannot lock the clocks of {uuid}: {reason}. {remedy}{on} \
         --clock-control none, which records the clock of every sample. Nothing was run"
    );
    Failure::new(ExitCode::NotPossible, message)
}

impl LockedClocks {
    /// The guard's process.
    pub fn guard(&self) -> u32 {
        self.id
    }

    /// Puts the clocks back and waits until they are.
    ///
    /// # Errors
    /// They could not be put back.
    pub fn restore(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        // Waiting closes its standard input first: the guard puts the clocks back and ends.
        let ended = BlockingCall::start(move || guard.wait());
        let how = match ended.map(|ended| ended.within(PATIENCE)) {
            Ok(Some(Ok(status))) if status.success() => return Ok(()),
            Ok(Some(Ok(status))) if status.code().is_none() => return self.instead(),
            Ok(Some(Ok(status))) => format!("the clock guard ended with {status}"),
            Ok(Some(Err(error))) | Err(error) => {
                format!("waiting for the clock guard failed: {error}")
            }
            Ok(None) => "the clock guard does not answer".to_owned(),
        };
        Err(guard::left_locked(&self.uuid, &how))
    }

    /// Has another guard restore the clocks that a killed one did not.
    fn instead(&self) -> Result<()> {
        let never = Interrupt::default();
        let (mut second, said) =
            start(&self.program, &self.uuid, ClockControl::None, self.nvml.as_deref(), &never)?;
        let _ = second.wait();
        match said {
            Some(Said::Restored) => {
                console::say(format_args!(
                    "the clock guard of {} was killed; a second one reset the clocks",
                    self.uuid
                ));
                Ok(())
            }
            Some(Said::Refused(reason) | Said::Denied(reason)) => {
                Err(guard::left_locked(&self.uuid, &reason))
            }
            _ => Err(guard::left_locked(&self.uuid, "the clock guard was killed")),
        }
    }
}

impl Drop for LockedClocks {
    fn drop(&mut self) {
        if let Err(failure) = self.end() {
            console::say(failure);
        }
    }
}

/// Waits until no guard works on `uuid`; returns the state that a killed one left.
///
/// # Errors
/// An interrupt; a file that cannot be read.
pub fn settled(uuid: &str, interrupt: &Interrupt) -> Result<Option<String>> {
    let path = guard::path(uuid);
    let failed = |e: io::Error| lock::unusable(&path, &e);
    loop {
        match lock::left(&path)? {
            Left::Nothing => return Ok(None),
            Left::Busy => {
                let freed = lock::freed(&path).map_err(failed)?;
                interrupt.wait(&[freed.as_fd()], None).map_err(failed)?;
            }
            Left::Behind(owner) => {
                let failure = guard::left_locked(
                    uuid,
                    "the gpuprof that locked them and its clock guard were killed",
                );
                return Ok(Some(format!("{failure} ({owner})")));
            }
        }
        if let Some(signal) = interrupt.signal() {
            return Err(Failure::new(
                ExitCode::Signal(signal),
                "interrupted while clocks were being reset",
            ));
        }
    }
}
