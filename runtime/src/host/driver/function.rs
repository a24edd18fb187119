//! Functions of loaded modules, from any layer.
//!
//! Input: a function of cudarc, or the handle of another layer. Output: the driver's data on it:
//! name, attributes, parameters, and how many of its blocks fit.

use std::ffi::{CStr, c_char};

use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUresult};
use cudarc::driver::{CudaFunction, DriverError, result};

use crate::host::driver::library;

/// A function that is loaded.
#[derive(Clone)]
pub(crate) struct Function {
    handle: sys::CUfunction,
    /// Keeps its module loaded; another layer does so itself.
    _owner: Option<CudaFunction>,
}

impl From<&CudaFunction> for Function {
    fn from(function: &CudaFunction) -> Self {
        Self { handle: function.cu_function(), _owner: Some(function.clone()) }
    }
}

impl Function {
    /// The function of `handle`.
    ///
    /// # Safety
    /// The handle is a function's of the context of the run, and its module stays loaded as long as
    /// this value and its clones live.
    pub(crate) unsafe fn from_raw(handle: sys::CUfunction) -> Self {
        Self { handle, _owner: None }
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> sys::CUfunction {
        self.handle
    }

    /// The driver's name for it; none before CUDA 12.3.
    pub(crate) fn name(&self) -> Option<String> {
        type GetName = unsafe extern "C" fn(*mut *const c_char, sys::CUfunction) -> CUresult;
        let mut name = std::ptr::null();
        // SAFETY: the symbol, if it exists, has this type (cuda.h); the function is loaded, and the
        // name that the call writes lives as long as the function.
        unsafe {
            let ask = library::find::<GetName>(b"cuFuncGetName\0")?;
            (ask(&mut name, self.handle) == CUresult::CUDA_SUCCESS && !name.is_null())
                .then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// How many parameters it has; unknown before CUDA 12.4.
    pub(crate) fn parameters(&self) -> Option<usize> {
        type GetParameter =
            unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> CUresult;
        // SAFETY: the symbol, if it exists, has this type (cuda.h).
        let ask = unsafe { library::find::<GetParameter>(b"cuFuncGetParamInfo\0") }?;
        let (mut offset, mut size, mut count) = (0, 0, 0);
        loop {
            // SAFETY: the function is loaded, and the call writes two numbers.
            match unsafe { ask(self.handle, count, &mut offset, &mut size) } {
                CUresult::CUDA_SUCCESS => count += 1,
                // There is no such parameter.
                CUresult::CUDA_ERROR_INVALID_VALUE => return Some(count),
                _ => return None,
            }
        }
    }

    /// An attribute of it.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn attribute(&self, attribute: Attribute) -> Result<i32, DriverError> {
        // SAFETY: the function is loaded.
        unsafe { result::function::get_function_attribute(self.handle, attribute) }
    }

    /// Sets an attribute of it.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn set_attribute(
        &self,
        attribute: Attribute,
        value: i32,
    ) -> Result<(), DriverError> {
        // SAFETY: the function is loaded.
        unsafe { result::function::set_function_attribute(self.handle, attribute, value) }
    }

    /// How many of its blocks of `threads` threads with `shared` bytes of dynamic shared memory a
    /// multiprocessor holds.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn blocks_per_sm(&self, threads: u32, shared: u32) -> Result<u32, DriverError> {
        let mut blocks = 0;
        // SAFETY: the function is loaded, and the call writes one number.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle,
                i32::try_from(threads).unwrap_or(i32::MAX),
                shared as usize,
            )
        };
        code.result()?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }
}
