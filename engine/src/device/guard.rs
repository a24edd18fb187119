//! The guard of locked clocks: a process that outlives the runner and puts the clocks back.
//!
//! Input: a device, the clocks to lock, and a pipe as standard input. Output: a line on standard
//! output that says whether they are locked; then, when the pipe ends, the clocks as they were
//! before. The kernel ends the pipe when the runner is gone, for any reason, so success, failure,
//! an interrupt and SIGKILL take the same path. The guard has a separate session and ignores
//! signals: the runner handles a Ctrl-C, a closed terminal or a `kill` of the group, and the pipe
//! reports the runner's end.
//!
//! While clocks are locked the guard holds a lock file with its process id. The next user of the
//! device waits for it; a file without a lock means that the guard itself was killed.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gpuprof_model::ExitCode;
use nvml_wrapper::error::NvmlError;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::lock::{self, Lock, Owner};
use super::nvml::{self, Library, Lockable};
use gpuprof_model::machine::ClockControl;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__guard";

/// The clocks to guard.
#[derive(Debug, Clone)]
pub struct Guarded {
    /// The device's UUID.
    pub device: String,
    /// The clocks to lock; with none, locked clocks are only put back.
    pub clocks: ClockControl,
    /// NVML's library, instead of libnvidia-ml.so.1.
    pub nvml_path: Option<PathBuf>,
}

/// The guard's message on standard output, sent once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The clocks are locked to this.
    Locked(Lockable),
    /// They were put back, and nothing more was asked for.
    Restored,
    /// They are as they were, for this reason.
    Refused(String),
    /// They are unchanged, because of missing permission.
    Denied(String),
}

/// The file of the clocks of `uuid`.
pub fn path(uuid: &str) -> PathBuf {
    lock::path(&lock::folder(), &format!("{uuid}-clocks"))
}

/// Guards until standard input ends.
///
/// # Errors
/// Clocks that could not be put back (exit code 107).
pub fn guard(guarded: &Guarded) -> Result<ExitCode> {
    // Fails for the leader of a group only, which a child is not.
    let _ = rustix::process::setsid();
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    let owner = Owner::this_process();
    let held = lock::wait(&path(&guarded.device), &owner, &Interrupt::default(), |_| Ok(()));
    let send = |message: &Said| {
        let line = serde_json::to_string(message).expect("it is plain data");
        let mut out = io::stdout().lock();
        // The runner may be gone already; then the pipe has ended as well.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let held = match held {
        Ok(held) => held,
        Err(failure) => {
            send(&Said::Refused(failure.message));
            return Ok(ExitCode::NotPossible);
        }
    };
    match work(guarded, held, &send) {
        Ok(()) => Ok(ExitCode::Success),
        Err(Trouble::Refused(reason)) => {
            send(&Said::Refused(reason));
            Ok(ExitCode::NotPossible)
        }
        Err(Trouble::Denied(reason)) => {
            send(&Said::Denied(reason));
            Ok(ExitCode::NotPossible)
        }
        Err(Trouble::LeftLocked(reason)) => Err(left_locked(&guarded.device, &reason)),
    }
}

enum Trouble {
    Refused(String),
    Denied(String),
    LeftLocked(String),
}

fn work(guarded: &Guarded, held: Lock, said: &dyn Fn(&Said)) -> Result<(), Trouble> {
    let uuid = &guarded.device;
    let library = Library::open(guarded.nvml_path.as_deref()).map_err(Trouble::Refused)?;
    let mut device = library.gpu(uuid).map_err(Trouble::Refused)?;
    let refused = |e: NvmlError| match e {
        NvmlError::NoPermission => Trouble::Denied(nvml::words(&e)),
        e => Trouble::Refused(nvml::words(&e)),
    };
    if let Some(clocks) = nvml::lockable(&device, guarded.clocks).map_err(refused)? {
        nvml::lock(&mut device, clocks).map_err(refused)?;
        said(&Said::Locked(clocks));
        // Ends with the runner; an error of the pipe means the same.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    }
    let restored = device.reset_gpu_locked_clocks();
    if let Err(error) = restored {
        // The file keeps its text: the next run says what is wrong.
        held.leave();
        return Err(Trouble::LeftLocked(nvml::words(&error)));
    }
    if guarded.clocks == ClockControl::None {
        said(&Said::Restored);
    }
    drop(held);
    Ok(())
}

/// The message for clocks that stay locked.
pub(super) fn left_locked(uuid: &str, reason: &str) -> Failure {
    let message = format!(
        "the clocks of {uuid} are still locked: {reason}. Reset them with `nvidia-smi -i {uuid} \
         --reset-gpu-clocks` as an administrator"
    );
    Failure::new(ExitCode::NotPossible, message)
}
