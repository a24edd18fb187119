//! CUPTI's calling convention from the inside: one struct, which says its size, and a code.

use std::ffi::{CStr, CString, c_char};

pub use cudarc::cupti::sys;

pub use crate::code::{
    Code, HARDWARE_BUSY, INVALID_METRIC_NAME, INVALID_OPERATION, INVALID_PARAMETER,
    NOT_INITIALIZED, NOT_SUPPORTED, UNKNOWN,
};
pub use crate::crash::crash;
use crate::trouble;

/// A parameter struct.
///
/// # Safety
/// It begins `{ size_t structSize; void *pPriv }`.
pub unsafe trait Parameters {
    /// The expected `structSize`.
    const SIZE: usize;
}

/// Checks a call's struct and answers it.
///
/// # Safety
/// `parameters` is null or the struct that the function of this name takes.
pub unsafe fn answer<T: Parameters>(
    name: &str,
    parameters: *mut T,
    function: fn(&mut T) -> Result<(), Code>,
) -> Code {
    if parameters.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: not null, and both fields are at the beginning (Parameters).
    let (size, private) = unsafe {
        let header = parameters.cast::<usize>();
        (header.read(), header.add(1).read())
    };
    if size != T::SIZE || private != 0 {
        eprintln!(
            "fake CUPTI: {name} got a struct of {size} bytes, pPriv {private}, and not of {} bytes",
            T::SIZE
        );
        return INVALID_PARAMETER;
    }
    trouble::at_begin_of(name);
    if let Some(code) = trouble::refusal(name) {
        return code;
    }
    // SAFETY: the whole struct is there, as its size says.
    match function(unsafe { &mut *parameters }) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

macro_rules! export {
    ($($name:ident($type:ident, $size:ident) = $function:path;)*) => {$(
        // SAFETY: a struct of CUPTI's headers.
        unsafe impl $crate::call::Parameters for $crate::call::sys::$type {
            const SIZE: usize = $crate::call::sys::$size as usize;
        }

        #[doc = concat!("CUPTI's function of this name, by [`", stringify!($function), "`].")]
        ///
        /// # Safety
        /// CUPTI's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(parameters: *mut $crate::call::sys::$type) -> u32 {
            // SAFETY: the caller's promise.
            unsafe { $crate::call::answer(stringify!($name), parameters, $function) }
        }
    )*};
}
pub(crate) use export;

/// Text of the client.
///
/// # Safety
/// Null, or a string that ends in NUL.
pub unsafe fn text(text: *const c_char) -> Result<String, Code> {
    if text.is_null() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: not null, and the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(str::to_owned).map_err(|_| INVALID_PARAMETER)
}

/// Names of the client.
///
/// # Safety
/// Null, or `count` pointers for [`text`].
pub unsafe fn texts(list: *mut *const c_char, count: usize) -> Result<Vec<String>, Code> {
    if list.is_null() || count == 0 {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: not null, and the caller's promise.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    // SAFETY: as above.
    list.iter().map(|name| unsafe { text(*name) }).collect()
}

/// Bytes of the client.
///
/// # Safety
/// Null, or `size` bytes that live as long as `'b`.
pub unsafe fn bytes<'b>(pointer: *const u8, size: usize) -> Result<&'b [u8], Code> {
    if pointer.is_null() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, size) })
}

/// Bytes that the client lets be written.
///
/// # Safety
/// Null, or `size` bytes without another user while `'b` lasts.
pub unsafe fn bytes_mut<'b>(pointer: *mut u8, size: usize) -> Result<&'b mut [u8], Code> {
    if pointer.is_null() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, size) })
}

/// A string for the client to keep: there are few, and CUPTI promises no less.
pub fn leak(text: &str) -> *const c_char {
    CString::new(text).unwrap_or_default().into_raw()
}
