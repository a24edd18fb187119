//! Flushing the L2 cache before a measured launch.
//!
//! Input: the device's L2 size. Output: an L2 with clean lines of a buffer that nothing else uses.
//! Writing a buffer would evict as well, but leave its own lines dirty: the measured kernel would
//! then pay for writing them back, in time and in DRAM traffic (on an H200 10 to 17 % more bytes
//! than the kernel moves). So it is read, twice the size of the cache, which evicts every line
//! under any replacement policy.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;

use crate::host::error::Result;

/// Each thread reads 16 bytes at a time past L1, a grid apart. A store that never happens (no sum
/// of zeros is 1) keeps the loads from being removed.
const PTX: &str = "\
.version 6.0
.target sm_60
.address_size 64
.visible .entry gpuprof_flush(.param .u64 buffer, .param .u64 bytes)
{
    .reg .pred %p<2>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [buffer];
    ld.param.u64 %rd2, [bytes];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.lo.u32 %r4, %r4, %r2;
    mul.wide.u32 %rd4, %r1, 16;
    mul.wide.u32 %rd5, %r4, 16;
    mov.u32 %r9, 0;
NEXT:
    setp.ge.u64 %p1, %rd4, %rd2;
    @%p1 bra DONE;
    add.u64 %rd6, %rd3, %rd4;
    ld.global.cg.v4.u32 {%r5, %r6, %r7, %r8}, [%rd6];
    or.b32 %r9, %r9, %r5;
    or.b32 %r9, %r9, %r6;
    or.b32 %r9, %r9, %r7;
    or.b32 %r9, %r9, %r8;
    add.u64 %rd4, %rd4, %rd5;
    bra NEXT;
DONE:
    setp.eq.u32 %p1, %r9, 1;
    @%p1 st.global.u32 [%rd3], %r9;
    ret;
}
";

/// Bytes of a line of the L2.
const LINE: u64 = 128;

/// Bytes that a thread reads at a time.
const STEP: u64 = 16;

/// Twice the L2: enough to evict every line, whatever the replacement policy keeps.
pub(crate) fn bytes(l2_bytes: u64) -> u64 {
    (2 * l2_bytes).next_multiple_of(STEP)
}

/// Enough threads to keep the memory of any device busy.
const LAUNCH: LaunchConfig =
    LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };

/// A buffer of zeros and the kernel that reads it.
pub(crate) struct Flush {
    stream: Arc<CudaStream>,
    function: CudaFunction,
    buffer: ZeroedMemory,
}

impl Flush {
    /// The means to flush an L2 cache of so many bytes.
    ///
    /// # Errors
    /// The driver's: the buffer may not fit.
    pub(crate) fn new(stream: &Arc<CudaStream>, l2_bytes: u64) -> Result<Self> {
        let bytes = usize::try_from(bytes(l2_bytes))?;
        let module = stream.context().load_module(Ptx::from_src(PTX))?;
        Ok(Self {
            stream: stream.clone(),
            function: module.load_function("gpuprof_flush")?,
            buffer: ZeroedMemory::allocate(stream.context(), bytes)?,
        })
    }

    /// The address and the length of the end of the buffer, which was read last: half of the L2,
    /// and multiples of a line of 128 bytes.
    pub(super) fn last_read(&self) -> (CUdeviceptr, u64) {
        let bytes = self.buffer.bytes as u64;
        let last = (bytes / 4).next_multiple_of(LINE).min(bytes / LINE * LINE);
        ((self.buffer.address + bytes - last) / LINE * LINE, last)
    }

    /// Queues one launch that empties the cache of all but persisting lines.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn run(&self) -> Result<()> {
        let bytes = self.buffer.bytes as u64;
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&self.buffer.address).arg(&bytes);
        // SAFETY: the kernel reads `bytes`, a multiple of 16, of a buffer that long.
        unsafe { launch.launch(LAUNCH) }?;
        Ok(())
    }
}

/// Device memory of zeros outside the driver's pool. The pool holds the buffers of one
/// configuration after the other; memory that stays among them would move those of the second one,
/// which alone made a scan 11 % slower.
struct ZeroedMemory {
    context: Arc<CudaContext>,
    address: CUdeviceptr,
    bytes: usize,
}

impl ZeroedMemory {
    /// So many `bytes`.
    ///
    /// # Errors
    /// The driver's: there may not be as many.
    fn allocate(context: &Arc<CudaContext>, bytes: usize) -> Result<Self> {
        context.bind_to_thread()?;
        // SAFETY: the context is current. The memory is freed once, when this is dropped.
        let memory = unsafe {
            let address = result::malloc_sync(bytes)?;
            Self { context: context.clone(), address, bytes }
        };
        // SAFETY: as many bytes were allocated there.
        unsafe { result::memset_d8_sync(memory.address, 0, bytes) }?;
        Ok(memory)
    }
}

impl Drop for ZeroedMemory {
    fn drop(&mut self) {
        // The context may be broken, and takes the memory with it.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated in this context, and the driver waits for its last use.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}
