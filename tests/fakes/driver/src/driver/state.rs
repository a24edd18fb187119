//! The emulated driver's state, with the fake device in the emulated one's place.
//!
//! Its caches and its memory are small: every timed launch empties the L2 first, and a device with less memory than a
//! copy that is large against its caches would need has no copy bandwidth, which would take seconds here.

pub use super::untimed::*;

use super::code::Code;
use super::untimed;
use crate::device::{Chip, Device, GH100};
use crate::timeline;

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

/// So many times as long as anything else that disturbs takes opening a context, so that a process is still at it when
/// another one has done all that comes before its measuring.
const OPENED: f32 = 20.0;

/// What other processes' measuring would feel, if it changed: contexts, modules, and memory.
fn felt(driver: &Driver) -> (u32, usize, usize, u64) {
    let Driver { primary_uses, contexts, modules, device, .. } = driver;
    (*primary_uses, contexts.len(), modules.len(), device.memory.available().0)
}

/// A call that needs the driver to be initialised.
pub fn with(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    untimed::with(|driver| {
        let (begin, before) = (timeline::now(), felt(driver));
        let outcome = f(driver);
        let after = felt(driver);
        if after != before {
            timeline::linger(if after.0 > before.0 { OPENED } else { 1.0 });
            timeline::record("prepares", begin);
        }
        outcome
    })
}

/// A call that needs a current context.
pub fn with_context(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    with(|driver| {
        current().ok_or(Code::INVALID_CONTEXT)?;
        f(driver)
    })
}

/// A call that needs a current context in which no kernel has failed.
pub fn with_healthy(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    with_context(|driver| match driver.sticky {
        Some(code) => Err(code),
        None => f(driver),
    })
}
