//! Child processes: the libraries that they find, and how they ended.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The variable with the folders of libraries.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The folders in which this process finds libraries, with `folder` in front of them.
pub fn with_first_library_folder(folder: impl Into<OsString>) -> OsString {
    let mut folders = folder.into();
    if let Some(inherited) = env::var_os(LIBRARY_PATH).filter(|folders| !folders.is_empty()) {
        folders.push(":");
        folders.push(inherited);
    }
    folders
}

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
