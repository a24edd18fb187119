//! `cargo gpuprof doctor`: what this machine can do, and the remedy where it cannot.
//!
//! Comes in: which backend is expected. Goes out: one line a check, `ok`, `warn` or `fail`, each of the latter
//! with its remedy, and whether the main job runs here. Nothing is changed: clocks and permissions are read. Libraries of
//! other makers (driver, NVML, CUPTI) are asked in child processes.

mod gpu;
mod host;

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;

use gpuprof_model::ExitCode;

use crate::cli::{Backend, DoctorOptions};
use crate::cupti::{self, Answer, Question, Refusal};
use crate::error::{Failure, Result};

/// Where the driver says who may read counters.
const PARAMETERS: &str = "/proc/driver/nvidia/params";

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok  ",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    state: State,
    what: &'static str,
    found: String,
}

impl Check {
    fn new(state: State, what: &'static str, found: impl Into<String>) -> Self {
        Self { state, what, found: found.into() }
    }
}

/// Checks this machine.
///
/// # Errors
/// Processes of our own that cannot be started; standard output.
pub fn doctor(options: &DoctorOptions, out: &mut impl Write) -> Result<ExitCode> {
    let ask = |question| cupti::ask(options.cupti_path.as_deref(), question);
    let driver = ask(Question::Driver)?;
    let has_gpu = driver.is_ok();
    let installed = Path::new("/proc/driver/nvidia/version").exists();
    let expected = options.backend == Backend::Cuda
        || (options.backend == Backend::Auto && (has_gpu || installed));
    let mut checks = vec![gpu::driver(&driver, expected)];
    if let Ok(Answer::Driver(device, _)) = &driver {
        checks.push(gpu::permission(fs::read_to_string(PARAMETERS).ok().as_deref()));
        let (library, uuid) = (options.nvml_path.clone(), device.uuid.clone());
        checks.extend(gpu::settings(ask(Question::Nvml { library, uuid })?, &device.uuid));
    }
    checks.push(host::library(ask(Question::Locate)?, has_gpu));
    if has_gpu {
        checks.push(match ask(Question::Trial)? {
            Ok(Answer::Trial { chip }) => {
                Check::new(State::Ok, "counters", format!("a session was opened on {chip}"))
            }
            answer => Check::new(State::Fail, "counters", refusal(answer)),
        });
    }
    checks.push(host::kernels(options.kernel_toolchain.as_deref()));
    checks.push(host::assembler());
    checks.push(Check::new(
        State::Ok,
        "emulator",
        "part of this program: exact counters without a GPU, no times",
    ));
    let (code, sentence) = conclusion(&checks, expected, has_gpu);
    let mut text = String::new();
    for Check { state, what, found } in &checks {
        text.push_str(&format!(
            "{state}  {what:11}  {}\n",
            found.replace('\n', "\n                   ")
        ));
    }
    text.push_str(&format!("\n{sentence}\n"));
    out.write_all(text.as_bytes())
        .map_err(|e| Failure::output(Path::new("standard output"), &e))?;
    Ok(code)
}

fn refusal(answer: std::result::Result<Answer, Refusal>) -> Refusal {
    answer.err().unwrap_or_else(|| "the answer was to another question".to_owned())
}

fn conclusion(checks: &[Check], expected: bool, has_gpu: bool) -> (ExitCode, &'static str) {
    let failed = |what| checks.iter().any(|c| c.what == what && c.state == State::Fail);
    if failed("toolchain") {
        return (ExitCode::BuildFailed, "kernels cannot be built here");
    }
    match (expected, has_gpu) {
        (true, false) => (
            ExitCode::NotPossible,
            "a GPU was expected, and none answers; --backend emulator goes without",
        ),
        (true, true) if failed("counters") || failed("CUPTI") => (
            ExitCode::NotPossible,
            "times can be taken here, and counters cannot; --replay-mode none or --backend emulator goes without",
        ),
        (_, true) => (ExitCode::Success, "times and counters can be taken here"),
        (false, false) => (
            ExitCode::Success,
            "no GPU here: the emulator is what works, with exact counters and no times",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_whether_the_main_job_can_run() {
        let counters = |state| [Check::new(state, "counters", "")];
        assert_eq!(conclusion(&counters(State::Ok), true, true).0, ExitCode::Success);
        assert_eq!(conclusion(&counters(State::Fail), true, true).0, ExitCode::NotPossible);
        assert_eq!(conclusion(&[], true, false).0, ExitCode::NotPossible);
        let (code, sentence) = conclusion(&[], false, false);
        assert_eq!(code, ExitCode::Success);
        assert!(sentence.contains("the emulator is what works"));
        let broken = [Check::new(State::Fail, "toolchain", "")];
        assert_eq!(conclusion(&broken, false, false).0, ExitCode::BuildFailed);
    }
}
