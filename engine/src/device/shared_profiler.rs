//! The profiler of GPUs before Hopper, of which a machine has one, whatever GPU it counts on.
//!
//! Input: a device. Output: the lock for collecting its counters, shared by all lanes of a run and
//! all runs; none for a GPU that has its own profiler. A process that counts without the lock gets
//! "hardware busy", and would report another tool.

use std::path::PathBuf;

use gpuprof_model::measurement::DeviceRecord;

use super::hold::Waiting;
use super::lock::{self, Lock, Owner};
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// From this compute capability on, every GPU has its own profiler.
const HOPPER: (u32, u32) = (9, 0);

/// The lock of the profiler that `device` shares with others; none if it has its own.
pub fn path(device: &DeviceRecord) -> Option<PathBuf> {
    let shares = !device.emulated && device.compute_capability < HOPPER;
    shares.then(|| lock::path(&lock::folder(), "profiler"))
}

/// Takes the profiler of `device`, if it is shared; waits for another gpuprof and reports that.
///
/// # Errors
/// A lock that cannot be used (exit code 107); an interrupt.
pub fn take(device: &DeviceRecord, interrupt: &Interrupt) -> Result<Option<Lock>> {
    let Some(path) = path(device) else { return Ok(None) };
    let mut waiting = Waiting::new("the profiler, which GPUs before Hopper share", "has it");
    let tell = |owner: Option<&Owner>| {
        waiting.tell(owner);
        Ok(())
    };
    lock::wait(&path, &Owner::this_process(), interrupt, tell).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_analysis::fixture::{gh100, h200};

    #[test]
    fn gpus_since_hopper_share_no_profiler() {
        let of = |compute_capability| DeviceRecord { compute_capability, ..h200() };
        for capability in [(7, 0), (8, 0), (8, 9)] {
            assert!(path(&of(capability)).unwrap().ends_with("gpuprof-profiler.lock"));
        }
        for capability in [(9, 0), (10, 3), (12, 0)] {
            assert_eq!(path(&of(capability)), None);
        }
        assert_eq!(path(&DeviceRecord { compute_capability: (8, 0), ..gh100() }), None);
    }
}
