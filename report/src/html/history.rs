//! A history as a page: the course of each metric from revision to revision, and its changes.
//!
//! Input: timelines. Output: one page of the same style, script and policy as a run's.

use gpuprof_analysis::history::{Change, Timeline};
use gpuprof_analysis::view::rank::Rank;
use gpuprof_model::each_once::each_once;
use maud::{Markup, html};

use super::document;
use super::verdict::outcome_class;
use crate::chart::{self, Line, Lines, MOST_LINES, Point, Scale};
use crate::history::{alike, date, heading, label, signed};
use crate::number;
use crate::paint::Paint;

/// The most revisions that the axis names.
const MOST_NAMES: usize = 8;

/// The page.
pub fn history_page(timelines: &[Timeline]) -> String {
    let groups: Vec<&[Timeline]> = timelines.chunk_by(alike).collect();
    let changes: usize = timelines.iter().map(|timeline| timeline.changes.len()).sum();
    document(
        "gpuprof: history",
        &html! {
            header {
                h1 { "cargo gpuprof " small { "history" } }
                p.verdict.none { (sentence(timelines.len(), changes)) }
            }
            main { @for (at, group) in groups.iter().enumerate() { (render_group(at, group)) } }
        },
    )
}

fn sentence(timelines: usize, changes: usize) -> String {
    let changes = match changes {
        0 => "No change was found".to_owned(),
        1 => "1 change was found".to_owned(),
        more => format!("{more} changes were found"),
    };
    format!("{changes} in {timelines} timelines.")
}

/// The configurations of one metric of one series.
fn render_group(at: usize, group: &[Timeline]) -> Markup {
    let drawn: Vec<&Timeline> = group.iter().take(MOST_LINES).collect();
    let changes: Vec<(&Timeline, &Change)> =
        group.iter().flat_map(|t| t.changes.iter().map(move |change| (t, change))).collect();
    let title = heading(&group[0], Paint(false));
    html! {
        section aria-labelledby={ "s" (at) } {
            h2 id={ "s" (at) } { (title) }
            figure.wider {
                figcaption {
                    (group[0].metric) " along the revisions"
                    @if group.len() > MOST_LINES { " (" (group.len() - MOST_LINES) " more lines are not drawn)" }
                }
                (chart::lines(&lines(at, &drawn)))
                ul.legend {
                    @for (at, timeline) in drawn.iter().enumerate() {
                        li class={ "c" (at) } { (timeline.configuration) }
                    }
                }
                p.key { "○ a new level begins · band and bars: the range of the value between processes" }
            }
            @if !changes.is_empty() { (changed(&changes)) }
            (configurations(at, group))
        }
    }
}

/// A line for each configuration; a revision that one lacks is left out of its line.
fn lines(section: usize, drawn: &[&Timeline]) -> Lines {
    let measured = drawn.iter().flat_map(|timeline| &timeline.points);
    let mut revisions = each_once(measured.map(|point| (date(point).to_owned(), label(point))));
    revisions.sort_by(|a, b| a.0.cmp(&b.0));
    let values: Vec<f64> =
        drawn.iter().flat_map(|t| t.points.iter().map(|point| point.value)).collect();
    let scale = number::Scale::choose(drawn[0].unit, &values);
    let line = |(row, timeline): (usize, &&Timeline)| Line {
        name: timeline.configuration.clone(),
        points: points(timeline, &revisions, &scale, &format!("s{section}r{row}")),
    };
    let symbol =
        if scale.symbol.is_empty() { String::new() } else { format!(" [{}]", scale.symbol) };
    Lines {
        title: format!("{} of {} along the revisions", drawn[0].metric, drawn[0].series),
        axis: "revision".into(),
        scale: axis(&revisions),
        metric: format!("{}{symbol}", drawn[0].metric),
        lines: drawn.iter().enumerate().map(line).collect(),
    }
}

fn points(
    timeline: &Timeline,
    revisions: &[(String, String)],
    scale: &number::Scale,
    row: &str,
) -> Vec<Point> {
    let to_point = |(at, point): (usize, &gpuprof_analysis::history::Point)| {
        let name = label(point);
        let changed = timeline.changes.iter().any(|change| change.at == at);
        Some(Point {
            at: revisions.iter().position(|(day, other)| *other == name && day == date(point))?,
            value: scale.scaled(point.value),
            interval: point.interval.map(|i| (scale.scaled(i.low), scale.scaled(i.high))),
            base: None,
            rank: if changed { Rank::Tied } else { Rank::Other },
            label: format!(
                "{} at {name} ({}): {} {}",
                timeline.configuration,
                date(point),
                scale.text(point.value),
                scale.symbol
            ),
            row: row.to_owned(),
        })
    };
    let mut points: Vec<Point> = timeline.points.iter().enumerate().filter_map(to_point).collect();
    points.sort_by_key(|point| point.at);
    points
}

/// Revisions at equal distances, some of them named by their first digits.
fn axis(revisions: &[(String, String)]) -> Scale {
    let last = revisions.len().saturating_sub(1);
    #[expect(clippy::cast_precision_loss, reason = "few revisions")]
    let place = |at: usize| if last == 0 { 0.5 } else { at as f64 / last as f64 };
    let every = revisions.len().div_ceil(MOST_NAMES).max(1);
    let named = (0..revisions.len()).filter(|at| at.is_multiple_of(every));
    let short = |at: usize| revisions[at].1.chars().take(7).collect::<String>();
    Scale {
        places: (0..revisions.len()).map(place).collect(),
        ticks: named.map(|at| (place(at), short(at))).collect(),
        to_scale: true,
    }
}

fn changed(changes: &[(&Timeline, &Change)]) -> Markup {
    html! {
        h3 { "Changes" }
        div.wide tabindex="0" role="region" aria-label="Changes" {
            table.section {
                thead {
                    tr {
                        @for title in ["change", "configuration", "at", "after", "from", "to", "by", "p", "besides"] {
                            th scope="col" { (title) }
                        }
                    }
                }
                tbody { @for (timeline, change) in changes { (change_row(timeline, change)) } }
            }
        }
    }
}

fn change_row(timeline: &Timeline, change: &Change) -> Markup {
    let scale = number::Scale::choose(timeline.unit, &[change.before, change.after]);
    let with_unit = |value: f64| format!("{} {}", scale.text(value), scale.symbol);
    let (point, before) = (&timeline.points[change.at], &timeline.points[change.at - 1]);
    html! {
        tr {
            td.(outcome_class(change.outcome)) { (change.outcome) }
            td { (timeline.configuration) }
            td { (label(point)) " (" (date(point)) ")" }
            td { (label(before)) }
            td.number { (with_unit(change.before)) }
            td.number { (with_unit(change.after)) }
            td.number { (change.percent.map(signed).unwrap_or_default()) }
            td.number { @if let Some(p) = change.p_value { (format!("{p:.4}")) } }
            td { (change.besides.join("; ")) }
        }
    }
}

fn configurations(section: usize, group: &[Timeline]) -> Markup {
    html! {
        h3 { "Configurations" }
        div.wide tabindex="0" role="region" aria-label="Configurations" {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "configuration" }
                        @for title in ["first", "last", "change", "revisions"] {
                            th.number scope="col" { (title) }
                        }
                    }
                }
                tbody {
                    @for (row, timeline) in group.iter().enumerate() {
                        (configuration(&format!("s{section}r{row}"), timeline))
                    }
                }
            }
        }
    }
}

fn configuration(id: &str, timeline: &Timeline) -> Markup {
    let values: Vec<f64> = timeline.points.iter().map(|point| point.value).collect();
    let scale = number::Scale::choose(timeline.unit, &values);
    let with_unit = |value: Option<&f64>| {
        value.map_or_else(String::new, |&value| format!("{} {}", scale.text(value), scale.symbol))
    };
    let percent = values.first().zip(values.last()).filter(|(first, _)| **first != 0.0);
    let percent = percent.map(|(first, last)| signed(100.0 * (last - first) / first.abs()));
    html! {
        tr id=(id) {
            td { (timeline.configuration) }
            td.number { (with_unit(values.first())) }
            td.number { (with_unit(values.last())) }
            td.number { (percent.unwrap_or_else(|| "-".to_owned())) }
            td.number { (values.len()) }
        }
    }
}
