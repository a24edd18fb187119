//! Why the configurations of a series take the time they take.
//!
//! Input: a series on the page. Output: its roofline with the whole sweep, and for the best, the
//! failed, the worst and the reference configuration, and for every other one of a small series,
//! how near each unit is to its peak, the traffic between the units of memory, the states of warps,
//! occupancy, and the tables of its sections. Only what was measured is shown; at the end it says
//! how to measure the rest.

mod advised;
mod configurations;
mod frame;
mod missing;
mod roofline;
mod sentences;
mod tables;

use gpuprof_analysis::why::limits::{self, Limit, Share};
use gpuprof_analysis::why::memory::{Traffic, traffic};
use gpuprof_analysis::why::occupancy::{Occupancy, occupancy};
use gpuprof_analysis::why::warps::{self, State};
use gpuprof_model::run::{ConfigurationResult, Run};
use maud::{Markup, html};

use super::section::Section;
use crate::chart::{self, ShareBar};
use crate::key;
use crate::number::grouped;
use configurations::{Chosen, chosen};
use frame::wide;

/// The most parts that are shown of a throughput, and the most states of warps.
const MOST_PARTS: usize = 5;
const MOST_STATES: usize = 8;

/// All of it; nothing where no configuration finished.
pub(super) fn render(section: &Section<'_>, run: &Run, metric: Option<&str>) -> Markup {
    let rows = &section.viewed.series.configurations;
    let chosen = chosen(section, metric);
    let roofline = chosen.first().and_then(|first| roofline::render(section, metric, first.row));
    let explanations: Vec<(&Chosen, Markup)> = chosen
        .iter()
        .filter_map(|chosen| Some((chosen, one(section, run, &rows[chosen.row])?)))
        .collect();
    let others: Vec<(usize, Markup)> = configurations::others(section, run.series.len(), &chosen)
        .into_iter()
        .filter_map(|row| Some((row, one(section, run, &rows[row])?)))
        .collect();
    html! {
        (advised::render(section, run))
        @if !chosen.is_empty() {
            h3 { "Why: what limits these configurations" }
            @if let Some(roofline) = &roofline { (roofline) }
            @for (chosen, shown) in &explanations {
                @let opens = chosen.role == explanations[0].0.role || chosen.role == configurations::FAILED;
                details.why open[opens] id=(section.why(chosen.row)) {
                    summary { (chosen.role) ": " (key(&rows[chosen.row])) }
                    (shown)
                }
            }
            @if !others.is_empty() {
                details {
                    summary { "Any other configuration" }
                    @for (row, shown) in &others {
                        details.why id=(section.why(*row)) {
                            summary { (key(&rows[*row])) }
                            (shown)
                        }
                    }
                }
            }
            (missing::render(section, run, &chosen, roofline.is_some()))
        }
    }
}

/// The pictures of the first chosen configuration and of the sweep, for files of their own.
pub(super) fn pictures(section: &Section<'_>, metric: Option<&str>) -> Vec<(&'static str, Markup)> {
    let chosen = chosen(section, metric);
    let Some(first) = chosen.first() else { return Vec::new() };
    let series = &section.viewed.series;
    let row = &series.configurations[first.row];
    let name = key(row);
    let mut pictures = Vec::new();
    if let Some((drawn, _)) = roofline::drawn(section, metric, first.row) {
        pictures.push(("roofline", chart::roofline(&drawn)));
    }
    let limits = limits::limits(row, &series.sections);
    if !limits.is_empty() {
        pictures.push(("limits", bars_of_limits(&name, &limits)));
    }
    let states = warps::states(row);
    if !states.is_empty() {
        pictures.push(("warps", bars_of_states(&name, &states)));
    }
    pictures.extend(traffic(row).map(|traffic| ("memory", drawn_traffic(&name, &traffic))));
    pictures
}

/// One configuration; none where nothing is known of it.
fn one(section: &Section<'_>, run: &Run, row: &ConfigurationResult) -> Option<Markup> {
    let series = &section.viewed.series;
    let limits = limits::limits(row, &series.sections);
    let traffic = traffic(row);
    let states = warps::states(row);
    let occupancy = occupancy(row, run.provenance.device_of(&series.id));
    let tables = tables::render(row, &series.sections);
    let any = !limits.is_empty()
        || traffic.is_some()
        || !states.is_empty()
        || occupancy.is_some()
        || !tables.0.is_empty();
    let name = key(row);
    any.then(|| {
        html! {
            div.charts {
                @if !limits.is_empty() { (limited(&name, &limits)) }
                @if !states.is_empty() { (waiting(&name, &states)) }
                @if let Some(occupancy) = &occupancy { (occupied(occupancy)) }
            }
            @if let Some(traffic) = &traffic {
                figure.memory {
                    figcaption { "Memory" }
                    (wide("Memory", drawn_traffic(&name, traffic)))
                }
            }
            (tables)
        }
    })
}

fn limited(name: &str, limits: &[Limit]) -> Markup {
    html! {
        figure {
            figcaption { "Limits: percent of peak" }
            (bars_of_limits(name, limits))
            @if let Some(nearest) = limits::nearest(limits) { p { (sentences::nearest(nearest)) } }
        }
    }
}

fn waiting(name: &str, states: &[State]) -> Markup {
    html! {
        figure {
            figcaption { "Warp states: cycles for each instruction issued" }
            (bars_of_states(name, states))
            @if let Some(sentence) = states.first().and_then(sentences::waits) { p { (sentence) } }
        }
    }
}

fn bars_of_limits(name: &str, limits: &[Limit]) -> Markup {
    let bar = |share: &Share, inner: bool| ShareBar {
        name: share.label.clone(),
        part: share.percent / 100.0,
        text: format!("{}%", grouped(share.percent, 1)),
        inner,
        metric: share.metric.clone(),
    };
    let bars_of = |limit: &Limit| {
        let parts = limit.parts.iter().take(MOST_PARTS).map(|part| bar(part, true));
        std::iter::once(bar(&limit.unit, false)).chain(parts).collect::<Vec<_>>()
    };
    let bars: Vec<ShareBar> = limits.iter().flat_map(bars_of).collect();
    chart::shares(&format!("units of the GPU in percent of their peaks, at {name}"), &bars)
}

fn bars_of_states(name: &str, states: &[State]) -> Markup {
    let bar = |state: &State| ShareBar {
        name: state.name.clone(),
        part: state.percent / 100.0,
        text: format!("{} cycles", grouped(state.cycles, 2)),
        inner: false,
        metric: state.metric.clone(),
    };
    let bars: Vec<ShareBar> = states.iter().take(MOST_STATES).map(bar).collect();
    chart::shares(&format!("states of warps at {name}"), &bars)
}

fn drawn_traffic(name: &str, traffic: &Traffic) -> Markup {
    chart::memory(&format!("traffic between the units of memory of {name}"), traffic)
}

fn occupied(occupancy: &Occupancy) -> Markup {
    html! {
        figure {
            figcaption { "Occupancy" }
            @for sentence in sentences::occupancy(occupancy) { p { (sentence) } }
            @if !occupancy.rooms.is_empty() {
                table {
                    thead { tr { th scope="col" { "resource" } th.number scope="col" { "blocks a multiprocessor" } } }
                    tbody {
                        @for room in &occupancy.rooms {
                            @let limits = occupancy.limiters.contains(&room.resource);
                            tr {
                                td { (room.resource) @if limits { strong { " limits" } } }
                                td.number { (room.blocks) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
