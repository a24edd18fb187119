//! Modules compiled from their PTX, with its lines.
//!
//! Input: PTX. Output: a cubin for the device of the current context, in a file too, and the name
//! under which CUPTI counts it.

use std::ffi::{CString, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUjit_option, CUjitInputType};
use gpuprof_cupti::{HostApi, cubin, locate};
use gpuprof_model::measurement::MachineModule;
use gpuprof_model::protocol::SourceRequest;

use crate::host::error::{Error, Result};

/// A module that was compiled here.
pub(crate) struct Cubin {
    /// CUPTI's name for it.
    pub(super) crc: u32,
    pub(super) module: MachineModule,
}

/// Compiles the PTX `text` of the file `ptx`, with its lines, for the device of the current
/// context.
///
/// # Errors
/// The driver's and CUPTI's; a file that cannot be written.
pub(crate) fn compile(wanted: &SourceRequest, ptx: &Path, text: &str) -> Result<(Vec<u8>, Cubin)> {
    let compiling = format!("compiling {}", ptx.display());
    let cubin = link(text).map_err(|e| Error::driver(&compiling, e))?;
    let crc = cubin::crc(load(&wanted.cupti)?, &cubin).map_err(Error::cupti)?;
    let file: PathBuf = wanted.folder.join(format!("{crc:08x}.cubin"));
    fs::write(&file, &cubin)?;
    let module = MachineModule { ptx: ptx.to_owned(), cubin: file };
    Ok((cubin, Cubin { crc, module }))
}

/// The cubin of a module, by the driver's linker.
fn link(text: &str) -> std::result::Result<Vec<u8>, DriverError> {
    let text = CString::new(text).unwrap_or_default();
    let bytes = text.as_bytes_with_nul();
    let mut options = [CUjit_option::CU_JIT_GENERATE_LINE_INFO];
    let mut values = [ptr::without_provenance_mut::<c_void>(1)];
    let (mut linker, mut cubin, mut size) = (ptr::null_mut(), ptr::null_mut(), 0);
    // SAFETY: one option with its value; the linker is destroyed once, after its cubin was copied;
    // the text ends in NUL and is alive during the call.
    unsafe {
        sys::cuLinkCreate_v2(1, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut linker)
            .result()?;
        let added = sys::cuLinkAddData_v2(
            linker,
            CUjitInputType::CU_JIT_INPUT_PTX,
            bytes.as_ptr().cast_mut().cast(),
            bytes.len(),
            c"module".as_ptr(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        );
        let linked = added
            .result()
            .and_then(|()| sys::cuLinkComplete(linker, &raw mut cubin, &raw mut size).result())
            .map(|()| std::slice::from_raw_parts(cubin.cast::<u8>(), size).to_vec());
        sys::cuLinkDestroy(linker).result()?;
        linked
    }
}

/// CUPTI's library.
///
/// # Errors
/// It cannot be found or loaded.
pub(super) fn load(cupti: &Path) -> Result<HostApi> {
    Ok(HostApi::load(&locate(Some(cupti))?)?)
}
