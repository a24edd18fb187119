//! The name under which CUPTI counts and samples a cubin.

use cudarc::cupti::sys;

use crate::abi::{Call, CubinFunctions};
use crate::target::TargetError;
use crate::{HostApi, LoadError};

/// The CRC of `cubin`, by which CUPTI names the code of a module.
///
/// # Errors
/// CUPTI's, such as for bytes that are not a cubin.
pub fn crc(api: HostApi, cubin: &[u8]) -> Result<u32, TargetError> {
    let missing = |symbol| LoadError::MissingSymbol { path: api.path.into(), symbol };
    let functions = CubinFunctions::resolve(api.library).map_err(missing)?;
    let mut call = Call::<sys::CUpti_GetCubinCrcParams>::new();
    call.fields().cubinSize = cubin.len();
    call.fields().cubin = cubin.as_ptr().cast();
    // SAFETY: as many bytes as it says, for the time of the call.
    unsafe { functions.crc.call(&mut call) }?;
    // SAFETY: an integer that CUPTI wrote. Counts have its lower half.
    Ok(unsafe { (*call.out()).cubinCrc } as u32)
}
