//! A stored run, such as a baseline that a pull request changed: refused, or shown in every format.

#![no_main]

use camino::Utf8Path;
use gpuprof_engine::store::document;
use gpuprof_model::ExitCode;
use gpuprof_model::words::Word;
use gpuprof_report::{Format, Screen, Terms};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let run = match document::parse(bytes, Utf8Path::new("fuzzed.json")) {
        Ok(run) => run,
        Err(failure) => {
            assert_eq!(failure.code, ExitCode::Configuration, "{failure}");
            assert!(failure.message.len() < 2000, "{failure}");
            return;
        }
    };
    let screen = Screen { colour: true, width: Some(80) };
    let all =
        Format::ALL.iter().map(|(format, ..)| format.report(Terms { screen, ..Terms::default() }));
    for report in all {
        report.write(&run, &mut Vec::new()).expect("memory can be written");
    }
});
