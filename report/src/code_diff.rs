//! The code of kernels in two revisions, side by side: `report --code-diff`.
//!
//! Input: a run with a comparison. Output: for each kernel that changed the lines that cost more or
//! less, its metrics and opcodes that differ, and its source, PTX and machine code side by side.

use std::io::{self, Write};
use std::iter;

use gpuprof_model::code::{CodeChange, DiffLine, DiffRow, OpcodeChange};
use gpuprof_model::comparison::{Change, Outcome};
use gpuprof_model::run::Run;
use gpuprof_model::text::one_line;
use gpuprof_system::wrap::wrapped;
use gpuprof_system::{pad, printable_output};

use crate::estimates::sign;
use crate::number::grouped;
use crate::paint::Paint;
use crate::table_room::COLUMNS;

/// The fewest columns of a line.
const LEAST: usize = 40;

/// The fewest characters of a line that are shown after the first that differs.
const SHOWN: usize = 4;

/// The most opcodes of a kernel.
const MOST_OPCODES: usize = 12;

/// The changes of code in `run`; none if it was not compared, or nothing changed.
pub fn code_changes(run: &Run) -> &[CodeChange] {
    run.comparison.as_ref().map(|comparison| comparison.code.as_slice()).unwrap_or_default()
}

/// Writes the changes of code in `run` in lines of `width`; without one, code is cut to fit 100
/// columns.
///
/// # Errors
/// `out` could not be written.
pub fn write_code_diff(
    run: &Run,
    (width, colour): (Option<u16>, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = code_changes(run).iter().flat_map(|it| lines(run, it, width, Paint(colour)));
    let text = lines.collect::<Vec<_>>().join("\n");
    let write = |out: &mut dyn Write| writeln!(out, "{}", text.trim_end());
    match colour {
        true => printable_output::shown_in_colour(out, write),
        false => printable_output::show_plain(out, write),
    }
}

fn lines(run: &Run, change: &CodeChange, width: Option<u16>, paint: Paint) -> Vec<String> {
    let CodeChange { series, configuration, kernel, costs, .. } = change;
    let name = paint.bold(one_line(series));
    let place = format!("  {}  kernel {}", one_line(configuration), one_line(kernel));
    let mut out = vec![format!("{name}{}", wrapped(&place, width, series.chars().count(), 2))];
    let cost = |cost| paint.doubtful(wrapped(&one_line(cost), width, 2, 4));
    out.extend(costs.iter().map(|it| format!("  {}", cost(it))));
    for Table { title, rows } in tables(run, change) {
        out.push(format!("  {}", paint.bold(title)));
        out.extend(
            rows.into_iter().map(|row| format!("    {}: {} → {}", row.name, row.before, row.after)),
        );
    }
    for text in texts(change) {
        out.extend([String::new(), format!("  {}", paint.bold(text.title))]);
        out.extend(text.write(usize::from(width.unwrap_or(COLUMNS)).max(LEAST), paint));
    }
    out.push(String::new());
    out
}

/// Values before and after.
pub(crate) struct Table {
    /// The owners of the values.
    pub(crate) title: &'static str,
    /// Its rows.
    pub(crate) rows: Vec<TableRow>,
}

/// A value before and after.
#[derive(Clone)]
pub(crate) struct TableRow {
    pub(crate) name: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The numbers of a change: facts and metrics of the kernel, and its opcodes.
pub(crate) fn tables(run: &Run, change: &CodeChange) -> Vec<Table> {
    let machine = change.machine_opcodes.iter().map(|mix| {
        let (before, after) = mix.all;
        let all = ("all".to_owned(), before, after);
        let rows = opcodes(iter::once(&all).chain(&mix.changed));
        let title = match mix.executed {
            true => "SASS opcodes that warps executed",
            false => "SASS opcodes in the code",
        };
        Table { title, rows }
    });
    let kernel = [facts(change), moved(run, change)].concat();
    let kernel = Table { title: "the kernel", rows: kernel };
    let ptx =
        Table { title: "PTX opcodes that warps executed", rows: opcodes(change.opcodes.iter()) };
    let all = [kernel, ptx].into_iter().chain(machine);
    all.filter(|table| !table.rows.is_empty()).collect()
}

/// Registers, spills and other facts that differ.
fn facts(change: &CodeChange) -> Vec<TableRow> {
    let rows = change.facts.iter().map(|(name, before, after)| TableRow {
        name: one_line(name),
        before: one_line(before),
        after: one_line(after),
    });
    rows.collect()
}

/// The other metrics that moved at the configuration.
fn moved(run: &Run, change: &CodeChange) -> Vec<TableRow> {
    let mut series = run.series.iter();
    let Some(series) = series.find(|it| it.id.to_string() == change.series) else {
        return Vec::new();
    };
    let here = series.changes.iter().filter(|it| it.configuration == change.configuration);
    let is_new = |name: &str| change.facts.iter().all(|fact| fact.0 != name);
    let moved = |it: &&Change| {
        let moved = matches!(it.outcome, Outcome::Better | Outcome::Worse | Outcome::Changed);
        moved && is_new(&it.metric)
    };
    let row = |it: &Change| {
        let sign = sign(&it.metric, &series.configurations);
        let percent = it.percent.map_or_else(String::new, |it| format!(" ({it:+.2}%)"));
        let (before, after) = (it.baseline?, it.value?);
        Some(TableRow {
            name: it.metric.clone(),
            before: format!("{sign}{before}"),
            after: format!("{sign}{after}{percent}"),
        })
    };
    here.filter(moved).filter_map(row).collect()
}

/// The opcodes that changed most, with both counts.
fn opcodes<'c>(changed: impl Iterator<Item = &'c OpcodeChange>) -> Vec<TableRow> {
    let number = |count: u64| grouped(count as f64, 0);
    let shown = changed.take(MOST_OPCODES);
    let rows = shown.map(|(name, before, after)| TableRow {
        name: one_line(name),
        before: number(*before),
        after: number(*after),
    });
    rows.collect()
}

/// A text of both revisions.
pub(crate) struct Text<'c> {
    /// Its title.
    pub(crate) title: &'static str,
    /// Its rows.
    pub(crate) rows: &'c [DiffRow],
    /// Whether its lines are numbered by their offset in machine code.
    offsets: bool,
}

/// The texts of a change that differ.
pub(crate) fn texts(change: &CodeChange) -> impl Iterator<Item = Text<'_>> {
    let CodeChange { source, ptx, machine, .. } = change;
    let text = |title, rows, offsets| Text { title, rows, offsets };
    let all = [text("source", source, false), text("PTX", ptx, false), text("SASS", machine, true)];
    all.into_iter().filter(|text| !text.rows.is_empty())
}

impl Text<'_> {
    /// The number of a line.
    pub(crate) fn number(&self, line: &DiffLine) -> String {
        if self.offsets { format!("{:x}", line.0) } else { line.0.to_string() }
    }

    /// The meaning of the numbers.
    pub(crate) fn numbers(&self) -> &'static str {
        if self.offsets { "offset" } else { "line" }
    }

    /// The most that numbers of neighbours differ: there are lines of PTX without instructions.
    fn step(&self) -> u32 {
        if self.offsets { 16 } else { 8 }
    }

    fn write(&self, width: usize, paint: Paint) -> Vec<String> {
        let half = (width - 5) / 2;
        let sides = self.rows.iter().flat_map(|row| [&row.before, &row.after]).flatten();
        let digits = sides.map(|line| self.number(line).len()).max().unwrap_or(0);
        let side = |line: &Option<DiffLine>, left_out: usize| {
            let Some(line) = line else { return String::new() };
            let text = one_line(&line.1);
            let text = match left_out {
                0 => text,
                some => iter::once('…').chain(text.chars().skip(some)).collect(),
            };
            let text = format!("{:>digits$} {}", self.number(line), text.trim_end());
            pad::cut(&text, half)
        };
        let (mut out, mut last) = (Vec::new(), None);
        for row in self.rows {
            let number = row.after.as_ref().map(|line| line.0);
            let is_far = |(last, number): (u32, u32)| number > last + self.step();
            if row.same && row.file.is_none() && last.zip(number).is_some_and(is_far) {
                out.push(format!("  {}", paint.faint("…")));
            }
            if let Some(file) = &row.file {
                out.push(format!("  {}", paint.faint(one_line(file))));
            }
            last = number.or(last);
            let mark = match (&row.before, &row.after) {
                _ if row.same => ' ',
                (Some(_), Some(_)) => '|',
                (Some(_), None) => '<',
                (None, _) => '>',
            };
            let left_out = left_out(row, half.saturating_sub(digits + 1));
            let before = pad::left(&side(&row.before, left_out), half);
            let after = side(&row.after, left_out);
            let (before, after) = match row.same {
                true => (paint.faint(before), paint.faint(after)),
                false => (paint.bad(before), paint.good(after)),
            };
            out.push(format!("  {before} {mark} {after}").trim_end().to_owned());
        }
        out
    }
}

/// How many characters of both sides of `row` are left out at the beginning, so that the first that
/// differ are in a column of `room`.
fn left_out(row: &DiffRow, room: usize) -> usize {
    let (Some(before), Some(after)) = (&row.before, &row.after) else { return 0 };
    let pairs = before.1.chars().zip(after.1.chars());
    let common = pairs.take_while(|(before, after)| before == after).count();
    let is_cut = [before, after].iter().any(|line| line.1.chars().count() > room);
    if row.same || !is_cut || common + SHOWN <= room { 0 } else { common.saturating_sub(room / 2) }
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_model::code::OpcodeMix;
    use gpuprof_model::comparison::Comparison;
    use gpuprof_model::series::SeriesId;
    use gpuprof_model::{Quantity, Unit};

    use super::*;

    /// A kernel that loads at a stride.
    fn change() -> CodeChange {
        let line = |number, text: &str| Some(DiffLine(number, text.to_owned()));
        let row = |before, after, same| DiffRow { before, after, same, file: None };
        CodeChange {
            series: "p::scale".into(),
            configuration: "block=64".into(),
            kernel: "scale".into(),
            costs: vec!["the loads of src/lib.rs:3 went from 4 to 32 sectors a request".into()],
            facts: vec![("registers".into(), "12".into(), "14".into())],
            opcodes: vec![("shl.b32".into(), 0, 2048)],
            machine_opcodes: Some(OpcodeMix {
                executed: false,
                all: (96, 104),
                changed: vec![("SHF.L.U32".into(), 0, 8)],
            }),
            source: vec![
                row(line(2, "let i = x();"), line(2, "let i = x();"), true),
                row(line(3, "let a = x[i];"), line(3, "let a = x[8 * i];"), false),
                DiffRow {
                    file: Some("src/at.rs".into()),
                    ..row(None, line(4, "let b = a;"), false)
                },
            ],
            ptx: Vec::new(),
            machine: vec![
                row(line(0x90, "S2R R0, SR_TID.X"), line(0x90, "S2R R0, SR_TID.X"), true),
                row(None, line(0xa0, "SHF.L.U32 R0, R0, 0x3, RZ"), false),
                row(line(0x1a0, "EXIT"), line(0x1b0, "EXIT"), true),
            ],
        }
    }

    /// A run with that change, and with metrics that moved.
    fn compared() -> Run {
        let mut series = fixture::series(vec![fixture::emulated(64, 1 << 20)]);
        series.id = SeriesId::new("p", "t", "scale");
        let moved = |metric: &str, outcome| Change {
            configuration: "block=64".into(),
            metric: metric.into(),
            baseline: Some(Quantity::new(4.0, Unit::Count)),
            value: Some(Quantity::new(32.0, Unit::Count)),
            percent: Some(700.0),
            confidence: None,
            cycles_percent: None,
            outcome,
            reason: None,
        };
        series.changes = vec![
            moved("load_sectors_per_request", Outcome::Worse),
            moved("registers", Outcome::Worse),
            moved("divergence", Outcome::Same),
        ];
        let comparison = Comparison { code: vec![change()], ..Comparison::default() };
        Run { comparison: Some(comparison), ..fixture::run("now", vec![series]) }
    }

    #[test]
    fn both_revisions_are_shown_side_by_side() {
        let told = |run: &Run, width| {
            let mut out = Vec::new();
            write_code_diff(run, (width, false), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(told(&fixture::run("now", Vec::new()), None), "\n");
        insta::assert_snapshot!(told(&compared(), Some(60)), @r"
        p::scale  block=64  kernel scale
          the loads of src/lib.rs:3 went from 4 to 32 sectors a
            request
          the kernel
            registers: 12 → 14
            load_sectors_per_request: 4 → 32 (+700.00%)
          PTX opcodes that warps executed
            shl.b32: 0 → 2,048
          SASS opcodes in the code
            all: 96 → 104
            SHF.L.U32: 0 → 8

          source
          2 let i = x();                2 let i = x();
          3 let a = x[i];             | 3 let a = x[8 * i];
          src/at.rs
                                      > 4 let b = a;

          SASS
           90 S2R R0, SR_TID.X           90 S2R R0, SR_TID.X
                                      >  a0 SHF.L.U32 R0, R0, 0x3,…
          …
          1a0 EXIT                      1b0 EXIT
        ");
        let mut long = compared();
        let changed = long.comparison.as_mut().map(|it| &mut it.code[0].source[1]).unwrap();
        let text = |name| DiffLine(3, format!("let {name} = {};", ["x[i]"; 40].join(" + ")));
        (changed.before, changed.after) = (Some(text("b")), Some(text("a")));
        for (width, columns) in [(None, 100), (Some(80), 80), (Some(130), 130)] {
            let text = told(&long, width);
            let line = text.lines().find(|line| line.contains(" | 3 let a = ")).unwrap();
            assert!(line.chars().count() <= columns && line.matches('…').count() == 2, "{line}");
        }
        let changed = long.comparison.as_mut().map(|it| &mut it.code[0].source[1]).unwrap();
        let text = |end| DiffLine(3, text("a").1.replace("];", end));
        (changed.before, changed.after) = (Some(text("] * old;")), Some(text("] * new;")));
        let text = told(&long, None);
        let line = text.lines().find(|line| line.contains(" | 3 …")).unwrap();
        assert!(line.contains("x[i] * old; ") && line.ends_with("x[i] * new;"), "{line}");
    }
}
