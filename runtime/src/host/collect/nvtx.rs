//! NVTX ranges that code in this process marks, by the library that NVTX's headers have loaded.
//!
//! Input: the library, and a listener. Output: the begins and ends of ranges while it listens, on
//! the threads of the ranges.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use libloading::Library;

use crate::host::error::{Error, Result};

/// The library's `Event`.
#[repr(C)]
struct Event {
    id: u64,
    path: *const c_char,
}

type Hear = unsafe extern "C" fn(data: *mut c_void, event: *const Event);

/// The library between NVTX's headers and this process.
#[derive(Clone, Copy)]
pub(crate) struct Nvtx {
    listen: unsafe extern "C" fn(Option<Hear>, *mut c_void),
}

/// Hears of ranges, from any thread.
pub(crate) trait RangeListener: Sync {
    /// The range `id` begins.
    fn begin(&self, id: u64, path: &str);
    /// The range `id` ends.
    fn end(&self, id: u64);
}

impl Nvtx {
    /// Opens the library, which NVTX's headers find by its path in the environment.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(library: &Path) -> Result<Self> {
        let failed = |e: libloading::Error| {
            Error::failed(format!("the NVTX library ({}): {e}", library.display()))
        };
        // SAFETY: the library has no initialisers.
        let opened = unsafe { Library::new(library) }.map_err(failed)?;
        // NVTX's headers call into it until the process ends.
        let opened: &'static Library = Box::leak(Box::new(opened));
        // SAFETY: the type is that of the library's source.
        let listen = unsafe { *opened.get(b"nvtx_listen").map_err(failed)? };
        Ok(Self { listen })
    }

    /// Does `work` while `listener` hears of ranges.
    pub(crate) fn while_listening<L: RangeListener, T>(
        self,
        listener: &L,
        work: impl FnOnce() -> T,
    ) -> T {
        let _listens = Listens(self);
        // SAFETY: any thread may call the listener, which lives until nothing listens any more.
        unsafe { (self.listen)(Some(hear::<L>), (&raw const *listener).cast_mut().cast()) };
        work()
    }
}

/// Ends the listening, also when user code panics.
struct Listens(Nvtx);

impl Drop for Listens {
    fn drop(&mut self) {
        // SAFETY: nothing is called any more.
        unsafe { (self.0.listen)(None, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn hear<L: RangeListener>(data: *mut c_void, event: *const Event) {
    // SAFETY: `while_listening` gave this listener, which lives; the event lives for the call.
    let (listener, event) = unsafe { (&*data.cast_const().cast::<L>(), &*event) };
    if event.path.is_null() {
        listener.end(event.id);
    } else {
        // SAFETY: a text that ends with a zero.
        listener.begin(event.id, &unsafe { CStr::from_ptr(event.path) }.to_string_lossy());
    }
}
