//! The links of the device to the host and to other GPUs.
//!
//! Input: the device, and NVML's library if one was named. Output: its NVLinks and its PCIe link by
//! NVML, and the driver's word on which of the process's other devices it can access.

use std::path::Path;

use cudarc::driver::result::device;
use cudarc::driver::sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
use cudarc::driver::sys::{self, CUdevice};
use gpuprof_model::links::{DeviceLinks, Peer};

use crate::host::driver::nvml::links;
use crate::host::driver::uuid;

/// The links of the `measured` device, which CUDA calls `uuid`. Other devices are numbered as in
/// this process.
pub(crate) fn read(measured: CUdevice, uuid: &str, nvml: Option<&Path>) -> DeviceLinks {
    let found = links::read(nvml, uuid)
        .unwrap_or_else(|reason| DeviceLinks { unknown: Some(reason), ..DeviceLinks::default() });
    DeviceLinks { peers: peers(measured), ..found }
}

/// The process's devices without the `measured` one, as far as the driver describes them.
fn peers(measured: CUdevice) -> Vec<Peer> {
    let count = device::get_count().unwrap_or(0);
    let others = (0..count).filter_map(|at| Some((at, device::get(at).ok()?)));
    let others = others.filter(|(_, other)| *other != measured);
    others.filter_map(|(at, other)| peer(measured, (at, other))).collect()
}

fn peer(measured: CUdevice, (at, other): (i32, CUdevice)) -> Option<Peer> {
    let (mut access, mut atomics) = (0, 0);
    // SAFETY: the driver gave both devices out and writes one integer.
    unsafe { sys::cuDeviceCanAccessPeer(&mut access, measured, other) }.result().ok()?;
    let attribute = CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    // SAFETY: as above.
    unsafe { sys::cuDeviceGetP2PAttribute(&mut atomics, attribute, measured, other) }
        .result()
        .ok()?;
    let name = device::get_name(other).ok()?;
    Some(Peer {
        device: u32::try_from(at).ok()?,
        uuid: uuid::read(other, &name).ok()?,
        access: access != 0,
        atomics: atomics != 0,
    })
}
