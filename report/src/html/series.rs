//! A series on the page: what is best, the charts, the rows, and what is known of them.

use gpuprof_analysis::view::best;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, Run, SectionColumn, SectionColumns};
use maud::{Markup, html};

use super::charted::Charted;
use super::code;
use super::prose::prose;
use super::rows;
use super::section::Section;
use super::source;
use super::verdict::outcome_class;
use super::why;
use crate::cells::{Column, metric_names};
use crate::chart::{self, Bar};
use crate::launches::{Range, Room};
use crate::notes::view::{self as remarks, Ties};
use crate::{changes, key, notes, over_time, place_of, timeline};

/// The most bars of a picture.
const MOST_BARS: usize = 24;

/// Every launch and range, of so many configurations.
const ROOM: Room = Room { configurations: 100, ..Room::ALL };

/// The most changes that are not folded away.
const MOST_CHANGES: usize = 20;

/// Everything of one series.
pub(super) fn render(section: &Section<'_>, run: &Run) -> Markup {
    let series = &*section.viewed.series;
    let metric = section.view.headline(series);
    html! {
        section aria-labelledby=(section.id()) {
            h2 id=(section.id()) { (series.id) }
            p.place {
                @let place = format!("{}:{}", series.file, series.line);
                @if let Some(id) = source::first_line(section, run) {
                    a href={ "#" (id) } { (place) }
                } @else { (place) }
                " " (place_of(section.part, &run.provenance))
            }
            @if let Some(metric) = metric { (best_of(section, metric)) }
            @for remark in remarks::besides_the_best(&section.viewed, section.view) { p { (prose(&remark)) } }
            (changed(section))
            @if section.viewed.left_out > 0 {
                p { "There are no charts of so many rows: " code { "--filter" } " chooses fewer." }
            } @else if let Some(charted) = Charted::draw(section, metric) {
                (charts(&charted))
            }
            (code::render(section, run))
            @if let Some(shown) = source::render(section, run, metric) { (shown) }
            (why::render(section, run, metric))
            (rows::render(section))
            (launched(section))
            @for columns in &series.sections {
                @if let Some(shown) = of_section(section, columns, metric) { (shown) }
            }
            (noted(section))
        }
    }
}

/// The best configuration in a sentence.
fn best_of(section: &Section<'_>, metric: &str) -> Markup {
    let rows = &section.viewed.series.configurations;
    let best = best::best(rows, metric);
    let ratios = best::ratios(rows, metric).into_iter().flatten();
    let worst = ratios.filter(|ratio| ratio.is_finite()).fold(1.0, f64::max);
    html! {
        @if let Some(best) = best {
            @let Ties { equal, hidden } = Ties::with_best(rows, metric, best);
            p.best {
                "Best by " (metric) ": "
                a href={ "#" (section.row(best)) } { strong { (key(&rows[best])) } }
                @if let Some(equal) = remarks::named(rows, &equal) { "; equal: " (equal) " (○)" }
                @if let Some(tied) = remarks::tied(rows, &hidden) { "; " (tied) " (○)" }
                @if worst >= 1.005 { (format!("; the worst is {worst:.2} times worse")) }
                "."
            }
        }
    }
}

fn charts(charted: &Charted<'_>) -> Markup {
    let lines = charted.lines();
    let (heats, more_heats) = charted.heats();
    let (strips, more_strips) = charted.strips();
    html! {
        div.charts {
            @if let Some((chart, left_out)) = &lines {
                figure {
                    figcaption { (chart.metric) " along " (chart.axis) (more(*left_out, "line")) }
                    (chart::lines(chart))
                    @if chart.lines.len() > 1 {
                        ul.legend {
                            @for (at, line) in chart.lines.iter().enumerate() {
                                li class={ "c" (at) } { (line.name) }
                            }
                        }
                    }
                    (legend(chart.lines.iter().flat_map(|l| &l.points).any(|p| p.base.is_some())))
                }
            }
            @if let Some(parallel) = &charted.parallel() { (courses(parallel)) }
            @for heat in &heats {
                figure { figcaption { (heat.title) } (chart::heat(heat)) }
            }
            @if more_heats > 0 { p { "The table has the rest" (more(more_heats, "picture")) "." } }
        }
        @if !strips.is_empty() {
            details {
                summary { "Every process: how far its " (charted.metric()) " is from the configuration's" (more(more_strips, "configuration")) }
                figure {
                    (chart::strips(&format!("processes by {}", charted.metric()), &strips))
                    p.key {
                        "a dot for each process, one below the other · line: from its fastest sample \
                         to its 95th percentile · ★ best"
                    }
                }
            }
        }
    }
}

fn courses(drawn: &chart::Parallel) -> Markup {
    html! {
        figure {
            figcaption { "Every configuration across its axes" }
            (chart::parallel(drawn))
            p.key {
                "thick: the best · green: "
                @if drawn.metrics.len() > 1 {
                    "the Pareto front: no other is better in all of " (drawn.metrics.join(", "))
                } @else {
                    "it is indistinguishable from the best · " code { "--pareto" }
                    " shows what trades one metric for another"
                }
            }
        }
    }
}

fn legend(base: bool) -> Markup {
    html! {
        p.key {
            "★ best · ○ it is indistinguishable from the best · band and bars: the range of the \
             value between processes"
            @if base { " · dashed: the baseline" }
        }
    }
}

/// ` (3 more lines are not drawn)`.
fn more(count: usize, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(" (1 more {what} is not drawn)"),
        _ => format!(" ({count} more {what}s are not drawn)"),
    }
}

/// The kernels of a measured range, and its launches.
fn launched(section: &Section<'_>) -> Markup {
    let series = &*section.viewed.series;
    let ranges = Range::all(series, &metric_names(series, section.view), ROOM);
    let timeline = timeline::tables(series);
    html! {
        @if !ranges.is_empty() { h3 { "Launches" } }
        @for range in &ranges { (launches(range)) }
        @if let Some((work, calls)) = &timeline {
            details {
                summary { (work.title) }
                (launches(work))
                @if let Some(calls) = calls { (launches(calls)) }
            }
        }
        @for range in &over_time::tables(series, ROOM) { (launches(range)) }
    }
}

/// A table of launches.
fn launches(Range { title, sheet, more }: &Range) -> Markup {
    let columns: Vec<&Column> = sheet.axes.iter().chain(&sheet.metrics).collect();
    let class = |column: &Column| column.numeric.then_some("number");
    html! {
        p { (title) }
        div.wide tabindex="0" role="region" aria-label="Launches" {
            table {
                thead { tr {
                    @for column in &columns { th scope="col" class=[class(column)] { (column.title) } }
                } }
                tbody {
                    @for row in 0..columns[0].cells.len() {
                        tr {
                            @for column in &columns {
                                td class=[class(column)] { (column.cells[row].text) }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(more) = more { p { (more) } }
    }
}

/// A section: its percentages at the best configuration as bars, and its table.
fn of_section(
    section: &Section<'_>,
    columns: &SectionColumns,
    metric: Option<&str>,
) -> Option<Markup> {
    let table = rows::of_section(section, columns)?;
    let rows = &section.viewed.series.configurations;
    let best = metric.and_then(|metric| best::best(rows, metric)).map(|row| &rows[row]);
    let bars = best.map(|row| percentages(columns, row)).unwrap_or_default();
    Some(html! {
        details {
            summary { (columns.title) }
            @if let (Some(row), false) = (best, bars.is_empty()) {
                figure {
                    figcaption { (columns.title) " of the best, " (key(row)) }
                    (chart::bars(&columns.title, &bars))
                }
            }
            (table)
        }
    })
}

fn percentages(columns: &SectionColumns, row: &ConfigurationResult) -> Vec<Bar> {
    let bar = |column: &SectionColumn| {
        let result = best::result(row, &column.name)?;
        (result.unit == Unit::Percent).then_some(())?;
        Some(Bar { name: column.label.clone(), percent: best::value(row, &column.name)? })
    };
    columns.columns.iter().filter_map(bar).take(MOST_BARS).collect()
}

/// The changes since the baseline.
fn changed(section: &Section<'_>) -> Markup {
    let changed = changes::list_changes(&section.viewed.series);
    html! {
        @if let Some((lines, counts)) = changed {
            h3 { "Changes" }
            p { (counts) }
            @let (first, more) = lines.split_at(lines.len().min(MOST_CHANGES));
            @if !first.is_empty() { (change_table(first)) }
            @if !more.is_empty() {
                details {
                    summary { (more.len()) " more changes" }
                    (change_table(more))
                }
            }
        }
    }
}

fn change_table(lines: &[changes::Line]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Changes" {
            table {
                thead { tr { th { "change" } th { "of" } th { "from the baseline" } } }
                tbody {
                    @for line in lines {
                        tr {
                            td.(outcome_class(line.outcome)) { (line.outcome) }
                            td { (line.subject) }
                            td.text { (prose(&line.text)) }
                        }
                    }
                }
            }
        }
    }
}

/// Missing values and noise.
fn noted(section: &Section<'_>) -> Markup {
    let series = &section.viewed.series;
    let mut notes =
        notes::list_notes(series, &metric_names(series, section.view), notes::METRICS_NAMED);
    notes.extend(notes::list_noise(series));
    html! {
        @if !notes.is_empty() {
            details open[series.configurations.iter().any(|row| row.status.reason().is_some())] {
                summary { "Notes" }
                dl.notes {
                    @for note in &notes {
                        dt { (note.label) }
                        dd { strong { (note.subject) } ": " span.lines { (prose(&note.text)) } }
                    }
                }
            }
        }
    }
}
