//! The whole recording: every mode, the values, the comparison, `record.json`.

use std::time::Instant;

use gpuprof_cupti::locate;
use serde_json::{Map, json};

use crate::files::Folder;
use crate::options::{Mode, Options};
use crate::outcome::Outcome;
use crate::{collect, evaluate, report};

/// Whether every mode was recorded.
pub(crate) fn record(options: &Options) -> Outcome<bool> {
    let folder = Folder::open(&options.out)?;
    for name in ["config.bin", "availability.bin", "device.json", "record.json"] {
        folder.remove(name);
    }
    let location = locate(options.cupti.as_deref())?;
    eprintln!("CUPTI {} at {}", location.version(), location.path().display());

    let (mut values, mut steps, mut failures) = (Map::new(), Map::new(), Map::new());
    for mode in &options.modes {
        let begin = Instant::now();
        let outcome = collect(options, &folder, *mode);
        let wall = begin.elapsed().as_secs_f64();
        match outcome {
            Ok((ranges, passes)) => {
                eprintln!("{}: {} pass records, {wall:.3} s", mode.name(), passes.len());
                values.insert(mode.name().into(), ranges.into());
                steps.insert(mode.name().into(), json!({"wall_s": wall, "passes": passes}));
            }
            Err(error) => {
                eprintln!("{}: {error}", mode.name());
                failures.insert(mode.name().into(), json!(error.to_string()));
            }
        }
    }
    report::print_values(options, &values);
    report::print_steps(&steps);
    let complete = failures.is_empty();
    let device = folder.read_json("device.json").unwrap_or_default();
    let ranges: Vec<_> = options.blocks.iter().map(|block| Options::range(*block)).collect();
    folder.write_json(
        "record.json",
        &json!({
            "cupti": location.version().to_string(),
            "device": device,
            "metrics": options.metrics,
            "n": options.n,
            "ranges": ranges,
            "values": values,
            "failures": failures,
            "steps": steps,
        }),
    )?;
    folder.remove("device.json");
    Ok(complete)
}

type Recorded = (Map<String, serde_json::Value>, Vec<serde_json::Value>);

fn collect(options: &Options, folder: &Folder, mode: Mode) -> Outcome<Recorded> {
    let passes = match mode {
        Mode::Application => collect::application(options, folder)?,
        Mode::User | Mode::Kernel => collect::looped(options, folder, mode)?,
    };
    Ok((evaluate::values(options, folder, mode.name())?, passes))
}
