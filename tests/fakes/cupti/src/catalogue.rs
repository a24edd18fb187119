//! The metrics of the fake, and their values.
//!
//! A metric is made of raw counters, each of which is collected in one pass. A counter that the
//! emulator has gets the emulator's count; the others follow from those by a rule of this file, so
//! that every value is a function of the launch and a test can predict it.

use crate::driver::Launch;

/// Chips by the name that CUPTI has for them. All have the same metrics.
pub const CHIPS: [&str; 2] = ["GA100", "GH100"];

/// Multiprocessors, for averages.
const UNITS: f64 = 132.0;

/// The maximum of every counter in a nanosecond.
const PEAK: f64 = 1024.0;

/// The kind of a base metric, numbered as in CUPTI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter = 0,
    Ratio = 1,
    Throughput = 2,
}

/// A base metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// Its raw counters: itself, a ratio of two, a throughput of any number.
    pub raws: &'static [&'static str],
}

macro_rules! counters {
    ($($name:literal)*) => {
        &[$(Metric { name: $name, kind: Kind::Counter, raws: &[$name] }),*]
    };
}

const COUNTERS: &[Metric] = counters! {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld"
    "l1tex__t_requests_pipe_lsu_mem_global_op_st"
    "l1tex__t_requests_pipe_lsu_mem_global_op_red"
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom"
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st"
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red"
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom"
    "smsp__warps_launched"
    "sm__ctas_launched"
    "smsp__sass_data_bytes_mem_global_op_ld"
    "smsp__sass_data_bytes_mem_global_op_st"
    "smsp__sass_data_bytes_mem_shared_op_ld"
    "smsp__sass_data_bytes_mem_shared_op_st"
    "smsp__sass_inst_executed_op_global_ld"
    "smsp__sass_inst_executed_op_global_st"
    "smsp__sass_inst_executed_op_global_red"
    "smsp__sass_inst_executed_op_global_atom"
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld"
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st"
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_red"
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_atom"
    "smsp__sass_branch_targets_threads_divergent"
    "smsp__sass_inst_executed_op_shared_ld"
    "smsp__sass_inst_executed_op_shared_st"
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld"
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st"
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld"
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st"
    "smsp__inst_executed"
    "smsp__thread_inst_executed"
    "sm__cycles_elapsed"
    "sm__cycles_active"
    "gpc__cycles_elapsed"
    "gpu__time_duration"
    "dram__cycles_elapsed"
    "dram__bytes"
    "dram__bytes_read"
    "dram__bytes_write"
    "pcie__read_bytes"
    "gpu__gr_cycles_active_cmd_ctxsw"
};

const OTHERS: &[Metric] = &[
    Metric {
        name: "smsp__thread_inst_executed_per_inst_executed",
        kind: Kind::Ratio,
        raws: &["smsp__thread_inst_executed", "smsp__inst_executed"],
    },
    Metric {
        name: "sm__throughput",
        kind: Kind::Throughput,
        raws: &["smsp__inst_executed", "smsp__thread_inst_executed"],
    },
    Metric {
        name: "gpu__dram_throughput",
        kind: Kind::Throughput,
        raws: &["dram__bytes_read", "dram__bytes_write"],
    },
];

/// All base metrics.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    COUNTERS.iter().chain(OTHERS)
}

/// The metric called `name`, without a suffix.
pub fn base(name: &str) -> Option<&'static Metric> {
    metrics().find(|metric| metric.name == name)
}

/// The metric of `name`, and its suffix, with the dot.
pub fn split(name: &str) -> Option<(&'static Metric, &str)> {
    let end = name.find('.').unwrap_or(name.len());
    Some((base(&name[..end])?, &name[end..]))
}

/// The possible suffixes of a metric's name, each with its dot.
pub fn submetrics(kind: Kind) -> Vec<String> {
    let rollups = [".sum", ".avg", ".min", ".max"];
    let with = |ends: &[&str]| {
        rollups.iter().flat_map(|r| ends.iter().map(move |end| format!("{r}{end}"))).collect()
    };
    match kind {
        Kind::Counter => with(&[
            "",
            ".per_second",
            ".peak_sustained",
            ".pct_of_peak_sustained_active",
            ".pct_of_peak_sustained_elapsed",
        ]),
        Kind::Ratio => [".ratio", ".pct", ".max_rate"].map(str::to_owned).into(),
        Kind::Throughput => {
            with(&[".pct_of_peak_sustained_active", ".pct_of_peak_sustained_elapsed"])
        }
    }
}

/// The value of a counter for one launch.
pub fn count(raw: &str, launch: &Launch) -> f64 {
    let of = |name: &str| launch.counters.get(name).copied().unwrap_or(0);
    let sectors = |op: &str| of(&format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"));
    let value = match raw {
        "smsp__inst_executed" => of("ptx__inst_executed.sum"),
        "smsp__thread_inst_executed" => of("ptx__thread_inst_executed.sum"),
        "smsp__sass_branch_targets_threads_divergent" => of("ptx__branches_divergent.sum"),
        "gpu__time_duration" => launch.nanoseconds,
        "sm__cycles_elapsed" | "sm__cycles_active" | "gpc__cycles_elapsed" => {
            2 * launch.nanoseconds
        }
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld" => {
            of("ptx__shared_bank_conflicts_op_ld.sum")
        }
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st" => {
            of("ptx__shared_bank_conflicts_op_st.sum")
        }
        "dram__cycles_elapsed" => 3 * launch.nanoseconds,
        "dram__bytes" => 32 * (sectors("ld") + sectors("st")),
        "dram__bytes_read" => 32 * sectors("ld"),
        "dram__bytes_write" => 32 * sectors("st"),
        _ => of(&format!("{raw}.sum")),
    };
    #[expect(clippy::cast_precision_loss, reason = "tests launch small kernels")]
    let value = value as f64;
    value
}

/// What is known of a counter over a range: how much it counted, and in which time. NaN where it
/// was not collected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub value: f64,
    pub nanoseconds: f64,
}

/// The value of a metric of which the `raws` were counted, in their order; none for a submetric
/// that it does not have.
pub fn evaluate(metric: &Metric, submetric: &str, raws: &[Counted]) -> Option<f64> {
    if !submetrics(metric.kind).iter().any(|known| known == submetric) {
        return None;
    }
    let value = match (metric.kind, submetric) {
        (Kind::Counter, _) => {
            let Counted { value, nanoseconds } = raws[0];
            let (rollup, of) = submetric[1..].split_once('.').unwrap_or((&submetric[1..], ""));
            let rolled = match rollup {
                "avg" => value / UNITS,
                "min" => (value / UNITS).floor(),
                "max" => (value / UNITS).ceil(),
                _ => value,
            };
            match of {
                "" => rolled,
                "per_second" => rolled / nanoseconds * 1e9,
                "peak_sustained" => PEAK,
                _ => 100.0 * rolled / (PEAK * nanoseconds),
            }
        }
        (Kind::Ratio, ".pct") => 100.0 * raws[0].value / raws[1].value,
        (Kind::Ratio, ".max_rate") => 32.0,
        (Kind::Ratio, _) => raws[0].value / raws[1].value,
        (Kind::Throughput, _) => {
            let share = |raw: &Counted| 100.0 * raw.value / (PEAK * raw.nanoseconds);
            raws.iter().map(share).fold(0.0, |most: f64, share| {
                if share.is_nan() {
                    share
                } else if most.is_nan() {
                    most
                } else {
                    most.max(share)
                }
            })
        }
    };
    Some(value)
}
