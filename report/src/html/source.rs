//! The source of a series with its counts, next to the PTX and the machine code of each line.
//!
//! Input: a series on the page. Output: a table of the lines of one configuration, or of two line
//! by line: the configuration that the terminal shows, and the worst or the best next to it.

use std::collections::BTreeMap;
use std::iter;

use gpuprof_analysis::view::best;
use gpuprof_model::code::{Counter, LineCounts, ListedLine, MachineLine, SourceLine, Sources};
use gpuprof_model::run::{ConfigurationResult, Run};
use maud::{Markup, html};

use super::prose::prose;
use super::section::Section;
use crate::key;
use crate::number::grouped;
use crate::source::{Chosen, Executed, Line, Why, chosen, collected, inlined_at, lines, machine};

/// The most lines of a series: a page has to stay small.
const MOST_LINES: usize = 400;

/// Lines without counts between two lines with counts, at most.
const MOST_BETWEEN: u32 = 6;

/// A line with more instructions than this folds them, unless the line is hot.
const FOLDED: usize = 6;

/// The heat from which the code of a line is open.
const HOT: f64 = 0.25;

/// A column of counts.
type Count = (&'static str, fn(&Line<'_>) -> u64);

const COUNTS: [Count; 11] = [
    ("instructions", |line| line.counts[Counter::Instructions]),
    ("live registers", |line| line.live.into()),
    ("sectors", |line| line.counts[Counter::Sectors]),
    ("ideal sectors", |line| line.counts[Counter::IdealSectors]),
    ("bank conflicts", |line| line.counts.conflicts()),
    ("divergent branches", |line| line.counts[Counter::DivergentBranches]),
    ("local loads", |line| line.counts[Counter::LocalLoads]),
    ("local stores", |line| line.counts[Counter::LocalStores]),
    ("FP64 operations", |line| line.counts[Counter::Fp64Operations]),
    ("atomics", |line| line.counts[Counter::Atomics]),
    ("samples", |line| line.counts[Counter::Samples]),
];

/// The `id` of the first line of the kernel of `section`, if the source shows it.
pub(super) fn first_line(section: &Section<'_>, run: &Run) -> Option<String> {
    let series = &*section.viewed.series;
    let lines = lines(chosen(series, section.view)?.row);
    let counted = lines.into_iter().map(|line| (line.place.clone(), line)).collect();
    let shown = shown(&counted, &run.provenance.sources);
    let at = shown.keys().position(|file| *file == series.file)?;
    let number = shown[&*series.file].iter().find(|number| **number >= series.line)?;
    Some(section.line(at, *number))
}

/// All of it; nothing for a series without counts by line.
pub(super) fn render(section: &Section<'_>, run: &Run, metric: Option<&str>) -> Option<Markup> {
    let series = &*section.viewed.series;
    let Chosen { row, why } = chosen(series, section.view)?;
    let other = other(&series.configurations, row, metric);
    let rows: Vec<&ConfigurationResult> = std::iter::once(row).chain(other).collect();
    let counted: Vec<BTreeMap<SourceLine<'_>, Line<'_>>> = rows
        .iter()
        .map(|row| lines(row).into_iter().map(|line| (line.place.clone(), line)).collect())
        .collect();
    let columns: Vec<&Count> = COUNTS
        .iter()
        .filter(|(_, of)| counted.iter().flat_map(BTreeMap::values).any(|line| of(line) > 0))
        .collect();
    let shown = shown(&counted[0], &run.provenance.sources);
    let has_machine = row.code.iter().any(|code| !code.listing.machine.is_empty());
    let codes: &[&str] = if has_machine { &["PTX", "SASS"] } else { &["PTX"] };
    Some(html! {
        details.source open[matches!(why, Why::Violates(_))] {
            summary { "Source: counts by line at " (key(row)) ", " (prose(&why.to_string())) }
            p.key { "the margin shows the largest share that a line has of the instructions, of the avoidable cost of accesses, of the divergent branches, of the local loads or stores, of the FP64 operations, or of the samples · point at a line for all of its counts" }
            @if let Some(source) = &row.source { p.key { (collected(source)) } }
            div.wide tabindex="0" role="region" aria-label="Source" {
                table {
                    (head(&rows, &columns, codes))
                    tbody {
                        @for (at, (file, numbers)) in shown.iter().enumerate() {
                            tr { th.file colspan=(2 + codes.len() + columns.len() * rows.len()) {
                                (file)
                                @if let Some(why) = run.provenance.sources.missing(file) { " (" (why) ")" }
                            } }
                            @for &line in numbers {
                                @let place = SourceLine { file, line };
                                @let id = section.line(at, line);
                                (one((&id, &place), &counted, (&columns[..], has_machine), (run, row)))
                            }
                        }
                    }
                }
            }
        }
    })
}

fn head(rows: &[&ConfigurationResult], columns: &[&Count], codes: &[&str]) -> Markup {
    html! {
        thead {
            @if rows.len() > 1 {
                tr {
                    th colspan="2" {}
                    @for (at, row) in rows.iter().enumerate() {
                        th scope="colgroup" colspan=(columns.len()) { (key(row)) }
                        @if at == 0 { @for _ in codes { th {} } }
                    }
                }
            }
            tr {
                th.number scope="col" { "line" }
                th scope="col" { "source" }
                @for at in 0..rows.len() {
                    @for (name, _) in columns { th.number scope="col" { (name) } }
                    @if at == 0 { @for code in codes { th scope="col" { (code) } } }
                }
            }
        }
    }
}

/// One line.
fn one(
    (id, place): (&str, &SourceLine<'_>),
    counted: &[BTreeMap<SourceLine<'_>, Line<'_>>],
    (columns, has_machine): (&[&Count], bool),
    (run, row): (&Run, &ConfigurationResult),
) -> Markup {
    let text = run.provenance.sources.line(place.file, place.line).unwrap_or_default();
    let line = counted[0].get(place);
    let heat = line.map_or(0.0, |line| line.heat);
    let ptx: Vec<Markup> = line.map(|_| ptx(row, place)).unwrap_or_default();
    let machine = machine(row, place);
    let machine: Vec<Markup> = machine.into_iter().map(instruction).collect();
    html! {
        tr id=(id) data-place=(place) title=[line.map(title)] {
            td.number.(step(heat)) { (place.line) }
            td.code { (text) @if let Some(call) = line.and_then(inlined_at) { small { "  " (call) } } }
            @for (at, lines) in counted.iter().enumerate() {
                @for (_, of) in columns {
                    @let count = lines.get(place).map_or(0, of);
                    td.number { @if count > 0 { (grouped(count as f64, 0)) } }
                }
                @if at == 0 {
                    (instructions(&ptx, heat))
                    @if has_machine { (instructions(&machine, heat)) }
                }
            }
        }
    }
}

/// The instructions of a line, folded where they are many and cost little.
fn instructions(all: &[Markup], heat: f64) -> Markup {
    let listed = html! { @for one in all { (one) } };
    html! {
        td.code {
            @if all.len() > FOLDED && heat < HOT {
                details { summary { (all.len()) " instructions" } (listed) }
            } @else { (listed) }
        }
    }
}

/// A machine instruction.
fn instruction((MachineLine(offset, ptx, live, text), executed): Executed<'_>) -> Markup {
    let executed = executed.map(|times| format!("{} executed", grouped(times as f64, 0)));
    let live = (*live > 0).then(|| format!("{live} live registers"));
    let known: Vec<String> = executed.into_iter().chain(live).collect();
    let title = format!("offset {offset:#x}, PTX line {ptx}: {}", known.join(", "));
    html! { div title=(title.trim_end_matches(": ")) { (text) } }
}

/// The PTX of a line.
fn ptx(row: &ConfigurationResult, place: &SourceLine<'_>) -> Vec<Markup> {
    let all = row
        .code
        .iter()
        .flat_map(|code| code.lines().map(move |(line, counts)| (code, line, counts)));
    let of_line = all.filter(|(code, line, _)| code.source(line).as_ref() == Some(place));
    let instruction = |(_, line, counts): (_, &ListedLine, LineCounts)| {
        let title = format!("PTX line {}: {}", line.0, all_counts(&counts));
        html! { div title=(title) { (line.3) } }
    };
    of_line.map(instruction).collect()
}

/// The configuration that is next to `row`: the worst, else the best.
fn other<'r>(
    rows: &'r [ConfigurationResult],
    row: &ConfigurationResult,
    metric: Option<&str>,
) -> Option<&'r ConfigurationResult> {
    let metric = metric?;
    let ratios = best::ratios(rows, metric);
    let known_ratios = ratios.iter().enumerate().filter_map(|(at, ratio)| Some((at, (*ratio)?)));
    let worst = known_ratios.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at);
    let candidates = [worst, best::best(rows, metric)].into_iter().flatten().map(|at| &rows[at]);
    let differs = |other: &&ConfigurationResult| {
        other.configuration != row.configuration && !other.code.is_empty()
    };
    candidates.into_iter().find(differs)
}

/// The numbers of the lines of each file: those with counts, and what is between near ones.
fn shown<'r>(
    counted: &BTreeMap<SourceLine<'r>, Line<'r>>,
    sources: &Sources,
) -> BTreeMap<&'r str, Vec<u32>> {
    let mut shown: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for place in counted.keys().take(MOST_LINES) {
        let numbers = shown.entry(place.file).or_default();
        let last = numbers.last().copied().unwrap_or(place.line);
        if place.line - last <= MOST_BETWEEN {
            let between = last.saturating_add(1)..place.line;
            numbers.extend(between.filter(|line| sources.line(place.file, *line).is_some()));
        }
        numbers.push(place.line);
    }
    shown
}

/// All counts and the opcodes of a line, shown at the pointer.
fn title(line: &Line<'_>) -> String {
    let opcode = |(name, times): (&&str, &u64)| format!("{name}: {}", grouped(*times as f64, 0));
    let executed = line.opcodes.iter().filter(|(_, times)| **times > 0).map(opcode);
    iter::once(all_counts(&line.counts)).chain(executed).collect::<Vec<_>>().join("\n")
}

/// All counts, shown at the pointer.
fn all_counts(counts: &LineCounts) -> String {
    let counters = Counter::ALL.into_iter().filter(|counter| counts[*counter] > 0);
    let counters = counters
        .map(|counter| format!("{}: {}", counter.words(), grouped(counts[counter] as f64, 0)));
    counters.collect::<Vec<_>>().join("\n")
}

/// The class of a margin.
fn step(heat: f64) -> &'static str {
    match heat {
        heat if heat >= 0.5 => "heat4",
        heat if heat >= 0.25 => "heat3",
        heat if heat >= 0.1 => "heat2",
        heat if heat >= 0.03 => "heat1",
        _ => "",
    }
}
