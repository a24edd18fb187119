//! What was not measured, and how to ask for it.

use gpuprof_analysis::why::{limits, memory, occupancy, warps};
use gpuprof_model::run::{ConfigurationResult, Run};
use maud::{Markup, html};

use super::configurations::Chosen;
use super::tables;
use crate::html::section::Section;

/// The parts that no chosen configuration has.
pub(super) fn render(
    section: &Section<'_>,
    run: &Run,
    chosen: &[Chosen],
    has_roofline: bool,
) -> Markup {
    let series = &section.viewed.series;
    let none = |has: &dyn Fn(&ConfigurationResult) -> bool| {
        chosen.iter().all(|chosen| !has(&series.configurations[chosen.row]))
    };
    let device = run.provenance.device_of(&series.id);
    let achieved = |row: &ConfigurationResult| {
        occupancy::occupancy(row, device).is_some_and(|occupancy| occupancy.achieved.is_some())
    };
    let carried = |row: &ConfigurationResult| {
        memory::traffic(row).is_some_and(|traffic| 2 * traffic.measured() >= traffic.links.len())
    };
    let tables = |row: &ConfigurationResult| !tables::render(row, &series.sections).0.is_empty();
    let parts = [
        (none(&|row| !limits::limits(row, &[]).is_empty()), "limits", "--set basic"),
        (!has_roofline, "roofline", "--set roofline"),
        (none(&carried), "traffic of the caches", "--section MemoryChart"),
        (none(&tables), "memory tables", "--section FullMemoryTables"),
        (none(&|row| !warps::states(row).is_empty()), "warp states", "--section WarpStateStats"),
        (none(&achieved), "achieved occupancy", "--section Occupancy"),
    ];
    let missing: Vec<_> = parts.into_iter().filter(|(missing, ..)| *missing).collect();
    let emulated = device.is_some_and(|device| device.emulated);
    html! {
        @if missing.is_empty() {
        } @else if emulated {
            p.key {
                "On a GPU, hardware counters show more: "
                (missing.iter().map(|(_, what, _)| *what).collect::<Vec<_>>().join(", ")) "."
            }
        } @else {
            p.key {
                "Not measured: "
                @for (at, (_, what, ask)) in missing.iter().enumerate() {
                    @if at > 0 { ", " }
                    (what) " (" code { (ask) } ")"
                }
                "."
                @if missing.len() > 1 { " " code { "--set full" } " measures all of it." }
            }
        }
    }
}
