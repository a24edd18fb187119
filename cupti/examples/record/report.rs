//! Prints the values of every mode side by side, and the time of each step.

use serde_json::{Map, Value};

use crate::options::Options;

/// `range metric value…`, one column a mode, and whether they are equal.
pub(crate) fn print_values(options: &Options, values: &Map<String, Value>) {
    if values.is_empty() {
        return;
    }
    for block in &options.blocks {
        let range = Options::range(*block);
        for metric in &options.metrics {
            let found: Vec<_> =
                values.iter().map(|(mode, it)| (mode, &it[&range][metric])).collect();
            let columns: Vec<_> =
                found.iter().map(|(mode, value)| format!("{mode}={value}")).collect();
            let equal = found.windows(2).all(|pair| pair[0].1 == pair[1].1);
            let verdict = if found.len() < 2 {
                ""
            } else if equal {
                " equal"
            } else {
                " differ"
            };
            println!("{range} {metric} {}{verdict}", columns.join(" "));
        }
    }
}

/// `mode pass step ms`, one line each.
pub(crate) fn print_steps(steps: &Map<String, Value>) {
    for (mode, record) in steps {
        for (pass, record) in record["passes"].as_array().into_iter().flatten().enumerate() {
            let steps = record["steps"].as_array().into_iter().flatten();
            let steps: Vec<_> = steps
                .map(|step| format!("{} {}", step["step"].as_str().unwrap_or("?"), step["ms"]))
                .collect();
            println!("# {mode} pass {pass}: {} ms, wall {}", steps.join(" · "), record["wall_ms"]);
        }
    }
}
