//! The device's copy bandwidth, measured in the process that timed the kernel.
//!
//! A device-to-device copy reads and writes every byte once; its rate is a ceiling that was reached
//! on this device in this state, unlike the theoretical peak.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUevent_flags;

use crate::host::error::Result;
use gpuprof_model::units::BytesPerSecond;

const LARGEST: usize = 1 << 30;
const WARMUPS: usize = 3;
const COPIES: usize = 9;

/// Bytes read plus bytes written a second, the median of nine copies; `None` where the device has
/// too little free memory for a copy that is large against its caches.
///
/// # Errors
/// The driver's.
pub(crate) fn copy(stream: &Arc<CudaStream>, l2_bytes: u64) -> Result<Option<BytesPerSecond>> {
    let (free, _) = stream.context().mem_get_info()?;
    let bytes = LARGEST.min(free / 4);
    if (bytes as u64) < 4 * l2_bytes {
        return Ok(None);
    }
    let from = stream.alloc_zeros::<u8>(bytes)?;
    let mut to = stream.alloc_zeros::<u8>(bytes)?;
    let mut rates = Vec::with_capacity(COPIES);
    for round in 0..WARMUPS + COPIES {
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        stream.memcpy_dtod(&from, &mut to)?;
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        let seconds = f64::from(start.elapsed_ms(&end)?) / 1e3;
        if round >= WARMUPS {
            rates.push(2.0 * bytes as f64 / seconds);
        }
    }
    rates.sort_by(f64::total_cmp);
    Ok(Some(BytesPerSecond(rates[COPIES / 2])))
}
