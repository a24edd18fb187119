//! Stored runs: found by name, read with suspicion.
//!
//! Input: the user's name for a run, or a file. Output: the run, or an error with the path and the
//! first wrong byte. Invariants: a torn file is never half a run, and a file of a newer schema is
//! refused by its number, not by an unknown field.

use std::collections::HashSet;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_model::ExitCode;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::{Catalogue, is_own};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{MetricResult, Run, SCHEMA_VERSION, SeriesResult};
use serde::Deserialize;

use super::journal;
use super::run_name::{Unnamed, named};
use super::run_order::{self, NEW};
use super::untrusted::{self, place, wrong};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sanitize::{may_steer, sanitize};

/// The run document in a run's folder.
const FILE: &str = "run.json";

/// The document of the other side there, if a run measured two.
pub const BASE_FILE: &str = "base.json";

/// The suffix of a run's name that selects its other side.
const ITS_BASE: &str = "/base";

/// Reads the run document at `path`.
///
/// # Errors
/// It cannot be read, or is not a run document (exit code 96), with the first wrong byte.
pub fn read(path: &Utf8Path) -> Result<Run> {
    parse(&untrusted::read(path)?, path)
}

/// Reads the run document in `bytes`, which came from `path`.
///
/// # Errors
/// It is not a run document (exit code 96), with the first wrong byte.
pub fn parse(bytes: &[u8], path: &Utf8Path) -> Result<Run> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: u32,
    }
    let at = |error: serde_json::Error| {
        wrong(format!("{path} is not a run document: {}", place(bytes, 0, &error)))
    };
    // That it is UTF-8 is cheaper to check at once than text by text.
    let read: serde_json::Result<Run> = match str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    };
    let schema_version = match &read {
        Ok(run) => run.schema_version,
        Err(_) => serde_json::from_slice::<Versioned>(bytes).map_err(at)?.schema_version,
    };
    if schema_version == 0 {
        return Err(wrong(format!("{path} has schema 0, which no cargo-gpuprof writes")));
    }
    if schema_version > SCHEMA_VERSION {
        return Err(wrong(format!(
            "{path} has schema {schema_version}, but this cargo-gpuprof only reads up to \
             {SCHEMA_VERSION}; use a newer one"
        )));
    }
    let mut run = read.map_err(at)?;
    // What is written again has today's form.
    run.schema_version = SCHEMA_VERSION;
    if may_steer(bytes) {
        drop(run);
        run = serde_json::from_slice(&sanitize(bytes)).map_err(|e| {
            wrong(format!("{path} is not a run document: without its control characters, {e}"))
        })?;
    }
    run.directed_by(&Catalogue::built_in());
    run.shorten_keys();
    let mut ids = HashSet::new();
    for series in &run.series {
        if !ids.insert(series.id.to_string()) {
            return Err(wrong(format!("{path} holds the series {} twice", series.id)));
        }
        if let Some((key, metric)) = negative_time(series) {
            let id = &series.id;
            return Err(wrong(format!("{path}: {metric} of {id}/{key} is a negative time")));
        }
        let mut keys = HashSet::with_capacity(series.configurations.len());
        for row in &series.configurations {
            if !keys.insert(&row.configuration) {
                let (id, key) = (&series.id, &row.configuration);
                return Err(wrong(format!("{path} holds {id}/{key} twice")));
            }
        }
    }
    Ok(run)
}

/// The configuration and the metric of a time below zero in `series`, which no clock measures; a
/// metric that a user defined may be a difference.
fn negative_time(series: &SeriesResult) -> Option<(&Configuration, &str)> {
    series.configurations.iter().find_map(|row| {
        if row.timings.iter().flat_map(|timing| &timing.samples_ns).any(|sample| *sample < 0.0) {
            return Some((&row.configuration, "a sample"));
        }
        let below = |result: &MetricResult| {
            let processes = result.processes.iter().map(|process| process.min);
            result.value.iter().copied().chain(processes).any(|value| value < 0.0)
        };
        let mut times =
            row.metrics.iter().filter(|(name, it)| is_own(name) && it.unit == Unit::Nanoseconds);
        times.find(|(_, result)| below(result)).map(|(name, _)| (&row.configuration, name))
    })
}

/// The run that `text` names: a file, a run's folder, `latest`, an id, or the beginning of one;
/// with `/base` behind these, the other side that it measured.
///
/// # Errors
/// Nothing, or more than one, has the name (exit code 2); the file is not a run (exit code 96).
pub fn find(target_directory: &Utf8Path, text: &str) -> Result<Run> {
    let path = locate(target_directory, text);
    read(&path.map_err(|unnamed| unnamed.failure("file or run", text))?)
}

/// The outcome of `run`, which `text` names. Its exit code is that of the `verdict.json` next to
/// it, if there is one of this run.
pub fn outcome(target_directory: &Utf8Path, text: &str, run: &Run) -> RunOutcome {
    let path = locate(target_directory, text).ok();
    let folder = path.as_deref().and_then(Utf8Path::parent);
    RunOutcome::of_stored(run, folder.and_then(|folder| stored_exit_code(folder, &run.id)))
}

/// The exit code in the `verdict.json` of `folder`, if it is of the run `id`.
pub(super) fn stored_exit_code(folder: &Utf8Path, id: &str) -> Option<ExitCode> {
    #[derive(Deserialize)]
    struct Verdict {
        run: String,
        exit_code: ExitCode,
    }
    let verdict = untrusted::read(&folder.join("verdict.json")).ok()?;
    let verdict: Verdict = serde_json::from_slice(&verdict).ok()?;
    (verdict.run == id).then_some(verdict.exit_code)
}

/// The file of the run that `text` names, as [`find`] takes it.
///
/// # Errors
/// Nothing, or more than one, has the name.
pub fn locate(target_directory: &Utf8Path, text: &str) -> Result<Utf8PathBuf, Unnamed> {
    let path = Utf8Path::new(text);
    // What is there and no file is refused when it is read, in these words.
    if path.exists() && !path.is_dir() {
        return Ok(path.to_owned());
    }
    if path.join(FILE).is_file() {
        return Ok(path.join(FILE));
    }
    if let Some(run) = text.strip_suffix(ITS_BASE) {
        return Ok(among(target_directory, run, BASE_FILE)?.join(BASE_FILE));
    }
    Ok(among(target_directory, text, FILE)?.join(FILE))
}

/// The folder of the run that `text` names and that can be resumed: it has a journal.
///
/// # Errors
/// Nothing, or more than one, has the name (exit code 2).
pub fn resumable(target_directory: &Utf8Path, text: &str) -> Result<Utf8PathBuf> {
    let found = among(target_directory, text, journal::FILE).map_err(|unnamed| match unnamed {
        Unnamed::Empty(runs) => Failure::usage(format!(
            "there is no run to resume below {runs}; the same command without --resume begins one"
        )),
        _ if target_directory.join("gpuprof/runs").join(text).is_dir() => Failure::usage(format!(
            "the run {text} has measured nothing: the same command without --resume starts a new run"
        )),
        unnamed => unnamed.failure("run to resume", text),
    })?;
    // The last run may have been killed before its journal was there; the one before it is another.
    let last = among(target_directory, text, run_order::FILE).ok().filter(|_| text == "latest");
    match last.filter(|last| *last != found && !last.join(FILE).is_file()) {
        None => Ok(found),
        Some(last) => Err(Failure::usage(format!(
            "the latest run, {}, has measured nothing: the same command without --resume starts \
             a new run, and --resume {} continues the previous one",
            last.file_name().unwrap_or_default(),
            found.file_name().unwrap_or_default()
        ))),
    }
}

fn among(target_directory: &Utf8Path, text: &str, file: &str) -> Result<Utf8PathBuf, Unnamed> {
    let runs = target_directory.join("gpuprof/runs");
    let mut ids: Vec<String> = fs::read_dir(&runs)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|id| !id.starts_with(NEW) && runs.join(id).join(file).is_file())
        .collect();
    run_order::sort(&runs, &mut ids);
    let chosen = match (text, ids.last()) {
        ("latest", Some(last)) => last,
        (_, Some(_)) => named(&ids, text)?,
        (_, None) => return Err(Unnamed::Empty(runs)),
    };
    Ok(runs.join(chosen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::SeriesId;
    use gpuprof_model::machine::{Backend, CacheControl, ClockControl};
    use proptest::prelude::*;

    #[test]
    fn a_device_instead_of_a_file_is_refused_by_its_kind() {
        let error = find("target".into(), "/dev/null").unwrap_err();
        assert_eq!(error.code, ExitCode::Configuration);
        assert_eq!(error.message, "cannot read /dev/null: it is a device, not a file");
    }

    fn run(id: &str) -> Run {
        gpuprof_analysis::fixture::run(id, Vec::new())
    }

    fn target(ids: &[&str]) -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        for id in ids {
            let runs = path.join("gpuprof/runs").join(id);
            fs::create_dir_all(&runs).unwrap();
            fs::write(runs.join("run.json"), serde_json::to_vec(&run(id)).unwrap()).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn a_stored_run_keeps_the_gate_that_decided_it() {
        let (_keep, target) = target(&[]);
        let ended = crate::store::RunFolder::create(&target).unwrap();
        for (exit_code, strict, not_gated) in [
            (ExitCode::ThresholdFailed, true, None),
            (ExitCode::NotJudged, false, None),
            (ExitCode::Success, false, Some("--no-gate".to_owned())),
        ] {
            let mut run = run(&ended.id);
            let gated = not_gated.is_none();
            (run.provenance.strict, run.provenance.not_gated) = (strict, not_gated);
            ended.save(&run, None, exit_code, gated).unwrap();
            let found = outcome(&target, "latest", &run);
            assert_eq!((found.exit_code, found.gate.strict), (exit_code, strict));
            assert_eq!(found.gate.gated, gated);
        }
        let other = ended.path.join("verdict.json");
        let verdict = fs::read_to_string(&other).unwrap().replace(&ended.id, "another");
        fs::write(other, verdict).unwrap();
        let alone = run(&ended.id);
        assert_eq!(outcome(&target, "latest", &alone), RunOutcome::of_stored(&alone, None));
    }

    #[test]
    fn a_run_is_found_by_name_beginning_or_file() {
        let (_keep, target) = target(&["20251121T01-1", "20251121T02-7", "20251122T01-1"]);
        for (text, id) in [
            ("latest", "20251122T01-1"),
            ("20251121T02-7", "20251121T02-7"),
            ("20251122", "20251122T01-1"),
        ] {
            assert_eq!(find(&target, text).unwrap().id, id);
        }
        let file = target.join("gpuprof/runs/20251121T01-1/run.json");
        assert_eq!(find(&target, file.as_str()).unwrap().id, "20251121T01-1");
        let several = find(&target, "20251121").unwrap_err();
        assert_eq!(several.code, ExitCode::Usage);
        assert_eq!(
            several.message,
            "`20251121` matches several runs: 20251121T01-1, 20251121T02-7"
        );
        let none = find(&target, "zzz").unwrap_err();
        assert_eq!(none.message, "no file or run is named `zzz`: the last one is 20251122T01-1");
    }

    #[test]
    fn an_unnamed_folder_is_not_a_run() {
        let (_keep, target) = target(&[".new-D7TZZv"]);
        assert_eq!(find(&target, "latest").unwrap_err().code, ExitCode::Usage);
    }

    #[test]
    fn without_a_journal_no_run_can_be_resumed() {
        let (_keep, target) = target(&["20251121T01-1"]);
        for text in ["latest", "20251121"] {
            let none = resumable(&target, text).unwrap_err();
            assert_eq!(none.code, ExitCode::Usage);
            assert_eq!(
                none.message,
                format!(
                    "there is no run to resume below {target}/gpuprof/runs; the same command \
                     without --resume begins one"
                )
            );
        }
        let run = target.join("gpuprof/runs/20251121T01-1");
        fs::write(run.join(journal::FILE), "").unwrap();
        assert_eq!(resumable(&target, "latest").unwrap(), run);
        // A later run, killed before it had a journal; a merged run never has a journal.
        let later = target.join("gpuprof/runs/20251121T02-1");
        fs::create_dir_all(&later).unwrap();
        fs::write(later.join(run_order::FILE), "1\n").unwrap();
        let refused = resumable(&target, "latest").unwrap_err();
        assert_eq!(refused.code, ExitCode::Usage);
        assert!(
            refused.message.starts_with("the latest run, 20251121T02-1, has measured nothing")
                && refused.message.contains("--resume 20251121T01-1"),
            "{}",
            refused.message
        );
        assert_eq!(resumable(&target, "20251121T01").unwrap(), run);
        fs::write(later.join("run.json"), "{}").unwrap();
        assert_eq!(resumable(&target, "latest").unwrap(), run);
        fs::remove_dir_all(later).unwrap();
        fs::create_dir(target.join("gpuprof/runs/20251121T03-1")).unwrap();
        let killed = resumable(&target, "20251121T03-1").unwrap_err().message;
        assert!(killed.starts_with("the run 20251121T03-1 has measured nothing"), "{killed}");
        let other = resumable(&target, "2024").unwrap_err().message;
        assert_eq!(other, "no run to resume is named `2024`: the last one is 20251121T01-1");
    }

    #[test]
    fn a_torn_file_is_refused_with_its_path_and_byte() {
        let bytes = serde_json::to_vec_pretty(&run("x")).unwrap();
        let path = Utf8Path::new("b.json");
        for end in 0..bytes.len() {
            let failure = parse(&bytes[..end], path).unwrap_err();
            assert_eq!(failure.code, ExitCode::Configuration);
            assert!(
                failure.message.starts_with("b.json is not a run document: byte "),
                "{}",
                failure.message
            );
        }
        let failure = parse(&bytes[..30], path).unwrap_err();
        assert!(failure.message.contains("; the file ends there"), "{}", failure.message);
    }

    #[test]
    fn control_characters_of_a_document_are_removed() {
        let mut hostile = run("\u{1b}[2J\u{1b}]0;title\u{7}id\u{9b}31m\u{7f}");
        let provenance = &mut hostile.provenance;
        provenance.started = "one\ntwo\tthree".into();
        provenance.ptx_sha256 = [("ker\u{1b}[31mnel\r".to_owned(), "\u{8}ab".to_owned())].into();
        let bytes = serde_json::to_vec(&hostile).unwrap();
        let read = parse(&bytes, Utf8Path::new("b.json")).unwrap();
        assert_eq!(read.id, "]0;titleid31m");
        assert_eq!(read.provenance.started, "one\ntwo\tthree");
        let kernels: Vec<(&str, &str)> =
            read.provenance.ptx_sha256.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(kernels, [("kernel", "ab")]);
    }

    fn measured() -> String {
        let mut run = run("x");
        run.provenance.backend = Backend::Cuda;
        serde_json::to_string(&run).unwrap()
    }

    #[test]
    fn an_unknown_word_is_named_with_its_file() {
        let text = measured();
        for (word, other) in [
            ("\"backend\":\"cuda\"", "\"backend\":\"metal\""),
            ("\"cache_control\":\"all\"", "\"cache_control\":\"metal\""),
            ("\"clock_control\":\"none\"", "\"clock_control\":\"metal\""),
            ("\"cache_control\"", "\"replay_mode\":\"metal\",\"cache_control\""),
        ] {
            assert!(text.contains(word), "{text}");
            let failure = parse(text.replace(word, other).as_bytes(), "b.json".into()).unwrap_err();
            assert_eq!(failure.code, ExitCode::Configuration);
            let message = failure.message;
            assert!(message.starts_with("b.json is not a run document: byte "), "{message}");
            assert!(message.contains("unknown variant `metal`, expected "), "{message}");
        }
    }

    #[test]
    fn an_empty_slice_of_version_0_1_is_read() {
        let text = measured();
        let words = ["backend\":\"cuda", "cache_control\":\"all", "clock_control\":\"none"];
        let empty = words.iter().fold(text, |text, word| {
            assert!(text.contains(word), "{text}");
            text.replace(word, &word[..word.rfind('"').unwrap() + 1])
        });
        let read = parse(empty.as_bytes(), "b.json".into()).unwrap();
        assert_eq!(read.provenance.backend, Backend::Unknown);
        assert_eq!(read.provenance.cache_control, CacheControl::All);
        assert_eq!(read.provenance.clock_control, ClockControl::None);
    }

    #[test]
    fn an_older_document_gets_current_keys() {
        use gpuprof_analysis::fixture::series;
        use gpuprof_model::code::CodeChange;
        use gpuprof_model::comparison::Comparison;
        use gpuprof_model::run::SeriesCost;
        let of = |target: &str, kernel: &str| SeriesResult {
            id: SeriesId::new("p", target, kernel),
            ..series(Vec::new())
        };
        let mut old = run("x");
        old.series = vec![of("a", "scale"), of("a", "copy"), of("b", "copy")];
        let series = || "p::a::scale".to_owned();
        old.comparison = Some(Comparison {
            vanished: vec!["p::a::scale/n=1: duration".into(), "p::a::gone".into()],
            unheld: vec![series(), "p::b::copy".into()],
            code: vec![CodeChange { series: series(), ..CodeChange::default() }],
            ..Comparison::default()
        });
        let cost = SeriesCost { series: series(), configurations: 1, microseconds: 1 };
        old.provenance.costs = vec![cost];
        let mut read = parse(&serde_json::to_vec(&old).unwrap(), "b.json".into()).unwrap();
        let keys = |run: &Run| run.series.iter().map(|one| one.id.to_string()).collect::<Vec<_>>();
        assert_eq!(keys(&read), ["p::scale", "p::a::copy", "p::b::copy"]);
        let comparison = read.comparison.clone().unwrap();
        assert_eq!(comparison.vanished, ["p::scale/n=1: duration", "p::a::gone"]);
        assert_eq!(comparison.unheld, ["p::scale", "p::b::copy"]);
        assert_eq!(comparison.code[0].series, "p::scale");
        assert_eq!(read.provenance.costs[0].series, "p::scale");
        let again = parse(&serde_json::to_vec(&read).unwrap(), "b.json".into()).unwrap();
        assert_eq!(again, read);
        // As the baseline of a run with both kernels in its second harness.
        read.name_as(&[of("a", "copy"), of("c", "scale")], false);
        assert_eq!(keys(&read), ["p::scale", "p::copy"]);
        assert_eq!(read.series[0].id.target, "c");
    }

    #[test]
    fn duplicate_series_or_configurations_are_refused() {
        use gpuprof_analysis::fixture::{emulated, series};
        let refusal = |run: &Run| {
            let bytes = serde_json::to_vec(run).unwrap();
            parse(&bytes, Utf8Path::new("b.json")).unwrap_err().message
        };
        let one = series(vec![emulated(64, 1024)]);
        let twice = Run { series: vec![one.clone(), one.clone()], ..run("x") };
        assert_eq!(refusal(&twice), "b.json holds the series saxpy::saxpy twice");
        let row = one.configurations[0].clone();
        let twice = SeriesResult { configurations: vec![row.clone(), row], ..one };
        let twice = Run { series: vec![twice], ..run("x") };
        assert_eq!(refusal(&twice), "b.json holds saxpy::saxpy/block=64,n=1024 twice");
    }

    #[test]
    fn a_negative_time_is_refused() {
        let refusal = |change: &dyn Fn(&mut MetricResult)| {
            let mut row = gpuprof_analysis::fixture::gpu(64, 1024, &[5000.0]);
            change(row.metrics.get_mut("duration").unwrap());
            let run =
                Run { series: vec![gpuprof_analysis::fixture::series(vec![row])], ..run("x") };
            parse(&serde_json::to_vec(&run).unwrap(), Utf8Path::new("b.json"))
        };
        refusal(&|_| ()).unwrap();
        let told = "b.json: duration of saxpy::saxpy/block=64,n=1024 is a negative time";
        let below = refusal(&|duration| duration.value = Ok(-5.0)).unwrap_err();
        assert_eq!((below.message.as_str(), below.code), (told, ExitCode::Configuration));
        assert_eq!(
            refusal(&|duration| duration.processes[0].min = -5.0).unwrap_err().message,
            told
        );
    }

    #[test]
    fn hostile_files_are_refused() {
        let path = Utf8Path::new("b.json");
        let deep = "[".repeat(100_000);
        let zero = parse(br#"{"schema_version":0,"id":"x"}"#, path).unwrap_err();
        assert_eq!(zero.message, "b.json has schema 0, which no cargo-gpuprof writes");
        for text in ["", "null", "{}", "\0\0\0\0", deep.as_str(), r#"{"schema_version":-1}"#] {
            assert_eq!(parse(text.as_bytes(), path).unwrap_err().code, ExitCode::Configuration);
        }
        let newer = parse(br#"{"schema_version":99,"what":"ever"}"#, path).unwrap_err();
        assert_eq!(
            newer.message,
            "b.json has schema 99, but this cargo-gpuprof only reads up to 2; use a newer one"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, Utf8Path::new("x"));
        }

        #[test]
        fn a_changed_byte_is_read_or_refused(at in 0..400_usize, byte: u8) {
            let mut bytes = serde_json::to_vec_pretty(&run("x")).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Err(failure) = parse(&bytes, Utf8Path::new("x")) {
                prop_assert_eq!(failure.code, ExitCode::Configuration);
            }
        }
    }
}
