//! The provenance of a run: everything needed to repeat it.

use gpuprof_model::run::{Run, SlicePart, SliceRecord};
use maud::{Markup, html};

use super::cost;
use crate::measured_by;

/// The provenance of `run`, a line a fact.
pub(super) fn render(run: &Run) -> Markup {
    let p = &run.provenance;
    let device = p.device.as_ref().filter(|_| p.chips.is_empty());
    let names: Vec<&str> = device.into_iter().chain(p.chips.values()).map(|d| &*d.name).collect();
    let nvtx: Vec<String> = p.nvtx.iter().map(ToString::to_string).collect();
    let optional = [
        ("device", (!names.is_empty()).then(|| names.join(", "))),
        (
            "compute capability",
            device.map(|d| format!("{}.{}", d.compute_capability.0, d.compute_capability.1)),
        ),
        ("multiprocessors", device.map(|d| d.sm_count.to_string())),
        ("replay mode", p.replay_mode.map(|mode| mode.to_string())),
        ("counter range", p.counter_range.map(|range| range.to_string())),
        ("NVTX ranges", (!p.nvtx.is_empty()).then(|| nvtx.join(", "))),
        ("order", p.order.clone()),
        ("profile", p.profile.clone()),
        ("kernel architecture", p.kernel_arch.clone()),
        ("kernel toolchain", p.kernel_toolchain.clone()),
        ("registers from", p.assembler.clone()),
        ("git revision", p.git_revision.clone()),
        ("slices", measured_by::sentence(run)),
    ];
    let always = [
        ("started", p.started.clone()),
        ("backend", p.backend.to_string()),
        ("cache control", p.cache_control.to_string()),
        ("clock control", p.clock_control.to_string()),
        ("gpuprof", p.tool_version.clone()),
    ];
    let facts = always.map(|(name, value)| (name, Some(value))).into_iter().chain(optional);
    html! {
        footer {
            (cost::render(run))
            details {
                summary { "Provenance" }
                dl.notes {
                    @for (name, value) in facts {
                        @if let Some(value) = value { dt { (name) } dd { (value) } }
                    }
                    @for (package, hash) in &p.ptx_sha256 {
                        dt { "PTX of " (package) }
                        dd { "SHA-256 " code { (hash) } }
                    }
                    @for record in p.slices.iter().filter(|record| !record.measured.is_empty()) {
                        dt { "slice " (record.slice) }
                        dd { (slice(record)) }
                    }
                    @for (path, hash) in &p.input_sha256 {
                        dt { "input file " (path) }
                        dd { "SHA-256 " code { (hash) } }
                    }
                }
            }
        }
    }
}

/// A slice's part of the run, and its machine.
fn slice(record: &SliceRecord) -> String {
    let part = |part: &SlicePart| {
        let count: u32 = part
            .configurations
            .iter()
            .map(|(first, last)| last.saturating_sub(*first).saturating_add(1))
            .sum();
        let on = if part.host.is_empty() { "not measured" } else { &part.host };
        format!("{count} of {} ({on})", part.series)
    };
    let series: Vec<String> = record.measured.iter().map(part).collect();
    let job = record.scheduler.iter().map(|(name, value)| format!("{name}={value}"));
    [series.join(", "), job.collect::<Vec<_>>().join(" ")].join("; ").trim_end_matches("; ").into()
}
