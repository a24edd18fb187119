//! The limits of a launch: those of the device, and of the kernel on it.
//!
//! Input: the extents and shared memory of a launch. Output: nothing, or that the configuration is
//! invalid, with the broken limit.

use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
};

use super::error::{Error, Result};
use super::function::Function;
use super::session::Session;

/// Dynamic shared memory that needs no opt-in.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

/// The threads of `block`.
///
/// # Errors
/// More than a block may have on the device: the configuration is invalid.
pub(crate) fn of_device(session: &Session, block: [u32; 3]) -> Result<u64> {
    let threads: u64 = block.iter().map(|&extent| u64::from(extent)).product();
    let most = session.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    if threads > most {
        return Err(Error::invalid(format!(
            "a block of {threads} threads exceeds the device's limit of {most}"
        )));
    }
    Ok(threads)
}

/// Refuses blocks and shared memory that `function` cannot have, and opts in to large shared
/// memory.
///
/// # Errors
/// A limit that is exceeded: the configuration is invalid. The driver's errors.
pub(crate) fn of_kernel(
    session: &Session,
    function: &Function,
    threads: u64,
    shared: u32,
) -> Result<()> {
    let most = u64::try_from(
        function.attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
    )
    .unwrap_or(0);
    if threads > most {
        return Err(Error::invalid(format!(
            "a block of {threads} threads exceeds this kernel's limit of {most}, set by its registers \
             or its launch bounds"
        )));
    }
    let fixed =
        u64::try_from(function.attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?)
            .unwrap_or(0);
    if fixed > u64::from(DEFAULT_SHARED_BYTES) {
        return Err(Error::invalid(format!(
            "the kernel has {fixed} bytes of static shared memory, and the limit is \
             {DEFAULT_SHARED_BYTES}: dynamic shared memory may have more (dynamic_shared! in \
             Rust, extern __shared__ in CUDA C++)"
        )));
    }
    if shared > DEFAULT_SHARED_BYTES {
        let most =
            session.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        if u64::from(shared) + fixed > most {
            return Err(Error::invalid(format!(
                "{shared} bytes of dynamic and {fixed} bytes of static shared memory exceed \
                 the device's limit of {most} per block"
            )));
        }
        let bytes = i32::try_from(shared)?;
        function.set_attribute(
            FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            bytes,
        )?;
    }
    Ok(())
}
