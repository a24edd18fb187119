//! NVRTC's functions, by their types in `nvrtc.h`. All of them exist since CUDA 11.2 and have not
//! changed.

use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::Library;

/// `nvrtcProgram`.
pub(crate) type Handle = *mut c_void;
type Code = c_int;

/// `NVRTC_SUCCESS`.
pub(crate) const SUCCESS: Code = 0;

type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Code;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Code;
type LoweredName = unsafe extern "C" fn(Handle, *const c_char, *mut *const c_char) -> Code;
type Text = unsafe extern "C" fn(Handle, *mut c_char) -> Code;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Code;

/// The functions that are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    pub(crate) version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code,
    pub(crate) error_string: unsafe extern "C" fn(Code) -> *const c_char,
    pub(crate) architecture_count: unsafe extern "C" fn(*mut c_int) -> Code,
    pub(crate) architectures: unsafe extern "C" fn(*mut c_int) -> Code,
    pub(crate) create: Create,
    pub(crate) destroy: unsafe extern "C" fn(*mut Handle) -> Code,
    pub(crate) add_expression: unsafe extern "C" fn(Handle, *const c_char) -> Code,
    pub(crate) compile: Compile,
    pub(crate) lowered_name: LoweredName,
    pub(crate) log_size: Size,
    pub(crate) log: Text,
    pub(crate) ptx_size: Size,
    pub(crate) ptx: Text,
}

impl Functions {
    /// All of them, or the name of the first that the library lacks.
    ///
    /// # Safety
    /// The library is NVRTC, and is never closed.
    pub(crate) unsafe fn load(library: &Library) -> Result<Self, &'static str> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field's type is that of this function in nvrtc.h.
                *unsafe { library.get($name) }.map_err(|_| $name)?
            };
        }
        Ok(Self {
            version: function!("nvrtcVersion"),
            error_string: function!("nvrtcGetErrorString"),
            architecture_count: function!("nvrtcGetNumSupportedArchs"),
            architectures: function!("nvrtcGetSupportedArchs"),
            create: function!("nvrtcCreateProgram"),
            destroy: function!("nvrtcDestroyProgram"),
            add_expression: function!("nvrtcAddNameExpression"),
            compile: function!("nvrtcCompileProgram"),
            lowered_name: function!("nvrtcGetLoweredName"),
            log_size: function!("nvrtcGetProgramLogSize"),
            log: function!("nvrtcGetProgramLog"),
            ptx_size: function!("nvrtcGetPTXSize"),
            ptx: function!("nvrtcGetPTX"),
        })
    }
}
