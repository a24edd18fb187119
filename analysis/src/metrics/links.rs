//! Facts about the links of a device, and why counters of links have no value.
//!
//! Input: the record of the device. Output: the value of a fact, or the reason why there is none.

use gpuprof_model::links::{DeviceLinks, LinkEnd, NvLinks, PcieLink};
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::counts_nvlink;

/// Why a device without NVLink has no value.
const NO_NVLINK: &str = "it needs NVLink, and this device has no active link";

/// The fact `name` of `device`.
///
/// # Errors
/// Why it is not known.
pub(super) fn fact(name: &str, device: &DeviceRecord) -> Result<f64, String> {
    let links = match &device.links {
        Some(links) => links,
        None if device.emulated => return Err("the emulated driver has no links".to_owned()),
        None => return Err("the links of the device were not read in this run".to_owned()),
    };
    let unknown = || links.unknown.clone().map_or(Ok(()), Err);
    let pcie = |of: fn(PcieLink) -> u32| {
        unknown()?;
        let value = links.pcie.map(|link| f64::from(of(link)));
        value.ok_or_else(|| "NVML reports no PCIe link of this device".to_owned())
    };
    let nvlink = |of: fn(&NvLinks) -> bool| {
        unknown()?;
        some_active(links)?;
        Ok(if links.nvlinks.iter().any(of) { 1.0 } else { 0.0 })
    };
    match name {
        "nvlink__count_physical" => unknown().map(|()| f64::from(links.active())),
        "nvlink__is_nvswitch_connected" => nvlink(|links| links.to == LinkEnd::Switch),
        "nvlink__peer_access" => nvlink(|links| links.can.peer_access),
        "nvlink__peer_atomic" => nvlink(|links| links.can.peer_atomics),
        "device__nvlink_bandwidth" => {
            unknown()?;
            some_active(links)?;
            bandwidth(links).ok_or_else(|| "NVML reports no speed of its NVLinks".to_owned())
        }
        "device__peers" if links.peers.is_empty() => {
            Err("it needs two GPUs, and the process sees no other one".to_owned())
        }
        "device__peers" => {
            Ok(links.peers.iter().map(|peer| if peer.access { 1.0 } else { 0.0 }).sum())
        }
        "device__pcie_generation" => pcie(|link| link.generation),
        "device__pcie_width" => pcie(|link| link.width),
        _ => Err(format!("gpuprof knows no fact `{name}`")),
    }
}

fn some_active(links: &DeviceLinks) -> Result<(), String> {
    if links.active() == 0 { Err(NO_NVLINK.to_owned()) } else { Ok(()) }
}

/// The bytes a second of all active NVLinks in one direction.
fn bandwidth(links: &DeviceLinks) -> Option<f64> {
    links.nvlinks.iter().map(|of| Some(f64::from(of.count) * of.bytes_per_second?.0)).sum()
}

/// Why a hardware counter says nothing on `device`, if it counts links that the device lacks.
pub(super) fn without(counter: &str, device: &DeviceRecord) -> Option<String> {
    let links = device.links.as_ref()?;
    let lacks = counts_nvlink(counter) && links.unknown.is_none() && links.active() == 0;
    lacks.then(|| NO_NVLINK.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{h200_links, record_with};

    #[test]
    fn link_facts_count_active_links_only() {
        let device = record_with(h200_links());
        let value = |name: &str| fact(name, &device);
        assert_eq!(value("nvlink__count_physical"), Ok(18.0));
        assert_eq!(value("nvlink__is_nvswitch_connected"), Ok(1.0));
        assert_eq!(value("nvlink__peer_access"), Ok(1.0));
        assert_eq!(value("nvlink__peer_atomic"), Ok(0.0));
        assert_eq!(value("device__nvlink_bandwidth"), Ok(18.0 * 26.562e9));
        assert_eq!(value("device__peers"), Ok(1.0));
        assert_eq!(value("device__pcie_generation"), Ok(5.0));
        assert_eq!(value("device__pcie_width"), Ok(16.0));
        assert_eq!(without("nvlrx__bytes.sum", &device), None);
    }

    #[test]
    fn a_device_alone_or_without_nvlink_says_why_there_is_no_value() {
        let alone = DeviceLinks { nvlinks: Vec::new(), peers: Vec::new(), ..h200_links() };
        let device = record_with(alone);
        assert_eq!(fact("nvlink__count_physical", &device), Ok(0.0));
        for name in ["nvlink__peer_access", "device__nvlink_bandwidth"] {
            assert_eq!(fact(name, &device), Err(NO_NVLINK.to_owned()), "{name}");
        }
        assert_eq!(without("nvltx__bytes.sum.per_second", &device).as_deref(), Some(NO_NVLINK));
        assert_eq!(without("pcie__read_bytes.sum", &device), None);
        let reason = fact("device__peers", &device).unwrap_err();
        assert_eq!(reason, "it needs two GPUs, and the process sees no other one");
    }

    #[test]
    fn values_missing_in_nvml_are_errors_and_not_zero() {
        let reason = "NVML (libnvidia-ml.so.1) cannot be loaded".to_owned();
        let unknown = DeviceLinks { unknown: Some(reason.clone()), ..DeviceLinks::default() };
        let device = record_with(unknown);
        for name in ["nvlink__count_physical", "nvlink__peer_access", "device__pcie_width"] {
            assert_eq!(fact(name, &device), Err(reason.clone()), "{name}");
        }
        // The counters stay unchanged.
        assert_eq!(without("nvlrx__bytes.sum", &device), None);
    }
}
