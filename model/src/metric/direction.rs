//! The better direction of a hardware counter: a table by the counter's family and the submetric.
//!
//! Input: the two parts of a PerfWorks name, `inst_executed` and `avg.per_cycle_active` of
//! `sm__inst_executed.avg.per_cycle_active`. Output: its direction, and the row that defines it.
//!
//! A family is the counted thing, and a submetric its form: an amount, a rate, a share of the peak
//! or the peak itself. Fewer instructions are better, but more of them per cycle are better too; a
//! bank conflict is bad in every form. A counter without a row has no direction, which is better
//! than a guess.

use crate::metric::entry::Direction::{self, Higher, Lower, Neither};

/// The thing that a family of counters counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Instructions, requests, sectors, bytes and the cycles that a unit is busy with them.
    Work,
    /// Waste, of which less is better in every form: conflicts, stalls, idle slots.
    Waste,
    /// Misses of a cache: fewer are better, and many per second are a good use of the next level as
    /// much as a bad one of this.
    Missed,
    /// What is held at once: warps, blocks.
    Held,
    /// Time that passes.
    Time,
    /// The use of a unit, in percent of its peak.
    Throughput,
    /// A fact that does not measure the quality of a kernel: launched amounts, hits without the
    /// number of look-ups, points in time.
    Fact,
}

/// The form of a counter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    Amount,
    Rate,
    ShareOfPeak,
    /// The possible maximum of the hardware.
    Peak,
}

/// The position of a row's words in a counter's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordPosition {
    /// At its beginning.
    Start,
    /// Anywhere, whole words.
    Inside,
}

use Family::{Fact, Held, Missed, Throughput, Time, Waste, Work};
use WordPosition::{Inside, Start};

/// The families of counters by the words of their names, the first that fits. The names are those
/// that CUPTI 13 has for GV100, TU102, GH100 and GB202.
const FAMILIES: &[(WordPosition, &str, Family)] = &[
    (Inside, "lookup_miss", Missed),
    (Inside, "lookup_hit", Fact),
    (Inside, "bank_conflicts", Waste),
    (Inside, "stalled_selected", Fact),
    (Inside, "stalled", Waste),
    (Inside, "divergent", Waste),
    (Inside, "uniform", Fact),
    (Inside, "idle", Waste),
    (Inside, "throughput", Throughput),
    (Inside, "pending", Fact),
    (Inside, "launched", Fact),
    (Inside, "completed", Fact),
    (Inside, "restored", Fact),
    (Start, "time_duration", Time),
    (Start, "time_active", Time),
    (Start, "cycles_elapsed", Time),
    (Start, "cycles_in", Fact),
    (Inside, "cycles_active", Work),
    (Start, "issue_inst0", Waste),
    (Start, "issue", Work),
    (Start, "warps_inactive", Waste),
    (Start, "warps_active", Held),
    (Start, "warps_eligible", Held),
    (Start, "ctas_active", Held),
    (Start, "cgas_active", Held),
    (Start, "inst", Work),
    (Start, "thread_inst", Work),
    (Start, "ops_path", Work),
    (Start, "pipe", Work),
    (Start, "branch", Work),
    (Start, "data", Work),
    (Start, "bytes", Work),
    (Start, "read_bytes", Work),
    (Start, "write_bytes", Work),
    (Start, "rx_bytes", Work),
    (Start, "tx_bytes", Work),
    (Start, "sectors", Work),
    (Inside, "requests", Work),
    (Start, "dram_read", Work),
    (Start, "dram_write", Work),
    (Start, "dram_sectors", Work),
    (Start, "t", Work),
    (Start, "d", Work),
    (Start, "f", Work),
    (Start, "m", Work),
    (Start, "samp", Work),
    (Start, "texin", Work),
    (Start, "tex_writeback", Work),
    (Start, "lsu_writeback", Work),
    (Start, "l1tex", Work),
    (Start, "mio", Work),
    (Start, "mioc", Work),
    (Start, "mio2rf_writeback", Work),
    (Start, "lts2lrc_sectors", Work),
    (Start, "lrc2xbar_sectors", Work),
    (Start, "xbar2gcc_sectors", Work),
    (Start, "xbar2gpc_sectors", Work),
];

/// The quotients that the hardware calls metrics of their own, by the words of their names, the
/// first that fits.
const RATIOS: &[(WordPosition, &str, Direction)] = &[
    (Inside, "hit_rate", Higher),
    (Inside, "success_rate", Higher),
    (Inside, "compression_rate", Higher),
    (Inside, "achieved_rate", Higher),
    (Inside, "coalescing_achieved", Higher),
    (Start, "branch_targets_threads_uniform", Higher),
    (Start, "data_bytes_per_sector", Higher),
    (Start, "data_bytes_per_wavefront", Higher),
    (Start, "thread_inst_executed", Higher),
    (Start, "threads_launched_per_warp", Higher),
    (Start, "inst_issued_per_issue_active", Higher),
    // A warp that issues is not a stall, and one issues per issue.
    (Inside, "stalled_selected", Neither),
    (Inside, "stalled", Lower),
    (Inside, "latency", Lower),
    (Start, "warps_active_per", Lower),
    (Inside, "per_warp", Lower),
    (Start, "t_sectors_per_request", Lower),
    (Start, "l1tex_average_t_sectors_per_request", Lower),
];

/// Whether the words of `name` hold those of `row` where `at` says.
fn fits(name: &str, at: WordPosition, row: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('_');
    match at {
        Start => name.strip_prefix(row).is_some_and(ends),
        Inside => name.match_indices(row).any(|(place, _)| {
            ends(&name[place + row.len()..]) && (place == 0 || name[..place].ends_with('_'))
        }),
    }
}

/// The counter's name without the words for its method and its form.
fn plain(counter: &str) -> &str {
    let counter = counter.strip_prefix("sass_").unwrap_or(counter);
    let mean = counter.strip_prefix("average_").or_else(|| counter.strip_prefix("amortized_"));
    mean.unwrap_or(counter)
}

/// The family of `counter`, a name without its unit and submetric, and the words that say so.
fn family(counter: &str) -> Option<(&'static str, Family)> {
    let rows = FAMILIES.iter();
    rows.filter(|(at, row, _)| fits(counter, *at, row)).map(|(_, row, f)| (*row, *f)).next()
}

/// The direction of the counter `base`, with its unit and without its submetric, in the form
/// `suffix`, and the reason.
pub(super) fn classify(base: &str, suffix: &str) -> (Direction, String) {
    let counter = plain(base.split_once("__").map_or(base, |(_, counter)| counter));
    if let "ratio" | "pct" | "max_rate" = suffix {
        let row = RATIOS.iter().find(|(at, row, _)| fits(counter, *at, row));
        return match row {
            _ if suffix == "max_rate" => (Neither, "the largest value that it can have".into()),
            Some((_, row, direction)) => (*direction, format!("ratios called `{row}`")),
            None => (Neither, "a ratio that no row of the table names".into()),
        };
    }
    let form = value_form(suffix);
    let Some((row, family)) = family(counter) else {
        return (Neither, "a family of counters that no row of the table names".into());
    };
    let direction = match (family, form) {
        (_, ValueForm::Peak) | (Fact, _) => Neither,
        (Waste, _) | (Work | Missed | Time, ValueForm::Amount) => Lower,
        (Work | Held, ValueForm::Rate | ValueForm::ShareOfPeak)
        | (Throughput, ValueForm::ShareOfPeak) => Higher,
        (Held | Throughput, ValueForm::Amount) | (Missed, _) => Neither,
        // Elapsed cycles a second are a clock, which is none of the kernel's doing.
        (Time | Throughput, ValueForm::Rate) | (Time, ValueForm::ShareOfPeak) => Neither,
    };
    (direction, format!("{} of {}: counters called `{row}`", form.word(), family.word()))
}

fn value_form(suffix: &str) -> ValueForm {
    let submetric = suffix.split_once('.').map_or("", |(_, submetric)| submetric);
    if submetric.starts_with("peak_") {
        ValueForm::Peak
    } else if submetric.starts_with("pct_") {
        ValueForm::ShareOfPeak
    } else if submetric.starts_with("per_") {
        ValueForm::Rate
    } else {
        ValueForm::Amount
    }
}

impl ValueForm {
    fn word(self) -> &'static str {
        match self {
            Self::Amount => "the amount",
            Self::Rate => "the rate",
            Self::ShareOfPeak => "the share of the peak",
            Self::Peak => "the peak",
        }
    }
}

impl Family {
    fn word(self) -> &'static str {
        match self {
            Work => "work",
            Waste => "waste",
            Missed => "misses",
            Held => "what is held at once",
            Time => "time",
            Throughput => "a unit's use",
            Fact => "a fact",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(name: &str) -> Direction {
        let (base, suffix) = name.split_once('.').unwrap();
        classify(base, suffix).0
    }

    #[test]
    fn family_and_submetric_determine_the_direction() {
        for (name, expected) in [
            ("smsp__inst_executed.sum", Lower),
            ("sm__inst_executed.avg.per_cycle_active", Higher),
            ("sm__inst_executed.sum.pct_of_peak_sustained_active", Higher),
            ("sm__inst_executed.sum.peak_sustained", Neither),
            ("smsp__issue_active.avg.per_cycle_active", Higher),
            ("smsp__issue_inst0.avg.pct_of_peak_sustained_active", Lower),
            ("smsp__warps_eligible.avg.per_cycle_active", Higher),
            ("smsp__warps_active.avg.peak_sustained", Neither),
            ("smsp__average_warps_active_per_inst_executed.ratio", Lower),
            ("smsp__average_thread_inst_executed_per_inst_executed.ratio", Higher),
            ("smsp__thread_inst_executed_pred_on_per_inst_executed.pct", Higher),
            ("smsp__sass_average_branch_targets_threads_uniform.pct", Higher),
            ("smsp__sass_average_branch_targets_threads_uniform.max_rate", Neither),
            ("smsp__sass_branch_targets_threads_divergent.avg", Lower),
            ("smsp__average_warp_latency_per_inst_issued.ratio", Lower),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum", Lower),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum.per_second", Neither),
            ("smsp__warps_issue_stalled_wait.sum.per_second", Lower),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", Neither),
            ("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", Higher),
            ("dram__bytes_read.sum", Lower),
            ("dram__bytes.sum.per_second", Higher),
            ("dram__cycles_elapsed.avg.per_second", Neither),
            ("gpc__cycles_elapsed.max", Lower),
            ("gpu__time_duration.sum", Lower),
            ("sm__ctas_launched.sum", Neither),
            ("l1tex__data_bank_conflicts_pipe_lsu.sum.pct_of_peak_sustained_elapsed", Lower),
            ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", Higher),
            ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", Higher),
            ("xx__never_heard_of.sum", Neither),
        ] {
            assert_eq!(direction(name), expected, "{name}");
        }
    }

    #[test]
    fn the_table_of_directions_matches_whole_words() {
        // `stalled` is in neither, though its letters are.
        assert!(!fits("uninstalled_x", Inside, "stalled") && !fits("stalledx", Inside, "stalled"));
        assert!(fits("warps_issue_stalled_wait", Inside, "stalled"));
        assert!(fits("t_sectors", Start, "t") && !fits("texture", Start, "t"));
    }

    #[test]
    fn every_row_of_the_table_of_directions_is_reachable() {
        for (number, (at, row, _)) in FAMILIES.iter().enumerate() {
            let first = FAMILIES.iter().position(|(at, other, _)| fits(row, *at, other));
            assert_eq!(first, Some(number), "{at:?} {row}");
        }
    }
}
