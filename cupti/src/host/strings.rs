//! Strings and lists of strings, to CUPTI and from it.

use std::ffi::{CStr, CString, c_char};

/// Text for CUPTI. A NUL ends it, so CUPTI does not know such a name.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).expect("cut before the first NUL")
}

/// Names for CUPTI: the strings, and the pointers to them that it is given.
pub(crate) struct Names {
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Names {
    pub(crate) fn new(names: &[impl AsRef<str>]) -> Self {
        let strings: Vec<_> = names.iter().map(|name| c_string(name.as_ref())).collect();
        let pointers = strings.iter().map(|name| name.as_ptr()).collect();
        Self { _strings: strings, pointers }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut *const c_char {
        self.pointers.as_mut_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.pointers.len()
    }
}

/// Copies a string of CUPTI's.
///
/// # Safety
/// Null, or a string that ends in NUL.
pub(crate) unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Copies a list of CUPTI's.
///
/// # Safety
/// Null, or `count` pointers for [`string`].
pub(crate) unsafe fn strings(list: *const *const c_char, count: usize) -> Vec<String> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(list, count).iter().map(|text| string(*text)).collect() }
}
