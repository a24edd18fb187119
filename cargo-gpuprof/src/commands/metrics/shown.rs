//! What is said of one metric.

use std::io::{self, Write};

use gpuprof_model::metric::{Catalogue, Class, Direction, Metric, Origin};

pub(super) fn show(known: &Catalogue, metric: &Metric, out: &mut impl Write) -> io::Result<()> {
    let better = match metric.direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    };
    let class = match (known.class_on(metric, true), known.class_on(metric, false)) {
        (Class::Exact, Class::Exact) => "exact",
        (Class::Exact, Class::Noisy) => "exact on the emulator, noisy on a GPU",
        (Class::Noisy, _) => "noisy",
    };
    let needs = match &metric.origin {
        Origin::Time => "a GPU",
        Origin::Launch | Origin::Device => "the driver",
        Origin::Declared => "the annotation",
        Origin::Emulator if metric.name.starts_with("ptx__") => "the emulator",
        // Sums over memory instructions.
        Origin::Emulator if metric.name.contains("_op_") => {
            "the emulator (accesses as the PTX has them: ptxas may merge, unroll or drop some), or hardware counters"
        }
        Origin::Emulator => "the emulator, or hardware counters",
        Origin::Hardware(name) => name,
        Origin::Derived(formula) => formula.text(),
        Origin::Recorded => "a stored run",
    };
    let unit = match metric.unit.symbol() {
        "" => "a number",
        symbol => symbol,
    };
    writeln!(out, "{}\n    {}", metric.name, metric.description)?;
    writeln!(out, "    in {unit}; {better} is better; {class}; from: {needs}")
}

pub(super) fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" of {unit}") }
}
