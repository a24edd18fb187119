//! The emulated driver's state, with the fake device in the emulated one's place.
//!
//! Its caches and its memory are small: every timed launch empties the L2 first, and a device with less memory than a
//! copy that is large against its caches would need has no copy bandwidth, which would take seconds here.

pub use super::untimed::*;

use super::code::Code;
use super::untimed;
use crate::device::{Chip, Device, GH100};

/// An H200 by what launches depend on.
static CHIP: Chip = Chip {
    name: "Fake H200",
    uuid: *b"gpuprof-fake-gpu",
    memory_bytes: 48 << 20,
    l2_bytes: 4 << 20,
    ..GH100
};

/// `cuInit`.
pub fn initialise() -> Code {
    let code = untimed::initialise();
    peek(|driver| {
        if driver.device.chip.uuid != CHIP.uuid {
            driver.device = Device::new(&CHIP);
        }
        Some(())
    });
    code
}
