//! The device of a series or a configuration, in words.
//!
//! Input: the provenance of a run, and the rows of one of its devices. Output: a phrase that begins
//! with "on".

use gpuprof_analysis::view::by_device::DeviceRows;
use gpuprof_model::machine::Backend;
use gpuprof_model::measurement::{DeviceRecord, MIG_PREFIX};
use gpuprof_model::run::{ConfigurationResult, Provenance, Status};

use crate::links;

/// The device of a `part` of a series of a run. If other parts ran on other devices, a line says
/// how much of the series this part is.
pub(super) fn place_of(part: &DeviceRows<'_>, provenance: &Provenance) -> String {
    let first = provenance.device_of(&part.series.id);
    let linked = first.and_then(|device| device.links.as_ref());
    let linked = linked.map(|links| format!("\n {}", links::sentence(links)));
    let linked = linked.unwrap_or_default();
    let Some(uuid) = part.device else {
        return device_phrase(first, provenance.backend, emulated_values(part)) + &linked;
    };
    let named = provenance.devices.iter().find(|device| device.uuid == uuid);
    let name = named.map(|device| device.name.as_str());
    let name = name.or(first.map(|device| device.name.as_str()));
    let mut text = format!("on {}{uuid}", name.map(|n| format!("{n} ")).unwrap_or_default());
    // They are of one model, and a virtual GPU's model is its profile.
    text.push_str(first.map_or("", virtual_phrase));
    text.push_str(&linked);
    if part.is_one_of_several() {
        let here = part.series.configurations.len();
        text.push_str(&format!(
            "\n {here} of {} configurations, compared with each other and not with those of other GPUs",
            part.of
        ));
    }
    text
}

/// ` on GPU-…` where a configuration was one device's of several.
pub(super) fn on_device(row: &ConfigurationResult) -> String {
    row.device.as_ref().map(|uuid| format!(" on {uuid}")).unwrap_or_default()
}

/// The values that the emulated driver has of rows; nothing if no row has any.
fn emulated_values(part: &DeviceRows<'_>) -> &'static str {
    let rows = &part.series.configurations;
    if rows.iter().any(|row| row.estimate.is_some()) {
        ", times estimated"
    } else if rows.iter().any(|row| row.status == Status::Finished) {
        ", counters only"
    } else {
        ""
    }
}

/// "on NVIDIA H200", "on the emulated GH100 (sm_90), counters only"; if no process reported its
/// device, "on the emulated driver". `values` follow an emulated device.
fn device_phrase(device: Option<&DeviceRecord>, backend: Backend, values: &str) -> String {
    let Some(device) = device else {
        let driver = match backend {
            Backend::Emulator => "the emulated driver",
            Backend::Cuda | Backend::Unknown => "an unknown GPU",
        };
        return format!("on {driver}: no pass finished");
    };
    if !device.emulated {
        let instance = if device.uuid.starts_with(MIG_PREFIX) { ", a MIG instance" } else { "" };
        return format!("on {}{instance}{}", device.name, virtual_phrase(device));
    }
    let name = ["gpuprof emulated ", "Emulated ", "emulated "]
        .iter()
        .find_map(|prefix| device.name.strip_prefix(prefix))
        .unwrap_or(&device.name);
    let (major, minor) = device.compute_capability;
    format!("on the emulated {name} (sm_{major}{minor}){values}")
}

/// The note on times of a virtual GPU.
fn virtual_phrase(device: &DeviceRecord) -> &'static str {
    if device.virtual_gpu == Some(true) { ", a virtual GPU" } else { "" }
}
