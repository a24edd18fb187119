//! A memory chart: boxes for the kernel, its memories and the units that hold them, and between
//! them links with their traffic and percent of peak.

use gpuprof_analysis::why::memory::{Link, Node, Traffic, TrafficUnit};
use maud::{Markup, html};

use super::point::place;
use crate::number::grouped;
use gpuprof_model::quantity::Unit;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 300.0;

/// A box: its place, its size and its text.
struct Box {
    node: Node,
    name: &'static str,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

const fn boxed(
    node: Node,
    name: &'static str,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
) -> Box {
    Box { node, name, x, y, width, height }
}

const BOXES: [Box; 9] = [
    boxed(Node::Kernel, "Kernel", (4.0, 8.0), (70.0, 284.0)),
    boxed(Node::Global, "Global", (180.0, 8.0), (92.0, 60.0)),
    boxed(Node::Local, "Local", (180.0, 82.0), (92.0, 44.0)),
    boxed(Node::Copies, "Async copies", (180.0, 140.0), (92.0, 44.0)),
    boxed(Node::Shared, "Shared", (180.0, 232.0), (92.0, 60.0)),
    boxed(Node::L1, "L1/TEX", (392.0, 8.0), (92.0, 176.0)),
    boxed(Node::SharedMemory, "Shared mem.", (392.0, 232.0), (92.0, 60.0)),
    boxed(Node::L2, "L2", (604.0, 8.0), (84.0, 284.0)),
    boxed(Node::Device, "Device", (798.0, 8.0), (58.0, 284.0)),
];

/// The heights of the links, by the nodes that they join; the second pair is the way back.
const HEIGHTS: [(Node, Node, f64); 10] = [
    (Node::Kernel, Node::Global, 38.0),
    (Node::Kernel, Node::Local, 104.0),
    (Node::Kernel, Node::Copies, 162.0),
    (Node::Kernel, Node::Shared, 262.0),
    (Node::Global, Node::L1, 38.0),
    (Node::Shared, Node::SharedMemory, 262.0),
    (Node::L2, Node::L1, 60.0),
    (Node::L1, Node::L2, 132.0),
    (Node::Device, Node::L2, 100.0),
    (Node::L2, Node::Device, 200.0),
];

/// Draws the traffic of one configuration.
pub(crate) fn memory(title: &str, traffic: &Traffic) -> Markup {
    let used = |node: Node| {
        let mut at = traffic.links.iter().filter(|link| [link.from, link.to].contains(&node));
        at.any(|link| link.volume.is_some_and(|(value, _)| value > 0.0))
    };
    html! {
        svg.chart.memory viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(title) {
            @for shown in &BOXES {
                @let middle = shown.x + shown.width / 2.0;
                @let hits = match shown.node {
                    Node::L1 => traffic.l1_hits,
                    Node::L2 => traffic.l2_hits,
                    _ => None,
                };
                g class=(if used(shown.node) { "box" } else { "box idle" }) {
                    rect x=(shown.x) y=(shown.y) width=(shown.width) height=(shown.height) rx="4" {}
                    text.x x=(place(middle)) y=(place(shown.y + shown.height / 2.0 + 4.0)) { (shown.name) }
                    @if let Some(hits) = hits {
                        text.x x=(place(middle)) y=(place(shown.y + shown.height / 2.0 + 22.0)) {
                            (grouped(hits, 1)) "% hits"
                        }
                    }
                }
            }
            @for link in &traffic.links { (drawn(link)) }
        }
    }
}

/// A link, its arrow pointing where it goes.
fn drawn(link: &Link) -> Markup {
    let ends = |node: Node| BOXES.iter().find(|shown| shown.node == node);
    let height = HEIGHTS.iter().find(|(from, to, _)| (*from, *to) == (link.from, link.to));
    let (Some(from), Some(to), Some((_, _, y))) = (ends(link.from), ends(link.to), height) else {
        return html! {};
    };
    let forward = from.x < to.x;
    let (begin, end) =
        if forward { (from.x + from.width, to.x) } else { (from.x, to.x + to.width) };
    let back = if forward { -7.0 } else { 7.0 };
    let text = volume(link);
    html! {
        g class={ "link " (class(link)) } {
            title { (link.metrics.join(", ")) }
            line x1=(place(begin)) y1=(place(*y)) x2=(place(end + back)) y2=(place(*y)) {}
            path.arrow d={ "M" (place(end)) " " (place(*y)) "l" (back) " -5v10Z" } {}
            text.x x=(place(f64::midpoint(begin, end))) y=(place(y - 7.0)) { (text) }
            @if let Some(percent) = link.percent {
                text.x x=(place(f64::midpoint(begin, end))) y=(place(y + 16.0)) {
                    (grouped(percent, 1)) "% of peak"
                }
            }
        }
    }
}

/// The traffic of a link, or that it was not measured.
fn volume(link: &Link) -> String {
    match link.volume {
        None if link.percent.is_some() => String::new(),
        None => "not measured".to_owned(),
        Some((value, TrafficUnit::Bytes)) => {
            let (symbol, size) = Unit::Bytes.scale_for(value);
            format!("{} {symbol}", short(value / size))
        }
        Some((value, carried)) => {
            let unit_text = match carried {
                TrafficUnit::Instructions => "inst",
                TrafficUnit::Sectors => "sectors",
                TrafficUnit::Wavefronts => "waves",
                TrafficUnit::Bytes => "B",
            };
            let (value, letter) = match value {
                _ if value >= 1e9 => (value / 1e9, " G"),
                _ if value >= 1e6 => (value / 1e6, " M"),
                _ if value >= 1e4 => (value / 1e3, " k"),
                _ => (value, ""),
            };
            format!("{}{letter} {unit_text}", short(value))
        }
    }
}

/// Three digits.
fn short(value: f64) -> String {
    let decimals = match value {
        _ if value.fract() == 0.0 && value < 1e4 => 0,
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    grouped(value, decimals)
}

/// The style of a link: by its percent of peak, or for no traffic or no measurement.
fn class(link: &Link) -> &'static str {
    match (link.volume, link.percent) {
        (None, None) => "unknown",
        (Some((0.0, _)), _) => "idle",
        (_, Some(percent)) if percent >= 80.0 => "p3",
        (_, Some(percent)) if percent >= 60.0 => "p2",
        (_, Some(percent)) if percent >= 20.0 => "p1",
        _ => "p0",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpuprof_analysis::fixture::{emulated, measured};
    use gpuprof_analysis::why::memory::traffic;

    use super::*;

    #[test]
    fn links_show_their_traffic_and_unmeasured_links_say_so() {
        let row = measured(
            64,
            &[
                ("smsp__sass_inst_executed_op_local_ld.sum", 0.0),
                ("smsp__sass_inst_executed_op_local_st.sum", 0.0),
                ("l1tex__m_xbar2l1tex_read_bytes.sum", 8_388_608.0),
                ("l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed", 31.0),
                ("dram__bytes_read.sum", 8_400_000.0),
                ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", 88.8),
                ("lts__t_sector_hit_rate.pct", 33.3),
            ],
        );
        let text = memory("memory of block=64", &traffic(&row).unwrap()).into_string();
        insta::assert_snapshot!(text.replace("><", ">\n<"));
    }

    #[test]
    fn every_link_of_the_emulated_driver_is_drawn() {
        let found = traffic(&emulated(64, 1 << 20)).unwrap();
        let text = memory("memory", &found).into_string();
        assert_eq!(text.matches("class=\"link").count(), found.links.len());
        assert!(text.contains("98.3 k inst") && text.contains("393 k sectors"), "{text}");
    }

    /// The chart of a launch on an H200 (`docs/scripts/memory-against-ncu.sh`, driver 580), by our
    /// counters and by those of the groups `memory__*` of Nsight Compute.
    #[test]
    fn a_chart_of_our_counters_equals_that_of_nsight_compute() {
        let golden: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(include_str!("../../tests/golden/h200-memory.json")).unwrap();
        let row = |of: &str| {
            let values = golden[of].as_object().unwrap().iter();
            let values: Vec<(&str, f64)> =
                values.map(|(name, value)| (name.as_str(), value.as_f64().unwrap())).collect();
            traffic(&measured(64, &values)).unwrap()
        };
        let (ours, theirs) = (row("ours"), row("ncu"));
        let near = |a: f64, b: f64, percent: f64| (a - b).abs() <= percent / 100.0 * a.max(b);
        let mut compared = 0;
        for (a, b) in ours.links.iter().zip(&theirs.links) {
            let place = (a.from, a.to);
            assert_eq!(place, (b.from, b.to));
            // The written-back data is the former content of the L2: gpuprof empties it by reading.
            if place == (Node::L2, Node::Device) {
                continue;
            }
            if let (Some((x, _)), Some((y, _))) = (a.volume, b.volume) {
                assert!(near(x, y, 0.2), "{place:?}: {x} {y}");
                compared += 1;
            }
            // Rates are of launches that were timed apart.
            if let (Some(x), Some(y)) = (a.percent, b.percent) {
                assert!(near(x, y, 7.0), "{place:?}: {x} % {y} %");
            }
        }
        assert!(compared >= 6, "{compared} links");
        assert!(near(ours.l1_hits.unwrap(), theirs.l1_hits.unwrap(), 0.1));
        assert!(near(ours.l2_hits.unwrap(), theirs.l2_hits.unwrap(), 1.1));
    }
}
