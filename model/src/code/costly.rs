//! The source lines with the most of a cost.
//!
//! Input: counted code. Output: for each cost the line with the most of it; nothing for a cost that
//! the launches do not have, or if the PTX names no lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counted::{CountedCode, ListedLine};
use super::counts::{Counter, LineCounts};

/// The source line with the most of a cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostlyLine {
    /// The cost.
    pub cost: AccessCost,
    /// The line: `src/lib.rs:12`.
    pub line: String,
    /// How much it costs there.
    pub amount: u64,
    /// How much it costs in all lines.
    pub total: u64,
    /// Whether the emulated driver counted it for a run on a GPU, whose counters have no lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
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
}

impl AccessCost {
    const ALL: [Self; 12] = [
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
        }
    }

    /// How much of it a line of PTX has.
    fn amount(self, line: &ListedLine, counts: &LineCounts) -> u64 {
        let opcode = line.opcode();
        let kind = opcode.split('.').next().unwrap_or_default();
        let is = |part: &str| opcode.split('.').any(|it| it == part);
        let only = |holds: bool, counter: Counter| if holds { counts[counter] } else { 0 };
        let is_fp64 =
            is("f64") && ["add", "sub", "mul", "fma", "mad", "div", "sqrt"].contains(&kind);
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
            Self::LocalLoads => ("ld", only(is("local"), Counter::Requests)),
            Self::LocalStores => ("st", only(is("local"), Counter::Requests)),
            Self::Fp64Operations => (kind, only(is_fp64, Counter::ThreadInstructionsOn)),
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
            | Self::Fp64Operations => None,
        }
    }

    /// The costs that the metric `name` counts, or on which it depends; none if it counts something
    /// else.
    pub fn of_metric(name: &str) -> &'static [Self] {
        const LOADS: AccessCost = AccessCost::GlobalLoadSectors;
        const STORES: AccessCost = AccessCost::GlobalStoreSectors;
        const WAVES: [AccessCost; 2] =
            [AccessCost::SharedLoadWavefronts, AccessCost::SharedStoreWavefronts];
        const CONFLICTS: [AccessCost; 2] =
            [AccessCost::SharedLoadConflicts, AccessCost::SharedStoreConflicts];
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
            "ptx__local_ld.sum" => &[Self::LocalLoads],
            "ptx__local_st.sum" => &[Self::LocalStores],
            "ptx_fp64_flops" => &[Self::Fp64Operations],
            _ if name.contains("_inst_executed_op_local_ld.sum") => &[Self::LocalLoads],
            _ if name.contains("_inst_executed_op_local_st.sum") => &[Self::LocalStores],
            _ if name.contains("_thread_inst_executed_op_d") => &[Self::Fp64Operations],
            _ if name.contains("_t_sectors_pipe_lsu_mem_global_op_ld.sum") => &[LOADS],
            _ if name.contains("_t_sectors_pipe_lsu_mem_global_op_st.sum") => &[STORES],
            _ if name.contains("_wavefronts_mem_shared_op_ld.sum") => &WAVES[..1],
            _ if name.contains("_wavefronts_mem_shared_op_st.sum") => &WAVES[1..],
            _ => &[],
        }
    }
}

/// Of `lines` the one with the most of one of these `costs`; of the cost of accesses, the avoidable
/// part comes first.
#[must_use]
pub fn costliest<'l>(lines: &'l [CostlyLine], costs: &[AccessCost]) -> Option<&'l CostlyLine> {
    let counted = lines.iter().filter(|line| costs.contains(&line.cost));
    let order = |line: &CostlyLine| (line.cost.avoidable().is_none(), line.amount);
    counted.reduce(|most, line| if order(line) > order(most) { line } else { most })
}

/// The line with the most of each cost in the code of a measured range. Of equal ones the first.
#[must_use]
pub fn costly_lines(code: &[CountedCode]) -> Vec<CostlyLine> {
    let costly = |cost: AccessCost| {
        let (mut lines, mut total): (BTreeMap<_, u64>, _) = (BTreeMap::new(), 0);
        for (of, (line, counts)) in code.iter().flat_map(|of| of.lines().map(move |it| (of, it))) {
            let amount = cost.amount(line, &counts);
            total += amount;
            if let Some(source) = of.source(line) {
                *lines.entry(source).or_default() += amount;
            }
        }
        let most = lines.into_iter().reduce(|most, next| if next.1 > most.1 { next } else { most });
        let (line, amount) = most.filter(|(_, amount)| *amount > 0)?;
        Some(CostlyLine { cost, line: line.to_string(), amount, total, emulated: false })
    };
    AccessCost::ALL.into_iter().filter_map(costly).collect()
}

#[cfg(test)]
mod tests {

    use super::super::counted::Listing;
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
            line(8, "ld.local.f32 %f1, [%rd5];", &[(Counter::Requests, 5)]),
            line(9, "st.local.f32 [%rd5], %f1;", &[(Counter::Requests, 6)]),
            line(10, "mul.rn.f64 %fd1, %fd2, 0d4000;", &[(Counter::ThreadInstructionsOn, 64)]),
            line(11, "cvt.f64.f32 %fd2, %f1;", &[(Counter::ThreadInstructionsOn, 99)]),
        ]
        .into_iter()
        .unzip();
        let (kernel, files) = ("k".to_owned(), vec!["src/lib.rs".to_owned()]);
        let listing = Listing { kernel, files, lines, ..Listing::default() };
        let code = [CountedCode::new(listing, &counts)];
        let told =
            |it: CostlyLine| format!("{:?} {} {} of {}", it.cost, it.line, it.amount, it.total);
        let told: Vec<String> = costly_lines(&code).into_iter().map(told).collect();
        let expected = [
            "GlobalLoadSectors src/lib.rs:4 64 of 72",
            "SharedStoreWavefronts src/lib.rs:5 64 of 64",
            "SharedStoreConflicts src/lib.rs:5 62 of 62",
            "DivergentBranches src/lib.rs:7 3 of 3",
            "GlobalLoadExcess src/lib.rs:4 48 of 48",
            "LocalLoads src/lib.rs:8 5 of 5",
            "LocalStores src/lib.rs:9 6 of 6",
            "Fp64Operations src/lib.rs:10 64 of 64",
        ];
        assert_eq!(told, expected);
    }
}
