//! Variables of a module that an annotation sets: `__constant__` and `__device__` memory.
//!
//! Input: the name in the PTX, and bytes. Output: memory of the module with these contents, at
//! first and before each launch that must find the original contents.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaModule, CudaStream, CudaViewMut};

use crate::host::error::{Error, Result};

/// A variable of a module.
pub(crate) struct Variable<'m> {
    /// The declaration's name for it.
    pub(crate) name: &'m str,
    /// Its name in the PTX.
    pub(crate) symbol: &'m str,
    pub(crate) module: &'m Arc<CudaModule>,
    pub(crate) stream: &'m Arc<CudaStream>,
}

impl<'m> Variable<'m> {
    /// Queues the copy of `bytes` to it.
    ///
    /// # Errors
    /// The module has none of that name and size; the driver's.
    pub(crate) fn set(&self, bytes: &[u8]) -> Result<()> {
        let mut memory = self.find()?;
        if memory.len() != bytes.len() {
            return Err(Error::failed(format!(
                "`{}` is {} bytes in its module, and {} are given",
                self.name,
                memory.len(),
                bytes.len()
            )));
        }
        Ok(self.stream.memcpy_htod(bytes, &mut memory)?)
    }

    fn find(&self) -> Result<CudaViewMut<'m, u8>> {
        let Self { name, symbol, module, stream } = self;
        module.get_global(symbol, stream).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => Error::failed(format!(
                "the module has no variable `{symbol}`, which `{name}` refers to"
            )),
            _ => Error::driver(&format!("finding the variable `{name}`"), error),
        })
    }
}

/// A variable with the value that it is given.
pub(crate) struct Global {
    /// The declaration's name for it.
    pub(crate) name: &'static str,
    /// Its name in the PTX.
    pub(crate) symbol: String,
    /// The value.
    pub(crate) bytes: Vec<u8>,
    /// Whether the kernel writes it.
    pub(crate) written: bool,
    /// Whether timed samples restore it.
    pub(crate) kept: bool,
    pub(crate) module: Arc<CudaModule>,
    pub(crate) stream: Arc<CudaStream>,
}

impl Global {
    fn variable(&self) -> Variable<'_> {
        let Self { name, symbol, module, stream, .. } = self;
        Variable { name, symbol, module, stream }
    }

    /// Queues its assignment.
    ///
    /// # Errors
    /// As of [`Variable::set`].
    pub(crate) fn set(&self) -> Result<()> {
        self.variable().set(&self.bytes)
    }

    /// Queues its assignment again, if the kernel writes it.
    ///
    /// # Errors
    /// As of [`Self::set`].
    pub(crate) fn restore(&self) -> Result<()> {
        if self.written { self.set() } else { Ok(()) }
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
        let variable = self.variable().find()?;
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
