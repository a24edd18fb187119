//! The operations: each moves [`BYTES`] in one direction.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;

/// Why an operation could not be made or called.
pub type Failure = Box<dyn std::error::Error>;

/// An operation that can be called again and again.
pub struct Operation {
    pub call: Box<dyn FnMut() -> Result<(), Failure>>,
    /// The streams that it launches on, next to the given one.
    pub streams: Vec<Arc<CudaStream>>,
}

/// The bytes that an operation moves.
const BYTES: usize = 64 << 20;
const BLOCK: u32 = 256;

/// y[i] ← x[i], 16 bytes a thread.
const CODE: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry move_all(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 16;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd4];
    st.global.v4.u32 [%rd5], {%r5, %r6, %r7, %r8};
    ret;
}
";

/// The kernel on a GPU.
struct Kernel(CudaFunction);

impl Kernel {
    fn load(context: &Arc<CudaContext>) -> Result<Self, Failure> {
        let module = context.load_module(Ptx::from_src(CODE))?;
        Ok(Self(module.load_function("move_all")?))
    }

    /// Launches it on addresses of [`BYTES`] that this GPU can access.
    fn launch(&self, stream: &Arc<CudaStream>, from: u64, to: u64) -> Result<(), Failure> {
        let config = LaunchConfig {
            grid_dim: ((BYTES / 16) as u32 / BLOCK, 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: a thread for each 16 bytes of both.
        unsafe { stream.launch_builder(&self.0).arg(&from).arg(&to).launch(config) }?;
        Ok(())
    }
}

/// Memory of one GPU by `cuMemAlloc`, which peers may access. cudarc allocates from a pool, which
/// they may not access.
struct Memory {
    address: u64,
    owner: Arc<CudaContext>,
}

impl Memory {
    fn new(owner: &Arc<CudaContext>) -> Result<Self, Failure> {
        owner.bind_to_thread()?;
        // SAFETY: the context is current.
        let address = unsafe { cudarc::driver::result::malloc_sync(BYTES) }?;
        Ok(Self { address, owner: owner.clone() })
    }

    fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error of the device's work is reported where the work is waited for.
        let _ = self.owner.bind_to_thread().and_then(|()| {
            // SAFETY: `new` allocated it.
            unsafe { cudarc::driver::result::free_sync(self.address) }
        });
    }
}

/// The second GPU. Either GPU may access the memory of the other.
fn second(first: &Arc<CudaStream>) -> Result<Arc<CudaContext>, Failure> {
    let second = CudaContext::new(1)?;
    for (from, to) in [(&second, first.context()), (first.context(), &second)] {
        from.bind_to_thread()?;
        // SAFETY: two contexts of different GPUs.
        match unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) }.result() {
            Ok(()) | Err(DriverError(sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(second)
}

fn operation(call: impl FnMut() -> Result<(), Failure> + 'static) -> Result<Operation, Failure> {
    Ok(Operation { call: Box::new(call), streams: Vec::new() })
}

/// A copy from the first GPU to the second.
pub fn copy(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), second(stream)?);
    let (from, to) = (Memory::new(stream.context())?, Memory::new(&other)?);
    operation(move || {
        stream.context().bind_to_thread()?;
        // SAFETY: both have this size.
        let copied = unsafe {
            cudarc::driver::result::memcpy_peer_async(
                other.cu_ctx(),
                to.address(),
                stream.context().cu_ctx(),
                from.address(),
                BYTES,
                stream.cu_stream(),
            )
        };
        Ok(copied?)
    })
}

/// A kernel of the first GPU reads the memory of the second.
pub fn read(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), second(stream)?);
    let (from, to) = (Memory::new(&other)?, Memory::new(stream.context())?);
    let kernel = Kernel::load(stream.context())?;
    operation(move || kernel.launch(&stream, from.address(), to.address()))
}

/// A kernel of the first GPU writes the memory of the second.
pub fn write(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), second(stream)?);
    let (from, to) = (Memory::new(stream.context())?, Memory::new(&other)?);
    let kernel = Kernel::load(stream.context())?;
    operation(move || kernel.launch(&stream, from.address(), to.address()))
}

/// A kernel that uses no link.
pub fn own(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let stream = stream.clone();
    let (from, to) = (Memory::new(stream.context())?, Memory::new(stream.context())?);
    let kernel = Kernel::load(stream.context())?;
    operation(move || kernel.launch(&stream, from.address(), to.address()))
}

/// A copy from the host's pinned memory.
pub fn upload(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let stream = stream.clone();
    // SAFETY: bytes of any value are valid.
    let (from, mut to) =
        (unsafe { stream.context().alloc_pinned::<u8>(BYTES) }?, stream.alloc_zeros::<u8>(BYTES)?);
    operation(move || Ok(stream.memcpy_htod(&from, &mut to)?))
}

/// A kernel that reads the host's pinned memory.
pub fn pinned(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let stream = stream.clone();
    stream.context().bind_to_thread()?;
    // SAFETY: the memory lives until the process ends.
    let from = unsafe { cudarc::driver::result::malloc_host(BYTES, 0) }? as u64;
    let (to, kernel) = (Memory::new(stream.context())?, Kernel::load(stream.context())?);
    operation(move || kernel.launch(&stream, from, to.address()))
}

/// The host writes managed memory, and a kernel reads it.
pub fn managed(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let stream = stream.clone();
    // SAFETY: bytes of any value are valid.
    let mut from = unsafe { stream.context().alloc_unified::<u8>(BYTES, true) }?;
    let address = from.device_ptr(&stream).0;
    let (to, kernel) = (Memory::new(stream.context())?, Kernel::load(stream.context())?);
    operation(move || {
        stream.synchronize()?;
        from.as_mut_slice()?.fill(1);
        kernel.launch(&stream, address, to.address())
    })
}

/// A kernel on each GPU.
pub fn elsewhere(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), second(stream)?);
    let streams = vec![other.new_stream()?];
    let theirs = streams[0].clone();
    let (from, to) = (Memory::new(stream.context())?, Memory::new(stream.context())?);
    let (other_from, other_to) = (Memory::new(&other)?, Memory::new(&other)?);
    let (kernel, other_kernel) = (Kernel::load(stream.context())?, Kernel::load(&other)?);
    let call = move || {
        kernel.launch(&stream, from.address(), to.address())?;
        other.bind_to_thread()?;
        other_kernel.launch(&theirs, other_from.address(), other_to.address())?;
        Ok(stream.context().bind_to_thread()?)
    };
    Ok(Operation { call: Box::new(call), streams })
}

/// A copy to the second GPU, all by cudarc: its memory has no peer access.
pub fn pooled(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let second = second(stream)?.new_stream()?;
    let from = stream.alloc_zeros::<u8>(BYTES)?;
    let mut to = second.alloc_zeros::<u8>(BYTES)?;
    let streams = vec![second.clone()];
    let call = move || Ok(second.memcpy_dtod(&from, &mut to)?);
    Ok(Operation { call: Box::new(call), streams })
}
