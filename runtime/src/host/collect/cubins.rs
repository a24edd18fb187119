//! The machine code of modules, in which counts by line find their lines.
//!
//! Input: the loading of PTX. Output: the module, its cubin in a file, and the name under which
//! CUPTI counts it. It is the code of every other process too: the driver keeps a table of lines if
//! the PTX names its lines (`.loc`), and needs no other compilation for it.

use std::fs;
use std::path::{Path, PathBuf};

use gpuprof_cupti::cubin::{self, CubinWatch};
use gpuprof_cupti::{HostApi, locate};
use gpuprof_model::measurement::MachineModule;
use gpuprof_model::protocol::SourceRequest;

use crate::host::error::{Error, Result};

/// The machine code of a module.
pub(crate) struct Cubin {
    /// CUPTI's name for it.
    pub(super) crc: u32,
    pub(super) module: MachineModule,
}

/// The result of `load` for the PTX in the file `ptx`, with its machine code.
///
/// # Errors
/// Those of `load`, CUPTI's; a file that cannot be written.
pub(crate) fn load_with_cubin<T>(
    wanted: &SourceRequest,
    ptx: &Path,
    load: impl FnOnce() -> Result<T>,
) -> Result<(T, Cubin)> {
    let api = cupti(&wanted.cupti)?;
    let watch = CubinWatch::begin(api).map_err(Error::cupti)?;
    let loaded = load()?;
    let cubin = watch.last().ok_or_else(|| {
        Error::failed(format!("CUPTI did not report the machine code of {}", ptx.display()))
    })?;
    let crc = cubin::crc(api, &cubin).map_err(Error::cupti)?;
    let file: PathBuf = wanted.folder.join(format!("{crc:08x}.cubin"));
    fs::write(&file, &cubin)?;
    Ok((loaded, Cubin { crc, module: MachineModule { ptx: ptx.to_owned(), cubin: file } }))
}

/// CUPTI's library.
///
/// # Errors
/// It cannot be found or loaded.
pub(super) fn cupti(path: &Path) -> Result<HostApi> {
    Ok(HostApi::load(&locate(Some(path))?)?)
}
