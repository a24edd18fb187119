//! The source lines with the most of a cost.
//!
//! Input: counted code. Output: a cost by line, and for each cost the line with the most of it;
//! nothing for a cost that the launches do not have, or if the PTX names no lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counted::{CountedCode, ListedLine, MachineLine, SourceLine};
use super::counts::{Counter, LineCounts};
use crate::metric::{Catalogue, Formula, Metric};

/// The source line with the most of a cost, or of which the cost grew most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostlyLine {
    /// The cost.
    pub cost: AccessCost,
    /// The line: `src/lib.rs:12`.
    pub line: String,
    /// If it is a line of an inlined function: the line of the kernel that calls it, by the most
    /// expensive of several calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inlined_at: Option<String>,
    /// How many other calls of the function have a part of the amount.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_calls: usize,
    /// How much it costs there.
    pub amount: u64,
    /// How much it costs in all lines.
    pub total: u64,
    /// How much it cost there in the baseline, if it is the line of which the cost grew most; none
    /// if it is the line with the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Whether the emulated driver counted it for a run on a GPU: a GPU's counters have no lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
}

fn is_zero(calls: &usize) -> bool {
    *calls == 0
}

/// A cost of memory accesses, of branches or of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccessCost {
    /// Sectors of global loads.
    GlobalLoadSectors,
    /// Sectors of global stores.
    GlobalStoreSectors,
    /// Wavefronts of shared loads.
    SharedLoadWavefronts,
    /// Wavefronts of shared stores.
    SharedStoreWavefronts,
    /// Bank conflicts of shared loads.
    SharedLoadConflicts,
    /// Bank conflicts of shared stores.
    SharedStoreConflicts,
    /// Branches on which the threads of a warp disagreed.
    DivergentBranches,
    /// Sectors of global loads that the loaded bytes do not need.
    GlobalLoadExcess,
    /// Sectors of global stores that the stored bytes do not need.
    GlobalStoreExcess,
    /// Loads from local memory by warps.
    LocalLoads,
    /// Stores to local memory by warps.
    LocalStores,
    /// Additions, multiplications, divisions and roots of 64-bit floating-point numbers by threads.
    Fp64Operations,
    /// Instructions of the machine code by warps that access local memory: those of ptxas too.
    LocalInstructions,
}

impl AccessCost {
    const ALL: [Self; 13] = [
        Self::GlobalLoadSectors,
        Self::GlobalStoreSectors,
        Self::SharedLoadWavefronts,
        Self::SharedStoreWavefronts,
        Self::SharedLoadConflicts,
        Self::SharedStoreConflicts,
        Self::DivergentBranches,
        Self::GlobalLoadExcess,
        Self::GlobalStoreExcess,
        Self::LocalLoads,
        Self::LocalStores,
        Self::Fp64Operations,
        Self::LocalInstructions,
    ];

    /// What is counted, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::GlobalLoadSectors => "sectors of global loads",
            Self::GlobalStoreSectors => "sectors of global stores",
            Self::SharedLoadWavefronts => "wavefronts of shared loads",
            Self::SharedStoreWavefronts => "wavefronts of shared stores",
            Self::SharedLoadConflicts => "bank conflicts of shared loads",
            Self::SharedStoreConflicts => "bank conflicts of shared stores",
            Self::DivergentBranches => "divergent branches",
            Self::GlobalLoadExcess => "sectors of global loads beyond the ideal ones",
            Self::GlobalStoreExcess => "sectors of global stores beyond the ideal ones",
            Self::LocalLoads => "loads from local memory by warps",
            Self::LocalStores => "stores to local memory by warps",
            Self::Fp64Operations => "FP64 operations of threads",
            Self::LocalInstructions => "local accesses of the machine code by warps",
        }
    }

    /// How much of it a line of PTX has, of which the machine code has these `local_instructions`.
    fn amount(self, (line, counts): (&ListedLine, &LineCounts), local_instructions: u64) -> u64 {
        let kind = line.opcode().split('.').next().unwrap_or_default();
        let excess = counts[Counter::Sectors].saturating_sub(counts[Counter::IdealSectors]);
        let (of, amount) = match self {
            Self::GlobalLoadSectors => ("ld", counts[Counter::Sectors]),
            Self::GlobalStoreSectors => ("st", counts[Counter::Sectors]),
            Self::SharedLoadWavefronts => ("ld", counts[Counter::Wavefronts]),
            Self::SharedStoreWavefronts => ("st", counts[Counter::Wavefronts]),
            Self::SharedLoadConflicts => ("ld", counts.conflicts()),
            Self::SharedStoreConflicts => ("st", counts.conflicts()),
            Self::DivergentBranches => (kind, counts[Counter::DivergentBranches]),
            Self::GlobalLoadExcess => ("ld", excess),
            Self::GlobalStoreExcess => ("st", excess),
            Self::LocalLoads => (kind, counts[Counter::LocalLoads]),
            Self::LocalStores => (kind, counts[Counter::LocalStores]),
            Self::Fp64Operations => (kind, counts[Counter::Fp64Operations]),
            Self::LocalInstructions => (kind, local_instructions),
        };
        if kind == of { amount } else { 0 }
    }

    /// The part of it that a better access would not cost.
    #[must_use]
    pub fn avoidable(self) -> Option<Self> {
        match self {
            Self::GlobalLoadSectors => Some(Self::GlobalLoadExcess),
            Self::GlobalStoreSectors => Some(Self::GlobalStoreExcess),
            Self::SharedLoadWavefronts => Some(Self::SharedLoadConflicts),
            Self::SharedStoreWavefronts => Some(Self::SharedStoreConflicts),
            Self::SharedLoadConflicts
            | Self::SharedStoreConflicts
            | Self::DivergentBranches
            | Self::GlobalLoadExcess
            | Self::GlobalStoreExcess
            | Self::LocalLoads
            | Self::LocalStores
            | Self::Fp64Operations
            | Self::LocalInstructions => None,
        }
    }

    /// The costs that the metric `name` counts, or on which its formula in `catalogue` depends;
    /// none if it counts something else.
    #[must_use]
    pub fn of_derived(name: &str, catalogue: &Catalogue) -> Vec<Self> {
        let counted = Self::of_metric(name);
        let metric = if counted.is_empty() { catalogue.find(name) } else { None };
        let operands = metric.as_deref().and_then(Metric::formula);
        let operands = operands.into_iter().flat_map(Formula::names);
        let mut costs: Vec<Self> =
            operands.flat_map(|operand| Self::of_derived(operand, catalogue)).collect();
        costs.extend(counted);
        costs
    }

    /// The costs that the metric `name` counts; none if it counts something else.
    pub fn of_metric(name: &str) -> &'static [Self] {
        const LOADS: AccessCost = AccessCost::GlobalLoadSectors;
        const STORES: AccessCost = AccessCost::GlobalStoreSectors;
        const WAVES: [AccessCost; 2] =
            [AccessCost::SharedLoadWavefronts, AccessCost::SharedStoreWavefronts];
        const CONFLICTS: [AccessCost; 2] =
            [AccessCost::SharedLoadConflicts, AccessCost::SharedStoreConflicts];
        const LOCAL: [AccessCost; 3] =
            [AccessCost::LocalLoads, AccessCost::LocalStores, AccessCost::LocalInstructions];
        match name {
            "load_sectors_per_request" | "global_load_efficiency" => {
                &[Self::GlobalLoadExcess, LOADS]
            }
            "store_sectors_per_request" | "global_store_efficiency" => {
                &[Self::GlobalStoreExcess, STORES]
            }
            "sectors_per_request" => {
                &[Self::GlobalLoadExcess, Self::GlobalStoreExcess, LOADS, STORES]
            }
            "global_sectors" => &[LOADS, STORES],
            "shared_wavefronts" => &WAVES,
            "bank_conflicts" => &CONFLICTS,
            "ptx_branch_divergence" | "ptx__branches_divergent.sum" => &[Self::DivergentBranches],
            "bank_conflicts_ld" | "most_bank_conflicts_ld" => &CONFLICTS[..1],
            "bank_conflicts_st" | "most_bank_conflicts_st" => &CONFLICTS[1..],
            _ if name.ends_with("__shared_bank_conflicts_op_ld.sum") => &CONFLICTS[..1],
            _ if name.ends_with("__shared_bank_conflicts_op_st.sum") => &CONFLICTS[1..],
            "ptx__local_ld.sum" => &LOCAL[..1],
            "ptx__local_st.sum" => &LOCAL[1..2],
            "local_memory" => &LOCAL,
            "spills" => &LOCAL[2..],
            "fusable_fp64" => &[Self::Fp64Operations],
            _ if LOCAL_COUNTERS.iter().any(|part| name.contains(part)) => {
                if name.contains("_local_ld") || name.contains("_op_ld") {
                    &LOCAL[..1]
                } else if name.contains("_st") {
                    &LOCAL[1..2]
                } else {
                    &LOCAL[..2]
                }
            }
            _ if FP64_COUNTERS.iter().any(|part| name.contains(part)) => &[Self::Fp64Operations],
            _ if name.contains("_t_sectors_pipe_lsu_mem_global_op_ld.sum") => &[LOADS],
            _ if name.contains("_t_sectors_pipe_lsu_mem_global_op_st.sum") => &[STORES],
            _ if name.contains("_wavefronts_mem_shared_op_ld.sum") => &WAVES[..1],
            _ if name.contains("_wavefronts_mem_shared_op_st.sum") => &WAVES[1..],
            _ => &[],
        }
    }
}

/// Parts of the names of counters of local memory, and of arithmetic on doubles.
const LOCAL_COUNTERS: [&str; 2] = ["_inst_executed_op_local", "_mem_local"];
const FP64_COUNTERS: [&str; 4] =
    ["_thread_inst_executed_op_d", "_thread_inst_executed_ops_d", "_op_fp64", "_pipe_fp64"];

/// Of `lines` the one with the most of one of these `costs`. The avoidable part of a cost comes
/// before the cost, and loads from local memory before the stores.
#[must_use]
pub fn costliest<'l>(lines: &'l [CostlyLine], costs: &[AccessCost]) -> Option<&'l CostlyLine> {
    let counted = lines.iter().filter(|line| costs.contains(&line.cost));
    let rank = |cost: AccessCost| match cost {
        AccessCost::LocalStores => 1,
        AccessCost::LocalInstructions => 0,
        _ => 2 + u8::from(cost.avoidable().is_none()),
    };
    let order = |line: &CostlyLine| (rank(line.cost), line.amount);
    counted.reduce(|most, line| if order(line) > order(most) { line } else { most })
}

/// A cost of a measured range by line of the source.
pub struct CostByLine<'c> {
    cost: AccessCost,
    total: u64,
    lines: BTreeMap<SourceLine<'c>, CostOfLine<'c>>,
}

/// The cost of a line in all, and for each call of its function.
#[derive(Default)]
struct CostOfLine<'c> {
    amount: u64,
    by_call: BTreeMap<Option<SourceLine<'c>>, u64>,
}

impl<'c> CostByLine<'c> {
    /// The lines of `code`.
    #[must_use]
    pub fn new(cost: AccessCost, code: &'c [CountedCode]) -> Self {
        let (mut lines, mut total): (BTreeMap<_, CostOfLine<'_>>, _) = (BTreeMap::new(), 0);
        for of in code {
            let local = match cost {
                AccessCost::LocalInstructions => local_instructions(of),
                _ => BTreeMap::new(),
            };
            for (line, counts) in of.lines() {
                let local = local.get(&line.0).copied().unwrap_or_default();
                let amount = cost.amount((line, &counts), local);
                total += amount;
                if let Some(source) = of.source(line) {
                    let cost = lines.entry(source).or_default();
                    cost.amount += amount;
                    *cost.by_call.entry(of.call(line)).or_default() += amount;
                }
            }
        }
        Self { cost, total, lines }
    }

    /// The lines in order, with the cost of each.
    pub fn lines(&self) -> impl Iterator<Item = (&SourceLine<'c>, u64)> {
        self.lines.iter().map(|(line, cost)| (line, cost.amount))
    }

    /// The cost of `line`.
    #[must_use]
    pub fn amount(&self, line: &SourceLine<'_>) -> u64 {
        self.lines.get(line).map_or(0, |cost| cost.amount)
    }

    /// The cost at `line`, if it has any.
    #[must_use]
    pub fn at(&self, line: &SourceLine<'_>) -> Option<CostlyLine> {
        let CostOfLine { amount, by_call } = self.lines.get(line).filter(|it| it.amount > 0)?;
        let calls = by_call.iter().filter(|(_, amount)| **amount > 0);
        let (call, _) = calls.clone().reduce(|most, it| if it.1 > most.1 { it } else { most })?;
        let call = call.as_ref();
        Some(CostlyLine {
            cost: self.cost,
            line: line.to_string(),
            inlined_at: call.map(ToString::to_string),
            other_calls: call.map_or(0, |_| calls.count() - 1),
            amount: *amount,
            total: self.total,
            before: None,
            emulated: false,
        })
    }
}

/// The line with the most of each cost in the code of a measured range. Of equal ones the first.
#[must_use]
pub fn costly_lines(code: &[CountedCode]) -> Vec<CostlyLine> {
    let costly = |cost: AccessCost| {
        let all = CostByLine::new(cost, code);
        let (line, _) = all.lines().reduce(|most, it| if it.1 > most.1 { it } else { most })?;
        all.at(line)
    };
    AccessCost::ALL.into_iter().filter_map(costly).collect()
}

/// How often warps execute machine instructions that access local memory, by the number of the PTX
/// line: as counted, else as often as the line.
fn local_instructions(code: &CountedCode) -> BTreeMap<u32, u64> {
    let is_local = |line: &MachineLine| {
        line.opcode().split('.').next().is_some_and(|kind| ["LDL", "STL"].contains(&kind))
    };
    let ptx: BTreeMap<u32, u64> =
        code.lines().map(|(line, counts)| (line.0, counts[Counter::Instructions])).collect();
    let mut all = BTreeMap::new();
    for (line, times) in code.machine().filter(|(line, _)| is_local(line)) {
        let times = times.or_else(|| ptx.get(&line.1).copied()).unwrap_or_default();
        *all.entry(line.1).or_default() += times;
    }
    all
}

#[cfg(test)]
mod tests {

    use super::super::counted::{InlinedCall, Listing};
    use super::*;

    #[test]
    fn the_line_with_the_most_of_each_cost_is_named() {
        let line = |at, text: &str, counts: &[(Counter, u64)]| {
            let mut line = LineCounts::default();
            counts.iter().for_each(|&(counter, count)| line[counter] = count);
            (ListedLine(at, 1, at, text.into()), line)
        };
        let ideal = Counter::IdealSectors;
        let (lines, counts): (Vec<_>, Vec<_>) = [
            line(3, "ld.global.u32 %r2, [%rd3];", &[(Counter::Sectors, 8), (ideal, 8)]),
            line(4, "@%p1 ld.global.u32 %r3, [%rd3];", &[(Counter::Sectors, 64), (ideal, 16)]),
            line(
                5,
                "st.shared.u32 [%rd4], %r2;",
                &[(Counter::Wavefronts, 64), (Counter::IdealWavefronts, 2)],
            ),
            line(6, "atom.global.add.u32 %r3, [%rd1], 1;", &[(Counter::Sectors, 900)]),
            line(7, "@%p1 bra $end;", &[(Counter::DivergentBranches, 3)]),
            line(8, "ld.u32 %r9, [%rd5];", &[(Counter::LocalLoads, 5)]),
            line(9, "st.u32 [%rd5], %r9;", &[(Counter::LocalStores, 6)]),
            line(10, "mul.rn.f64 %fd1, %fd2, 0d4000;", &[(Counter::Fp64Operations, 64)]),
            line(11, "fma.rn.f32 %f3, %f1, %f2, %f3;", &[(Counter::Instructions, 4)]),
        ]
        .into_iter()
        .unzip();
        let (kernel, files) = ("k".to_owned(), vec!["src/lib.rs".to_owned()]);
        // ptxas spilled a register there.
        let machine = [(8, "LDL R1, [R1]"), (11, "@P0 STL.64 [R1+0x8], R2"), (11, "LDL R2, [R1]")];
        let instruction = |(ptx, text): (u32, &str)| MachineLine(0, ptx, 0, text.to_owned());
        let machine = machine.map(instruction).to_vec();
        let calls = vec![InlinedCall(4, 1, 20)];
        let listing = Listing { kernel, files, lines, calls, machine };
        let code = [CountedCode::new(listing, &counts)];
        let told = |it: CostlyLine| {
            let call = it.inlined_at.map(|call| format!(" for {call}")).unwrap_or_default();
            format!("{:?} {}{call} {} of {}", it.cost, it.line, it.amount, it.total)
        };
        let told: Vec<String> = costly_lines(&code).into_iter().map(told).collect();
        let expected = [
            "GlobalLoadSectors src/lib.rs:4 for src/lib.rs:20 64 of 72",
            "SharedStoreWavefronts src/lib.rs:5 64 of 64",
            "SharedStoreConflicts src/lib.rs:5 62 of 62",
            "DivergentBranches src/lib.rs:7 3 of 3",
            "GlobalLoadExcess src/lib.rs:4 for src/lib.rs:20 48 of 48",
            "LocalLoads src/lib.rs:8 5 of 5",
            "LocalStores src/lib.rs:9 6 of 6",
            "Fp64Operations src/lib.rs:10 64 of 64",
            "LocalInstructions src/lib.rs:11 8 of 8",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_most_expensive_call_is_named_and_others_are_counted() {
        let sectors = [128, 896, 896, 0];
        let line = |at| ListedLine(at, 1, 19, "ld.global.u32 %r2, [%rd3];".into());
        let (lines, calls) = ((1..5).map(line), (1..5).map(|at| InlinedCall(at, 1, 25 + at)));
        let listing = Listing {
            files: vec!["calls.rs".into()],
            lines: lines.collect(),
            calls: calls.collect(),
            ..Listing::default()
        };
        let counts = sectors.map(|sectors| {
            let mut counts = LineCounts::default();
            counts[Counter::Sectors] = sectors;
            counts
        });
        let code = [CountedCode::new(listing, &counts)];
        let costly = &costly_lines(&code)[0];
        let call = costly.inlined_at.as_deref();
        assert_eq!((call, costly.other_calls, costly.amount), (Some("calls.rs:27"), 2, 1920));
    }

    #[test]
    fn avoidable_costs_and_loads_from_local_memory_come_first() {
        let line = |cost, amount| {
            let (line, total) = (format!("{cost:?}"), amount);
            CostlyLine {
                cost,
                line,
                inlined_at: None,
                other_calls: 0,
                amount,
                total,
                before: None,
                emulated: false,
            }
        };
        use AccessCost::{GlobalLoadExcess, GlobalLoadSectors, LocalLoads, LocalStores};
        for (first, other) in [(GlobalLoadExcess, GlobalLoadSectors), (LocalLoads, LocalStores)] {
            let lines = [line(other, 64), line(first, 2), line(first, 1)];
            assert_eq!(costliest(&lines, &[first, other]), Some(&lines[1]));
            assert_eq!(costliest(&lines[..1], &[first, other]), Some(&lines[0]));
        }
    }

    #[test]
    fn a_derived_metric_has_the_costs_of_what_it_is_made_of() {
        use AccessCost::{Fp64Operations, LocalInstructions, LocalLoads, LocalStores};
        let catalogue = Catalogue::built_in();
        for (name, costs) in [
            ("ptx_fp64_flops", &[Fp64Operations][..]),
            ("inst_fp_64", &[Fp64Operations]),
            ("double_precision_fu_utilization", &[Fp64Operations]),
            ("local_memory", &[LocalLoads, LocalStores, LocalInstructions]),
            ("spills", &[LocalInstructions]),
            ("local_load_transactions_per_request", &[LocalLoads]),
            ("l1_local_store_miss", &[LocalStores]),
            ("local_memory_overhead", &[LocalLoads, LocalStores]),
            ("smsp__sass_inst_executed_op_local.sum", &[LocalLoads, LocalStores]),
            ("ptx_instructions", &[]),
        ] {
            let mut found = AccessCost::of_derived(name, &catalogue);
            found.dedup();
            assert_eq!(found, costs, "{name}");
        }
    }
}
