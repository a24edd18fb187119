//! Flushing the instruction caches before a counted launch, for kernel replay.
//!
//! Neither the driver nor CUPTI has a call for it. A kernel of straight-line code, longer than the
//! caches, replaces what they hold on every multiprocessor.

use std::fmt::Write;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::host::error::Result;

/// Instructions of the kernel: 256 KiB of machine code at 16 bytes each. On an H200 half of it was
/// enough.
const INSTRUCTIONS: u32 = 16 << 10;

/// Instructions between two branches, which keep the driver's compiler fast.
const BLOCK: u32 = 256;

/// Several blocks for every multiprocessor, and a warp for each of its schedulers.
const LAUNCH: LaunchConfig =
    LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };

/// The kernel that flushes the instruction caches.
pub(super) struct InstructionFlush {
    stream: Arc<CudaStream>,
    function: CudaFunction,
}

impl InstructionFlush {
    /// Loads the kernel, and launches it once: the driver may copy its code at the first launch.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let module = stream.context().load_module(Ptx::from_src(ptx()))?;
        let function = module.load_function("gpuprof_flush_instructions")?;
        let flush = Self { stream: stream.clone(), function };
        flush.run()?;
        Ok(flush)
    }

    /// Queues one launch that replaces the content of the instruction caches.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn run(&self) -> Result<()> {
        let (null, factor) = (0u64, 0x9e37u32);
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&null).arg(&factor);
        // SAFETY: the kernel writes nothing through a null pointer; see `ptx`.
        unsafe { launch.launch(LAUNCH) }?;
        Ok(())
    }
}

/// Each instruction needs the result of the one before, and the last result would be stored if the
/// pointer were not null: so the compiler can remove none.
fn ptx() -> String {
    let mut ptx = String::from(
        "\
.version 6.0
.target sm_60
.address_size 64
.visible .entry gpuprof_flush_instructions(.param .u64 null, .param .u32 factor)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [null];
    ld.param.u32 %r2, [factor];
    mov.u32 %r1, %tid.x;
",
    );
    for at in 0..INSTRUCTIONS {
        let _ = writeln!(ptx, "mad.lo.u32 %r1, %r1, %r2, {at};");
        if at % BLOCK == BLOCK - 1 {
            ptx += "setp.eq.u32 %p1, %r1, %r2;\n@%p1 bra DONE;\n";
        }
    }
    ptx + "DONE:\nsetp.ne.u64 %p2, %rd1, 0;\n@%p2 st.global.u32 [%rd1], %r1;\nret;\n}\n"
}
