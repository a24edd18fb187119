//! What is said of one metric.

use std::io::{self, Write};

use gpuprof_model::metric::{
    Catalogue, Class, Metric, Origin, counterpart, direction_by_family, is_own,
};

use gpuprof_engine::cupti::Described;

pub(super) fn show(known: &Catalogue, metric: &Metric, out: &mut impl Write) -> io::Result<()> {
    let class = match (known.class_on(metric, true), known.class_on(metric, false)) {
        (Class::Exact, Class::Exact) => "exact",
        (Class::Exact, Class::Noisy) => "exact on the emulator, noisy on a GPU",
        (Class::Noisy, _) => "noisy",
    };
    let needs = match &metric.origin {
        Origin::Time => "a GPU",
        Origin::Energy => "a GPU, by processes that follow those that take times",
        Origin::Launch | Origin::Device => "the driver",
        Origin::Declared => "the annotation",
        Origin::Emulator if metric.name.starts_with("ptx__") => "the emulator",
        // Sums over memory instructions.
        Origin::Emulator if metric.name.contains("_op_") => {
            "the emulator (accesses as the PTX has them: ptxas may merge, unroll or drop some), or hardware counters"
        }
        Origin::Emulator => "the emulator, or hardware counters",
        Origin::Hardware(name) => name,
        Origin::Instructions => "a GPU, by a process that counts each machine instruction",
        Origin::UnifiedMemory => "a GPU, by CUPTI's records of a call of a series function",
        Origin::Derived(formula) => formula.text(),
        Origin::Recorded => "a stored run",
    };
    let unit = match metric.unit.symbol() {
        "" => "a number",
        symbol => symbol,
    };
    writeln!(out, "{}\n    {}", metric.name, metric.description)?;
    let better = metric.direction.words();
    writeln!(out, "    in {unit}; {better}; {class}; from: {needs}")?;
    let counters = known.hardware_names(metric);
    match counters.iter().find_map(|counter| counterpart(counter)) {
        Some(like) => {
            writeln!(out, "    without a GPU: {}", like.of_metric(metric.direction))
        }
        None => Ok(()),
    }
}

/// Writes where unit, direction and class of `metric` come from.
pub(super) fn show_grounds(
    known: &Catalogue,
    metric: &Metric,
    out: &mut impl Write,
) -> io::Result<()> {
    let table = || "gpuprof's table".to_owned();
    let [unit, direction, class] = match &metric.origin {
        _ if is_own(&metric.name) => [table(), table(), table()],
        Origin::Hardware(_) => {
            let family = direction_by_family(&metric.name).unwrap_or_default();
            let name = || "the counter's name".to_owned();
            [name(), format!("the table of counter families ({family})"), name()]
        }
        Origin::Derived(_) if known.defined().any(|defined| defined.name == metric.name) => {
            let definition = || "its definition".to_owned();
            [definition(), definition(), "its operands".to_owned()]
        }
        Origin::Derived(_) => {
            let old = || "gpuprof's table of old names".to_owned();
            [old(), old(), "its operands".to_owned()]
        }
        Origin::Launch | Origin::Device => {
            let facts = || "gpuprof's table of launch facts".to_owned();
            [facts(), facts(), facts()]
        }
        Origin::Recorded => ["a stored run"; 3].map(str::to_owned),
        Origin::Time
        | Origin::Energy
        | Origin::Declared
        | Origin::Emulator
        | Origin::UnifiedMemory
        | Origin::Instructions => [table(), table(), table()],
    };
    let direction = metric.direction_set.as_deref().map_or(direction, str::to_owned);
    writeln!(out, "    unit by {unit}; direction by {direction}; class by {class}")
}

/// The description of a chip's metric below its name, without a line break: NVIDIA's words, if
/// CUPTI gave them, its kind, its unit and its hardware unit.
pub(super) fn described(metric: &Described, indent: &str) -> String {
    let Described { kind, description, hw_unit, dim_unit, .. } = metric;
    let words = match &**description {
        "" => String::new(),
        words => format!("{indent}{words}\n"),
    };
    let unit = if dim_unit.is_empty() { String::new() } else { format!(" of {dim_unit}") };
    format!("{words}{indent}{kind}{unit}; hardware unit: {hw_unit}")
}
