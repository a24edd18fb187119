//! Persisting lines of the L2 cache, made ordinary ones before it is emptied.
//!
//! A kernel may ask for lines to be kept (an access policy window). No amount of reading evicts
//! those, so the launch after it would find them. Devices without such lines (before sm_80) and
//! drivers that do not know the call are left as they are.

use std::sync::LazyLock;

use cudarc::driver::sys;

use crate::host::driver::library;

/// cudarc panics where a symbol is missing, so it is looked up before it is called.
static KNOWN: LazyLock<bool> = LazyLock::new(|| {
    // SAFETY: only the name is looked up.
    unsafe { library::find::<unsafe extern "C" fn()>(b"cuCtxResetPersistingL2Cache\0") }.is_some()
});

/// Makes all persisting lines ordinary ones.
pub(crate) fn reset() {
    if *KNOWN {
        // SAFETY: the driver has the function; it works on the current context, the session's. A
        // refusal (no such lines on this device) changes nothing.
        let _ = unsafe { sys::cuCtxResetPersistingL2Cache() };
    }
}
