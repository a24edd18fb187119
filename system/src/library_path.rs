//! The folders in which programs find shared libraries.

use std::env;
use std::ffi::OsString;

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
