//! Variables of a module that an annotation sets: `__constant__` and `__device__` memory.
//!
//! Input: the name in the PTX, and bytes. Output: memory of the module with these contents, at
//! first and before each launch that must find the original contents.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaModule, CudaStream, CudaViewMut};

use crate::host::error::{Error, Result};

/// A variable with the value that it is given.
pub(crate) struct Global {
    /// The declaration's name for it.
    pub(crate) name: &'static str,
    /// Its name in the PTX.
    symbol: String,
    bytes: Vec<u8>,
    /// Whether the kernel writes it.
    pub(crate) written: bool,
    /// Whether timed samples restore it.
    kept: bool,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
}

impl Global {
    /// The variable `name`, which `module` calls `symbol`, with its value, which is not set yet.
    pub(crate) fn new(
        (name, symbol): (&'static str, String),
        bytes: Vec<u8>,
        written: bool,
        (module, stream): (Arc<CudaModule>, Arc<CudaStream>),
    ) -> Self {
        Self { name, symbol, bytes, written, kept: false, module, stream }
    }

    /// The value that it is given.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Queues its assignment.
    ///
    /// # Errors
    /// The module has none of that name and size; the driver's.
    pub(crate) fn set(&self) -> Result<()> {
        set(self.name, (&self.module, &self.symbol), &self.bytes, &self.stream)
    }

    /// Queues its assignment again, if the kernel writes it.
    ///
    /// # Errors
    /// As of [`Self::set`].
    pub(crate) fn restore(&self) -> Result<()> {
        if self.written { self.set() } else { Ok(()) }
    }

    /// Lets timed samples restore it.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    /// As [`Self::restore`], if timed samples restore.
    ///
    /// # Errors
    /// As of [`Self::set`].
    pub(crate) fn reset(&self) -> Result<()> {
        if self.kept { self.restore() } else { Ok(()) }
    }

    /// Fails where the kernel is declared not to write it and did.
    ///
    /// # Errors
    /// It changed; the driver's.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        if self.written {
            return Ok(());
        }
        let variable = find(self.name, &self.module, &self.symbol, &self.stream)?;
        if self.stream.clone_dtoh(&variable)? == self.bytes {
            return Ok(());
        }
        Err(Error::failed(format!(
            "the kernel wrote `{name}`, which is declared as `static {name}`; declare it as `static mut \
             {name}`, so that every launch finds what the first one found",
            name = self.name
        )))
    }
}

/// Queues the copy of `bytes` to the variable `name`, which its module calls `symbol`.
///
/// # Errors
/// The module has none of that name and size; the driver's.
pub(crate) fn set(
    name: &str,
    (module, symbol): (&Arc<CudaModule>, &str),
    bytes: &[u8],
    stream: &Arc<CudaStream>,
) -> Result<()> {
    let mut variable = find(name, module, symbol, stream)?;
    if variable.len() != bytes.len() {
        return Err(Error::failed(format!(
            "`{name}` is {} bytes in its module, and {} are given",
            variable.len(),
            bytes.len()
        )));
    }
    Ok(stream.memcpy_htod(bytes, &mut variable)?)
}

fn find<'m>(
    name: &str,
    module: &'m Arc<CudaModule>,
    symbol: &str,
    stream: &'m Arc<CudaStream>,
) -> Result<CudaViewMut<'m, u8>> {
    module.get_global(symbol, stream).map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_NOT_FOUND => Error::failed(format!(
            "the module has no variable `{symbol}`, which `{name}` refers to"
        )),
        _ => Error::driver(&format!("finding the variable `{name}`"), error),
    })
}
