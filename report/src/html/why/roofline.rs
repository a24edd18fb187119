//! The roofline of a series, with its whole sweep.

use std::collections::BTreeMap;

use gpuprof_analysis::view::rank::{Rank, ranking};
use gpuprof_analysis::why::roofline::{Level, Path, Roofline, roofline};
use gpuprof_model::quantity::Unit;
use maud::{Markup, html};

use super::frame::wide;
use crate::chart::{self, Ceiling, Slope, Spot, Trail};
use crate::estimates;
use crate::html::section::Section;
use crate::key;
use crate::number::grouped;

/// The figure; none where no roof or no work is known.
pub(super) fn render(section: &Section<'_>, metric: Option<&str>, roofs: usize) -> Option<Markup> {
    let chart = drawn(section, metric, roofs)?;
    let levels: Vec<Level> = Level::ALL.into_iter().collect();
    let precisions: Vec<&str> = chart.1;
    Some(html! {
        figure.wider {
            figcaption { "Roofline, by " (precisions.join(" and ")) " operations" }
            (wide("Roofline", chart::roofline(&chart.0)))
            ul.legend {
                @for (at, level) in levels.iter().enumerate() {
                    li class={ "c" (at) } { "bytes of " (level.name()) }
                }
            }
            p.key {
                "★ best · lines join the rows in their order · small circles: a roof becomes flat there"
                @if chart.0.trails.iter().any(|trail| !trail.base.is_empty()) { " · squares: the baseline" }
                " · L2 and L1 count the sectors that loads and stores asked for; Nsight Compute counts what "
                "the caches return, so its points differ"
            }
        }
    })
}

/// The chart, and the precisions in which something is computed.
pub(super) fn drawn(
    section: &Section<'_>,
    metric: Option<&str>,
    roofs: usize,
) -> Option<(chart::Roofline, Vec<&'static str>)> {
    let series = &*section.viewed.series;
    let rows = &series.configurations;
    let found = roofline(rows, roofs)?;
    let ranks = metric.and_then(|metric| ranking(rows, metric)).map(|ranking| ranking.ranks);
    let ranks = ranks.unwrap_or_else(|| vec![Rank::Other; rows.len()]);
    let base = base_of(section);
    let mut precisions: Vec<&'static str> = found.paths.iter().map(|path| path.precision).collect();
    precisions.dedup();
    let trails = found.paths.iter().map(|path| trail(section, path, &ranks, &base)).collect();
    let chart = chart::Roofline {
        title: format!("roofline of {}", series.id),
        slopes: slopes(&found),
        ceilings: ceilings(&found),
        trails,
    };
    Some((chart, precisions))
}

fn slopes(found: &Roofline) -> Vec<Slope> {
    let slope = |slope: &gpuprof_analysis::why::roofline::Slope| Slope {
        name: format!("{} {}", slope.level.name(), scaled(Unit::BytesPerSecond, slope.bandwidth)),
        bandwidth: slope.bandwidth,
        colour: colour(slope.level),
    };
    found.slopes.iter().map(slope).collect()
}

fn ceilings(found: &Roofline) -> Vec<Ceiling> {
    let ceiling = |ceiling: &gpuprof_analysis::why::roofline::Ceiling| Ceiling {
        name: format!("{} {}", ceiling.precision, scaled(Unit::FlopPerSecond, ceiling.rate)),
        rate: ceiling.rate,
    };
    found.ceilings.iter().map(ceiling).collect()
}

fn trail(
    section: &Section<'_>,
    path: &Path,
    ranks: &[Rank],
    base: &BTreeMap<(&str, &str), f64>,
) -> Trail {
    let rows = &section.viewed.series.configurations;
    let [intensity, rate] = path.metrics();
    let sign = estimates::sign(&rate, rows);
    let spots = path.places.iter().map(|place| {
        let subject = format!("{} at {}", path.precision, path.level.name());
        Spot {
            intensity: place.intensity,
            rate: place.rate,
            rank: ranks[place.row],
            label: format!(
                "{}: {subject}: {sign}{}, {:.3} operations a byte",
                key(&rows[place.row]),
                scaled(Unit::FlopPerSecond, place.rate),
                place.intensity
            ),
            row: section.row(place.row),
        }
    });
    let was = path.places.iter().filter_map(|place| {
        let row = rows[place.row].configuration.to_string();
        let base_value =
            |metric: &str| base.get(&(row.as_str(), metric)).copied().filter(|v| *v > 0.0);
        Some((base_value(&intensity)?, base_value(&rate)?))
    });
    Trail { colour: colour(path.level), spots: spots.collect(), base: was.collect() }
}

/// The baseline's values, by configuration and metric.
fn base_of<'s>(section: &'s Section<'_>) -> BTreeMap<(&'s str, &'s str), f64> {
    let changes = section.viewed.series.changes.iter();
    let values = changes.filter_map(|change| {
        Some(((&*change.configuration, &*change.metric), change.baseline.as_ref()?.value))
    });
    values.collect()
}

fn colour(level: Level) -> usize {
    Level::ALL.iter().position(|other| *other == level).unwrap_or(0)
}

fn scaled(unit: Unit, value: f64) -> String {
    let (symbol, size) = unit.scale_for(value);
    let decimals = if value / size < 100.0 { 2 } else { 0 };
    format!("{} {symbol}", grouped(value / size, decimals))
}
