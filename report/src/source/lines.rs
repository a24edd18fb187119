//! The source lines of a configuration with their counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::Quantity;
use gpuprof_model::Unit;
use gpuprof_model::code::{CountedCode, Counter, LineCounts, MachineLine, SourceLine, Sources};
use gpuprof_model::measurement::SourceCollection;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::text::one_line;
use gpuprof_model::verdict::Judgement;

/// A line of the source.
pub(crate) struct Line<'r> {
    /// Its place.
    pub(crate) place: SourceLine<'r>,
    /// Its counts.
    pub(crate) counts: LineCounts,
    /// The largest share that it has of any cost of the configuration, from 0 to 1.
    pub(crate) heat: f64,
    /// The most registers that hold a value in it; 0 without machine code.
    pub(crate) live: u32,
    /// How often warps executed each opcode: of the machine code if that was counted, else of the
    /// PTX.
    pub(crate) opcodes: BTreeMap<&'r str, u64>,
    /// The lines of the kernel that call it, if it is of an inlined function: the call with the
    /// most of the cost that makes the line hot comes first.
    pub(crate) calls: Vec<SourceLine<'r>>,
}

impl<'r> Line<'r> {
    fn new(place: SourceLine<'r>) -> Self {
        let (counts, opcodes, calls) = Default::default();
        Self { place, counts, heat: 0.0, live: 0, opcodes, calls }
    }
}

/// `inlined at src/lib.rs:58 and 1 more`, for a line of an inlined function; of many calls it names
/// the most expensive.
pub(crate) fn inlined_at(line: &Line<'_>) -> Option<String> {
    let first = line.calls.first()?;
    let more = and_more(line.calls.len() - 1);
    Some(format!("inlined at {}{more}", one_line(&first.to_string())))
}

/// ` and 2 more`; nothing for none.
pub(crate) fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {count} more") }
}

/// How a GPU's counts by line were collected, in words.
pub(crate) fn collected(source: &SourceCollection) -> String {
    let number = |value: u64| Quantity::new(value as f64, Unit::Count).to_string();
    let SourceCollection { ranges, samples, dropped, missing } = source;
    let dropped = match dropped {
        0 => String::new(),
        some => format!(", {} lost", number(*some)),
    };
    let launches = if *ranges == 1 { "launch" } else { "launches" };
    let sampled = format!("{} samples of {ranges} {launches}{dropped}", number(*samples));
    let parts = ["counts of the machine code".to_owned(), sampled];
    let missing = missing.iter().map(|why| format!("; no {}", one_line(why)));
    parts.join(", ") + &missing.collect::<String>()
}

/// A machine instruction of a line, and how often warps executed it, if that was counted.
pub(crate) type Executed<'r> = (&'r MachineLine, Option<u64>);

/// The machine code of `row` that belongs to a line of the source.
pub(crate) fn machine<'r>(
    row: &'r ConfigurationResult,
    place: &SourceLine<'_>,
) -> Vec<Executed<'r>> {
    let of_code = |code: &'r CountedCode| {
        let lines = code.listing.lines.iter();
        let here = lines.filter(|line| code.source(line).as_ref() == Some(place));
        let ptx: BTreeSet<u32> = here.map(|line| line.0).collect();
        code.machine().filter(move |(instruction, _)| ptx.contains(&instruction.1))
    };
    row.code.iter().flat_map(of_code).collect()
}

/// The costs that make a line hot.
fn costs(counts: &LineCounts) -> [u64; 8] {
    let excess = counts[Counter::Sectors].saturating_sub(counts[Counter::IdealSectors]);
    let count_of = |counter: Counter| counts[counter];
    [
        count_of(Counter::Instructions),
        excess,
        counts.conflicts(),
        count_of(Counter::DivergentBranches),
        count_of(Counter::LocalLoads),
        count_of(Counter::LocalStores),
        count_of(Counter::Fp64Operations),
        count_of(Counter::Samples),
    ]
}

/// The lines of `row`, by file and number; PTX without a line in the source is left out.
pub(crate) fn lines<'r>(row: &'r ConfigurationResult) -> Vec<Line<'r>> {
    let mut all: BTreeMap<SourceLine<'r>, Line<'r>> = BTreeMap::new();
    row.code.iter().for_each(|code| add(code, &mut all));
    let mut calls = calls(&row.code);
    let mut totals = [0; 8];
    for line in all.values() {
        totals.iter_mut().zip(costs(&line.counts)).for_each(|(total, cost)| *total += cost);
    }
    let finish = |line: Line<'r>| {
        let shares = costs(&line.counts).into_iter().zip(totals).enumerate();
        let shares = shares.map(|(at, (cost, total))| (cost as f64 / total.max(1) as f64, at));
        // Of equal shares the last: that of the instructions is the least informative.
        let hottest = shares.max_by(|a, b| a.0.total_cmp(&b.0));
        let (heat, at) = hottest.unwrap_or_default();
        let mut calls: Vec<_> = calls.remove(&line.place).into_iter().flatten().collect();
        calls.sort_by_key(|(_, counts)| Reverse((costs(counts)[at], costs(counts))));
        Line { heat, calls: calls.into_iter().map(|(call, _)| call).collect(), ..line }
    };
    all.into_values().map(finish).collect()
}

/// The calls of inlined functions, for each line of such a function with the counts of each call.
type Calls<'r> = BTreeMap<SourceLine<'r>, BTreeMap<SourceLine<'r>, LineCounts>>;

fn calls(all: &[CountedCode]) -> Calls<'_> {
    let mut calls = Calls::new();
    for code in all {
        for (ptx, counts) in code.lines() {
            if let (Some(place), Some(call)) = (code.source(ptx), code.call(ptx)) {
                *calls.entry(place).or_default().entry(call).or_default() += counts;
            }
        }
    }
    calls
}

/// Adds the lines of a kernel.
fn add<'r>(code: &'r CountedCode, all: &mut BTreeMap<SourceLine<'r>, Line<'r>>) {
    let mut places: BTreeMap<u32, SourceLine<'_>> = BTreeMap::new();
    for (ptx, counts) in code.lines() {
        let Some(place) = code.source(ptx) else { continue };
        places.insert(ptx.0, place.clone());
        let line = all.entry(place.clone()).or_insert_with(|| Line::new(place));
        line.counts += counts;
        if code.executed.is_none() && !ptx.opcode().is_empty() {
            *line.opcodes.entry(ptx.opcode()).or_default() += counts[Counter::Instructions];
        }
    }
    for (instruction, times) in code.machine() {
        let Some(line) = places.get(&instruction.1).and_then(|it| all.get_mut(it)) else {
            continue;
        };
        line.live = line.live.max(instruction.2);
        if let Some(times) = times {
            *line.opcodes.entry(instruction.opcode()).or_default() += times;
        }
    }
}

/// The accesses and branches of a line in words: "128 requests, 4,096 sectors where 512 would do".
pub(crate) fn facts(counts: &LineCounts) -> String {
    let number = |value: u64| Quantity::new(value as f64, Unit::Count).to_string();
    let some = |counter: Counter| Some(counts[counter]).filter(|value| *value > 0);
    let of_ideal = |counter: Counter, ideal: Counter| {
        let (all, least) = (some(counter)?, counts[ideal]);
        let less =
            if least < all { format!(" where {} would do", number(least)) } else { String::new() };
        Some(format!("{} {}{less}", number(all), counter.words()))
    };
    let plain = |counter: Counter| Some(format!("{} {}", number(some(counter)?), counter.words()));
    let branches = some(Counter::DivergentBranches).map(|divergent| {
        let all = number(counts[Counter::Branches]);
        format!("{} of {all} branches divergent", number(divergent))
    });
    let waits = counts.most_waited().map(|(state, most)| {
        let all = number(counts[Counter::Samples]);
        format!(
            "{all} samples, {} in {}",
            number(most),
            state.words().trim_start_matches("samples: ")
        )
    });
    let parts = [
        plain(Counter::Requests),
        of_ideal(Counter::Sectors, Counter::IdealSectors),
        of_ideal(Counter::Wavefronts, Counter::IdealWavefronts),
        plain(Counter::Atomics),
        plain(Counter::LocalLoads),
        plain(Counter::LocalStores),
        plain(Counter::Fp64Operations),
        branches,
        waits,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The source text and the counts of the line that costs most, if `judgement` of `series` names
/// one.
pub(crate) fn on_line(
    judgement: &Judgement,
    series: &SeriesResult,
    sources: &Sources,
) -> Vec<String> {
    let (Some(costly), Some(key)) = (&judgement.costly, judgement.configuration.as_deref()) else {
        return Vec::new();
    };
    let mut rows = series.configurations.iter();
    let Some(row) = rows.find(|row| row.configuration.to_string() == key) else {
        return Vec::new();
    };
    let all = lines(row);
    let Some(line) = all.iter().find(|line| line.place.to_string() == costly.line) else {
        return Vec::new();
    };
    let text = sources.line(line.place.file, line.place.line);
    let text = text.map(|text| format!("{} | {}", one_line(&costly.line), one_line(text.trim())));
    text.into_iter().chain([facts(&line.counts)]).filter(|line| !line.is_empty()).collect()
}
