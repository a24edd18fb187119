//! NVML's data on the NVLinks and the PCIe link of a device.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_ulonglong};
use std::path::Path;

use gpuprof_model::links::{DeviceLinks, LinkCapabilities, LinkEnd, NvLinks, PcieLink};
use gpuprof_model::units::BytesPerSecond;

use super::{Handle, NOT_SUPPORTED, Opened, Result, check};

/// More links than any device has.
const MOST: c_uint = 64;

/// `NVML_FI_DEV_NVLINK_GET_SPEED`, in MB/s.
const SPEED: c_uint = 164;

/// `nvmlPciInfo_t`.
#[repr(C)]
struct PciInfo {
    legacy: [c_char; 16],
    numbers: [c_uint; 5],
    address: [c_char; 32],
}

/// `nvmlFieldValue_t`.
#[repr(C)]
#[derive(Default)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    time: c_longlong,
    latency: c_longlong,
    kind: c_uint,
    code: c_int,
    value: c_ulonglong,
}

type OfLink = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
type OfDevice = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;

/// Functions of NVML on links. Not every NVML has each of them.
struct Functions {
    state: Option<OfLink>,
    version: Option<OfLink>,
    remote_type: Option<OfLink>,
    remote_pci: Option<unsafe extern "C" fn(Handle, c_uint, *mut PciInfo) -> c_int>,
    capability: Option<unsafe extern "C" fn(Handle, c_uint, c_uint, *mut c_uint) -> c_int>,
    fields: Option<unsafe extern "C" fn(Handle, c_int, *mut FieldValue) -> c_int>,
    pcie: [Option<OfDevice>; 4],
}

/// Reads the links of the device that CUDA calls `uuid`, without its peers.
///
/// # Errors
/// Why NVML does not report them.
pub(crate) fn read(library: Option<&Path>, uuid: &str) -> Result<DeviceLinks> {
    let opened = Opened::device(library, uuid)?;
    let find = Finder(&opened);
    let links = Links { device: opened.device, functions: find.functions() };
    let (nvlinks, most_nvlinks) = links.nvlinks()?;
    Ok(DeviceLinks { nvlinks, most_nvlinks, pcie: links.pcie(), ..DeviceLinks::default() })
}

struct Finder<'o>(&'o Opened);

impl Finder<'_> {
    /// The function `name` of NVML, if there is one.
    ///
    /// # Safety
    /// `F` is its type in `nvml.h`.
    unsafe fn find<F: Copy>(&self, name: &CStr) -> Option<F> {
        // SAFETY: the caller's promise.
        unsafe { self.0.library.get::<F>(name.to_bytes()) }.ok().map(|function| *function)
    }

    fn functions(&self) -> Functions {
        // SAFETY: the types are those of nvml.h, with nvmlReturn_t and enumerations as the integers
        // that they are.
        unsafe {
            Functions {
                state: self.find(c"nvmlDeviceGetNvLinkState"),
                version: self.find(c"nvmlDeviceGetNvLinkVersion"),
                remote_type: self.find(c"nvmlDeviceGetNvLinkRemoteDeviceType"),
                remote_pci: self.find(c"nvmlDeviceGetNvLinkRemotePciInfo_v2"),
                capability: self.find(c"nvmlDeviceGetNvLinkCapability"),
                fields: self.find(c"nvmlDeviceGetFieldValues"),
                pcie: [
                    self.find(c"nvmlDeviceGetCurrPcieLinkGeneration"),
                    self.find(c"nvmlDeviceGetCurrPcieLinkWidth"),
                    self.find(c"nvmlDeviceGetMaxPcieLinkGeneration"),
                    self.find(c"nvmlDeviceGetMaxPcieLinkWidth"),
                ],
            }
        }
    }
}

struct Links {
    device: Handle,
    functions: Functions,
}

impl Links {
    /// The active NVLinks, and how many there are of either state.
    fn nvlinks(&self) -> Result<(Vec<NvLinks>, u32)> {
        let (mut found, mut count) = (Vec::<NvLinks>::new(), 0);
        let Some(state) = self.functions.state else { return Ok((found, 0)) };
        for link in 0..MOST {
            let mut active = 0;
            // SAFETY: the handle came from NVML, which writes one integer.
            match unsafe { state(self.device, link, &raw mut active) } {
                0 => {}
                // The device has no NVLink, or none of this number.
                NOT_SUPPORTED | INVALID_ARGUMENT => break,
                code => check("nvmlDeviceGetNvLinkState", code)?,
            }
            count += 1;
            if active == 0 {
                continue;
            }
            let link = self.nvlink(link);
            let same = |other: &&mut NvLinks| NvLinks { count: 1, ..NvLinks::clone(other) } == link;
            match found.iter_mut().find(same) {
                Some(others) => others.count += 1,
                None => found.push(link),
            }
        }
        Ok((found, count))
    }

    fn nvlink(&self, link: c_uint) -> NvLinks {
        let to = match self.of_link(self.functions.remote_type, link) {
            Some(0) => LinkEnd::Gpu,
            Some(1) => LinkEnd::Cpu,
            Some(2) => LinkEnd::Switch,
            _ => LinkEnd::Unknown,
        };
        let can = |capability| self.can(link, capability);
        NvLinks {
            count: 1,
            version: self.of_link(self.functions.version, link).and_then(version),
            to,
            // A switch in a virtual machine has none.
            address: (to == LinkEnd::Gpu).then(|| self.address(link)).flatten(),
            bytes_per_second: self.speed(link),
            can: LinkCapabilities {
                peer_access: can(0),
                system_access: can(1),
                peer_atomics: can(2),
                system_atomics: can(3),
            },
        }
    }

    fn of_link(&self, function: Option<OfLink>, link: c_uint) -> Option<u32> {
        let mut value = 0;
        // SAFETY: the handle came from NVML, which writes one integer.
        let code = unsafe { function?(self.device, link, &raw mut value) };
        (code == 0).then_some(value)
    }

    /// Whether a link has the `capability` of this number (`nvmlNvLinkCapability_t`).
    fn can(&self, link: c_uint, capability: c_uint) -> bool {
        let Some(function) = self.functions.capability else { return false };
        let mut value = 0;
        // SAFETY: as above.
        let code = unsafe { function(self.device, link, capability, &raw mut value) };
        code == 0 && value != 0
    }

    fn address(&self, link: c_uint) -> Option<String> {
        let mut info = PciInfo { legacy: [0; 16], numbers: [0; 5], address: [0; 32] };
        // SAFETY: the handle came from NVML, which writes such a struct.
        let code = unsafe { self.functions.remote_pci?(self.device, link, &raw mut info) };
        let text: Vec<u8> = info.address.iter().map(|byte| *byte as u8).collect();
        let text = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
        (code == 0 && !text.is_empty()).then(|| text.to_owned())
    }

    fn speed(&self, link: c_uint) -> Option<BytesPerSecond> {
        let mut value = FieldValue { field: SPEED, scope: link, ..FieldValue::default() };
        // SAFETY: the handle came from NVML, which fills one such struct.
        let code = unsafe { self.functions.fields?(self.device, 1, &raw mut value) };
        // Of an unsigned integer NVML writes four bytes.
        let speed = value.value & u64::from(u32::MAX);
        (code == 0 && value.code == 0 && speed > 0).then_some(BytesPerSecond(speed as f64 * 1e6))
    }

    fn pcie(&self) -> Option<PcieLink> {
        let value = |function: Option<OfDevice>| {
            let mut value = 0;
            // SAFETY: the handle came from NVML, which writes one integer.
            let code = unsafe { function?(self.device, &raw mut value) };
            (code == 0).then_some(value)
        };
        let [generation, width, most_generation, most_width] = self.functions.pcie.map(value);
        Some(PcieLink {
            generation: generation?,
            width: width?,
            most_generation: most_generation?,
            most_width: most_width?,
        })
    }
}

/// `NVML_ERROR_INVALID_ARGUMENT`.
const INVALID_ARGUMENT: c_int = 2;

/// The version of NVLink that NVML numbers so (`nvmlNvlinkVersion_t`).
fn version(number: u32) -> Option<String> {
    let known = ["1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0"];
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    known.get(at).map(|version| (*version).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::host::driver::nvml::tests::fake;

    #[test]
    fn the_links_of_an_h200_are_one_group_with_what_they_can_do() {
        let (folder, library) = fake();
        fs::write(folder.path().join("nvlink"), "18 18 6 2 26562").unwrap();
        let found = read(Some(&library), "GPU-1").unwrap();
        let links = NvLinks {
            count: 18,
            version: Some("4.0".to_owned()),
            to: LinkEnd::Switch,
            address: None,
            bytes_per_second: Some(BytesPerSecond(26.562e9)),
            can: LinkCapabilities {
                peer_access: true,
                peer_atomics: true,
                system_access: true,
                system_atomics: true,
            },
        };
        assert_eq!((found.nvlinks, found.most_nvlinks), (vec![links], 18));
        let (generation, width) = (5, 16);
        let pcie = PcieLink { generation, width, most_generation: 5, most_width: 16 };
        assert_eq!((found.pcie, found.unknown), (Some(pcie), None));
    }

    #[test]
    fn links_are_grouped_by_peer_and_inactive_ones_count_as_slots() {
        let (folder, library) = fake();
        fs::write(folder.path().join("nvlink"), "4 3 5 0 25781").unwrap();
        let found = read(Some(&library), "GPU-1").unwrap();
        let told: Vec<_> =
            found.nvlinks.iter().map(|links| (links.count, links.address.as_deref())).collect();
        let address = ["FFFFFFFF:FF:00.0", "FFFFFFFF:FF:01.0", "FFFFFFFF:FF:02.0"];
        assert_eq!(told, address.map(|address| (1, Some(address))));
        assert_eq!((found.active(), found.most_nvlinks), (3, 4));
        assert_eq!(found.nvlinks[0].to, LinkEnd::Gpu);
    }

    #[test]
    fn a_device_without_nvlink_has_its_pcie_link_and_one_that_nvml_does_not_know_an_error() {
        let (_folder, library) = fake();
        let found = read(Some(&library), "GPU-1").unwrap();
        assert_eq!((found.nvlinks.len(), found.most_nvlinks), (0, 0));
        assert!(found.pcie.is_some());
        let error = read(Some(&library), "nobody").unwrap_err();
        assert_eq!(error, "nvmlDeviceGetHandleByUUID returned 6");
    }
}
