use std::collections::BTreeSet;
use std::sync::Arc;

use gpuprof_analysis::fixture;
use gpuprof_analysis::view::View;
use gpuprof_model::code::{
    Columns, CountedCode, Counter, InlinedCall, LineCounts, ListedLine, Listing, MachineLine,
    Sources,
};
use gpuprof_model::expression::Expression;
use gpuprof_model::run::Run;

use super::*;

const SOURCE: &str = "\
fn kernel() {
    let i = thread::global_x();
    let near = x[i];
    // One sector a lane.
    let far = x[8 * i];
    if near < far {
        y[i] = near;
    }
}
";

fn counts(counts: &[(Counter, u64)]) -> LineCounts {
    let mut line = LineCounts::default();
    counts.iter().for_each(|&(counter, count)| line[counter] = count);
    line
}

/// The code of a kernel that loads well at line 3 and badly at line 5, and diverges at line 6.
fn code() -> CountedCode {
    let (once, load) = ([(Counter::Instructions, 64)], Counter::Sectors);
    let line = |ptx, at, text: &str, more: &[(Counter, u64)]| {
        (ListedLine(ptx, 1, at, text.into()), counts(&[&once[..], more].concat()))
    };
    let ideal = |sectors| [(Counter::Requests, 64), (load, sectors), (Counter::IdealSectors, 256)];
    let (lines, counts): (Vec<_>, Vec<_>) = [
        line(10, 2, "mov.u32 %r1, %tid.x;", &[]),
        line(12, 3, "ld.global.f32 %f1, [%rd1];", &ideal(256)),
        line(14, 5, "shl.b32 %r2, %r1, 3;", &[]),
        line(15, 5, "ld.global.f32 %f2, [%rd2];", &ideal(2048)),
        line(17, 6, "@%p1 bra $end;", &[(Counter::Branches, 64), (Counter::DivergentBranches, 8)]),
    ]
    .into_iter()
    .unzip();
    let listing = Listing {
        kernel: "kernel".into(),
        files: vec!["src/lib.rs".into()],
        lines,
        ..Listing::default()
    };
    CountedCode::new(listing, &counts)
}

fn run() -> Run {
    let mut row = fixture::emulated(64, 1 << 20);
    row.code = vec![code()];
    let mut run = fixture::run("now", vec![fixture::series(vec![row])]);
    run.provenance.sources = Sources::default();
    run.provenance.sources.add("src/lib.rs", SOURCE, &BTreeSet::from([2, 3, 5, 6]));
    run
}

fn screen(place: Option<&str>) -> String {
    screen_of(&run(), place)
}

fn screen_of(run: &Run, place: Option<&str>) -> String {
    let place = place.map(|text| FileLine::parse(text).unwrap());
    let mut out = Vec::new();
    write_source(run, &View::default(), place.as_ref(), (None, false), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn costly_lines_are_shown_in_their_source() {
    insta::assert_snapshot!(screen(None), @r"
    saxpy::saxpy  block=64,n=1048576, the first
     line  instructions  threads  sectors  ideal  divergent    src/lib.rs
        1                                                    │ fn kernel() {
        2        20.0 %      0.0                             ▒     let i = thread::global_x();
        3        20.0 %      0.0      256    256             ▒     let near = x[i];
        4                                                    │     // One sector a lane.
        5        40.0 %      0.0    2,048    256             █     let far = x[8 * i];
        6        20.0 %      0.0                          8  █     if near < far {
        7                                                    │         y[i] = near;
    ");
}

#[test]
fn a_configuration_chosen_by_the_filter_is_marked() {
    let mut run = run();
    let mut other = fixture::emulated(128, 1 << 20);
    other.code = vec![code()];
    run.series[0].configurations.push(other);
    let head = |filter: &str, best_by: Option<&str>| {
        let filter = Some(Expression::parse(filter).unwrap());
        let best_by = best_by.map(str::to_owned);
        let mut out = Vec::new();
        let view = View { filter, best_by, ..View::default() };
        write_source(&run, &view, None, (None, false), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().next().unwrap().to_owned()
    };
    let one = "saxpy::saxpy  block=128,n=1048576, it meets the filter";
    assert_eq!(head("block > 64", None), one);
    assert_eq!(head("block > 64", Some("global_sectors")), one);
    let best = "saxpy::saxpy  block=64,n=1048576, the best";
    assert_eq!(head("block > 32", Some("global_sectors")), best);
    assert_eq!(head("block > 999", None), "no configuration");
}

#[test]
fn code_is_cut_where_a_line_ends_and_numbers_are_whole() {
    let mut run = run();
    let long = format!("    let far = {};", ["x[8 * i]"; 20].join(" + "));
    let text = SOURCE.replace("    let far = x[8 * i];", &long);
    run.provenance.sources.add("src/lib.rs", &text, &BTreeSet::from([2, 3, 5, 6]));
    let code = &mut run.series[0].configurations[0].code[0];
    let listing = Arc::make_mut(&mut code.listing);
    listing.lines[3].3 = format!("ld.global.f32 {{{}}}, [%rd2];", ["%f2"; 30].join(", "));
    listing.calls = vec![InlinedCall(15, 1, 20)];
    let place = FileLine::parse("lib.rs:5").unwrap();
    let told = |width, all| {
        let (view, mut out) = (View { all, ..View::default() }, Vec::new());
        write_source(&run, &view, Some(&place), (width, false), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    for (width, columns) in [(None, 100), (Some(90), 90), (Some(120), 120)] {
        let mut text = told(width, false);
        assert!(widest(&text) <= columns, "{text}");
        for facts in ["(inlined at src/lib.rs:20)", "64 requests, 2,048 sectors where 256 would do"]
        {
            let below = text.lines().skip_while(|line| !line.ends_with('…')).nth(1).unwrap();
            assert_eq!(below.trim(), facts, "{text}");
            text = text.split_once(facts).unwrap().1.to_owned();
        }
    }
    assert!(told(None, true).contains(&long));
}

#[test]
fn a_share_of_instructions_is_that_of_all_files() {
    let mut code = code();
    let mut listing = (*code.listing).clone();
    listing.files.push("src/helper.rs".into());
    listing.lines[4].1 = 2;
    code.listing = Arc::new(listing);
    let mut run = run();
    run.series[0].configurations[0].code = vec![code];
    let text = screen_of(&run, None);
    let (_, of_helper) = text.split_once("src/helper.rs").expect("it has a table");
    assert!(of_helper.contains("6        20.0 %"), "{text}");
}

#[test]
fn the_code_of_one_place_is_shown_below_it() {
    insta::assert_snapshot!(screen(Some("lib.rs:5")), @r"
    saxpy::saxpy  block=64,n=1048576, the first
     line  instructions  threads  sectors  ideal  divergent    src/lib.rs
        1                                                    │ fn kernel() {
        2        20.0 %      0.0                             ▒     let i = thread::global_x();
        3        20.0 %      0.0      256    256             ▒     let near = x[i];
        4                                                    │     // One sector a lane.
        5        40.0 %      0.0    2,048    256             █     let far = x[8 * i];
           opcodes  64 ld.global.f32, 64 shl.b32
              PTX      executed
               14            64  shl.b32 %r2, %r1, 3;
               15            64  ld.global.f32 %f2, [%rd2];
                                   64 requests, 2,048 sectors where 256 would do
        6        20.0 %      0.0                          8  █     if near < far {
        7                                                    │         y[i] = near;
        8                                                    │     }
        9                                                    │ }
    ");
    assert_eq!(screen(Some("lib.rs:90")).trim_end(), "no configuration");
    let empty = screen(Some("lib.rs:4"));
    assert!(!empty.contains("PTX"), "{empty}");
}

/// With machine code of the lines 3 and 5, and of none, which warps executed so often.
fn disassembled(executed: Option<u64>) -> Run {
    let mut run = run();
    let code = &mut run.series[0].configurations[0].code[0];
    let one = |offset, ptx, live, text: &str| MachineLine(offset, ptx, live, text.into());
    let machine = vec![
        one(0, 12, 4, "LDG.E R1, [R2]"),
        one(0x190, 14, 9, "IADD3 R4, R4, R2, RZ"),
        one(0x1a0, 15, 7, "LDG.E R4, [R6]"),
        one(0x1b0, 0, 1, "EXIT"),
    ];
    Arc::make_mut(&mut code.listing).machine = machine;
    let of = |times| counts(&[(Counter::Instructions, times)]);
    code.executed = executed.map(|times| Columns::new(&[0, 1, 2, 3].map(|more| of(times + more))));
    run
}

#[test]
fn machine_code_is_shown_below_the_ptx_of_its_place() {
    insta::assert_snapshot!(screen_of(&disassembled(Some(64)), Some("lib.rs:5")), @r"
    saxpy::saxpy  block=64,n=1048576, the first
     line  instructions  threads  live  sectors  ideal  divergent    src/lib.rs
        1                                                          │ fn kernel() {
        2        20.0 %      0.0                                   ▒     let i = thread::global_x();
        3        20.0 %      0.0     4      256    256             ▒     let near = x[i];
        4                                                          │     // One sector a lane.
        5        40.0 %      0.0     9    2,048    256             █     let far = x[8 * i];
           opcodes  66 LDG.E, 65 IADD3
              PTX      executed
               14            64  shl.b32 %r2, %r1, 3;
               15            64  ld.global.f32 %f2, [%rd2];
                                   64 requests, 2,048 sectors where 256 would do
             SASS      executed  live
              190            65     9  IADD3 R4, R4, R2, RZ
              1a0            66     7  LDG.E R4, [R6]
        6        20.0 %      0.0                                8  █     if near < far {
        7                                                          │         y[i] = near;
        8                                                          │     }
        9                                                          │ }
    ");
    let emulated = screen_of(&disassembled(None), Some("lib.rs:5"));
    assert!(emulated.contains("\n       opcodes  64 ld.global.f32, 64 shl.b32\n"), "{emulated}");
    let load = format!("\n          1a0  {:>12}     7  LDG.E R4, [R6]\n", "");
    assert!(emulated.contains(&load), "{emulated}");
}

#[test]
fn editors_read_the_same_as_json() {
    let mut out = Vec::new();
    let place = FileLine::parse("src/lib.rs:5").unwrap();
    let run = disassembled(Some(64));
    write_source_json(&run, &View::default(), Some(&place), &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let lines = document["series"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!((&line["file"], &line["line"]), (&"src/lib.rs".into(), &5.into()));
    assert_eq!(line["text"], "    let far = x[8 * i];");
    assert_eq!((&line["counts"]["sectors"], &line["heat"]), (&2048.into(), &1.0.into()));
    assert_eq!(line["ptx"][1]["text"], "ld.global.f32 %f2, [%rd2];");
    assert_eq!(line["ptx"][1]["counts"]["ideal_sectors"], 256);
    assert_eq!(line["live_registers"], 9);
    assert_eq!(line["opcodes"], serde_json::json!({"IADD3": 65, "LDG.E": 66}));
    let load = serde_json::json!({
        "offset": 416, "ptx_line": 15, "executed": 66, "live_registers": 7,
        "text": "LDG.E R4, [R6]",
    });
    assert_eq!(line["machine"][1], load);
}

#[test]
fn without_source_text_a_line_shows_ptx_and_the_reason() {
    let mut run = run();
    run.provenance.sources = Sources::default();
    insta::assert_snapshot!(screen_of(&run, None), @r"
    saxpy::saxpy  block=64,n=1048576, the first
     line  instructions  threads  sectors  ideal  divergent    src/lib.rs  (its text was not available)
        2        20.0 %      0.0                             ▒ mov.u32 %r1, %tid.x;
        3        20.0 %      0.0      256    256             ▒ ld.global.f32 %f1, [%rd1];
        …
        5        40.0 %      0.0    2,048    256             █ ld.global.f32 %f2, [%rd2];
        6        20.0 %      0.0                          8  █ @%p1 bra $end;
    ");
    run.provenance.sources.add_changed("src/lib.rs");
    let screen = screen_of(&run, Some("lib.rs:5"));
    assert!(screen.contains("src/lib.rs  (its text changed after the build)\n"), "{screen}");
    let mut out = Vec::new();
    write_source_json(&run, &View::default(), None, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let line = &document["series"][0]["lines"][0];
    assert_eq!(line["no_text"], "its text changed after the build");
    assert_eq!((&line["text"], &line["line"]), (&serde_json::Value::Null, &2.into()));
}

#[test]
fn a_line_of_an_inlined_function_names_the_calls() {
    let mut code = code();
    Arc::make_mut(&mut code.listing).calls = vec![InlinedCall(14, 1, 21), InlinedCall(15, 1, 20)];
    let mut run = run();
    run.series[0].configurations[0].code = vec![code];
    let text = screen_of(&run, None);
    let (_, call) = text.split_once(" let far = x[8 * i];\n").expect("the line is shown");
    assert!(call.trim_start().starts_with("(inlined at src/lib.rs:20 and 1 more)\n"), "{text}");
    let mut out = Vec::new();
    write_source_json(&run, &View::default(), None, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let line = &document["series"][0]["lines"][2];
    assert_eq!(line["inlined_at"], serde_json::json!(["src/lib.rs:20", "src/lib.rs:21"]));
}

#[test]
fn the_most_expensive_call_is_named_first() {
    let mut code = code();
    let listing = Arc::make_mut(&mut code.listing);
    // Both loads are of one line: the first loads well, the second badly.
    listing.lines[1].2 = 5;
    listing.calls = vec![InlinedCall(12, 1, 20), InlinedCall(15, 1, 21)];
    let mut run = run();
    run.series[0].configurations[0].code = vec![code];
    let text = screen_of(&run, None);
    assert!(text.contains("(inlined at src/lib.rs:21 and 1 more)\n"), "{text}");
    let mut out = Vec::new();
    write_source_json(&run, &View::default(), None, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let line = &document["series"][0]["lines"][1];
    assert_eq!(line["inlined_at"], serde_json::json!(["src/lib.rs:21", "src/lib.rs:20"]));
}

#[test]
fn local_memory_and_doubles_have_a_column_and_make_a_line_hot() {
    let mut code = code();
    let mut rows = code.counts.rows(code.listing.lines.len());
    (rows[0][Counter::LocalLoads], rows[1][Counter::LocalStores]) = (1500, 500);
    rows[1][Counter::Fp64Operations] = 4096;
    code.counts = Columns::new(&rows);
    let mut run = run();
    run.series[0].configurations[0].code = vec![code];
    let text = screen_of(&run, Some("lib.rs:3"));
    insta::assert_snapshot!(text, @r"
    saxpy::saxpy  block=64,n=1048576, the first
     line  instructions  threads  sectors  ideal  divergent  local ld  local st   FP64    src/lib.rs
        1                                                                               │ fn kernel() {
        2        20.0 %      0.0                                1,500                   █     let i = thr…
        3        20.0 %      0.0      256    256                            500  4,096  █     let near =…
              PTX      executed
               12            64  ld.global.f32 %f1, [%rd1];
                                   64 requests, 256 sectors, 500 local stores, 4,096 FP64 operations
        4                                                                               │     // One sect…
        5        40.0 %      0.0    2,048    256                                        █     let far = x…
        6        20.0 %      0.0                          8                             █     if near < f…
        7                                                                               │         y[i] =…
        8                                                                               │     }
    ");
    let mut out = Vec::new();
    write_source_json(&run, &View::default(), None, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let lines = &document["series"][0]["lines"];
    let of = |line: usize, count: &str| lines[line]["counts"][count].as_u64();
    assert_eq!((of(0, "local_loads"), of(1, "local_stores")), (Some(1500), Some(500)));
    assert_eq!((of(1, "fp64_operations"), lines[1]["heat"].as_f64()), (Some(4096), Some(1.0)));
}
