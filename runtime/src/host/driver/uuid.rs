//! A device's UUID, as NVML and `CUDA_VISIBLE_DEVICES` write it.

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUdevice};

/// The UUID of `device`, which the driver calls `name`: `GPU-…`, or a MIG slice's own `MIG-…`.
///
/// # Errors
/// The driver's.
pub(crate) fn read(device: CUdevice, name: &str) -> Result<String, DriverError> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // The second version returns a MIG instance's own UUID, for any CUDA version of cudarc. SAFETY:
    // the driver returned the device, and writes 16 bytes.
    unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, device) }.result()?;
    Ok(text(is_slice(name), uuid.bytes.map(|byte| byte as u8)))
}

/// Whether a device of this name is a slice: the driver puts its profile into the name, as in
/// `NVIDIA H200 MIG 1g.18gb`.
pub(crate) fn is_slice(name: &str) -> bool {
    name.contains(" MIG ")
}

fn text(slice: bool, uuid: [u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let groups = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].map(hex);
    format!("{}-{}", if slice { "MIG" } else { "GPU" }, groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvml_writes_it() {
        let uuid = std::array::from_fn(|i| u8::try_from(i * 17).unwrap());
        assert_eq!(text(false, uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        assert!(text(is_slice("NVIDIA H200 MIG 1g.18gb"), uuid).starts_with("MIG-0011"));
        assert!(!is_slice("NVIDIA H200"));
    }
}
