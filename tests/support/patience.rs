//! Waiting for events on a machine of any speed: no test may hang for ever, and none may fail
//! because something took long.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::Outcome;

/// How long anything may take before a test gives it up: longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until `found` finds something.
///
/// # Panics
/// It finds nothing for ten minutes.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "timed out waiting for {what}");
        sleep(Duration::from_millis(1));
    }
}

/// Waits until `found` finds something that `child` does.
///
/// # Panics
/// The child ends without it, or finds nothing for ten minutes.
pub fn wait_beside<T>(child: &mut Child, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    wait_for(what, || {
        // Checked first: its last actions before the end are found after it.
        let ended = child.try_wait().expect("it can be waited for");
        let found = found();
        assert!(found.is_some() || ended.is_none(), "it ended without {what}: {ended:?}");
        found
    })
}

/// The outcome of `run` with a time limit of that many seconds on hanging processes. A process that
/// does not hang may be slower than a second on a busy machine: if `fits` says that the limit hit
/// such a one, it is run again with a longer limit.
pub fn with_limit(
    run: impl Fn(&str) -> Outcome,
    fits: impl Fn(&Outcome) -> bool,
) -> (u32, Outcome) {
    let mut seconds = 1;
    loop {
        let outcome = run(&seconds.to_string());
        // A hanging process hangs for a minute at least.
        if fits(&outcome) || seconds > 16 {
            return (seconds, outcome);
        }
        seconds *= 3;
    }
}
