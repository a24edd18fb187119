//! Counts by line as JSON, for editors.

use std::collections::BTreeMap;

use gpuprof_analysis::view::View;
use gpuprof_model::code::{Counter, LineCounts, MachineLine};
use gpuprof_model::run::Run;
use serde::Serialize;

use super::configuration::{Chosen, chosen};
use super::lines::{self, Executed, lines, machine};
use super::place::FileLine;

/// The counts of a run by line.
#[derive(Serialize)]
pub(super) struct Document<'r> {
    run: &'r str,
    series: Vec<Series>,
}

/// One configuration of a series.
#[derive(Serialize)]
struct Series {
    series: String,
    configuration: String,
    /// Why it is this one.
    why: String,
    lines: Vec<Line>,
}

/// A line of the source.
#[derive(Serialize)]
struct Line {
    file: String,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Why its text is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_text: Option<&'static str>,
    /// The largest share that it has of any cost, from 0 to 1.
    heat: f64,
    counts: BTreeMap<Counter, u64>,
    /// The lines of the kernel that call it, if it is of an inlined function.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inlined_at: Vec<String>,
    /// The most registers that hold a value in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_registers: Option<u32>,
    /// How often warps executed each opcode: of the machine code if that was counted, else of the
    /// PTX.
    opcodes: BTreeMap<String, u64>,
    ptx: Vec<Instruction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    machine: Vec<MachineInstruction>,
}

/// A line of PTX.
#[derive(Serialize)]
struct Instruction {
    ptx_line: u32,
    text: String,
    counts: BTreeMap<Counter, u64>,
}

/// A machine instruction.
#[derive(Serialize)]
struct MachineInstruction {
    /// In its function, in bytes.
    offset: u64,
    ptx_line: u32,
    /// How often warps executed it, if that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    executed: Option<u64>,
    /// The registers that hold a value there.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_registers: Option<u32>,
    text: String,
}

impl From<Executed<'_>> for MachineInstruction {
    fn from((MachineLine(offset, ptx_line, live, text), executed): Executed<'_>) -> Self {
        let (offset, ptx_line, text) = (*offset, *ptx_line, text.clone());
        Self { offset, ptx_line, executed, live_registers: known(*live), text }
    }
}

/// Live registers, if nvdisasm knows them.
fn known(live: u32) -> Option<u32> {
    (live > 0).then_some(live)
}

/// The counts of `run` by line, or those of `place` alone.
pub(super) fn document<'r>(run: &'r Run, view: &View, place: Option<&FileLine>) -> Document<'r> {
    let series = run.series.iter().filter_map(|series| {
        let viewed = view.within(series, usize::MAX);
        let Chosen { row, why } = chosen(&viewed.series, view)?;
        let wanted = |line: &lines::Line<'_>| {
            place.is_none_or(|at| at.line == line.place.line && at.is_in(line.place.file))
        };
        let line = |line: lines::Line<'_>| Line {
            file: line.place.file.to_owned(),
            line: line.place.line,
            text: run.provenance.sources.line(line.place.file, line.place.line).map(str::to_owned),
            no_text: run.provenance.sources.missing(line.place.file),
            heat: line.heat,
            counts: nonzero(&line.counts),
            inlined_at: line.calls.iter().map(ToString::to_string).collect(),
            live_registers: known(line.live),
            opcodes: line
                .opcodes
                .iter()
                .map(|(name, times)| ((*name).to_owned(), *times))
                .collect(),
            ptx: row
                .code
                .iter()
                .flat_map(|code| {
                    let of_line = code
                        .lines()
                        .filter(|(ptx, _)| code.source(ptx) == Some(line.place.clone()));
                    of_line.map(|(ptx, counts)| Instruction {
                        ptx_line: ptx.0,
                        text: ptx.3.clone(),
                        counts: nonzero(&counts),
                    })
                })
                .collect(),
            machine: machine(row, &line.place).into_iter().map(Into::into).collect(),
        };
        let lines = lines(row).into_iter().filter(wanted).map(line).collect();
        let (id, configuration) = (series.id.to_string(), row.configuration.to_string());
        Some(Series { series: id, configuration, why: why.to_string(), lines })
    });
    Document { run: &run.id, series: series.collect() }
}

fn nonzero(counts: &LineCounts) -> BTreeMap<Counter, u64> {
    Counter::ALL
        .into_iter()
        .map(|counter| (counter, counts[counter]))
        .filter(|(_, n)| *n > 0)
        .collect()
}
