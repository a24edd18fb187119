//! The source with its counts, on a screen.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use gpuprof_analysis::view::View;
use gpuprof_model::code::{Counter, LineCounts, ListedLine, MachineLine, SourceLine, Sources};
use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::text::one_line;
use gpuprof_system::pad;
use gpuprof_system::wrap::wrapped;

use super::configuration::{Chosen, chosen};
use super::lines::{Line, collected, facts, inlined_at, lines, machine};
use super::place::FileLine;
use crate::key;
use crate::number::grouped;
use crate::paint::Paint;
use crate::table_room::COLUMNS;

/// The most lines with counts, unless one place or everything is asked for.
const MOST_LINES: usize = 16;

/// The most opcodes of a place.
const MOST_OPCODES: usize = 8;

/// Lines before and after a place, and around a line with counts.
const AROUND_PLACE: u32 = 5;
const AROUND_LINE: u32 = 1;

/// The fewest columns for code.
const LEAST_CODE: usize = 16;

/// The columns up to the number of an instruction, and up to its text.
const NUMBER: usize = 13;
const EXECUTED: usize = NUMBER + 2 + 12 + 2;

/// The text of a column for a line of a file with these totals.
type Text = fn(&Line<'_>, &LineCounts) -> String;

/// A column: its title, its texts, one for each line, and its width.
struct Column {
    title: &'static str,
    texts: Vec<String>,
    width: usize,
}

impl Column {
    fn cell(&self, text: &str) -> String {
        format!("  {}", pad::right(text, self.width))
    }
}

const COUNTS: [(&str, Text); 12] = [
    ("instructions", |line, all| {
        let share = share(line.counts[Counter::Instructions], all[Counter::Instructions]);
        format!("{} %", grouped(share, 1))
    }),
    ("threads", |line, _| match line.counts[Counter::Instructions] {
        0 => String::new(),
        warps => grouped(line.counts[Counter::ThreadInstructionsOn] as f64 / warps as f64, 1),
    }),
    ("live", |line, _| number(line.live.into())),
    ("sectors", |line, _| number(line.counts[Counter::Sectors])),
    ("ideal", |line, _| number(line.counts[Counter::IdealSectors])),
    ("conflicts", |line, _| number(line.counts.conflicts())),
    ("divergent", |line, _| number(line.counts[Counter::DivergentBranches])),
    ("local ld", |line, _| number(line.counts[Counter::LocalLoads])),
    ("local st", |line, _| number(line.counts[Counter::LocalStores])),
    ("FP64", |line, _| number(line.counts[Counter::Fp64Operations])),
    ("samples", |line, all| match line.counts[Counter::Samples] {
        0 => String::new(),
        some => format!("{} %", grouped(share(some, all[Counter::Samples]), 1)),
    }),
    ("waits for", |line, _| line.counts.most_waited().map_or_else(String::new, waited)),
];

/// Percent of `all`.
fn share(some: u64, all: u64) -> f64 {
    100.0 * some as f64 / all.max(1) as f64
}

/// The state of a sampled warp without the word that all states have.
fn waited((state, _): (Counter, u64)) -> String {
    state.words().trim_start_matches("samples: ").to_owned()
}

/// Nothing for 0.
fn number(value: u64) -> String {
    if value == 0 { String::new() } else { grouped(value as f64, 0) }
}

/// All series of `run` that have counts by line, or those with `place`, on a terminal of `width`.
pub(super) fn screen(
    run: &Run,
    view: &View,
    place: Option<&FileLine>,
    (width, paint): (Option<u16>, Paint),
) -> Vec<String> {
    let mut out = Vec::new();
    let columns = width.or((!view.all).then_some(COLUMNS));
    for series in &run.series {
        let viewed = view.within(series, usize::MAX);
        let Some(Chosen { row, why }) = chosen(&viewed.series, view) else { continue };
        let all = lines(row);
        let wanted = |line: &Line<'_>| place.is_none_or(|place| place.is_in(line.place.file));
        let files: BTreeSet<&str> =
            all.iter().filter(|line| wanted(line)).map(|line| line.place.file).collect();
        let of_files: Vec<_> = files
            .into_iter()
            .filter_map(|file| {
                let of_file: Vec<&Line<'_>> =
                    all.iter().filter(|line| line.place.file == file).collect();
                shown(&of_file, place, view.all).map(|numbers| (file, of_file, numbers))
            })
            .collect();
        if of_files.is_empty() {
            continue;
        }
        let id = one_line(&series.id.to_string());
        let chosen = format!("  {}, {why}", one_line(&key(row)));
        out.push(format!("{}{}", paint.bold(&id), wrapped(&chosen, width, id.chars().count(), 2)));
        out.extend(row.source.as_ref().map(|source| paint.faint(collected(source))));
        for (file, of_file, numbers) in of_files {
            let sources = &run.provenance.sources;
            let table = Table { file, lines: &of_file, all: &all, sources, columns, paint };
            out.extend(table.write(&numbers, place, row));
        }
        out.push(String::new());
    }
    out.pop();
    out
}

/// The numbers of the lines of a file that are shown; none if it does not have the place.
fn shown(lines: &[&Line<'_>], place: Option<&FileLine>, all: bool) -> Option<BTreeSet<u32>> {
    let around = |line: u32, by: u32| line.saturating_sub(by).max(1)..=line.saturating_add(by);
    if let Some(place) = place {
        let near = around(place.line, AROUND_PLACE);
        let has = lines.iter().any(|line| near.contains(&line.place.line));
        return has.then(|| near.collect());
    }
    let mut hot: Vec<&&Line<'_>> = lines.iter().collect();
    hot.sort_by(|a, b| b.heat.total_cmp(&a.heat));
    let most = if all { usize::MAX } else { MOST_LINES };
    let hot = hot.into_iter().take(most);
    Some(hot.flat_map(|line| around(line.place.line, AROUND_LINE)).collect())
}

/// The lines of a file.
struct Table<'r> {
    file: &'r str,
    lines: &'r [&'r Line<'r>],
    /// The lines of all files.
    all: &'r [Line<'r>],
    sources: &'r Sources,
    /// The columns of a line, if they are limited.
    columns: Option<u16>,
    paint: Paint,
}

impl Table<'_> {
    fn write(
        &self,
        numbers: &BTreeSet<u32>,
        place: Option<&FileLine>,
        row: &ConfigurationResult,
    ) -> Vec<String> {
        let columns = self.columns();
        let digits = numbers.last().map_or(0, |last| last.to_string().len()).max(4);
        let head: String = columns.iter().map(|column| column.cell(column.title)).collect();
        let title = self.paint.bold(one_line(self.file));
        let title = match self.sources.missing(self.file) {
            Some(why) => format!("{title}  {}", self.paint.faint(format!("({why})"))),
            None => title,
        };
        let mut out = vec![format!(" {:>digits$}{head}    {title}", "line")];
        let mut last = None;
        for &number in numbers {
            let at = self.lines.iter().position(|line| line.place.line == number);
            let text = self.sources.line(self.file, number);
            if at.is_none() && text.is_none() {
                continue;
            }
            if last.is_some_and(|last| last + 1 != number) {
                out.push(format!(" {:>digits$}", "…"));
            }
            last = Some(number);
            let cell = |column: &Column| column.cell(at.map_or("", |at| &column.texts[at]));
            let cells: String = columns.iter().map(cell).collect();
            let line = at.map(|at| self.lines[at]);
            let heat = line.map_or(0.0, |line| line.heat);
            let cells = if heat >= 0.1 { self.paint.heat(heat, cells) } else { cells };
            let text = text.or_else(|| Some(main_ptx(row, &line?.place)?.3.as_str()));
            let start = format!(" {number:>digits$}{cells}  {} ", mark(heat));
            let call = line.and_then(inlined_at).map(|call| format!("({call})"));
            let text = one_line(text.unwrap_or_default());
            let at = 1 + digits + head.chars().count() + 4;
            out.push(
                (start + &self.code(&text, &call.unwrap_or_default(), at)).trim_end().to_owned(),
            );
            if place.is_some_and(|place| place.line == number) {
                out.extend(self.ptx(row, number));
            }
        }
        out
    }

    /// The columns that are left of a line for code next to `used` ones.
    fn room(&self, used: usize) -> usize {
        self.columns
            .map_or(usize::MAX, |width| usize::from(width).saturating_sub(used).max(LEAST_CODE))
    }

    /// The columns that say anything.
    fn columns(&self) -> Vec<Column> {
        let mut totals = LineCounts::default();
        self.all.iter().for_each(|line| totals += line.counts);
        let column = |&(title, text): &(&'static str, Text)| {
            let texts: Vec<String> = self.lines.iter().map(|line| text(line, &totals)).collect();
            let width = texts.iter().map(String::len).chain([title.len()]).max().unwrap_or(0);
            Column { title, texts, width }
        };
        let columns = COUNTS.iter().map(column);
        columns.filter(|column| column.texts.iter().any(|text| !text.is_empty())).collect()
    }

    /// The opcodes of a line that warps executed most, if it has several.
    fn opcodes(&self, number: u32) -> Option<String> {
        let line = self.lines.iter().find(|line| line.place.line == number)?;
        let mut all: Vec<(&&str, &u64)> = line.opcodes.iter().filter(|it| *it.1 > 0).collect();
        all.sort_by_key(|(_, times)| Reverse(**times));
        let one = |(name, times): &(&&str, &u64)| {
            format!("{} {}", grouped(**times as f64, 0), one_line(name))
        };
        let most: Vec<String> = all.iter().take(MOST_OPCODES).map(one).collect();
        let text = format!("       opcodes  {}", most.join(", "));
        let text = wrapped(&text, self.columns, 0, 16);
        (all.len() > 1).then(|| self.paint.faint(text))
    }

    /// The PTX of a line with the counts of each instruction, and its machine code.
    fn ptx(&self, row: &ConfigurationResult, number: u32) -> Vec<String> {
        let line = |(line, counts): (&ListedLine, LineCounts)| {
            let times = grouped(counts[Counter::Instructions] as f64, 0);
            let start = format!("{:>NUMBER$}  {times:>12}  ", line.0);
            start + &self.code(&one_line(&line.3), &facts(&counts), EXECUTED)
        };
        let here = SourceLine { file: self.file, line: number };
        let of_line = row.code.iter().flat_map(|code| {
            code.lines().filter(|(line, _)| code.source(line).as_ref() == Some(&here))
        });
        let head = |what| self.paint.faint(format!("{what:>NUMBER$}  {:>12}", "executed"));
        let mut out: Vec<String> = self.opcodes(number).into_iter().collect();
        let ptx: Vec<String> = of_line.map(line).collect();
        out.extend(ptx.first().map(|_| head("PTX")));
        out.extend(ptx);
        let machine = machine(row, &here);
        out.extend(
            machine.first().map(|_| format!("{}  {}", head("SASS"), self.paint.faint("live"))),
        );
        out.extend(machine.into_iter().map(|(MachineLine(offset, _, live, text), executed)| {
            let executed = executed.map_or_else(String::new, |times| grouped(times as f64, 0));
            let live =
                Some(live).filter(|live| **live > 0).map_or_else(String::new, u32::to_string);
            let text = pad::cut(&one_line(text), self.room(EXECUTED + 6));
            format!("{offset:>NUMBER$x}  {executed:>12}  {live:>4}  {text}")
        }));
        out
    }

    /// `code` in the column `at`, with `facts` next to it, or below it if they do not fit.
    fn code(&self, code: &str, facts: &str, at: usize) -> String {
        let room = self.room(at);
        if facts.is_empty() {
            return pad::cut(code, room);
        }
        if code.chars().count() + 2 + facts.chars().count() <= room {
            return format!("{code}  {}", self.paint.faint(facts));
        }
        let facts = wrapped(facts, self.columns, at + 2, at + 2);
        let indent = " ".repeat(at + 2);
        format!("{}\n{indent}{}", pad::cut(code, room), self.paint.faint(facts))
    }
}

/// The PTX of a line, shown if its text is unknown: an access or a branch, else what was executed
/// most.
fn main_ptx<'r>(row: &'r ConfigurationResult, place: &SourceLine<'_>) -> Option<&'r ListedLine> {
    let of_line = row.code.iter().flat_map(|code| {
        code.lines().filter(|(line, _)| code.source(line).as_ref() == Some(place))
    });
    let weight = |(_, counts): &(&ListedLine, LineCounts)| {
        let count_of = |counter: Counter| counts[counter];
        (count_of(Counter::Requests), count_of(Counter::Branches), count_of(Counter::Instructions))
    };
    of_line.max_by_key(weight).map(|(line, _)| line)
}

/// The margin of a line: how hot it is, so that nothing depends on colour.
fn mark(heat: f64) -> &'static str {
    match heat {
        heat if heat >= 0.5 => "█",
        heat if heat >= 0.25 => "▓",
        heat if heat >= 0.1 => "▒",
        _ => "│",
    }
}
