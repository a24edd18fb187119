//! The function that hears of ranges.

use std::ffi::{CString, c_char, c_void};
use std::sync::{PoisonError, RwLock};

/// A range begins or ends.
#[repr(C)]
#[derive(Debug)]
pub struct Event {
    /// Its number, which no other range of the process has.
    pub id: u64,
    /// Its path when it begins; null when it ends.
    pub path: *const c_char,
}

/// Hears of an event, which lives for the call only, on the thread of the range. It must not panic.
pub type Hear = unsafe extern "C" fn(data: *mut c_void, event: *const Event);

struct Listener {
    hear: Hear,
    data: *mut c_void,
}

// SAFETY: the caller of `nvtx_listen` promises that any thread may call it with its data.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

static LISTENER: RwLock<Option<Listener>> = RwLock::new(None);

/// Calls `hear` with `data` at every begin and end of a range from now on, or nothing. When this
/// returns, nothing calls the earlier function any more.
///
/// # Safety
/// `hear` may be called with `data` from any thread until the next call of this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvtx_listen(hear: Option<Hear>, data: *mut c_void) {
    let listener = hear.map(|hear| Listener { hear, data });
    *LISTENER.write().unwrap_or_else(PoisonError::into_inner) = listener;
}

/// Tells that the range `id` begins, or with no `path` that it ends.
pub fn tell(id: u64, path: Option<String>) {
    let listener = LISTENER.read().unwrap_or_else(PoisonError::into_inner);
    let Some(Listener { hear, data }) = &*listener else { return };
    // A wide text may hold anything but a zero, which ends it.
    let path = path.map(|path| CString::new(path).unwrap_or_default());
    let event = Event { id, path: path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()) };
    // SAFETY: the listener's promise; event and path live until it returns.
    unsafe { hear(*data, &raw const event) };
}
