//! The emulated driver's state, with fake devices instead of the emulated one.
//!
//! Their caches and memories are small: every timed launch flushes the L2 first, and a device
//! without the memory for a copy that exceeds its caches has no copy bandwidth, which would take
//! seconds here.
//!
//! `FAKE_GPUS` names the devices, separated by commas; the default is one, `Fake H200`. A name with
//! ` MIG ` is a MIG instance, of which a process sees at most one, and one with `A100` has compute
//! capability 8.0. `CUDA_VISIBLE_DEVICES` selects among them as in NVIDIA's driver. The first
//! visible one does the work.

pub use super::untimed::*;

use std::env;
use std::ffi::c_int;
use std::sync::LazyLock;

use super::code::Code;
use super::cubin;
use super::ledger::{self, Returned};
use super::untimed;
use crate::device::{Chip, Device, GH100};
use crate::timeline;

/// An H200, as far as launches depend on it.
static CHIP: Chip = Chip {
    name: "Fake H200",
    uuid: *b"gpuprof-fake-gpu",
    memory_bytes: 48 << 20,
    l2_bytes: 4 << 20,
    ..GH100
};

/// The devices that this process sees.
static VISIBLE: LazyLock<Vec<&'static Chip>> = LazyLock::new(|| {
    let names = env::var("FAKE_GPUS").unwrap_or_else(|_| CHIP.name.to_owned());
    let all: Vec<&'static Chip> = names.split(',').enumerate().map(fake).collect();
    let mut visible = match env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => chosen(&list, &all),
        Err(_) => all,
    };
    if let Some(&instance) = visible.iter().find(|chip| is_instance(chip)) {
        visible = vec![instance];
    }
    visible
});

fn is_instance(chip: &Chip) -> bool {
    chip.name.contains(" MIG ")
}

/// The UUID of the first ends in `u`, those of the others in their number.
fn fake((at, name): (usize, &str)) -> &'static Chip {
    let mut uuid = CHIP.uuid;
    if let Some(digit) = u8::try_from(at).ok().filter(|at| *at > 0) {
        uuid[15] = b'0' + digit;
    }
    let compute_capability = if name.contains("A100") { (8, 0) } else { CHIP.compute_capability };
    Box::leak(Box::new(Chip { name: String::from(name).leak(), compute_capability, uuid, ..CHIP }))
}

/// The devices of a list of ordinals and beginnings of UUIDs, up to the first that names none;
/// nothing where one is named twice.
fn chosen(list: &str, all: &[&'static Chip]) -> Vec<&'static Chip> {
    let mut visible: Vec<&'static Chip> = Vec::new();
    for word in list.split(',') {
        let named = |(at, chip): &(usize, &&'static Chip)| {
            word.trim() == at.to_string()
                || word.trim().len() > 4 && uuid_text(chip).starts_with(word.trim())
        };
        let found: Vec<&'static Chip> =
            all.iter().enumerate().filter(named).map(|(_, &chip)| chip).collect();
        let [chip] = found[..] else { break };
        if visible.iter().any(|other| other.uuid == chip.uuid) {
            return Vec::new();
        }
        visible.push(chip);
    }
    visible
}

fn uuid_text(chip: &Chip) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let uuid = &chip.uuid;
    let groups = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].map(hex);
    format!("{}-{}", if is_instance(chip) { "MIG" } else { "GPU" }, groups.join("-"))
}

/// How many devices are visible.
pub fn device_count() -> c_int {
    c_int::try_from(VISIBLE.len()).unwrap_or(0)
}

/// The chip of a device.
pub fn chip_of(_: &Driver, device: c_int) -> Result<&'static Chip, Code> {
    let at = usize::try_from(device).map_err(|_| Code::INVALID_DEVICE)?;
    VISIBLE.get(at).copied().ok_or(Code::INVALID_DEVICE)
}

/// `cuInit`.
pub fn initialise() -> Code {
    let Some(&first) = VISIBLE.first() else { return Code::NO_DEVICE };
    let code = untimed::initialise();
    peek(|driver| {
        if driver.device.chip.uuid != first.uuid {
            driver.device = Device::new(first);
        }
        Some(())
    });
    code
}

/// So many times as long as anything else that disturbs takes opening a context, so that a process
/// is still at it when another one has done all that comes before its measuring.
const OPENED: f32 = 20.0;

/// The state with changes that would disturb the measuring of other processes: contexts, modules,
/// memory.
fn felt(driver: &Driver) -> (u32, usize, usize, u64) {
    let Driver { primary_uses, contexts, modules, device, .. } = driver;
    (*primary_uses, contexts.len(), modules.len(), device.memory.available().0)
}

/// A call that needs the driver to be initialised.
pub fn with(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    timed(Box::new(f))
}

fn timed(f: untimed::Call<'_, Driver>) -> Code {
    let (mut refused, mut launched, mut cubin) = (None, false, None);
    let code = untimed::with(|driver| {
        let (begin, before) = (timeline::now(), felt(driver));
        let launches = driver.device.launch_count();
        let outcome = f(driver);
        launched = driver.device.launch_count() > launches;
        if launched {
            ledger::launched_here();
        }
        refused = driver.refused.as_ref().map(|it| (it.kernel.clone(), it.config));
        let after = felt(driver);
        if after != before {
            timeline::linger(if after.0 > before.0 { OPENED } else { 1.0 });
            timeline::record("prepares", begin);
        }
        if driver.modules.len() > before.2 && ledger::is_heard() {
            let newest = driver.modules.iter().max_by_key(|(handle, _)| handle.0);
            cubin = newest.and_then(|(_, module)| cubin::cubin(module));
        }
        outcome
    });
    // After the driver's lock is released, like CUPTI's callbacks.
    ledger::tell(Returned { code, refused, launched, cubin });
    code
}
