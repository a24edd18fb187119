//! Collection in one process: a single pass that continues another process's, or all of them in a
//! loop.

use std::time::Instant;

use gpuprof_cupti::target::{PassEnd, PassStart, RangeMode, Replay};
use gpuprof_cupti::{Host, HostApi, Session, SessionOptions, Target, driver, locate};
use serde_json::{Value, json};

use crate::files::{Folder, counters};
use crate::kernel::Kernel;
use crate::options::{Mode, Options};
use crate::outcome::Outcome;
use crate::steps::Steps;

/// The data that the processes of the passes hand on, in addition to the images.
const NEXT: &str = "next.json";

/// A process that is ready to collect.
struct Collector {
    kernel: Kernel,
    target: Target,
    config: Vec<u8>,
}

impl Collector {
    /// Everything up to the session. `config.bin` and `availability.bin` are made where they are
    /// not there yet.
    fn prepare(options: &Options, folder: &Folder, steps: &mut Steps) -> Outcome<Self> {
        let location = steps.time("locate", || locate(options.cupti.as_deref()))?;
        let api = steps.time("load", || HostApi::load(&location))?;
        // cudarc panics without a driver.
        steps.time("driver", driver::probe)?;
        let kernel = Kernel::prepare(options, steps)?;
        if options.nvperf_target {
            steps.time("nvperf-target", || api.open_nvperf_target());
        }
        let target = steps.time("initialize", || Target::initialize(api))?;
        let config = match folder.read_if_there("config.bin") {
            Some(config) => config,
            None => config(options, folder, api, &target, &kernel, steps)?,
        };
        Ok(Self { kernel, target, config })
    }

    fn open(
        &self,
        options: &Options,
        replay: Replay,
        range: RangeMode,
        counter_data: Option<Vec<u8>>,
        pass: PassStart,
    ) -> Outcome<Session> {
        let session = SessionOptions {
            config: self.config.clone(),
            metrics: options.metrics.clone(),
            counter_data,
            max_ranges: options.blocks.len(),
            nesting_levels: 1,
            replay,
            range,
            pass,
        };
        Ok(Session::open(&self.target, &self.kernel.context, session)?)
    }

    /// One pass: every block size once, each in its range.
    fn pass(
        &mut self,
        session: &mut Session,
        options: &Options,
        range: RangeMode,
        steps: &mut Steps,
    ) -> Outcome<PassEnd> {
        self.kernel.restore()?;
        steps.time("start", || session.start())?;
        for block in &options.blocks {
            let begin = Instant::now();
            self.kernel.finish()?;
            if range == RangeMode::User {
                session.push(&Options::range(*block))?;
            }
            self.kernel.launch(*block)?;
            self.kernel.finish()?;
            if range == RangeMode::User {
                session.pop()?;
            }
            steps.add(&Options::range(*block), begin);
        }
        Ok(steps.time("stop", || session.stop())?)
    }
}

fn config(
    options: &Options,
    folder: &Folder,
    api: HostApi,
    target: &Target,
    kernel: &Kernel,
    steps: &mut Steps,
) -> Outcome<Vec<u8>> {
    let support = target.device_supported(&kernel.context)?;
    let chip = target.chip_name(kernel.context.ordinal())?;
    let availability = if options.availability {
        match steps.time("availability", || target.counter_availability(&kernel.context)) {
            Ok(image) => Some(image),
            Err(error) => {
                eprintln!("record: going on without counter availability: {error}");
                None
            }
        }
    } else {
        None
    };
    if let Some(image) = &availability {
        folder.write("availability.bin", image)?;
    }
    let host = steps.time("host", || Host::new(api, &chip, availability.as_deref()))?;
    let config = steps.time("config", || host.config_image(&options.metrics))?;
    let passes = host.passes(&config)?;
    folder.write("config.bin", &config)?;
    let parts = support.parts().map(|(name, level, _)| (name.to_owned(), json!(level.to_string())));
    folder.write_json(
        "device.json",
        &json!({
            "chip": chip,
            "device": kernel.context.name()?,
            "driver": target.driver().version,
            "supported": support.overall.to_string(),
            "support": serde_json::Map::from_iter(parts),
            "passes": passes,
            "config_bytes": config.len(),
            "availability_bytes": availability.map(|it| it.len()),
        }),
    )?;
    Ok(config)
}

fn own_range(options: &Options) -> RangeMode {
    if options.auto_range { RangeMode::Auto } else { RangeMode::User }
}

/// Pass `index` of application replay, in this process alone.
pub(crate) fn application_pass(options: &Options, index: usize) -> Outcome<()> {
    let begin = Instant::now();
    let mut steps = Steps::default();
    let folder = Folder::open(&options.out)?;
    let (counter_data, pass) = if index == 0 {
        (None, PassStart::default())
    } else {
        let next = folder.read_json(NEXT)?;
        let number =
            |name: &str| next[name].as_u64().ok_or_else(|| format!("{NEXT} has no {name}"));
        let nesting_level = u16::try_from(number("nesting_level")?)?;
        let pass = PassStart { index: usize::try_from(number("index")?)?, nesting_level };
        (Some(folder.read(&counters("application"))?), pass)
    };
    let range = own_range(options);
    let mut collector = Collector::prepare(options, &folder, &mut steps)?;
    let replay = if options.application_api { Replay::Application } else { Replay::User };
    let mut session =
        steps.time("open", || collector.open(options, replay, range, counter_data, pass))?;
    let stopped = collector.pass(&mut session, options, range, &mut steps)?;
    steps.time("decode", || session.decode())?;
    let counter_data = steps.time("close", || session.into_counter_data())?;
    folder.write(&counters("application"), &counter_data)?;
    steps.add("process", begin);
    folder.write_json(
        NEXT,
        &json!({
            "index": stopped.next.index,
            "nesting_level": stopped.next.nesting_level,
            "all_passes_submitted": stopped.all_passes_submitted,
            "steps": steps.to_json(),
        }),
    )
}

/// Application replay: one process a pass. The record of each.
pub(crate) fn application(options: &Options, folder: &Folder) -> Outcome<Vec<Value>> {
    let mut passes = Vec::new();
    for index in 0.. {
        let next = child(options, folder, &["pass", &index.to_string()])?;
        let last = next["all_passes_submitted"] == true;
        passes.push(next);
        let planned = folder.read_json("device.json")?["passes"].as_u64();
        if last || Some(passes.len() as u64) == planned {
            if !last {
                eprintln!(
                    "record: CUPTI did not report the last of {planned:?} passes as the last"
                );
            }
            break;
        }
    }
    folder.remove(NEXT);
    Ok(passes)
}

/// User or kernel replay: all passes in one separate process. Returns its record.
pub(crate) fn looped(options: &Options, folder: &Folder, mode: Mode) -> Outcome<Vec<Value>> {
    let record = child(options, folder, &["loop", mode.name()])?;
    folder.remove(NEXT);
    Ok(vec![record])
}

/// Starts this executable again and reads its output file.
fn child(options: &Options, folder: &Folder, command: &[&str]) -> Outcome<Value> {
    let begin = Instant::now();
    let status = std::process::Command::new(std::env::current_exe()?)
        .args(command)
        .args(&options.arguments)
        .status()?;
    if !status.success() {
        return Err(format!("`record {}` ended with {status}", command.join(" ")).into());
    }
    let mut next = folder.read_json(NEXT)?;
    next["wall_ms"] = json!(begin.elapsed().as_secs_f64() * 1e3);
    Ok(next)
}

/// All passes of user or kernel replay, in this process.
pub(crate) fn all_passes(options: &Options, mode: Mode) -> Outcome<()> {
    let begin = Instant::now();
    let mut steps = Steps::default();
    let folder = Folder::open(&options.out)?;
    let mut collector = Collector::prepare(options, &folder, &mut steps)?;
    let (replay, range) = match mode {
        Mode::Kernel => (Replay::Kernel, RangeMode::Auto),
        Mode::Application | Mode::User => (Replay::User, own_range(options)),
    };
    let mut session = steps
        .time("open", || collector.open(options, replay, range, None, PassStart::default()))?;
    let planned = folder.read_json("device.json")?["passes"].as_u64().unwrap_or(u64::MAX);
    let mut passes = 0;
    loop {
        let stopped = collector.pass(&mut session, options, range, &mut steps)?;
        passes += 1;
        if stopped.all_passes_submitted {
            break;
        }
        if passes > planned {
            return Err(
                format!("after {passes} passes CUPTI wants more; {planned} were planned").into()
            );
        }
    }
    steps.time("decode", || session.decode())?;
    let counter_data = steps.time("close", || session.into_counter_data())?;
    folder.write(&counters(mode.name()), &counter_data)?;
    steps.add("process", begin);
    folder.write_json(NEXT, &json!({ "passes_run": passes, "steps": steps.to_json() }))
}
