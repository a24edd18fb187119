//! The types that the closure of [`Run::measure`](crate::host::run::Run::measure) may return.

use cudarc::driver::{CudaEvent, DriverError};

use crate::host::error::{Error, Result};

/// The outcome of measured launches: nothing, [`Result`](crate::Result), or the result of a launch
/// by cudarc.
///
/// It has one implementation for a `Result<(), _>`, so the error of a plain `Ok(())` is known
/// without an annotation. A library's own result therefore needs `?`, which converts any error:
///
/// ```
/// use gpuprof::prelude::*;
///
/// # fn library_step() -> std::io::Result<()> { Ok(()) }
/// #[gpuprof::series(n = [1M])]
/// fn two_steps(run: &mut Run<'_>) -> gpuprof::Result<()> {
///     run.measure(|_| {
///         library_step()?;
///         library_step()?;
///         Ok(())
///     })
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the closure of `measure` cannot return `{Self}`",
    label = "launches return nothing or `gpuprof::Result`",
    note = "end the closure with `?` and `Ok(())`: `?` converts any error into `gpuprof::Error`"
)]
pub trait Launched {
    /// The outcome with gpuprof's error.
    ///
    /// # Errors
    /// That of the launches.
    #[doc(hidden)]
    fn into_result(self) -> Result<()>;
}

impl Launched for () {
    fn into_result(self) -> Result<()> {
        Ok(())
    }
}

impl<T> Launched for Result<T, Error> {
    fn into_result(self) -> Result<()> {
        self.map(drop)
    }
}

impl Launched for Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
    fn into_result(self) -> Result<()> {
        self.map(drop).map_err(Into::into)
    }
}
