//! The times of events on the fake GPU, for tests of processes that must not disturb each other.
//!
//! Compiled into both fakes. `FAKE_TIMELINE=MILLISECONDS` makes every action slow that could
//! disturb another process' measuring, and measurements a quarter as slow. It writes a line for
//! each into the file `timeline` of `FAKE_CUPTI_STATE`: the process, the action, and its begin and
//! end in nanoseconds of the system's clock. The driver records contexts and modules made and
//! destroyed and memory allocated and freed (`prepares`) and times taken by events (`samples`),
//! CUPTI times that it recorded (`samples`), its start (`profiles`), passes (`counts`), and the
//! decoding of their counts (`decodes`).

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// The time of a measurement relative to a disturbing action.
pub const MEASURED: f32 = 0.25;

/// The time of a disturbing action; none without a test that uses it.
fn slowness() -> Option<Duration> {
    let milliseconds = env::var("FAKE_TIMELINE").ok()?.parse().ok()?;
    Some(Duration::from_millis(milliseconds))
}

/// The system's clock.
pub fn now() -> u128 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos())
}

/// Takes `part` of the time of a disturbing action.
pub fn linger(part: f32) {
    if let Some(time) = slowness() {
        sleep(time.mul_f32(part));
    }
}

/// Writes a line: `what` happened from `begin` until now.
pub fn record(what: &str, begin: u128) {
    let (Some(_), Some(folder)) = (slowness(), env::var_os("FAKE_CUPTI_STATE")) else { return };
    let line = format!("{} {what} {begin} {}\n", std::process::id(), now());
    let path = PathBuf::from(folder).join("timeline");
    let file = OpenOptions::new().append(true).create(true).open(path);
    // One write a line: several processes write.
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}
