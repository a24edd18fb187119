//! One piece of device memory for the buffers of all configurations that count in one process.
//!
//! Input: the size of the largest configuration. Output: memory in which each of them is placed
//! from the start, and filled again before each of its launches. So all configurations have the
//! same addresses, as if each were alone; separate memory would give each other addresses, and by
//! that alone a histogram of one hot cache line took 50 to 100 µs.

use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpuprof_model::protocol::MeasureRequest;

use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// The alignment of buffers, at least that of the driver.
const ALIGNMENT: u64 = 512;

/// Device memory that configurations use in turn.
pub(crate) struct Arena {
    memory: CudaSlice<u8>,
    stream: Arc<CudaStream>,
}

/// A buffer in an [`Arena`], which lives as long as the buffer does.
pub(crate) struct ArenaBuffer<T> {
    pub(crate) device: ManuallyDrop<CudaSlice<T>>,
    _arena: Rc<Arena>,
}

impl Arena {
    /// Whether the buffers of a kernel that `request` measures lie in an arena. Not where the cache
    /// is left as it is, since the filling would warm it.
    pub(crate) fn serves(request: &MeasureRequest) -> bool {
        request.sampling.cold_cache && request.counters.is_some() && !request.emulated
    }

    /// Memory for buffers that end at `end`, as [`Arena::after`] counts.
    ///
    /// # Errors
    /// The driver's, with the size.
    pub(crate) fn new(session: &Session, end: u64) -> Result<Rc<Self>> {
        let stream = session.stream.clone();
        let length = usize::try_from(end.max(ALIGNMENT))?;
        let memory = session.quiet.stage(|| {
            let allocated = stream.alloc_zeros::<u8>(length).and_then(|memory| {
                stream.synchronize()?;
                Ok(memory)
            });
            allocated.map_err(|e| Error::driver(&format!("allocating {length} bytes of inputs"), e))
        })?;
        Ok(Rc::new(Self { memory, stream }))
    }

    /// The start of the buffer after one of `bytes` at `start`.
    pub(crate) fn after(start: u64, bytes: u64) -> u64 {
        (start + bytes.max(1)).next_multiple_of(ALIGNMENT)
    }

    /// A buffer of `length` elements that begins at `start`.
    pub(crate) fn place<T>(self: &Rc<Self>, start: u64, length: usize) -> ArenaBuffer<T> {
        let bytes = (length * size_of::<T>()) as u64;
        assert!(
            start + bytes <= self.memory.len() as u64,
            "the largest configuration was measured"
        );
        let address = self.memory.device_ptr(&self.stream).0 + start;
        // SAFETY: `length` elements from `address` on lie within `memory`, aligned, which outlives
        // them, and they are never freed separately. Other configurations hold the same bytes: each
        // launch fills its own first, on the one stream that all of them share.
        let device = unsafe { self.stream.upgrade_device_ptr::<T>(address, length) };
        ArenaBuffer { device: ManuallyDrop::new(device), _arena: self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_aligned_and_do_not_overlap() {
        let mut start = 0;
        for bytes in [0, 1, 511, 512, 513, 1 << 33] {
            let after = Arena::after(start, bytes);
            assert!(after.is_multiple_of(ALIGNMENT) && after > start && after >= start + bytes);
            start = after;
        }
    }
}
