//! The limits of a launch: those of the device, of the annotation and of the kernel's code.
//!
//! Input: the extents and shared memory of a launch. Output: nothing, or that the configuration is
//! invalid, with the broken limit.

use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
};
use gpuprof_model::declared::{BlockLimit, DeclaredEntry, KnownLaunch, threads};

use crate::host::driver::function::Function;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;
use crate::host::session::Session;

/// Dynamic shared memory that needs no opt-in.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

/// The promises of an annotation on the launches of its kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Promised<'a> {
    /// The instance, if the kernel is a declared one.
    pub(crate) declared: Option<&'a DeclaredEntry>,
    /// The key `max_block`.
    pub(crate) max_block: Option<u64>,
}

/// Refuses a launch that the device, the annotation or `function` does not allow, and opts in to
/// large shared memory.
///
/// # Errors
/// A limit that is exceeded: the configuration is invalid. The driver's errors.
pub(crate) fn check(
    session: &Session,
    function: &Function,
    LaunchShape { grid, block, shared }: LaunchShape,
    cluster: Option<[u32; 3]>,
    promised: Promised<'_>,
) -> Result<()> {
    let refuse = |reason: Option<String>| reason.map_or(Ok(()), |it| Err(Error::invalid(it)));
    let threads = threads(block);
    let most = session.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    refuse(BlockLimit::Device.refusal(threads, most))?;
    let known = KnownLaunch {
        grid: Some(grid),
        block: Some(block),
        shared: Some(u64::from(shared)),
        cluster,
        capability: Some(session.device.compute_capability),
    };
    refuse(promised.declared.and_then(|entry| entry.refusal(&known)))?;
    let bounds = BlockLimit::Bounds { kernel: "", written: "max_block" };
    refuse(promised.max_block.and_then(|most| bounds.refusal(threads, most)))?;
    let most = function.attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    refuse(BlockLimit::Code.refusal(threads, u64::try_from(most).unwrap_or(0)))?;
    shared_memory(session, function, shared)
}

fn shared_memory(session: &Session, function: &Function, shared: u32) -> Result<()> {
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
