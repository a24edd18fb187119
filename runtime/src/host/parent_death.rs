//! A harness does not outlive its runner.
//!
//! The runner kills its harnesses on every way out that it can take itself. A runner that is killed
//! has none; then the system kills the harness: nobody else could end a pass that hangs, or that
//! waits for the turn of one that never comes, and it would keep the device and the profiler from
//! the run that is resumed.

use std::io;

#[cfg(target_os = "linux")]
use gpuprof_model::protocol::RUNNER_ENV;

/// Ties this process to the runner named by the environment.
///
/// The system watches the *thread* that started the process: the runner starts harnesses from
/// threads that wait for them.
///
/// # Errors
/// The runner is gone already; or this is not Linux, where nothing is measured.
#[cfg(target_os = "linux")]
pub(crate) fn tie_to_runner() -> io::Result<()> {
    let runner = std::env::var(RUNNER_ENV).ok().and_then(|pid| pid.parse::<u32>().ok());
    let Some(runner) = runner else { return Ok(()) };
    die_with_parent();
    // It may have ended before the system was told.
    if std::os::unix::process::parent_id() == runner {
        return Ok(());
    }
    Err(io::Error::other(format!("the runner, process {runner} ({RUNNER_ENV}), is gone")))
}

/// As on Linux, where kernels are measured.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tie_to_runner() -> io::Result<()> {
    Err(io::Error::other("kernels are measured on Linux only: start this harness there"))
}

#[cfg(target_os = "linux")]
fn die_with_parent() {
    // SAFETY: `PR_SET_PDEATHSIG` takes one integer, the signal, and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
