//! Shared objects, opened for good.
//!
//! What is used is never closed again: CUPTI and the driver start threads and keep pointers into
//! themselves.

use std::path::{Path, PathBuf};

/// An open shared object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    #[cfg(target_os = "linux")]
    handle: std::ptr::NonNull<std::ffi::c_void>,
}

// SAFETY: a handle of dlopen may be used from any thread, and is closed only after its last use.
unsafe impl Send for Library {}
// SAFETY: as above; looking up a symbol does not change it.
unsafe impl Sync for Library {}

#[cfg(target_os = "linux")]
impl Library {
    /// Opens a path, or a bare name that the linker searches for. The error is the linker's words.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        use libloading::os::unix;
        Self::open_with(path, unix::RTLD_NOW | unix::RTLD_LOCAL)
    }

    /// As [`Library::open`], with its symbols visible to libraries opened later.
    pub(crate) fn open_globally(path: &Path) -> Result<Self, String> {
        use libloading::os::unix;
        Self::open_with(path, unix::RTLD_NOW | unix::RTLD_GLOBAL)
    }

    fn open_with(path: &Path, flags: std::ffi::c_int) -> Result<Self, String> {
        // SAFETY: the callers open the CUDA driver, CUPTI and its nvperf libraries, whose
        // initialisers only set up their own state (seen: 12.6 to 13.5 open without a driver).
        let library = unsafe { libloading::os::unix::Library::open(Some(path), flags) };
        // libloading puts the linker's message into the source of its error.
        let library = library.map_err(|error| {
            let words = std::error::Error::source(&error).map(ToString::to_string);
            let words = words.unwrap_or_else(|| error.to_string());
            // They begin with the path, which the caller's message names already.
            words.trim_start_matches(&format!("{}: ", path.display())).to_owned()
        })?;
        let handle = std::ptr::NonNull::new(library.into_raw());
        handle.map(|handle| Self { handle }).ok_or_else(|| "no handle".into())
    }

    /// The function `name`, or an error with its name.
    ///
    /// # Safety
    /// `F` is the type of that function: a function pointer.
    pub(crate) unsafe fn symbol<F: Copy>(&self, name: &'static str) -> Result<F, &'static str> {
        let address = self.address(name).ok_or(name)?;
        assert_eq!(size_of::<F>(), size_of_val(&address), "F is a function pointer");
        // SAFETY: the caller's promise; the sizes agree.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }

    /// Closes an unsuitable library: while it is open the linker returns it for every other one
    /// with the same bare name.
    ///
    /// # Safety
    /// Nothing of it is used any more, nor any copy of this handle, and no call of it is still
    /// running.
    pub(crate) unsafe fn close(self) {
        // SAFETY: the handle is open; the rest is the caller's promise.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }

    /// Whether it exports `name`.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.address(name).is_some()
    }

    fn address(&self, name: &'static str) -> Option<std::ptr::NonNull<std::ffi::c_void>> {
        let name = std::ffi::CString::new(name).ok()?;
        // SAFETY: the handle is open and the name ends in NUL.
        std::ptr::NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }

    /// The file that holds the function `name`, which the linker may have found by itself.
    pub(crate) fn file_of(&self, name: &'static str) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt as _;
        let address = self.address(name)?;
        let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: dladdr writes the struct and returns 0 if it finds nothing.
        let known = unsafe { libc::dladdr(address.as_ptr(), found.as_mut_ptr()) } != 0;
        // SAFETY: all-zero is a valid Dl_info.
        let file = unsafe { found.assume_init() }.dli_fname;
        if !known || file.is_null() {
            return None;
        }
        // SAFETY: the linker's own name of a library that is never unloaded.
        let file = unsafe { std::ffi::CStr::from_ptr(file) };
        Path::new(std::ffi::OsStr::from_bytes(file.to_bytes())).canonicalize().ok()
    }
}

#[cfg(not(target_os = "linux"))]
impl Library {
    const REFUSED: &str = "CUPTI is loaded on Linux only";

    pub(crate) fn open(_path: &Path) -> Result<Self, String> {
        Err(Self::REFUSED.into())
    }

    pub(crate) fn open_globally(_path: &Path) -> Result<Self, String> {
        Err(Self::REFUSED.into())
    }

    pub(crate) unsafe fn symbol<F: Copy>(&self, name: &'static str) -> Result<F, &'static str> {
        Err(name)
    }

    pub(crate) unsafe fn close(self) {}

    pub(crate) fn has(&self, _name: &'static str) -> bool {
        false
    }

    pub(crate) fn file_of(&self, _name: &'static str) -> Option<PathBuf> {
        None
    }
}
