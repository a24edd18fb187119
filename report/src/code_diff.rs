//! The code of kernels in two revisions, side by side: `report --code-diff`.
//!
//! Input: a run with a comparison. Output: for each kernel that changed the lines that cost more or
//! less, its facts and opcodes that differ, and its source and PTX side by side.

use std::io::{self, Write};

use gpuprof_model::code::{CodeChange, DiffLine, DiffRow};
use gpuprof_model::run::Run;
use gpuprof_model::text::one_line;
use gpuprof_system::{pad, printable_output};

use crate::number::grouped;
use crate::paint::Paint;

/// Columns of a line that is not on a terminal.
const COLUMNS: u16 = 120;

/// The most opcodes of a kernel.
const MOST_OPCODES: usize = 12;

/// The changes of code in `run`; none if it was not compared, or nothing changed.
pub fn code_changes(run: &Run) -> &[CodeChange] {
    run.comparison.as_ref().map(|comparison| comparison.code.as_slice()).unwrap_or_default()
}

/// Writes the changes of code in `run` in lines of `width`.
///
/// # Errors
/// `out` could not be written.
pub fn write_code_diff(
    run: &Run,
    (width, colour): (Option<u16>, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = usize::from(width.unwrap_or(COLUMNS)).max(60);
    let lines = code_changes(run).iter().flat_map(|change| lines(change, width, Paint(colour)));
    let text = lines.collect::<Vec<_>>().join("\n");
    let write = |out: &mut dyn Write| writeln!(out, "{}", text.trim_end());
    match colour {
        true => printable_output::shown_in_colour(out, write),
        false => printable_output::show_plain(out, write),
    }
}

fn lines(change: &CodeChange, width: usize, paint: Paint) -> Vec<String> {
    let CodeChange { series, configuration, kernel, costs, source, ptx, .. } = change;
    let name = paint.bold(one_line(series));
    let mut out = vec![format!("{name}  {}  kernel {}", one_line(configuration), one_line(kernel))];
    out.extend(costs.iter().map(|cost| format!("  {}", paint.doubtful(one_line(cost)))));
    let tables = facts(change).into_iter().chain(opcodes(change));
    out.extend(tables.map(|(name, before, after)| format!("  {name}: {before} → {after}")));
    for (title, rows) in [("source", source), ("PTX", ptx)] {
        if !rows.is_empty() {
            out.extend([String::new(), format!("  {}", paint.bold(title))]);
            out.extend(side_by_side(rows, width, paint));
        }
    }
    out.push(String::new());
    out
}

/// Registers, spills and other facts that differ, with both values.
pub(crate) fn facts(change: &CodeChange) -> Vec<(String, String, String)> {
    change.facts.iter().map(|(name, a, b)| (one_line(name), one_line(a), one_line(b))).collect()
}

/// The executed opcodes that changed most, with both counts.
pub(crate) fn opcodes(change: &CodeChange) -> Vec<(String, String, String)> {
    let number = |count: u64| grouped(count as f64, 0);
    let shown = change.opcodes.iter().take(MOST_OPCODES);
    shown.map(|(name, a, b)| (one_line(name), number(*a), number(*b))).collect()
}

fn side_by_side(rows: &[DiffRow], width: usize, paint: Paint) -> Vec<String> {
    let half = (width - 7) / 2;
    let numbers =
        |line: &Option<DiffLine>| line.as_ref().map_or(0, |line| line.0.to_string().len());
    let digits = rows.iter().map(|row| numbers(&row.before).max(numbers(&row.after)));
    let digits = digits.max().unwrap_or(0);
    let side = |line: &Option<DiffLine>| {
        let Some(DiffLine(number, text)) = line else { return String::new() };
        let text = format!("{number:>digits$} {}", one_line(text).trim_end());
        match text.char_indices().nth(half) {
            Some((end, _)) => format!("{}…", text[..end].trim_end()),
            None => text,
        }
    };
    let (mut out, mut last) = (Vec::new(), None);
    for row in rows {
        let number = row.after.as_ref().or(row.before.as_ref()).map_or(0, |line| line.0);
        if row.same && last.is_some_and(|last| number > last + 8) {
            out.push(format!("  {}", paint.faint("…")));
        }
        last = Some(number);
        let mark = match (&row.before, &row.after) {
            _ if row.same => ' ',
            (Some(_), Some(_)) => '|',
            (Some(_), None) => '<',
            (None, _) => '>',
        };
        let (before, after) = (pad::left(&side(&row.before), half + 1), side(&row.after));
        let (before, after) = match row.same {
            true => (paint.faint(before), paint.faint(after)),
            false => (paint.bad(before), paint.good(after)),
        };
        out.push(format!("  {before} {mark} {after}").trim_end().to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_model::comparison::Comparison;

    use super::*;

    #[test]
    fn both_revisions_are_side_by_side() {
        let line = |number, text: &str| Some(DiffLine(number, text.to_owned()));
        let row = |before, after, same| DiffRow { before, after, same };
        let change = CodeChange {
            series: "p::t::scale".into(),
            configuration: "block=64".into(),
            kernel: "scale".into(),
            costs: vec!["the loads of src/lib.rs:3 went from 4 to 32 sectors a request".into()],
            facts: vec![("registers".into(), "12".into(), "14".into())],
            opcodes: vec![("shl.b32".into(), 0, 2048)],
            source: vec![
                row(line(2, "let i = x();"), line(2, "let i = x();"), true),
                row(line(3, "let a = x[i];"), line(3, "let a = x[8 * i];"), false),
                row(None, line(4, "let b = a;"), false),
            ],
            ptx: Vec::new(),
        };
        let mut run = fixture::run("now", Vec::new());
        let mut out = Vec::new();
        write_code_diff(&run, (None, false), &mut out).unwrap();
        assert_eq!(out, b"\n");
        let told = |run: &Run| {
            let mut out = Vec::new();
            write_code_diff(run, (Some(60), false), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        run.comparison = Some(Comparison { code: vec![change], ..Comparison::default() });
        insta::assert_snapshot!(told(&run), @r"
        p::t::scale  block=64  kernel scale
          the loads of src/lib.rs:3 went from 4 to 32 sectors a request
          registers: 12 → 14
          shl.b32: 0 → 2,048

          source
          2 let i = x();                2 let i = x();
          3 let a = x[i];             | 3 let a = x[8 * i];
                                      > 4 let b = a;
        ");
    }
}
