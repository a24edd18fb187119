//! A harness does not outlive its runner.
//!
//! The runner kills its harnesses on every exit. If the runner itself is killed, the system kills
//! the harness: otherwise a pass that hangs, or that waits for its turn for ever, would never end,
//! and would keep the device and the profiler from the resumed run.

use std::io;

#[cfg(target_os = "linux")]
use gpuprof_model::protocol::RUNNER_ENV;

/// Ties this process to the runner named by the environment.
///
/// The system watches the *thread* that started the process: the runner starts harnesses from
/// threads that wait for them.
///
/// # Errors
/// The runner is gone already; or this is not Linux, and nothing can be measured.
#[cfg(target_os = "linux")]
pub(crate) fn tie_to_runner() -> io::Result<()> {
    let runner = std::env::var(RUNNER_ENV).ok().and_then(|pid| pid.parse::<u32>().ok());
    let Some(runner) = runner else { return Ok(()) };
    die_with_parent();
    // It may have ended before the request to the system.
    if std::os::unix::process::parent_id() == runner {
        return Ok(());
    }
    Err(io::Error::other(format!("the runner, process {runner} ({RUNNER_ENV}), is gone")))
}

/// A stand-in: kernels are measured on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tie_to_runner() -> io::Result<()> {
    Err(io::Error::other("kernels are measured on Linux only: start this harness there"))
}

#[cfg(target_os = "linux")]
fn die_with_parent() {
    // SAFETY: `PR_SET_PDEATHSIG` takes one integer, the signal, and accesses no memory of the
    // process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
