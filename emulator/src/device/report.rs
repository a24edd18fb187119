//! Launches and faults as JSON.

use super::{Chip, LaunchConfig, LaunchRecord, MoveKind, MoveRecord, Profiler};
use crate::counters::{InlinedCall, LineCounts, Listing, Profile};
use crate::machine::FaultReport;
use crate::timing::{Estimate, MODEL};
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

/// The items of a JSON list or object.
fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("[{x},{y},{z}]")
}

/// A launch's estimated time, as one more field of it.
fn estimate_json(estimate: &Estimate) -> String {
    let limits = estimate.limits.iter();
    let limits = joined(
        limits
            .map(|(limit, share)| format!("{{\"limit\":\"{}\",\"share\":{share}}}", limit.name())),
    );
    format!(
        ",\"estimate\":{{\"duration_ns\":{},\"low_ns\":{},\"high_ns\":{},\"limits\":[{limits}],\
         \"model\":{MODEL},\"chip\":{},\"characterised\":{},\"registers_known\":{},\
         \"machine_code_known\":{}}}",
        estimate.duration_ns,
        estimate.low_ns,
        estimate.high_ns,
        quote(estimate.chip),
        estimate.characterised,
        estimate.registers_known,
        estimate.machine_code_known
    )
}

/// A field of a launch: the state of the profiler, if the program touched it.
fn profiler_json(profiler: Profiler) -> &'static str {
    match profiler {
        Profiler::Untouched => "",
        Profiler::Started => ",\"profiler\":\"started\"",
        Profiler::Stopped => ",\"profiler\":\"stopped\"",
    }
}

/// A launch and its counters.
pub fn launch_json(launch: &LaunchRecord) -> String {
    let (counters, unclaimed) = (launch.counters.iter(), launch.unclaimed.iter());
    let counters = joined(counters.map(|(name, value)| format!("{}:{value}", quote(name))));
    let unclaimed =
        joined(unclaimed.map(|(name, reason)| format!("{}:{}", quote(name), quote(reason))));
    format!(
        "{{\"kernel\":{},\"grid\":{},\"block\":{},\"shared_bytes\":{},\"stream\":{},\
         \"checks\":{{\"init\":{},\"race\":{},\"races_in_part\":{},\"checked_blocks\":{},\
         \"blocks\":{}}},\
         \"counters\":{{{counters}}},\"unclaimed\":{{{unclaimed}}}{}{}}}",
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
        launch.estimate.as_ref().map(estimate_json).unwrap_or_default(),
        profiler_json(launch.profiler)
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

/// The counts of a kernel by line. A line is its number in the PTX, the number of its file from 1
/// (0: none), its number there and its text; its counts are those of
/// [`LineCounts::values`](crate::counters::LineCounts::values).
fn profile_json(profile: &Profile) -> String {
    let counts = profile.counts.iter();
    let values = |counts: &LineCounts| joined(counts.values().iter().map(u64::to_string));
    let counts = joined(counts.map(|counts| format!("[{}]", values(counts))));
    format!("{{{},\"counts\":[{counts}]}}", listing_fields(&profile.listing))
}

/// The lines of a kernel.
pub fn listing_json(listing: &Listing) -> String {
    format!("{{{}}}", listing_fields(listing))
}

fn listing_fields(listing: &Listing) -> String {
    let lines = listing.lines.iter().map(|line| {
        let (file, number) = line.source.map_or((0, 0), |(file, number)| (file + 1, number));
        format!("[{},{file},{number},{}]", line.ptx_line, quote(&line.text))
    });
    let calls = listing
        .calls
        .iter()
        .map(|InlinedCall { ptx_line, file, line }| format!("[{ptx_line},{},{line}]", file + 1));
    format!(
        "\"kernel\":{},\"files\":[{}],\"lines\":[{}],\"calls\":[{}]",
        quote(&listing.kernel),
        joined(listing.files.iter().map(|file| quote(file))),
        joined(lines),
        joined(calls)
    )
}

/// A copy or a fill.
fn move_json(moved: &MoveRecord) -> String {
    let kind = match moved.kind {
        MoveKind::Upload => "upload",
        MoveKind::Download => "download",
        MoveKind::Copy => "copy",
        MoveKind::Fill => "fill",
    };
    let MoveRecord { bytes, stream, launches_before, .. } = moved;
    format!(
        "{{\"kind\":\"{kind}\",\"bytes\":{bytes},\"stream\":{stream},\
         \"launches_before\":{launches_before}}}"
    )
}

/// The work of a device since its previous report.
pub struct Report {
    /// The launches.
    pub launches: Vec<LaunchRecord>,
    /// The first copies and fills between them.
    pub moves: Vec<MoveRecord>,
    /// How many copies and fills followed these.
    pub more_moves: u64,
    /// How often the profiler was started.
    pub profiler_starts: u64,
    /// The counts of kernels by line.
    pub profiles: Vec<Profile>,
}

/// The device and its work.
pub fn report_json(chip: &Chip, report: &Report) -> String {
    let Report { launches, moves, more_moves, profiler_starts, profiles } = report;
    let (major, minor) = chip.compute_capability;
    format!(
        "{{\"device\":{{\"name\":{},\"chip\":{},\"compute_capability\":[{major},{minor}],\"sm_count\":{},\"memory_bytes\":{},\
         \"l2_bytes\":{}}},\"launches\":[{}],\"moves\":[{}],\"more_moves\":{more_moves},\
         \"profiler_starts\":{profiler_starts},\"profiles\":[{}]}}",
        quote(chip.name),
        quote(chip.chip),
        chip.sm_count,
        chip.memory_bytes,
        chip.l2_bytes,
        joined(launches.iter().map(launch_json)),
        joined(moves.iter().map(move_json)),
        joined(profiles.iter().map(profile_json))
    )
}

/// A fault.
pub fn fault_json(kind: &str, message: &str, report: Option<&FaultReport>) -> String {
    let mut json = format!("{{\"kind\":{},\"message\":{}", quote(kind), quote(message));
    if let Some(report) = report {
        let (kernel, block) = (quote(&report.kernel), triple(report.block));
        let _ = write!(json, ",\"kernel\":{kernel},\"block\":{block}");
        if let Some(thread) = report.thread {
            let _ = write!(json, ",\"thread\":{}", triple(thread));
        }
        if let (Some(address), Some(size)) = (report.address, report.size) {
            let _ = write!(json, ",\"address\":\"{address:#x}\",\"size\":{size}");
        }
        let frames = joined(report.frames.iter().map(|frame| {
            let (file, line, column) = (quote(&frame.file), frame.line, frame.column);
            format!("{{\"file\":{file},\"line\":{line},\"column\":{column}}}")
        }));
        let _ = write!(json, ",\"frames\":[{frames}]");
        if let Some(line) = report.ptx_line {
            let _ = write!(json, ",\"ptx_line\":{line}");
        }
    }
    json.push('}');
    json
}
