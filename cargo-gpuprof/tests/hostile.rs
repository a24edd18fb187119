//! Torn or malicious files: each is refused with its path and, if it has one, the first wrong byte;
//! none blocks, and none makes a message long or a report panic.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_engine::store::document;
use gpuprof_engine::store::journal::{self, Journal, RunIdentity, Start};
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;
use gpuprof_model::words::Word;
use gpuprof_report::{Format, FormatSettings, Screen};
use gpuprof_system::error::Failure;
use proptest::prelude::*;
use serde_json::Value;

fn corpus(name: &str) -> Vec<u8> {
    fs::read(Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name))
        .expect("the corpus is there")
}

fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).expect("its path is UTF-8");
    (folder, path)
}

/// Asserts that the failure names `path`, is the file's and not ours, and is short.
fn assert_refused(failure: &Failure, path: &Utf8Path) {
    assert_eq!(failure.code, ExitCode::Configuration, "{failure}");
    assert!(failure.message.contains(path.as_str()), "{failure}");
    assert!(failure.message.len() < 600, "{} bytes", failure.message.len());
    assert!(!failure.message.contains(['\u{1b}', '\0']), "{failure:?}");
}

fn refusal(text: &[u8]) -> String {
    let path = Utf8Path::new("b.json");
    let failure = document::parse(text, path).expect_err("it is no run");
    assert_refused(&failure, path);
    failure.message
}

#[test]
fn special_files_are_refused_unread() {
    let (_keep, folder) = folder();
    let at = |name: &str| folder.join(name);
    fs::create_dir(at("folder")).expect("it can be made");
    let made = Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo can be started");
    assert!(made.success());
    symlink(at("pipe"), at("link-to-pipe")).expect("it can be made");
    symlink("/dev/zero", at("link-to-device")).expect("it can be made");
    symlink(at("loop"), at("loop")).expect("it can be made");
    let _socket = UnixListener::bind(at("socket")).expect("it can be made");
    for (name, reason) in [
        ("folder", "it is a folder, not a file"),
        ("pipe", "it is a named pipe, not a file"),
        ("link-to-pipe", "it is a named pipe, not a file"),
        ("link-to-device", "it is a device, not a file"),
        ("socket", "it is a socket, not a file"),
        ("loop", "Too many levels of symbolic links (os error 40)"),
        ("nothing", "No such file or directory (os error 2)"),
    ] {
        let failure = document::read(&at(name)).expect_err("it is no run");
        assert_refused(&failure, &at(name));
        assert_eq!(failure.message, format!("cannot read {}: {reason}", at(name)));
    }
    // A link to a run is one: a baseline in git may be kept elsewhere.
    fs::write(at("run.json"), corpus("run-1-emulator.json")).expect("it can be written");
    symlink(at("run.json"), at("link-to-run")).expect("it can be made");
    assert!(document::read(&at("link-to-run")).is_ok());
}

#[test]
fn a_truncated_file_is_refused_at_its_end() {
    let whole = corpus("run-1-emulator.json");
    assert!(document::parse(&whole, Utf8Path::new("b.json")).is_ok());
    let end = whole.trim_ascii_end().len();
    // Near every kind of byte: inside names, numbers, texts and between them.
    let near = |at: &usize| at.is_multiple_of(61) || *at < 80 || end - at < 40;
    for at in (0..end).filter(near) {
        let reason = refusal(&whole[..at]);
        let byte =
            reason.strip_prefix("b.json is not a run document: byte ").expect("it has a byte");
        let byte = byte.split(':').next().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
        assert!(byte <= at && at - byte < 24, "cut at {at}: {reason}");
    }
    let inside = whole.windows(4).position(|w| w == b"\"id\"").expect("it has one") + 2;
    assert_eq!(
        refusal(&whole[..inside]),
        format!(
            "b.json is not a run document: byte {inside}: EOF while parsing a string at line 3 \
             column 4; the file ends there"
        )
    );
}

#[test]
fn impossible_values_are_refused_at_their_byte() {
    for (text, reason) in [
        (r#"{"schema_version": 1e999}"#, "byte 23: number out of range"),
        (r#"{"schema_version": 4294967296}"#, "byte 28: invalid value: integer `4294967296`"),
        (r#"{"schema_version": "1"}"#, "byte 21: invalid type: string \"1\", expected u32"),
        (r#"{"schema_version": [1]}"#, "byte 18: invalid type: sequence, expected u32"),
        ("{\"schema_version\": 1, \"id\": \"a\0b\"}", "byte 30: control character"),
        ("{\"schema_version\": 1, \"id\": \"\u{1b}[2J\"}", "byte 29: control character"),
        ("[]", "byte 1: invalid length 0"),
        ("", "byte 0: EOF while parsing a value"),
        ("\u{feff}{}", "byte 0: expected value"),
    ] {
        let message = refusal(text.as_bytes());
        let start = format!("b.json is not a run document: {reason}");
        assert!(message.starts_with(&start), "{text}: {message}");
    }
    assert!(refusal(b"{\"schema_version\": 1, \"id\": \"\xff\"}").contains("invalid unicode"));
}

#[test]
fn errors_about_huge_or_deep_values_stay_short() {
    let long = "a".repeat(100 << 20);
    let message = refusal(format!(r#"{{"schema_version": "{long}"}}"#).as_bytes());
    assert!(
        message.contains("…") && message.ends_with("; the file ends there")
            || message.contains("line 1")
    );
    assert!(
        refusal(format!(r#"{{"schema_version": 1, "id": {}}}"#, "1".repeat(1 << 20)).as_bytes())
            .contains("number out of range")
    );
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(1 << 20), close.repeat(1 << 20));
        refusal(format!(r#"{{"schema_version": 1, "id": {deep}}}"#).as_bytes());
        refusal(format!(r#"{{"schema_version": 1, "series": [{deep}]}}"#).as_bytes());
    }
}

#[test]
fn a_sparse_file_of_a_terabyte_is_refused_unread() {
    let (_keep, folder) = folder();
    let path = folder.join("huge.json");
    let file = fs::File::create(&path).expect("it can be made");
    file.set_len(1 << 40).expect("the file system has sparse files");
    let failure = document::read(&path).expect_err("it is no run");
    assert_refused(&failure, &path);
    assert!(
        failure.message.contains("1099511627776 bytes, more than the memory of this machine"),
        "{failure}"
    );
}

/// The build and device in the corpus's journal.
fn made(journal: &[u8]) -> RunIdentity {
    let first = journal.split(|&b| b == b'\n').next().expect("it has a line");
    serde_json::from_slice(first).expect("it is what the run was made of")
}

#[test]
fn a_malformed_journal_is_refused_at_its_byte() {
    let whole = corpus("journal-0.1.0.jsonl");
    let made = made(&whole);
    let resume = |bytes: &[u8]| {
        let (_keep, folder) = folder();
        fs::write(folder.join(journal::FILE), bytes).expect("it can be written");
        Journal::resume(&folder, &made, Start::default()).map(|(_, replayed)| replayed.len())
    };
    let passes = whole.iter().filter(|&&b| b == b'\n').count() - 1;
    assert_eq!(resume(&whole), Ok(passes));
    let second = whole.iter().position(|&b| b == b'\n').expect("it has lines") + 1;
    for (bytes, byte) in [
        ([&whole[..second], b"null\n"].concat(), second),
        ([&whole[..second], &[0; 4096], b"\n"].concat(), second),
        ([&whole[..second], &b"[".repeat(1 << 20), b"\n"].concat(), second),
        ([&whole[..second], &whole].concat(), second),
        (whole[second..].to_vec(), 0),
        (b"\n".to_vec(), 0),
    ] {
        let failure = resume(&bytes).expect_err("it is no journal");
        assert_refused(&failure, Utf8Path::new(journal::FILE));
        let reported =
            failure.message.split("byte ").nth(1).and_then(|rest| rest.split(':').next());
        let reported: usize = reported.and_then(|n| n.parse().ok()).expect("it has a byte");
        assert!((byte..byte + 200).contains(&reported), "{byte}: {failure}");
    }
}

#[test]
fn a_journal_of_another_version_is_refused_by_its_version() {
    let (_keep, folder) = folder();
    let made = made(&corpus("journal-0.1.0.jsonl"));
    let other =
        "{\"line\":\"made\",\"tool_version\":\"0.0.7\",\"planets\":9}\n{\"line\":\"orbit\"}\n";
    fs::write(folder.join(journal::FILE), other).expect("it can be written");
    let failure =
        Journal::resume(&folder, &made, Start::default()).expect_err("it is another version's");
    assert_eq!(failure.code, ExitCode::Usage);
    assert_eq!(
        failure.message,
        format!(
            "{folder} cannot be resumed: the version of cargo-gpuprof changed since; to start \
             over, leave out --resume"
        )
    );
}

/// Every format.
fn report_all(run: &Run) {
    let screen = Screen { colour: true, width: Some(80) };
    let all = Format::ALL
        .iter()
        .map(|(format, ..)| format.report(FormatSettings { screen, ..FormatSettings::default() }));
    for report in all {
        report.write(run, &mut Vec::new()).expect("memory can be written");
    }
}

/// Every value in `value`, counted in the order of its text; the `at`-th becomes `new`.
fn replace(value: &mut Value, at: &mut usize, new: &Value) {
    if *at == 0 {
        *value = new.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(all) => all.iter_mut().for_each(|value| replace(value, at, new)),
        Value::Object(all) => all.values_mut().for_each(|value| replace(value, at, new)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_run_with_a_changed_byte_is_refused_or_can_be_reported(at: usize, byte: u8) {
        let mut bytes = corpus("run-1-gpu-with-baseline.json");
        let at = at % bytes.len();
        bytes[at] = byte;
        match document::parse(&bytes, Utf8Path::new("b.json")) {
            Ok(run) => report_all(&run),
            Err(failure) => assert_refused(&failure, Utf8Path::new("b.json")),
        }
    }

    #[test]
    fn a_run_with_a_changed_value_is_refused_or_can_be_reported(
        at in 0..2500_usize,
        new in prop_oneof![
            Just(Value::Null), Just(Value::from(0)), Just(Value::from(-1)), Just(Value::from(u64::MAX)),
            Just(Value::from(1e308)), Just(Value::from(5e-324)), Just(Value::from("")),
            Just(Value::from("\u{1b}]0;x\u{7}")), Just(serde_json::json!([])), Just(serde_json::json!({})),
            Just(Value::from(true)),
        ],
    ) {
        let mut value: Value = serde_json::from_slice(&corpus("run-1-gpu-with-baseline.json")).unwrap();
        replace(&mut value, &mut at.clone(), &new);
        match document::parse(value.to_string().as_bytes(), Utf8Path::new("b.json")) {
            Ok(run) => report_all(&run),
            Err(failure) => assert_refused(&failure, Utf8Path::new("b.json")),
        }
    }
}
