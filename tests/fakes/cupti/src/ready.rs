//! The preconditions of target functions: an initialised profiler and a current context.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::code::{Code, INVALID_CONTEXT};
use crate::crash::crash;
use crate::driver;

/// How often the profiler was initialised and not yet de-initialised.
static INITIALIZED: AtomicU32 = AtomicU32::new(0);

/// One initialisation more.
pub fn begin() {
    INITIALIZED.fetch_add(1, Ordering::SeqCst);
}

/// One initialisation less.
pub fn end() {
    INITIALIZED.fetch_sub(1, Ordering::SeqCst);
}

/// Whether target functions may be called.
pub fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::SeqCst) > 0
}

/// Aborts where NVIDIA's crashes: in target functions before the initialisation succeeded.
pub fn need_initialized(function: &str) {
    if !is_initialized() {
        crash(&format!("{function} without cuptiProfilerInitialize: NVIDIA's crashes here"));
    }
}

/// The context that is meant: the current one, by name or by none.
pub fn context(context: cudarc::driver::sys::CUcontext) -> Result<(), Code> {
    match driver::current_context() {
        Some(current) if context.is_null() || context.cast() == current => Ok(()),
        _ => Err(INVALID_CONTEXT),
    }
}
