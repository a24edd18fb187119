//! The profiler of GPUs before Hopper, of which a machine has one, whatever GPU it counts on.
//!
//! Input: a device. Output: the lock under which its counters are to be collected, by every
//! lane of a run and by every run; none for a GPU with a profiler of its own. Who counts without it
//! is told that the hardware is busy, and would take that for another tool.

use std::path::PathBuf;

use gpuprof_model::measurement::DeviceRecord;

use super::Waiting;
use super::lock::{self, Lock, Owner};
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// The compute capability from which on every GPU has a profiler of its own.
const HOPPER: (u32, u32) = (9, 0);

/// The lock of the profiler that `device` shares with others; none where it has one of its own.
pub fn shared(device: &DeviceRecord) -> Option<PathBuf> {
    let shares = !device.emulated && device.compute_capability < HOPPER;
    shares.then(|| lock::path(&lock::folder(), "profiler"))
}

/// Takes the profiler of `device`, where it is shared, waiting for another gpuprof that has it and
/// saying so.
///
/// # Errors
/// A lock that cannot be used (exit code 107); an interrupt.
pub fn take(device: &DeviceRecord, interrupt: &Interrupt) -> Result<Option<Lock>> {
    let Some(path) = shared(device) else { return Ok(None) };
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
    fn gpus_from_hopper_on_have_profilers_of_their_own() {
        let of = |compute_capability| DeviceRecord { compute_capability, ..h200() };
        for capability in [(7, 0), (8, 0), (8, 9)] {
            assert!(shared(&of(capability)).unwrap().ends_with("gpuprof-profiler.lock"));
        }
        for capability in [(9, 0), (10, 3), (12, 0)] {
            assert_eq!(shared(&of(capability)), None);
        }
        assert_eq!(shared(&DeviceRecord { compute_capability: (8, 0), ..gh100() }), None);
    }
}
