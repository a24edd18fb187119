//! Emptying caches before a counted launch as ncu does, for kernel replay.
//!
//! Input: the buffer that the flush of the L2 has read. Output: an L2 without most of its lines,
//! and instruction caches without the code of the kernel. Neither the driver nor CUPTI has a call
//! for either. One kernel discards lines of the buffer, and then runs straight-line code, longer
//! than the instruction caches, on every multiprocessor.

use std::fmt::Write;

use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::host::error::Result;
use crate::host::session::Session;

/// Instructions of the kernel: 256 KiB of machine code at 16 bytes each. On an H200 half of it was
/// enough.
const INSTRUCTIONS: u32 = 16 << 10;

/// Instructions between two branches, which keep the driver's compiler fast.
const BLOCK: u32 = 256;

/// Several blocks for every multiprocessor, and a warp for each of its schedulers.
const LAUNCH: LaunchConfig =
    LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };

/// The kernel that empties caches.
pub(super) struct CacheEmptier {
    function: CudaFunction,
}

impl CacheEmptier {
    /// Loads the kernel, and launches it once: the driver may copy its code at the first launch.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn new(session: &Session) -> Result<Self> {
        let (major, _) = session.device.compute_capability;
        let module = session.context.load_module(Ptx::from_src(ptx(major >= 8)))?;
        let emptier = Self { function: module.load_function("gpuprof_empty_caches")? };
        emptier.run(session)?;
        Ok(emptier)
    }

    /// Queues one launch that empties the caches, after a flush of the L2.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn run(&self, session: &Session) -> Result<()> {
        let (first, bytes) = session.flusher()?.last_read();
        let mut launch = session.stream.launch_builder(&self.function);
        launch.arg(&first).arg(&bytes);
        // SAFETY: the buffer has so many bytes from there, and nothing else uses it. The kernel
        // stores only if there are none.
        unsafe { launch.launch(LAUNCH) }?;
        Ok(())
    }
}

/// The kernel. Each instruction of its long code needs the result of the one before, and the last
/// result is stored if there are no bytes: so the compiler can remove none.
fn ptx(discards: bool) -> String {
    let (header, discard) = match discards {
        true => (".version 7.4\n.target sm_80", "discard.global.L2 [%rd6], 128;"),
        false => (".version 6.0\n.target sm_60", ""),
    };
    let mut ptx = format!(
        "\
{header}
.address_size 64
.visible .entry gpuprof_empty_caches(.param .u64 first, .param .u64 bytes)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [first];
    ld.param.u64 %rd2, [bytes];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.lo.u32 %r4, %r4, %r2;
    mul.wide.u32 %rd4, %r1, 128;
    mul.wide.u32 %rd5, %r4, 128;
NEXT:
    setp.ge.u64 %p1, %rd4, %rd2;
    @%p1 bra CODE;
    add.u64 %rd6, %rd3, %rd4;
    {discard}
    add.u64 %rd4, %rd4, %rd5;
    bra NEXT;
CODE:
    cvt.u32.u64 %r5, %rd2;
"
    );
    for at in 0..INSTRUCTIONS {
        let _ = writeln!(ptx, "mad.lo.u32 %r1, %r1, %r5, {at};");
        if at % BLOCK == BLOCK - 1 {
            ptx += "setp.eq.u32 %p2, %r1, %r5;\n@%p2 bra DONE;\n";
        }
    }
    ptx + "DONE:\nsetp.eq.u64 %p3, %rd2, 0;\n@%p3 st.global.u32 [%rd3], %r1;\nret;\n}\n"
}
