//! The launches of a series function through a run.
//!
//! Input: launches. Output: a record of each launch in the first measured call, for a driver that
//! does not report them.

use std::cell::{Cell, RefCell};

use cudarc::driver::CudaStream;
use gpuprof_model::measurement::LaunchRecord;

use super::collect::identity;

/// The launches of the first call of what is measured.
#[derive(Default)]
pub(crate) struct LaunchLog {
    open: Cell<bool>,
    launches: RefCell<Vec<LaunchRecord>>,
}

impl LaunchLog {
    /// What `once` does, with its launches recorded unless there are some already.
    pub(crate) fn first<R>(&self, once: impl FnOnce() -> R) -> R {
        self.open.set(self.launches.borrow().is_empty());
        let done = once();
        self.open.set(false);
        done
    }

    /// Takes what was recorded.
    pub(crate) fn take(&self) -> Vec<LaunchRecord> {
        self.launches.take()
    }

    /// Records a launch on `stream`: the kernel's name, grid, block and dynamic shared memory.
    pub(crate) fn add(
        &self,
        stream: &CudaStream,
        launch: impl FnOnce() -> (String, [u32; 3], [u32; 3], u32),
    ) {
        if !self.open.get() {
            return;
        }
        let (kernel, grid, block, shared_bytes) = launch();
        let (context, stream) = identity::numbers(stream);
        self.launches.borrow_mut().push(LaunchRecord {
            kernel,
            grid,
            block,
            shared_bytes,
            cluster: None,
            context,
            stream,
        });
    }
}
