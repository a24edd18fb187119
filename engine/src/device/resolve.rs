//! Chooses the devices that a run measures on. Pure.
//!
//! Input: the requested devices (`0,1`, `all`, UUIDs or their beginnings, as
//! `CUDA_VISIBLE_DEVICES` takes them) and the devices that the driver shows. Output: the devices in
//! the order of their UUIDs, so every run locks them, and assigns configurations to them, in the
//! same order. All are of one model, because results of two models cannot be compared.

use gpuprof_model::measurement::{DeviceRecord, MIG_PREFIX};

use crate::device::{DeviceSelection, RequestedDevice};
use gpuprof_system::error::{Failure, Result};

impl DeviceSelection {
    /// `shown`, then the MIG instances that are named but not in it: the driver shows a process at
    /// most one instance, and another only on request. `see` returns the devices of a process that
    /// is shown only the given one.
    ///
    /// # Errors
    /// Those of `see`.
    pub fn with_hidden(
        &self,
        mut shown: Vec<DeviceRecord>,
        mut see: impl FnMut(&str) -> Result<Vec<DeviceRecord>>,
    ) -> Result<Vec<DeviceRecord>> {
        let Self::These(names) = self else { return Ok(shown) };
        for name in names {
            let RequestedDevice::Uuid(start) = name else { continue };
            let known = shown.iter().any(|device| device.uuid.starts_with(start));
            if known || !start.starts_with(MIG_PREFIX) {
                continue;
            }
            for device in see(start)? {
                if shown.iter().all(|other| other.uuid != device.uuid) {
                    shown.push(device);
                }
            }
        }
        Ok(shown)
    }

    /// The positions in `shown` of the devices asked for, in the order in which they are named.
    ///
    /// # Errors
    /// A device that is not there or named twice (exit code 2).
    pub fn find(&self, shown: &[DeviceRecord]) -> Result<Vec<usize>> {
        let Self::These(names) = self else { return Ok((0..shown.len()).collect()) };
        let mut found = Vec::new();
        for name in names {
            let at = name.find(shown)?;
            if found.contains(&at) {
                let uuid = &shown[at].uuid;
                return Err(Failure::usage(format!(
                    "{uuid} is named twice ({self}); name every device once"
                )));
            }
            found.push(at);
        }
        Ok(found)
    }
}

impl RequestedDevice {
    fn find(&self, shown: &[DeviceRecord]) -> Result<usize> {
        let meant = |at: &usize| match self {
            Self::Ordinal(ordinal) => at == ordinal,
            Self::Uuid(start) => shown[*at].uuid.starts_with(start),
        };
        let found: Vec<usize> = (0..shown.len()).filter(meant).collect();
        if let [at] = found[..] {
            return Ok(at);
        }
        let problem = match found.len() {
            0 => format!("no device matches {self}"),
            several => format!("{self} matches {several} UUIDs"),
        };
        let sliced = shown.iter().any(|device| device.uuid.starts_with(MIG_PREFIX));
        let help = match self {
            Self::Uuid(start) if sliced && !start.starts_with(MIG_PREFIX) => {
                "\nA GPU in MIG mode is named by its instances: `nvidia-smi -L` lists their UUIDs \
                 (MIG-…)"
            }
            _ => "",
        };
        Err(Failure::usage(format!("{problem}; the driver reports{}{help}", listed(shown))))
    }
}

/// "\n 0 GPU-… NVIDIA H200"; the book explains the effect of `CUDA_VISIBLE_DEVICES`.
fn listed(shown: &[DeviceRecord]) -> String {
    let line = |(at, device): (usize, &DeviceRecord)| {
        format!("\n  {at}  {}  {}", device.uuid, device.name)
    };
    shown.iter().enumerate().map(line).collect()
}

/// `devices` in the order of their UUIDs.
///
/// # Errors
/// They are of different models (exit code 2).
pub fn of_one_model(mut devices: Vec<DeviceRecord>) -> Result<Vec<DeviceRecord>> {
    /// The properties that must be equal: name, architecture and size.
    fn model(device: &DeviceRecord) -> (&str, (u32, u32), u32, u64) {
        (&device.name, device.compute_capability, device.sm_count, device.l2_bytes)
    }
    let first = devices.first();
    let other = devices.iter().find(|other| Some(model(other)) != first.map(model));
    if let (Some(first), Some(other)) = (first, other) {
        let model = |device: &DeviceRecord| {
            let (major, minor) = device.compute_capability;
            format!("{} (sm_{major}{minor}, {} SMs, {})", device.name, device.sm_count, device.uuid)
        };
        return Err(Failure::usage(format!(
            "the devices of a run must be of one model, but these differ: {} and {}. Results of \
             two models cannot be compared: start one run per model and name its devices with \
             --devices",
            model(first),
            model(other)
        )));
    }
    devices.sort_by(|a, b| a.uuid.cmp(&b.uuid));
    Ok(devices)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
