//! How many processes prepare while another one measures.

use gpuprof_model::measurement::DeviceRecord;

/// How many processes prepare while another one measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Where either of them takes times: they were seen to be 1 % longer in a context that was
    /// opened beside another one.
    pub times: usize,
    /// Where both collect counters.
    pub counters: usize,
}

/// The compute mode `EXCLUSIVE_PROCESS` as the driver numbers it: a second process gets no context.
const EXCLUSIVE_PROCESS: i64 = 3;

impl Ahead {
    /// Nobody prepares.
    pub const NONE: Self = Self { times: 0, counters: 0 };

    /// On a GPU as asked for, or what changes nothing that is measured. Without one none: the
    /// emulated device is the processor, and what runs beside it would only take it turns.
    pub fn on(gpu: Option<&DeviceRecord>, number: Option<u8>) -> Self {
        let Some(gpu) = gpu else { return Self::NONE };
        match number {
            _ if gpu.attributes.get("compute_mode") == Some(&EXCLUSIVE_PROCESS) => Self::NONE,
            Some(number) => Self { times: number.into(), counters: number.into() },
            None => Self { times: 0, counters: 1 },
        }
    }
}
