//! The SM clock, measured on the device around a sample.
//!
//! A one-thread kernel writes `%clock64`, `%globaltimer` and `%smid` before and after the sample;
//! the clock is cycles over nanoseconds where both fell on one SM. (The idea is nvbench's throttle
//! detection.) Nothing is changed and no permission is needed.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::host::error::Result;

/// The name of the kernel that takes a time stamp.
pub(super) const KERNEL: &str = "gpuprof_timestamp";

const PTX: &str = "\
.version 6.0
.target sm_60
.address_size 64
.visible .entry gpuprof_timestamp(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u64 %rd3, %clock64;
    mov.u64 %rd4, %globaltimer;
    mov.u32 %r1, %smid;
    cvt.u64.u32 %rd1, %r1;
    st.global.u64 [%rd2], %rd3;
    st.global.u64 [%rd2+8], %rd4;
    st.global.u64 [%rd2+16], %rd1;
    ret;
}
";

const ONE_THREAD: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

/// Takes time stamps on the device.
pub(crate) struct ClockProbe {
    stream: Arc<CudaStream>,
    function: CudaFunction,
    before: CudaSlice<u64>,
    after: CudaSlice<u64>,
}

impl ClockProbe {
    /// Loads the probe.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn load(stream: &Arc<CudaStream>) -> Result<Self> {
        let module = stream.context().load_module(Ptx::from_src(PTX))?;
        Ok(Self {
            stream: stream.clone(),
            function: module.load_function(KERNEL)?,
            before: stream.alloc_zeros(3)?,
            after: stream.alloc_zeros(3)?,
        })
    }

    /// Queues the stamp before a sample.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn start(&mut self) -> Result<()> {
        // SAFETY: the kernel writes 24 bytes to a buffer of 24 bytes.
        unsafe {
            self.stream.launch_builder(&self.function).arg(&mut self.before).launch(ONE_THREAD)
        }?;
        Ok(())
    }

    /// Queues the stamp after a sample.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn stop(&mut self) -> Result<()> {
        // SAFETY: as in `start`.
        unsafe {
            self.stream.launch_builder(&self.function).arg(&mut self.after).launch(ONE_THREAD)
        }?;
        Ok(())
    }

    /// The clock between the stamps, in hertz; `None` where they fell on different SMs.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn hertz(&self) -> Result<Option<f64>> {
        let (before, after) =
            (self.stream.clone_dtoh(&self.before)?, self.stream.clone_dtoh(&self.after)?);
        let cycles = after[0].wrapping_sub(before[0]) as f64;
        let nanoseconds = after[1].saturating_sub(before[1]) as f64;
        Ok((before[2] == after[2] && nanoseconds > 0.0).then(|| cycles / nanoseconds * 1e9))
    }
}
