//! The number of processes that share a device, and the phases that may overlap.

use std::num::NonZero;
use std::thread;

use gpuprof_model::measurement::DeviceRecord;

/// The number of processes that run in addition to the holder of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// If either of them takes times: times were 1 % longer in a context that was opened next to
    /// another one.
    pub times: usize,
    /// If both collect counters.
    pub counters: usize,
    /// The number that measure at the same time as the first: each has its own emulated device,
    /// with counters that do not depend on the processor's load.
    pub beside: usize,
}

/// The compute mode `EXCLUSIVE_PROCESS` as the driver numbers it: a second process gets no context.
const EXCLUSIVE_PROCESS: i64 = 3;

impl Ahead {
    /// One process at a time.
    pub const NONE: Self = Self { times: 0, counters: 0, beside: 0 };

    /// The same for each of several emulated chips: they share the processor.
    #[must_use]
    pub fn shared_by(self, chips: usize) -> Self {
        Self { beside: ((self.beside + 1) / chips.max(1)).saturating_sub(1), ..self }
    }

    /// `number` is the user's setting. On a GPU it is the number of processes that prepare, by
    /// default as many as do not affect measurements. On the emulated driver (no `gpu`) it is the
    /// number that run in addition to the first, by default one for each further core.
    pub fn on(gpu: Option<&DeviceRecord>, number: Option<u8>) -> Self {
        let Some(gpu) = gpu else {
            let cores = || thread::available_parallelism().map_or(1, NonZero::get);
            return Self { beside: number.map_or_else(|| cores() - 1, usize::from), ..Self::NONE };
        };
        match number {
            _ if gpu.attributes.get("compute_mode") == Some(&EXCLUSIVE_PROCESS) => Self::NONE,
            Some(number) => Self { times: number.into(), counters: number.into(), beside: 0 },
            None => Self { counters: 1, ..Self::NONE },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_processes_are_divided_among_chips() {
        let beside = |number, chips| Ahead::on(None, Some(number)).shared_by(chips).beside;
        assert_eq!([beside(7, 0), beside(7, 1), beside(7, 2), beside(7, 6)], [7, 7, 3, 0]);
        assert_eq!(beside(0, 6), 0);
    }
}
