//! A stored run, such as a baseline that a pull request changed: refused, or shown in every format.

#![no_main]

use camino::Utf8Path;
use cargo_gpuprof::report::{
    Bmf, Csv, GithubActionBenchmark, GithubAnnotations, Json, JsonLines, Junit, Markdown, Report,
    Table,
};
use cargo_gpuprof::store::document;
use gpuprof_model::ExitCode;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let run = match document::parse(bytes, Utf8Path::new("fuzzed.json")) {
        Ok(run) => run,
        Err(failure) => {
            assert_eq!(failure.code, ExitCode::Configuration, "{failure}");
            assert!(failure.message.len() < 2000, "{failure}");
            return;
        }
    };
    let table = Table { colour: true, width: Some(80) };
    let lines = JsonLines { exit_code: None };
    let junit = Junit::default();
    let all: [&dyn Report; 9] = [
        &table,
        &Json,
        &lines,
        &Csv,
        &Markdown,
        &junit,
        &GithubAnnotations,
        &Bmf,
        &GithubActionBenchmark,
    ];
    for report in all {
        report.write(&run, &mut Vec::new()).expect("memory can be written");
    }
});
