//! The launches of a series function through a run.
//!
//! Input: launches, and the names of kernels that differ from their symbols. Output: a record of
//! each launch in the first measured call, for a process without CUPTI; and the launches that CUPTI
//! saw, with those names.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cudarc::driver::CudaStream;
use gpuprof_model::measurement::LaunchRecord;

use crate::host::collect::identity;
use crate::host::launch::configuration::LaunchShape;

/// The launches of the first call of what is measured.
#[derive(Default)]
pub(crate) struct LaunchLog {
    open: Cell<bool>,
    launches: RefCell<Vec<LaunchRecord>>,
    names: RefCell<BTreeMap<String, String>>,
}

impl LaunchLog {
    /// Runs `once`, and records its launches unless there are some already.
    pub(crate) fn first<R>(&self, once: impl FnOnce() -> R) -> R {
        self.open.set(self.launches.borrow().is_empty());
        let done = once();
        self.open.set(false);
        done
    }

    /// Names the kernel `symbol`.
    pub(crate) fn name(&self, symbol: &str, name: &str) {
        self.names.borrow_mut().insert(symbol.to_owned(), name.to_owned());
    }

    /// The launches with these names.
    pub(crate) fn named(&self, mut launches: Vec<LaunchRecord>) -> Vec<LaunchRecord> {
        let names = self.names.borrow();
        for launch in &mut launches {
            if let Some(name) = names.get(&launch.kernel) {
                launch.kernel.clone_from(name);
            }
        }
        launches
    }

    /// Takes what was recorded.
    pub(crate) fn take(&self) -> Vec<LaunchRecord> {
        self.launches.take()
    }

    /// Records a launch of the kernel `name` on `stream`.
    pub(crate) fn add(&self, stream: &CudaStream, name: &str, shape: LaunchShape) {
        if !self.open.get() {
            return;
        }
        let LaunchShape { grid, block, shared: shared_bytes } = shape;
        let (context, stream) = identity::numbers(stream);
        self.launches.borrow_mut().push(LaunchRecord {
            kernel: name.to_owned(),
            grid,
            block,
            shared_bytes,
            context,
            stream,
            ..LaunchRecord::default()
        });
    }
}
