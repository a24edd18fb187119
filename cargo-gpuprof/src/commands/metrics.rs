//! `cargo gpuprof metrics`: the catalogue.

use std::io::{self, Write};

use gpuprof_model::metric::{CATALOGUE, Class, Direction, Metric, Origin};

use crate::cli::MetricsOptions;

/// Prints the metrics that match.
///
/// # Errors
/// Standard output cannot be written.
pub fn metrics(options: &MetricsOptions, out: &mut impl Write) -> io::Result<()> {
    let search = options.search.as_deref().unwrap_or("").to_lowercase();
    let matches = |m: &&Metric| {
        m.name.to_lowercase().contains(&search) || m.description.to_lowercase().contains(&search)
    };
    for metric in CATALOGUE.iter().filter(matches) {
        let better = match metric.direction {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
        };
        let class = match metric.class {
            Class::Exact => "exact",
            Class::Noisy => "noisy",
        };
        let needs = match metric.origin {
            Origin::Time => "a GPU",
            Origin::Launch | Origin::Device => "the driver",
            Origin::Declared => "the annotation",
            Origin::Emulator if metric.name.starts_with("ptx__") => "the emulator",
            Origin::Emulator => "the emulator, or hardware counters",
            Origin::Hardware(name) => name,
            Origin::Derived(formula) => formula,
        };
        let unit = match metric.unit.symbol() {
            "" => "a number",
            symbol => symbol,
        };
        writeln!(out, "{}\n    {}", metric.name, metric.description)?;
        writeln!(out, "    in {unit}; {better} is better; {class}; from: {needs}")?;
    }
    Ok(())
}
