//! Arguments of C, each with the one thing that may be done with it.
//!
//! CUDA's contract with its callers makes these sound: an out pointer that is not null is valid for
//! one write of its type, and text is NUL-terminated.

use crate::error::Error;
use std::ffi::c_char;

/// An address of the host or of the device, which only the driver follows.
pub type Address = u64;

/// NUL-terminated text.
pub type Text = *const c_char;

/// An opaque handle of the driver.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub usize);

impl Handle {
    /// No object; as a stream, the default one.
    pub const NULL: Self = Self(0);

    /// This stream; instead of the default one, the thread's own (`cudaStreamPerThread`).
    pub fn per_thread(self) -> Self {
        if self == Self::NULL { Self(2) } else { self }
    }
}

/// The destination of a result.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// A place of the runtime's own.
    pub fn new(place: &mut T) -> Self {
        Self(place)
    }

    /// The place at an address of the program.
    pub fn at(address: Address) -> Self {
        Self(address as *mut T)
    }

    /// Writes the result.
    pub fn set(self, value: T) -> Result<(), Error> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract valid for one write of its type.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// A structure to read.
#[repr(transparent)]
#[derive(Debug)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The structure.
    pub fn get(self) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract valid for one read of its type.
        Ok(unsafe { self.0.read() })
    }
}

impl<T> In<T> {
    /// A structure of the runtime's own.
    pub fn new(structure: &T) -> Self {
        Self(structure)
    }
}

/// The size of a grid or of a block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}
