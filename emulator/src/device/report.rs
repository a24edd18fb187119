//! Launches and faults as JSON.

use super::{Chip, LaunchConfig, LaunchRecord};
use crate::machine::FaultReport;
use std::fmt::Write;

/// A JSON string.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("[{x},{y},{z}]")
}

/// A launch and its counters.
pub fn launch_json(launch: &LaunchRecord) -> String {
    let counters: Vec<String> =
        launch.counters.iter().map(|(name, value)| format!("{}:{value}", quote(name))).collect();
    let unclaimed = launch.unclaimed.iter();
    let unclaimed: Vec<String> =
        unclaimed.map(|(name, reason)| format!("{}:{}", quote(name), quote(reason))).collect();
    let costly = launch.costly.iter().map(|costly| {
        format!(
            "{{\"cost\":{},\"line\":{},\"amount\":{},\"total\":{}}}",
            quote(costly.cost),
            quote(&costly.line),
            costly.amount,
            costly.total
        )
    });
    let costly: Vec<String> = costly.collect();
    format!(
        "{{\"kernel\":{},\"grid\":{},\"block\":{},\"shared_bytes\":{},\"stream\":{},\
         \"checks\":{{\"init\":{},\"race\":{},\"races_in_part\":{},\"checked_blocks\":{},\
         \"blocks\":{}}},\
         \"counters\":{{{}}},\"unclaimed\":{{{}}},\"costly\":[{}]}}",
        quote(&launch.kernel),
        triple(launch.config.grid),
        triple(launch.config.block),
        launch.config.shared_bytes,
        launch.stream,
        launch.checks.init,
        launch.checks.race,
        launch.races_in_part,
        launch.checks.covered(launch.blocks()),
        launch.blocks(),
        counters.join(","),
        unclaimed.join(","),
        costly.join(",")
    )
}

/// A launch that was refused, and why.
pub fn refusal_json(kernel: &str, config: LaunchConfig, message: &str) -> String {
    format!(
        "{{\"message\":{},\"kernel\":{},\"grid\":{},\"block\":{},\"shared_bytes\":{}}}",
        quote(message),
        quote(kernel),
        triple(config.grid),
        triple(config.block),
        config.shared_bytes
    )
}

/// The device and some launches.
pub fn report(chip: &Chip, launches: &[LaunchRecord]) -> String {
    let launches: Vec<String> = launches.iter().map(launch_json).collect();
    let (major, minor) = chip.compute_capability;
    format!(
        "{{\"device\":{{\"name\":{},\"chip\":{},\"compute_capability\":[{major},{minor}],\"sm_count\":{},\"memory_bytes\":{},\
         \"l2_bytes\":{}}},\"launches\":[{}]}}",
        quote(chip.name),
        quote(chip.chip),
        chip.sm_count,
        chip.memory_bytes,
        chip.l2_bytes,
        launches.join(",")
    )
}

/// A fault.
pub fn fault_json(kind: &str, message: &str, report: Option<&FaultReport>) -> String {
    let mut json = format!("{{\"kind\":{},\"message\":{}", quote(kind), quote(message));
    if let Some(report) = report {
        let _ = write!(
            json,
            ",\"kernel\":{},\"block\":{}",
            quote(&report.kernel),
            triple(report.block)
        );
        if let Some(thread) = report.thread {
            let _ = write!(json, ",\"thread\":{}", triple(thread));
        }
        if let (Some(address), Some(size)) = (report.address, report.size) {
            let _ = write!(json, ",\"address\":\"{address:#x}\",\"size\":{size}");
        }
        let frames: Vec<String> = report
            .frames
            .iter()
            .map(|frame| {
                format!(
                    "{{\"file\":{},\"line\":{},\"column\":{}}}",
                    quote(&frame.file),
                    frame.line,
                    frame.column
                )
            })
            .collect();
        let _ = write!(json, ",\"frames\":[{}]", frames.join(","));
        if let Some(line) = report.ptx_line {
            let _ = write!(json, ",\"ptx_line\":{line}");
        }
    }
    json.push('}');
    json
}
