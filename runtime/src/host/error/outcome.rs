//! The outcome of a request for any error: errors by their kind, and panics as failures.
//!
//! Input: work on a configuration. Output: its [`PassOutcome`]; a panic in user code has its
//! location.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};

use gpuprof_model::measurement::{PassOutcome, PassResult};

use crate::host::error::{Error, Result};

thread_local! {
    /// The location of the last panic, which its payload does not contain.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Remembers from now on where a panic was.
pub(crate) fn remember_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        PANICKED_AT.set(panic.location().map(|location| format!(" at {location}")));
        default(panic);
    }));
}

/// The outcome of `work` that went wrong, in place of a panic too.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught_with(|panic| panic, work)
}

/// The outcome of `work` that went wrong; `explain` adds to the error of a panic.
pub(crate) fn caught_with<T>(
    explain: impl FnOnce(Error) -> Error,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(explain(Error::failed(panic_text(panic.as_ref())))))
}

/// The outcome of a request.
pub(crate) fn outcome(result: Result<PassResult>) -> PassOutcome {
    match result {
        Ok(result) => PassOutcome::Finished(Box::new(result)),
        Err(error) => error.into_outcome(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|&text| text.to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "with a payload that is not text".to_owned());
    let place = PANICKED_AT.take().unwrap_or_default();
    format!("the harness panicked{place}: {text}")
}
