//! Types of NVTX's public headers, version 3.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `NVTX_ETID_CALLBACKS`.
pub const CALLBACKS: u32 = 1;

/// `NVTX_CB_MODULE_CORE`.
pub const CORE: c_int = 1;

/// `NVTX_CB_MODULE_CORE2`.
pub const CORE2: c_int = 5;

/// A function of any type.
pub type Function = *const c_void;

/// Pointers to function pointers, by the number of the function: `NvtxFunctionTable`.
pub type FunctionTable = *mut *mut Function;

/// `NvtxGetExportTableFunc_t`.
pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
pub struct Callbacks {
    /// The bytes of this structure.
    pub struct_size: usize,
    /// Gives the functions of a module, and how many there are.
    pub module: unsafe extern "C" fn(c_int, *mut FunctionTable, *mut c_uint) -> c_int,
}

/// `nvtxEventAttributes_v2`.
#[repr(C)]
pub struct EventAttributes {
    pub version: u16,
    pub size: u16,
    pub category: u32,
    pub color_type: i32,
    pub color: u32,
    pub payload_type: i32,
    pub reserved: i32,
    pub payload: u64,
    pub message_type: i32,
    /// A text, or a registered string.
    pub message: *const c_void,
}

/// `NVTX_MESSAGE_TYPE_ASCII`.
pub const ASCII: i32 = 1;

/// `NVTX_MESSAGE_TYPE_UNICODE`.
pub const UNICODE: i32 = 2;

/// `NVTX_MESSAGE_TYPE_REGISTERED`.
pub const REGISTERED: i32 = 3;

/// `wchar_t` of Linux.
pub type Wide = u32;

/// `char`.
pub type Narrow = c_char;
