//! How many processes share a device, and what they may do at a time.

use std::num::NonZero;
use std::thread;

use gpuprof_model::measurement::DeviceRecord;

/// How many processes run beside the one that has the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Where either of them takes times: they were seen to be 1 % longer in a context that was
    /// opened beside another one.
    pub times: usize,
    /// Where both collect counters.
    pub counters: usize,
    /// How many measure at the same time as the first: each has an emulated device of its own,
    /// whose counters do not depend on what else the processor does.
    pub beside: usize,
}

/// The compute mode `EXCLUSIVE_PROCESS` as the driver numbers it: a second process gets no context.
const EXCLUSIVE_PROCESS: i64 = 3;

impl Ahead {
    /// One process at a time.
    pub const NONE: Self = Self { times: 0, counters: 0, beside: 0 };

    /// `number` is what the user asked for. On a GPU it is how many processes prepare, by default
    /// as many as change nothing that is measured. On the emulated driver (no `gpu`) it is how many
    /// run beside the first, by default one for each further core.
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
