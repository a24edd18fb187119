//! Fingerprints: whether two runs were measured under conditions that allow a comparison.
//!
//! Input: the provenance of both. Output: the differences, and whether they matter. Differences
//! that a change to the code implies (PTX, toolchain, revision) do not matter: they are the subject
//! of the comparison. Differences of the machine (device, driver, clocks, cache) do.

use std::collections::BTreeSet;

use gpuprof_model::comparison::Mismatch;
use gpuprof_model::measurement::{DeviceRecord, Reset};
use gpuprof_model::parts::Part;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, Status};
use gpuprof_model::words::Word;

use crate::gate::by_key::ByKey;

/// The word for the extent of the counters of series functions.
fn range_of(provenance: &Provenance) -> &'static str {
    provenance.counter_range.unwrap_or_default().word()
}

/// The NVTX ranges that were measured: their order means nothing.
fn nvtx_of(provenance: &Provenance) -> String {
    let patterns: BTreeSet<String> = provenance.nvtx.iter().map(ToString::to_string).collect();
    let patterns: Vec<String> = patterns.into_iter().collect();
    if patterns.is_empty() { "none".to_owned() } else { patterns.join(", ") }
}

/// The slices that a merged run has, and any other run.
fn slices_of(provenance: &Provenance) -> String {
    provenance.missing_slices.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string)
}

/// The differences between `baseline` and `run`; with `across_devices` the device and its driver
/// may differ. Two runs on several emulated chips are compared chip by chip, so which chips they
/// have does not matter.
pub fn mismatches(baseline: &Provenance, run: &Provenance, across_devices: bool) -> Vec<Mismatch> {
    let mut all = Mismatches::default();
    // A new field does not compile before this list has it.
    #[rustfmt::skip]
    let Provenance {
        backend, device: _, chips: _, devices: _, cache_control, clock_control, timer, replay_mode,
        counter_range: _, nvtx: _, kernel_arch, kernel_toolchain, assembler, input_sha256,
        missing_slices: _, order, profile, tool_version,
        // The subject of a comparison: the code.
        ptx_sha256: _, git_revision: _, sources: _,
        // How strictly a run is judged: `Comparison::weaker` has the differences.
        not_verified: _, not_gated: _, strict: _, formulas: _, rules: _,
        // The number of processes follows from the verdict, and no quick run is a baseline.
        first_look: _, quick: _,
        // The course of a run.
        started: _, seconds_per_process: _, slices: _, spans: _, costs: _,
    } = run;
    all.check("backend", baseline.backend.word(), backend.word(), true);
    all.check_devices(baseline, run, !across_devices);
    all.check("cache control", baseline.cache_control.word(), cache_control.word(), true);
    all.check("clock control", baseline.clock_control.word(), clock_control.word(), true);
    // A side without times, or without counters, does not count. Events add 2 µs to a launch.
    if let Some((before, after)) = baseline.timer.zip(*timer) {
        all.check("timer", before.word(), after.word(), true);
    }
    if let Some((before, after)) = baseline.replay_mode.zip(*replay_mode) {
        all.check("replay mode", before.word(), after.word(), false);
        all.check("counter range", range_of(baseline), range_of(run), true);
    }
    all.check("NVTX ranges", &nvtx_of(baseline), &nvtx_of(run), true);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    all.check("kernel architecture", &text(&baseline.kernel_arch), &text(kernel_arch), false);
    // A side without kernels in Rust has none.
    if let (Some(before), Some(after)) = (&baseline.kernel_toolchain, kernel_toolchain) {
        all.check("kernel toolchain", before, after, false);
    }
    all.check("ptxas", &text(&baseline.assembler), &text(assembler), false);
    // A file that one side did not read is of another series.
    for (path, after) in input_sha256 {
        let before = baseline.input_sha256.get(path).unwrap_or(after);
        all.check(&format!("input file {path}"), before, after, false);
    }
    all.check("slices", &slices_of(baseline), &slices_of(run), false);
    all.check("processes", &text(&baseline.order), &text(order), false);
    all.check("cargo profile", &text(&baseline.profile), &text(profile), false);
    all.check("gpuprof", &baseline.tool_version, tool_version, false);
    all.0
}

/// The differences found so far.
#[derive(Default)]
struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    /// Adds a difference in `what` if the baseline has `before` and the run has `after`.
    fn check(&mut self, what: &str, before: &str, after: &str, matters: bool) {
        if before != after {
            let own = |text: &str| if text.is_empty() { "not known" } else { text }.to_owned();
            let what = what.to_owned();
            self.0.push(Mismatch { what, baseline: own(before), run: own(after), matters });
        }
    }

    /// Adds the differences of the devices and their drivers.
    fn check_devices(&mut self, baseline: &Provenance, run: &Provenance, matters: bool) {
        let by_chip = !baseline.chips.is_empty() && !run.chips.is_empty();
        self.check("device", &devices(baseline), &devices(run), matters && !by_chip);
        let (Some(before), Some(after)) = (&baseline.device, &run.device) else { return };
        let word = |yes| if yes { "yes" } else { "no" };
        self.check("emulated", word(before.emulated), word(after.emulated), true);
        if before.emulated || after.emulated {
            return;
        }
        let drivers = (before.driver_version.to_string(), after.driver_version.to_string());
        self.check("driver", &drivers.0, &drivers.1, matters);
        self.check("GPU", &uuids(baseline, before), &uuids(run, after), false);
        // Times of a virtual GPU include the load of its neighbours. An unknown side does not
        // count.
        if let (Some(before), Some(after)) = (before.virtual_gpu, after.virtual_gpu) {
            self.check("virtual GPU", word(before), word(after), matters);
        }
    }
}

/// The device, or the emulated chips if there are several.
fn devices(of: &Provenance) -> String {
    match of.chips.is_empty() {
        true => of.device.as_ref().map(device).unwrap_or_default(),
        false => of.chips.values().map(device).collect::<Vec<_>>().join(", "),
    }
}

/// The pieces of silicon: all of them, if the configurations were spread over several.
fn uuids(provenance: &Provenance, device: &DeviceRecord) -> String {
    match provenance.devices.as_slice() {
        [] => device.uuid.clone(),
        all => all.iter().map(|device| device.uuid.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// The note if some of the common configurations were measured on another GPU and the provenance
/// does not show it: both runs had the same several GPUs, and assigned configurations differently.
pub fn moved(baseline: &Run, run: &Run) -> Option<Mismatch> {
    if baseline.provenance.devices != run.provenance.devices {
        return None;
    }
    let moved = run.series.iter().flat_map(|ours| {
        let here = ByKey::new(&ours.configurations);
        let theirs = baseline.series.iter().filter(|theirs| theirs.id == ours.id);
        let rows = theirs.flat_map(|theirs| &theirs.configurations);
        rows.filter(move |row| here.get(row).is_some_and(|other| other.device != row.device))
    });
    let count = moved.count();
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| Mismatch {
        what: format!("GPU of {count} configuration{plural}"),
        baseline: "one of those".to_owned(),
        run: "another of the same".to_owned(),
        matters: false,
    })
}

/// That samples of some of the configurations that both sides timed found other inputs: restored
/// before each on one side, changed by the sample before on the other.
pub fn reset(baseline: &Run, run: &Run) -> Option<Mismatch> {
    let word = |row: &ConfigurationResult| {
        let reset = row.timings.first()?.in_place.as_ref().map(|in_place| in_place.reset);
        Some(match reset {
            None => "no reset",
            Some(Reset::Each) => "reset = each",
            Some(Reset::Once) => "reset = once",
        })
    };
    let differ = run.series.iter().flat_map(|ours| common(baseline, ours)).filter_map(|(a, b)| {
        let words = (word(a)?, word(b)?);
        (words.0 != words.1).then_some(words)
    });
    let words: Vec<(&str, &str)> = differ.collect();
    let (before, after) = *words.first()?;
    let plural = if words.len() == 1 { "" } else { "s" };
    Some(Mismatch {
        what: format!("inputs of timed samples in {} configuration{plural}", words.len()),
        baseline: before.to_owned(),
        run: after.to_owned(),
        matters: false,
    })
}

/// In some configurations of `ours`, the two sides measured different parts of the launches of
/// closures (`cuProfilerStart`, `--nvtx`): all and a part, or other NVTX ranges. That they leave
/// out different numbers of launches is only worth knowing.
pub fn extent(baseline: &Run, ours: &SeriesResult) -> Option<Mismatch> {
    let both = || common(baseline, ours).filter(|(a, b)| finished(a) && finished(b));
    let differ = |of: &dyn Fn(&ConfigurationResult) -> String| {
        let mut words = both().map(|(a, b)| (of(a), of(b)));
        words.find(|(before, after)| before != after)
    };
    let left_out =
        |row: &ConfigurationResult| row.launches.iter().filter(|launch| launch.outside).count();
    let whole = |row: &ConfigurationResult| match left_out(row) {
        0 => "the whole closure".to_owned(),
        _ => "a part of the closure".to_owned(),
    };
    let selected = |row: &ConfigurationResult| match baseline.provenance.nvtx.is_empty() {
        true => String::new(),
        false => ranges(row).join(", "),
    };
    let (found, what, matters) = differ(&whole)
        .map(|found| (found, "measured range", true))
        .or_else(|| Some((differ(&selected)?, "NVTX ranges", true)))
        .or_else(|| {
            let words = differ(&|row| left_out(row).to_string())?;
            Some((words, "launches outside of the measured range", false))
        })?;
    let (before, after) = found;
    Some(Mismatch { what: format!("{what} of {}", ours.id), baseline: before, run: after, matters })
}

/// The names of the ranges of `row`, sorted.
fn ranges(row: &ConfigurationResult) -> Vec<&str> {
    let names = row.parts.iter().filter_map(|part| match &part.part {
        Part::Range(name) => Some(name.as_str()),
        Part::Kernel(_) | Part::Launch(_) => None,
    });
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn finished(row: &ConfigurationResult) -> bool {
    row.status == Status::Finished
}

/// The configurations that `baseline` and `ours` have, first those of the baseline.
fn common<'r>(
    baseline: &'r Run,
    ours: &'r SeriesResult,
) -> impl Iterator<Item = (&'r ConfigurationResult, &'r ConfigurationResult)> {
    let theirs = baseline.series.iter().filter(|theirs| theirs.id == ours.id);
    let own = ByKey::new(&ours.configurations);
    let rows = theirs.flat_map(|theirs| &theirs.configurations);
    rows.filter_map(move |row| Some((row, own.get(row)?)))
}

/// The model, not the piece of silicon: name, architecture and size.
fn device(device: &DeviceRecord) -> String {
    let (major, minor) = device.compute_capability;
    format!("{} (sm_{major}{minor}, {} SMs)", device.name, device.sm_count)
}

#[cfg(test)]
mod tests {
    use gpuprof_model::protocol::{CounterRange, Replay};

    use super::*;
    use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
    use gpuprof_model::measurement::{InPlace, Timer};
    use gpuprof_model::run::MissingSlices;
    use gpuprof_model::series::SeriesId;

    use crate::fixture::{self, finished, gh100, gpu_pass, h200, point};

    fn on(device: DeviceRecord) -> Provenance {
        Provenance {
            backend: Backend::of_device(device.emulated),
            device: Some(device),
            cache_control: CacheControl::All,
            clock_control: ClockControl::None,
            ..Provenance::default()
        }
    }

    fn diff(a: &Provenance, b: &Provenance, across: bool) -> Vec<(String, bool)> {
        mismatches(a, b, across).into_iter().map(|m| (m.what, m.matters)).collect()
    }

    #[test]
    fn runs_of_different_code_are_comparable() {
        let before = on(h200());
        let mut after = on(h200());
        after.ptx_sha256.insert("saxpy".into(), "other".into());
        after.git_revision = Some("abc".into());
        assert_eq!(diff(&before, &after, false), []);
        let before = Provenance { kernel_toolchain: Some("rustc 1.95.0".into()), ..before };
        after.kernel_toolchain = Some("rustc 1.96.0".into());
        assert_eq!(diff(&before, &after, false), [("kernel toolchain".to_owned(), false)]);
    }

    #[test]
    fn different_inputs_are_reported_and_comparable() {
        let of = |path: &str, sha256: &str| {
            let input_sha256 = [(path.to_owned(), sha256.to_owned())].into();
            Provenance { input_sha256, ..on(h200()) }
        };
        let before = of("p/graph.bin", "ab");
        assert_eq!(diff(&before, &of("p/graph.bin", "ab"), false), []);
        assert_eq!(diff(&before, &of("p/another.bin", "cd"), false), []);
        let changed = diff(&before, &of("p/graph.bin", "cd"), false);
        assert_eq!(changed, [("input file p/graph.bin".to_owned(), false)]);
    }

    #[test]
    fn times_are_compared_if_the_same_clock_took_them() {
        let timed = |timer| Provenance { timer, ..on(h200()) };
        let (device, events) = (timed(Some(Timer::Device)), timed(Some(Timer::Events)));
        assert_eq!(diff(&events, &device, false), [("timer".to_owned(), true)]);
        assert_eq!(
            mismatches(&events, &device, false)[0].to_string(),
            "timer: events in the baseline, device here"
        );
        assert_eq!(diff(&device, &device, false), []);
        assert_eq!(diff(&timed(None), &device, false), []);
    }

    #[test]
    fn slices_missing_on_one_side_are_reported_and_comparable() {
        let missing = MissingSlices { numbers: vec![2], of: 3, accepted: true };
        let partial = Provenance { missing_slices: Some(missing), ..on(h200()) };
        let [mismatch] = &mismatches(&partial, &on(h200()), false)[..] else { panic!("one") };
        assert_eq!(
            mismatch.to_string(),
            "slices: slice 2 of 3 is missing or partial in the baseline, all here"
        );
        assert!(!mismatch.matters);
    }

    #[test]
    fn different_replay_modes_are_reported_and_comparable() {
        let mode = |replay_mode| Provenance { replay_mode, ..on(h200()) };
        let [application, kernel] =
            [Replay::Application, Replay::Kernel].map(|replay| mode(Some(replay)));
        assert_eq!(diff(&application, &kernel, false), [("replay mode".to_owned(), false)]);
        assert_eq!(diff(&mode(None), &kernel, false), []);
        // Ranges of launches hold no gaps, so their elapsed times are others.
        let launches =
            Provenance { counter_range: Some(CounterRange::Launch), ..application.clone() };
        assert_eq!(diff(&application, &launches, false), [("counter range".to_owned(), true)]);
        let by_nvtx = |patterns: &[&str]| Provenance {
            nvtx: patterns.iter().map(|pattern| pattern.parse().unwrap()).collect(),
            ..application.clone()
        };
        let ranges = by_nvtx(&["phase/*"]);
        assert_eq!(diff(&application, &ranges, false), [("NVTX ranges".to_owned(), true)]);
        assert_eq!(diff(&by_nvtx(&["a", "b"]), &by_nvtx(&["b", "a", "b"]), false), []);
    }

    /// A stored run that was edited, or of which no pass ended.
    #[test]
    fn a_device_known_on_one_side_only_is_incomparable() {
        let unknown = Provenance { device: None, ..on(h200()) };
        for (before, after) in [(on(h200()), unknown.clone()), (unknown.clone(), on(h200()))] {
            assert_eq!(diff(&before, &after, false), [("device".to_owned(), true)]);
        }
        assert_eq!(diff(&unknown, &unknown, false), []);
    }

    #[test]
    fn another_machine_is_incomparable_unless_allowed() {
        let mut other = h200();
        other.name = "NVIDIA A100".into();
        other.driver_version = 12080;
        other.uuid = "GPU-2".into();
        let (before, after) = (on(h200()), on(other));
        let names = |across| diff(&before, &after, across);
        let expected = |matters| {
            [
                ("device".to_owned(), matters),
                ("driver".to_owned(), matters),
                ("GPU".to_owned(), false),
            ]
        };
        assert_eq!(names(false), expected(true));
        assert_eq!(names(true), expected(false));
        assert_eq!(
            mismatches(&before, &after, false)[0].to_string(),
            "device: NVIDIA H200 (sm_90, 132 SMs) in the baseline, NVIDIA A100 (sm_90, 132 SMs) here"
        );
    }

    #[test]
    fn a_virtual_gpu_is_incomparable_with_a_whole_one() {
        let of = |virtual_gpu| on(DeviceRecord { virtual_gpu, ..h200() });
        let (whole, shared) = (of(Some(false)), of(Some(true)));
        assert_eq!(diff(&whole, &shared, false), [("virtual GPU".to_owned(), true)]);
        assert_eq!(diff(&whole, &shared, true), [("virtual GPU".to_owned(), false)]);
        assert_eq!(
            mismatches(&whole, &shared, false)[0].to_string(),
            "virtual GPU: no in the baseline, yes here"
        );
        for unknown in [(&of(None), &shared), (&shared, &of(None)), (&shared, &shared)] {
            assert_eq!(diff(unknown.0, unknown.1, false), []);
        }
    }

    #[test]
    fn another_gpu_of_the_same_model_is_comparable() {
        let mut twin = h200();
        twin.uuid = "GPU-2".into();
        assert_eq!(diff(&on(h200()), &on(twin), false), [("GPU".to_owned(), false)]);
    }

    #[test]
    fn several_gpus_of_one_model_are_reported_together() {
        use crate::fixture::{rows, series};
        use gpuprof_model::measurement::DeviceName;
        use gpuprof_model::run::SCHEMA_VERSION;

        let name = |uuid: &str| DeviceName { uuid: uuid.into(), name: "NVIDIA H200".into() };
        let both = Provenance { devices: vec![name("GPU-1"), name("GPU-2")], ..on(h200()) };
        let found = mismatches(&both, &on(h200()), false);
        assert_eq!(
            (found.len(), &*found[0].baseline, found[0].matters),
            (1, "GPU-1, GPU-2", false)
        );

        let run = |devices: [&str; 2]| {
            let mut series = series(rows("registers", &[8.0, 9.0]));
            for (row, device) in series.configurations.iter_mut().zip(devices) {
                row.device = Some(device.to_owned());
            }
            let (provenance, series) = (both.clone(), vec![series]);
            Run {
                schema_version: SCHEMA_VERSION,
                id: "r".into(),
                provenance,
                series,
                comparison: None,
                conclusion: None,
                advice: Vec::new(),
            }
        };
        let before = run(["GPU-1", "GPU-2"]);
        assert_eq!(moved(&before, &before), None);
        let told = moved(&before, &run(["GPU-2", "GPU-2"])).unwrap().to_string();
        assert_eq!(
            told,
            "GPU of 1 configuration: one of those in the baseline, another of the same here"
        );
    }

    #[test]
    fn emulated_and_measured_runs_are_incomparable() {
        let across = diff(&on(h200()), &on(gh100()), true);
        assert_eq!(across[0], ("backend".to_owned(), true));
        let mut hot = on(h200());
        hot.cache_control = CacheControl::None;
        assert_eq!(diff(&on(h200()), &hot, true), [("cache control".to_owned(), true)]);
        let mut locked = on(h200());
        locked.clock_control = ClockControl::Base;
        assert_eq!(diff(&on(h200()), &locked, true), [("clock control".to_owned(), true)]);
    }

    #[test]
    fn inputs_restored_on_one_side_only_are_reported() {
        let of = |reset: Option<Reset>| {
            let mut pass = gpu_pass(64, 1 << 20, &[5.0]);
            pass.timing.as_mut().unwrap().in_place =
                reset.map(|reset| InPlace { reset, buffers: vec!["y".into()] });
            crate::fixture::run(
                "r",
                vec![crate::fixture::series(vec![finished(point(64, 1 << 20), &[pass])])],
            )
        };
        let [none, each, once] = [None, Some(Reset::Each), Some(Reset::Once)].map(of);
        assert_eq!(reset(&each, &each), None);
        assert_eq!(
            reset(&once, &each).unwrap().to_string(),
            "inputs of timed samples in 1 configuration: reset = once in the baseline, reset = each here"
        );
        assert_eq!(reset(&none, &once).unwrap().baseline, "no reset");
    }

    #[test]
    fn several_chips_are_incomparable_only_with_a_run_on_one_chip() {
        let device = |name: &str| DeviceRecord { name: name.into(), emulated: true, ..h200() };
        let on = |chips: &[(Chip, &str)]| Provenance {
            device: Some(device(chips[0].1)),
            chips: chips.iter().map(|(chip, name)| (*chip, device(name))).collect(),
            ..Provenance::default()
        };
        let both = on(&[(Chip::A100, "A100"), (Chip::L4, "L4")]);
        let other = on(&[(Chip::B200, "B200"), (Chip::A100, "A100")]);
        assert_eq!(mismatches(&both, &both, false), []);
        let [chips] = &mismatches(&both, &other, false)[..] else { panic!("one") };
        assert!(chips.what == "device" && !chips.matters, "{chips}");
        let single = Provenance { chips: Default::default(), ..both.clone() };
        let [chips] = &mismatches(&both, &single, false)[..] else { panic!("one") };
        assert!(chips.matters, "{chips}");
        let of = |chip| SeriesId { chip: Some(chip), ..fixture::series(Vec::new()).id };
        let named = |chip| Some(both.device_of(&of(chip))?.name.as_str());
        assert_eq!([named(Chip::L4), named(Chip::B200)], [Some("L4"), None]);
    }
}
