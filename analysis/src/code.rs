//! The code of kernels in two revisions, and the costs of its changes.
//!
//! Input: a run and its baseline, both with counts by line. Output: for each kernel that changed
//! its lines side by side, and the lines with accesses that cost more or less than before, at the
//! configuration with the largest change of counts; and in each violated threshold against the
//! baseline the line that changed most.

mod costs;
mod diff;
mod growth;
mod opcodes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gpuprof_model::code::{
    CodeChange, CountedCode, Counter, DiffLine, DiffRow, ListedLine, MachineLine, SourceLine,
    Sources,
};
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};

use crate::view::best;
use diff::{Pair, context, correspondences, pairs};
pub(crate) use growth::name_grown_lines;

/// The most kernels of a run.
const MOST_KERNELS: usize = 20;

/// The metrics of a kernel's code.
const FACTS: [&str; 7] = [
    "registers",
    "spills",
    "local_memory",
    "ptx__local_ld.sum",
    "ptx__local_st.sum",
    "static_shared",
    "theoretical_occupancy",
];

/// The counts that decide at which configuration a kernel is shown.
const MOVED: [Counter; 4] =
    [Counter::Instructions, Counter::Sectors, Counter::Wavefronts, Counter::DivergentBranches];

/// The kernels of `run` of which the code differs from that of `baseline`.
pub fn changes(baseline: &Run, run: &Run) -> Vec<CodeChange> {
    let mut changes: Vec<CodeChange> = Vec::new();
    for ours in &run.series {
        let Some(theirs) = baseline.series.iter().find(|series| series.id == ours.id) else {
            continue;
        };
        let sources = [&baseline.provenance.sources, &run.provenance.sources];
        changes.extend(changes_of_series(theirs, ours, sources));
    }
    changes.truncate(MOST_KERNELS);
    changes
}

/// The changed kernels of a series, each at the configuration with the largest change of counts.
fn changes_of_series(
    theirs: &SeriesResult,
    ours: &SeriesResult,
    [old_sources, new_sources]: [&Sources; 2],
) -> Vec<CodeChange> {
    let mut found: BTreeMap<&str, (u64, CodeChange)> = BTreeMap::new();
    for row in &ours.configurations {
        let mut before = theirs.configurations.iter();
        let Some(before) = before.find(|it| it.configuration == row.configuration) else {
            continue;
        };
        for code in &row.code {
            let kernel = code.listing.kernel.as_str();
            let mut codes = before.code.iter();
            let Some(old) = codes.find(|old| old.listing.kernel == kernel) else { continue };
            if same(old, code) {
                continue;
            }
            let moved = moved(old, code) + 1;
            if found.get(kernel).is_none_or(|(most, _)| moved > *most) {
                let old = KernelSource { code: old, sources: old_sources };
                let mut change = change_of_kernel(old, KernelSource { code, sources: new_sources });
                change.series = ours.id.to_string();
                change.configuration = row.configuration.to_string();
                change.facts = facts(before, row);
                change.facts.extend(live_registers(old.code, code));
                found.insert(kernel, (moved, change));
            }
        }
    }
    found.into_values().map(|(_, change)| change).collect()
}

/// Whether two revisions of a kernel have the same code.
fn same(old: &CountedCode, new: &CountedCode) -> bool {
    let ptx = |code: &CountedCode| normal(&code.listing.lines, |line| diff::normal(&line.3));
    let machine = |code: &CountedCode| normal(&code.listing.machine, diff::normal_machine);
    old.listing == new.listing
        || ptx(old) == ptx(new) && (!have_machine(old, new) || machine(old) == machine(new))
}

fn normal<L>(lines: &[L], of: impl Fn(&L) -> String) -> Vec<String> {
    lines.iter().map(of).collect()
}

/// Whether the machine code of both is known.
fn have_machine(old: &CountedCode, new: &CountedCode) -> bool {
    [old, new].iter().all(|code| !code.listing.machine.is_empty())
}

/// How far the counts of two revisions are apart.
fn moved(old: &CountedCode, new: &CountedCode) -> u64 {
    let total = |code: &CountedCode, of| code.lines().map(|(_, counts)| counts[of]).sum::<u64>();
    MOVED.into_iter().map(|of| total(old, of).abs_diff(total(new, of))).sum()
}

/// The code of a kernel in a revision, and the lines of that revision's sources.
#[derive(Clone, Copy)]
struct KernelSource<'r> {
    code: &'r CountedCode,
    sources: &'r Sources,
}

fn change_of_kernel(before: KernelSource<'_>, after: KernelSource<'_>) -> CodeChange {
    let lines = source_pairs(before, after);
    let (old, new) = (before.code, after.code);
    let machine_opcodes = have_machine(old, new).then(|| opcodes::of_machine(old, new));
    let executed = machine_opcodes.as_ref().is_some_and(|mix| mix.executed);
    CodeChange {
        kernel: new.listing.kernel.clone(),
        costs: costs::changes((old, new), &lines.matched),
        // The counts of a GPU are those of the machine code, which says more than the PTX then.
        opcodes: if executed { Vec::new() } else { opcodes::of_ptx(old, new) },
        source: source_rows(&lines.rows),
        ptx: ptx(old, new),
        machine: if have_machine(old, new) { machine(old, new) } else { Vec::new() },
        machine_opcodes,
        ..CodeChange::default()
    }
}

/// The rows around changed lines of a source, with the name of a file at its first row if there are
/// several.
fn source_rows(rows: &[DiffRow]) -> Vec<DiffRow> {
    let several = rows.windows(2).any(|pair| pair[0].file != pair[1].file);
    let mut last = None;
    let mut shown = context(rows);
    for row in &mut shown {
        let file = row.file.take();
        if several && file != last {
            row.file.clone_from(&file);
        }
        last = file;
    }
    shown
}

/// The PTX around changed lines.
fn ptx(old: &CountedCode, new: &CountedCode) -> Vec<DiffRow> {
    let normal = |line: &ListedLine| diff::normal(&line.3);
    let line = |line: &ListedLine| DiffLine(line.0, line.3.clone());
    side_by_side((&old.listing.lines, &new.listing.lines), normal, line)
}

/// The machine code around changed instructions.
fn machine(old: &CountedCode, new: &CountedCode) -> Vec<DiffRow> {
    let line =
        |line: &MachineLine| DiffLine(u32::try_from(line.0).unwrap_or(u32::MAX), line.3.clone());
    side_by_side((&old.listing.machine, &new.listing.machine), diff::normal_machine, line)
}

fn side_by_side<L>(
    (before, after): (&[L], &[L]),
    normal_of: impl Fn(&L) -> String,
    line: impl Fn(&L) -> DiffLine,
) -> Vec<DiffRow> {
    let row = |pair: Pair| DiffRow {
        before: pair.before.map(|at| line(&before[at])),
        after: pair.after.map(|at| line(&after[at])),
        same: pair.same,
        ..DiffRow::default()
    };
    let all = pairs(&normal(before, &normal_of), &normal(after, &normal_of));
    context(&all.into_iter().map(row).collect::<Vec<_>>())
}

/// The source of a kernel in two revisions.
struct SourcePairs<'r> {
    rows: Vec<DiffRow>,
    /// The lines that correspond to each other.
    matched: Vec<(SourceLine<'r>, SourceLine<'r>)>,
}

/// The known lines of all files side by side: the lines of the kernel, or all lines if none of
/// those changed. Then a change elsewhere, such as in an index function, changed the kernel.
fn source_pairs<'r>(before: KernelSource<'r>, after: KernelSource<'r>) -> SourcePairs<'r> {
    let (old, new) = (before.code, after.code);
    let (mut rows, mut matched) = (Vec::new(), Vec::new());
    let files = old.listing.files.iter().chain(&new.listing.files).map(String::as_str);
    for file in files.collect::<BTreeSet<&str>>() {
        let both = FilePairs::new(file, before.sources, after.sources);
        let Some(FilePairs { before, after, pairs, corresponding }) = both else { continue };
        let place = |line| SourceLine { file, line };
        let numbers = |(a, b): (usize, usize)| (place(before[a].0), place(after[b].0));
        matched.extend(corresponding.into_iter().map(numbers));
        let (old_range, new_range) = (lines_of(old, file), lines_of(new, file));
        for pair in pairs {
            let line = |(number, text): (u32, &str)| DiffLine(number, text.to_owned());
            let is_of_kernel = pair.before.is_some_and(|at| old_range.contains(&before[at].0))
                || pair.after.is_some_and(|at| new_range.contains(&after[at].0));
            let row = DiffRow {
                before: pair.before.map(|at| line(before[at])),
                after: pair.after.map(|at| line(after[at])),
                same: pair.same,
                file: Some(file.to_owned()),
            };
            rows.push((row, is_of_kernel));
        }
    }
    let kernel_changed = rows.iter().any(|(row, is_of_kernel)| *is_of_kernel && !row.same);
    let of_kernel = rows.iter().filter(|(_, is_of_kernel)| *is_of_kernel);
    let used: BTreeSet<String> =
        of_kernel.flat_map(|(row, _)| texts(row)).flat_map(names).map(str::to_owned).collect();
    rows.retain(|(row, is_of_kernel)| {
        let defines = || !row.same && texts(row).filter_map(constant).any(|it| used.contains(it));
        *is_of_kernel || !kernel_changed || defines()
    });
    SourcePairs { rows: rows.into_iter().map(|(row, _)| row).collect(), matched }
}

fn texts(row: &DiffRow) -> impl Iterator<Item = &str> {
    [&row.before, &row.after].into_iter().flatten().map(|line| &*line.1)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The constant that a line of Rust or C++ defines: `const N: u32 = 8;`, `constexpr int N = 8;` or
/// `#define N 8`.
fn constant(text: &str) -> Option<&str> {
    if let Some(rest) = text.trim_start().strip_prefix("#define") {
        return names(rest).next();
    }
    let (defined, _) = text.split_once('=')?;
    let (name, _) = defined.split_once(": ").unwrap_or((defined, ""));
    let keyword = |word: &str| ["const", "constexpr", "static"].contains(&word);
    names(defined).any(keyword).then(|| names(name).last())?
}

/// The known lines of a file in two revisions.
struct FilePairs<'s> {
    before: Vec<(u32, &'s str)>,
    after: Vec<(u32, &'s str)>,
    /// The positions of all lines, side by side.
    pairs: Vec<Pair>,
    /// The positions of lines that correspond to each other.
    corresponding: Vec<(usize, usize)>,
}

impl<'s> FilePairs<'s> {
    /// The lines of `file`, if both sides have some.
    fn new(file: &str, old: &'s Sources, new: &'s Sources) -> Option<Self> {
        Self::of_moved(file, old, file, new)
    }

    /// The lines of a file that has another name in each revision, if both sides have some.
    fn of_moved(
        old_file: &str,
        old: &'s Sources,
        new_file: &str,
        new: &'s Sources,
    ) -> Option<Self> {
        let before: Vec<(u32, &str)> = old.lines(old_file).collect();
        let after: Vec<(u32, &str)> = new.lines(new_file).collect();
        if before.is_empty() || after.is_empty() {
            return None;
        }
        let texts = |lines: &[(u32, &str)]| -> Vec<String> {
            lines.iter().map(|(_, text)| text.trim().to_owned()).collect()
        };
        let (old, new) = (texts(&before), texts(&after));
        let pairs = pairs(&old, &new);
        let corresponding = correspondences(&old, &new, &pairs);
        Some(Self { before, after, pairs, corresponding })
    }
}

/// The lines of a file from the first to the last that has counts.
fn lines_of(code: &CountedCode, file: &str) -> Range<u32> {
    let places = code.listing.lines.iter().filter_map(|line| code.source(line));
    let lines = places.filter(|at| at.file == file).map(|at| at.line);
    let ends = lines.map(|line| (line, line));
    let ends = ends.reduce(|(first, last), (line, _)| (first.min(line), last.max(line)));
    ends.map_or(0..0, |(first, last)| first..last + 1)
}

/// The numbers of the lines that differ between two texts, from 1, of each.
pub fn changed_lines(before: &str, after: &str) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let texts =
        |text: &str| -> Vec<String> { text.lines().map(|it| it.trim().to_owned()).collect() };
    let changed = pairs(&texts(before), &texts(after)).into_iter().filter(|pair| !pair.same);
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    for pair in changed {
        old.extend(pair.before.map(number));
        new.extend(pair.after.map(number));
    }
    (old, new)
}

/// The most live registers of both, with their places, if they differ.
fn live_registers(old: &CountedCode, new: &CountedCode) -> Option<(String, String, String)> {
    let most = |code: &CountedCode| {
        let MachineLine(_, ptx, live, _) = code.listing.machine.iter().max_by_key(|it| it.2)?;
        let line = code.listing.lines.iter().find(|line| line.0 == *ptx);
        let place = line.and_then(|line| code.source(line));
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        (*live > 0).then(|| (*live, format!("{live}{place}")))
    };
    let ((before, a), (after, b)) = (most(old)?, most(new)?);
    (before != after).then(|| ("live registers".to_owned(), a, b))
}

/// The facts that differ.
fn facts(
    before: &ConfigurationResult,
    after: &ConfigurationResult,
) -> Vec<(String, String, String)> {
    let text = |row: &ConfigurationResult, name: &str| {
        let unit = best::result(row, name)?.unit;
        Some(gpuprof_model::Quantity::new(best::value(row, name)?, unit).to_string())
    };
    let fact = |name: &str| {
        let (before, after) = (text(before, name)?, text(after, name)?);
        (before != after).then(|| (name.to_owned(), before, after))
    };
    FACTS.into_iter().filter_map(fact).collect()
}

#[cfg(test)]
mod tests;
