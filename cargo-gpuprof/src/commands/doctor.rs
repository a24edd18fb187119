//! `cargo gpuprof doctor`: what this machine can do, and the remedy where it cannot.
//!
//! Comes in: which backend is expected. Goes out: one line a check, `ok`, `warn` or `fail`, each of the latter
//! with its remedy, and whether the main job runs here. Nothing is changed: clocks and permissions are read.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use gpuprof_model::ExitCode;

use crate::build::toolchain::{self, Candidates};
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
    let mut checks = vec![device(&driver, expected)];
    if has_gpu {
        checks.extend([permission(fs::read_to_string(PARAMETERS).ok().as_deref())]);
        checks.extend(settings());
    }
    checks.push(library(ask(Question::Locate)?, has_gpu));
    if has_gpu {
        checks.push(match ask(Question::Trial)? {
            Ok(Answer::Trial { chip }) => {
                Check::new(State::Ok, "counters", format!("a session was opened on {chip}"))
            }
            answer => Check::new(State::Fail, "counters", refusal(answer)),
        });
    }
    checks.push(kernels(options.kernel_toolchain.as_deref()));
    checks.push(assembler());
    checks.push(Check::new(
        State::Ok,
        "emulator",
        "part of this program: exact counters without a GPU, no times",
    ));
    let (code, sentence) = conclusion(&checks, expected, has_gpu);
    let mut text = String::new();
    for Check { state, what, found } in &checks {
        text.push_str(&format!(
            "{state}  {what:10}  {}\n",
            found.replace('\n', "\n                  ")
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

fn device(driver: &std::result::Result<Answer, Refusal>, expected: bool) -> Check {
    match driver {
        Ok(Answer::Driver(device, count)) => {
            let (major, minor) = device.compute_capability;
            let version = device.driver_version;
            let slice = if device.name.contains("MIG") {
                "; a MIG slice: counters of units shared with others have no value"
            } else {
                ""
            };
            let found = format!(
                "{} (sm_{major}{minor}), CUDA {}.{}, {count} device{}{slice}",
                device.name,
                version / 1000,
                version % 1000 / 10,
                if *count == 1 { "" } else { "s" }
            );
            Check::new(if slice.is_empty() { State::Ok } else { State::Warn }, "driver", found)
        }
        Ok(_) => Check::new(State::Fail, "driver", "the answer was to another question"),
        Err(reason) => {
            Check::new(if expected { State::Fail } else { State::Warn }, "driver", reason.clone())
        }
    }
}

/// Who may read counters, by the kernel module's parameters.
fn permission(parameters: Option<&str>) -> Check {
    let what = "permission";
    let Some(parameters) = parameters else {
        return Check::new(
            State::Warn,
            what,
            format!("{PARAMETERS} cannot be read; the trial tells"),
        );
    };
    let value = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"));
    match value.map(str::trim) {
        Some("0") => Check::new(State::Ok, what, "everybody may read counters"),
        Some(_) if rustix::process::geteuid().is_root() => {
            Check::new(State::Ok, what, "only administrators may read counters, and this is one")
        }
        Some(_) => {
            let advice = gpuprof_cupti::Code::InsufficientPrivileges.advice();
            let found =
                format!("{}; check: {}; remedy: {}", advice.cause, advice.check, advice.remedy);
            Check::new(State::Warn, what, found)
        }
        None => Check::new(State::Warn, what, "the driver does not say who may; the trial tells"),
    }
}

/// Persistence, MIG and clocks as nvidia-smi tells them; nothing is set.
fn settings() -> Vec<Check> {
    let fields = "persistence_mode,mig.mode.current,clocks.sm,clocks.max.sm";
    let output = Command::new("nvidia-smi")
        .args(["--format=csv,noheader", "-i", "0"])
        .arg(format!("--query-gpu={fields}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => {
            let found = "nvidia-smi is not here: persistence, MIG and clocks are not known";
            return vec![Check::new(State::Warn, "settings", found)];
        }
    };
    settings_of(&text)
}

fn settings_of(text: &str) -> Vec<Check> {
    let values: Vec<&str> = text.trim().split(", ").collect();
    let [persistence, mig, clock, most] = values[..] else {
        let found = format!("nvidia-smi answers what is not understood: {}", text.trim());
        return vec![Check::new(State::Warn, "settings", found)];
    };
    let persistent = if persistence == "Enabled" {
        Check::new(State::Ok, "persistence", "on")
    } else {
        let found = "off: every process starts the driver anew, which takes seconds; remedy: `nvidia-smi -pm \
                     1` by an administrator, or nvidia-persistenced";
        Check::new(State::Warn, "persistence", found)
    };
    let sliced = if mig == "Enabled" {
        Check::new(State::Warn, "MIG", "on: units shared with other slices have no counters")
    } else {
        Check::new(State::Ok, "MIG", "off")
    };
    let clocks = format!("SM at {clock}, at most {most}; gpuprof records them and changes nothing");
    vec![persistent, sliced, Check::new(State::Ok, "clocks", clocks)]
}

fn library(located: std::result::Result<Answer, Refusal>, has_gpu: bool) -> Check {
    match located {
        Ok(Answer::Located(found)) => {
            let text = format!("{} at {} ({})", found.version, found.path.display(), found.place);
            Check::new(State::Ok, "CUPTI", text)
        }
        answer => {
            let state = if has_gpu { State::Fail } else { State::Warn };
            Check::new(state, "CUPTI", refusal(answer))
        }
    }
}

/// The toolchain, looked for without installing anything.
fn kernels(asked: Option<&str>) -> Check {
    let candidates = Candidates { rustup: "/nonexistent/rustup".into(), ..Candidates::default() };
    match toolchain::find(asked, &candidates) {
        Ok(found) => Check::new(State::Ok, "toolchain", found.version),
        Err(failure) => Check::new(State::Fail, "toolchain", failure.message),
    }
}

fn assembler() -> Check {
    let output = Command::new("ptxas").arg("--version").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let line = text.lines().find(|line| line.contains("release")).unwrap_or("there");
            Check::new(State::Ok, "ptxas", line.trim())
        }
        _ => Check::new(State::Ok, "ptxas", "not here, and not needed: the driver has its own"),
    }
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
    fn the_kernel_modules_parameters_tell_who_may_read_counters() {
        let check = |text: &str| permission(Some(text)).state;
        assert_eq!(check("ResmanDebugLevel: 1\nRmProfilingAdminOnly: 0\n"), State::Ok);
        let locked = permission(Some("RmProfilingAdminOnly: 1\n"));
        if rustix::process::geteuid().is_root() {
            assert_eq!(locked.state, State::Ok);
        } else {
            assert!(locked.found.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{locked:?}");
        }
        assert_eq!(permission(None).state, State::Warn);
    }

    #[test]
    fn settings_are_read_and_told() {
        let checks = settings_of("Disabled, Enabled, 345 MHz, 1980 MHz\n");
        let states: Vec<State> = checks.iter().map(|check| check.state).collect();
        assert_eq!(states, [State::Warn, State::Warn, State::Ok]);
        assert!(checks[2].found.starts_with("SM at 345 MHz, at most 1980 MHz;"));
        assert_eq!(settings_of("what?")[0].state, State::Warn);
    }

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
