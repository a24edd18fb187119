//! Instructions of tests to the fake by environment variables, and its reports in files.
//!
//! * `FAKE_CUPTI_STATE`: a folder. Its `log` gets a line for every event of the profiler, after the
//!   process; a process holds a lock in it while its profiler is enabled, one for each device from
//!   Hopper on and one for all others, so that a second one gets the error that the hardware is
//!   busy. Without the variable there is neither.
//! * `FAKE_CUPTI_PER_PASS`: counters per pass, 1 by default; `_sass_` ones share a separate pass.
//! * `FAKE_CUPTI_VERSION`: the result of `cuptiGetVersion`, 130001 by default.
//! * `FAKE_CUPTI_TROUBLE`: failures, several separated by `;`. Passes count from 0. `withhold
//!   BEGINNING`, of metrics' names: the device does not provide them, though its chip has them ·
//!   `fail FUNCTION CODE` · `support FIELD LEVEL`, of `cuptiProfilerDeviceSupported` · `abort
//!   at=FUNCTION` · `drop WHAT COUNT`, `instructions`, `samples`, `all-samples`, and of PM sampling
//!   `last-samples` or `records` (its buffer was too small) · `hang at=FUNCTION` · and, when a pass
//!   ends, `abort`, `hang`, `lose` (its counters), or `continue` (never say that it was the last),
//!   each with any of `pass=K`, `block=THREADS`, `grid=BLOCKS` (x of a launch in the pass),
//!   `kernel=NAME` and `device=DIGITS`, the last ones of the device's UUID. `fail` and `support`
//!   take `device=` too.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::code::Code;
use crate::crash::crash;
use crate::driver::{self, Launch};

const STATE: &str = "FAKE_CUPTI_STATE";

/// Items of `FAKE_CUPTI_TROUBLE`, in words, without those of other devices.
fn items() -> Vec<Vec<String>> {
    let text = env::var("FAKE_CUPTI_TROUBLE").unwrap_or_default();
    let ours =
        |word: &str| word.strip_prefix("device=").is_none_or(|d| driver::uuid().ends_with(d));
    let items = text.split(';').filter(|item| item.split_whitespace().all(ours));
    let words = |item: &str| -> Vec<String> {
        let words = item.split_whitespace().filter(|word| !word.starts_with("device="));
        words.map(str::to_owned).collect()
    };
    items.map(words).filter(|words| !words.is_empty()).collect()
}

fn number(name: &str, default: u32) -> u32 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The reported version.
pub fn version() -> u32 {
    number("FAKE_CUPTI_VERSION", 130_001)
}

/// Hardware counters a pass takes.
pub fn per_pass() -> usize {
    number("FAKE_CUPTI_PER_PASS", 1).max(1) as usize
}

/// Whether the device withholds a metric.
pub fn withholds(metric: &str) -> bool {
    items().iter().any(|words| match words.as_slice() {
        [what, beginning] => what == "withhold" && metric.starts_with(beginning.as_str()),
        _ => false,
    })
}

/// The code with which `function` is to fail.
pub fn refusal(function: &str) -> Option<Code> {
    items().iter().find_map(|words| match words.as_slice() {
        [what, name, code] if what == "fail" && name == function => code.parse().ok(),
        _ => None,
    })
}

/// Lets happen what was asked for at the beginning of `function`.
pub fn at_begin_of(function: &str) {
    for words in items() {
        let [what, place] = words.as_slice() else { continue };
        if place.strip_prefix("at=") == Some(function) {
            happen(what, &format!("in {function}"));
        }
    }
}

fn happen(what: &str, place: &str) {
    match what {
        "abort" => {
            log(&format!("aborts {place}"));
            crash(&format!("asked to abort {place}"));
        }
        "hang" => {
            log(&format!("hangs {place}"));
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        _ => {}
    }
}

/// How many `what` are lost.
pub fn loses(what: &str) -> Option<usize> {
    items().iter().find_map(|words| match words.as_slice() {
        [drop, name, count] if drop == "drop" && name == what => count.parse().ok(),
        _ => None,
    })
}

/// The level that `field` of the device's support is to have.
pub fn support(field: &str) -> Option<u32> {
    items().iter().find_map(|words| match words.as_slice() {
        [what, name, level] if what == "support" && name == field => level.parse().ok(),
        _ => None,
    })
}

/// The fate of a pass that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// Its counters are gone.
    pub lost: bool,
    /// Another pass is wanted, however many there were.
    pub endless: bool,
}

/// Lets what was asked for happen at the end of `pass`, in which `launches` ran.
pub fn at_end_of(pass: usize, launches: &[Launch]) -> Fate {
    let meant = |condition: &String| match condition.split_once('=') {
        Some(("pass", value)) => value == pass.to_string(),
        Some(("block", value)) => launches.iter().any(|l| l.block[0].to_string() == value),
        Some(("grid", value)) => launches.iter().any(|l| l.grid[0].to_string() == value),
        Some(("kernel", value)) => launches.iter().any(|l| l.kernel == value),
        _ => false,
    };
    let mut fate = Fate::default();
    for words in items() {
        let [what, conditions @ ..] = words.as_slice() else { continue };
        if !conditions.iter().all(meant) {
            continue;
        }
        match what.as_str() {
            "lose" => fate.lost = true,
            "continue" => fate.endless = true,
            what => happen(what, &format!("in pass {pass}")),
        }
    }
    fate
}

fn state_folder() -> Option<PathBuf> {
    env::var_os(STATE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Writes a line for the test to read.
pub fn log(line: &str) {
    let Some(folder) = state_folder() else { return };
    let line = format!("{} {line}\n", std::process::id());
    let file = OpenOptions::new().append(true).create(true).open(folder.join("log"));
    // One write a line: several processes may log.
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        crash(&format!("cannot write the log in {}: {error}", folder.display()));
    }
}

/// The hold on the device that one process has at a time; none if another has it. It ends with the
/// process.
pub fn hold_device() -> Option<Option<File>> {
    let Some(folder) = state_folder() else { return Some(None) };
    let whose = if driver::is_before_hopper() { "everybodys".to_owned() } else { driver::uuid() };
    let path = folder.join(format!("profiler-{whose}.lock"));
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.unwrap_or_else(|e| crash(&format!("{}: {e}", path.display())));
    // SAFETY: an open file.
    let held = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    held.then_some(Some(file))
}
