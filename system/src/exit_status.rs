//! How a process ended, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a process ended that left no answer.
pub fn describe_end_without_answer(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            format!("was ended by {name} ({signal})")
        }
        None => format!("ended with {status} and without an answer"),
    }
}
