//! The library: opened for good, with its version and its architectures.

use std::ffi::CStr;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::functions::{Functions, SUCCESS};

/// An open NVRTC.
#[derive(Clone, Copy, Debug)]
pub struct Nvrtc {
    pub(crate) functions: Functions,
}

/// Why a file does not serve as NVRTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The linker refuses it.
    #[error("{} cannot be loaded: {reason}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The linker's words.
        reason: String,
    },
    /// It is another library, or NVRTC before CUDA 11.2.
    #[error("{} has no function {symbol}: it is not NVRTC, or one before CUDA 11.2", .path.display())]
    MissingSymbol {
        /// The file.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
    },
}

impl Nvrtc {
    /// Opens the library in the file `path`, and its builtins where they lie next to it.
    ///
    /// # Errors
    /// [`LoadError`]: it cannot be opened, or is not NVRTC.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        for builtins in builtins_beside(path) {
            // Without them NVRTC reports what is missing.
            let _ = open(&builtins);
        }
        let library = open(path)?;
        // SAFETY: a library with these names is NVRTC, and `open` never closes it.
        let functions = unsafe { Functions::load(&library) };
        let missing = |symbol| LoadError::MissingSymbol { path: path.into(), symbol };
        Ok(Self { functions: functions.map_err(missing)? })
    }

    /// The CUDA version that it belongs to: major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two ints.
        unsafe { (self.functions.version)(&raw mut major, &raw mut minor) };
        (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0))
    }

    /// The compute capabilities that it compiles for, as 90 for 9.0.
    #[must_use]
    pub fn architectures(&self) -> Vec<u32> {
        let mut count = 0;
        // SAFETY: it writes one int.
        let code = unsafe { (self.functions.architecture_count)(&raw mut count) };
        let mut all = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes as many ints as it said.
        if code != SUCCESS || unsafe { (self.functions.architectures)(all.as_mut_ptr()) } != SUCCESS
        {
            return Vec::new();
        }
        all.into_iter().filter_map(|it| u32::try_from(it).ok()).collect()
    }

    /// NVRTC's name of a code: `NVRTC_ERROR_COMPILATION`.
    pub(crate) fn name_of(&self, code: i32) -> String {
        // SAFETY: it takes every code and returns a constant string.
        let name = unsafe { (self.functions.error_string)(code) };
        if name.is_null() {
            return format!("code {code}");
        }
        // SAFETY: a constant string of the library, which stays open.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}

fn open(path: &Path) -> Result<ManuallyDrop<Library>, LoadError> {
    // SAFETY: NVRTC and its builtins only set up their own state when they are opened.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library.map(ManuallyDrop::new).map_err(|error| {
        // libloading puts the linker's message into the source of its error.
        let words = std::error::Error::source(&error).map(ToString::to_string);
        let words = words.unwrap_or_else(|| error.to_string());
        let reason = words.trim_start_matches(&format!("{}: ", path.display())).to_owned();
        LoadError::Open { path: path.into(), reason }
    })
}

/// `libnvrtc-builtins.so.13.0` in the folder of `libnvrtc.so.13`, with links resolved.
fn builtins_beside(path: &Path) -> Vec<PathBuf> {
    let file = path.canonicalize().unwrap_or_else(|_| path.into());
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let builtins = |it: &PathBuf| {
        let name = it.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libnvrtc-builtins.so") && !name.contains(".alt.")
    };
    let mut found: Vec<PathBuf> = paths.filter(builtins).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_other_than_nvrtc_are_refused_by_name() {
        let absent = Nvrtc::open(Path::new("/nowhere/libnvrtc.so.13")).unwrap_err();
        let text = absent.to_string();
        assert!(text.starts_with("/nowhere/libnvrtc.so.13 cannot be loaded: "), "{text}");
        assert_eq!(text.matches("/nowhere").count(), 1, "{text}");
        let other = Nvrtc::open(Path::new("libc.so.6")).unwrap_err();
        let expected =
            LoadError::MissingSymbol { path: "libc.so.6".into(), symbol: "nvrtcVersion" };
        assert_eq!(other, expected);
    }
}
