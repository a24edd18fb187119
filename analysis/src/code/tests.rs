use std::collections::BTreeSet;
use std::sync::Arc;

use gpuprof_model::code::{Columns, LineCounts, Listing};

use super::*;
use crate::fixture;

/// A run of a kernel that loads `x` at `index`, which takes so many sectors a request.
fn run(index: &str, sectors: u64, more: &[&str]) -> Run {
    let source =
        format!("fn kernel() {{\n    let i = thread::global_x();\n    let a = x[{index}];\n}}\n");
    let mut lines = vec![(2, "mov.u32 %r1, %tid.x;".to_owned())];
    lines.extend(more.iter().map(|text| (3, (*text).to_owned())));
    lines.push((3, format!("ld.global.f32 %f{}, [%rd1];", more.len() + 1)));
    let listed = |(at, (line, text)): (usize, &(u32, String))| {
        ListedLine(at as u32 + 10, 1, *line, text.clone())
    };
    let counts = lines.iter().map(|(_, text)| {
        let mut counts = LineCounts::default();
        counts[Counter::Instructions] = 64;
        if text.starts_with("ld") {
            (counts[Counter::Requests], counts[Counter::Sectors]) = (64, 64 * sectors);
        }
        counts
    });
    let counts: Vec<LineCounts> = counts.collect();
    let listing = Listing {
        kernel: "kernel".into(),
        files: vec!["src/lib.rs".into()],
        lines: lines.iter().enumerate().map(listed).collect(),
    };
    let mut row = fixture::emulated(64, 1 << 20);
    row.code = vec![CountedCode { listing: Arc::new(listing), counts: Columns::new(&counts) }];
    let mut run = fixture::run("now", vec![fixture::series(vec![row])]);
    run.provenance.sources.add("src/lib.rs", &source, &BTreeSet::from([2, 3]));
    run
}

#[test]
fn a_line_that_costs_more_is_told_with_its_code() {
    let changes = changes(&run("i", 4, &[]), &run("8 * i", 32, &["shl.b32 %r2, %r1, 3;"]));
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(change.costs, ["the loads of src/lib.rs:3 went from 4 to 32 sectors a request"]);
    assert_eq!(change.opcodes, [("shl.b32".to_owned(), 0, 64)]);
    let row = |row: &DiffRow| {
        let text =
            |line: &Option<DiffLine>| line.as_ref().map_or("-", |line| line.1.trim()).to_owned();
        format!("{}{}{}", text(&row.before), if row.same { " = " } else { " / " }, text(&row.after))
    };
    let source: Vec<String> = change.source.iter().map(row).collect();
    let same = "let i = thread::global_x();";
    assert_eq!(source, [format!("{same} = {same}"), "let a = x[i]; / let a = x[8 * i];".into()]);
    let ptx: Vec<String> = change.ptx.iter().map(row).collect();
    let expected = [
        "mov.u32 %r1, %tid.x; = mov.u32 %r1, %tid.x;",
        "- / shl.b32 %r2, %r1, 3;",
        "ld.global.f32 %f1, [%rd1]; = ld.global.f32 %f2, [%rd1];",
    ];
    assert_eq!(ptx, expected);
}

#[test]
fn the_same_code_with_other_numbers_of_registers_has_not_changed() {
    let other = run("i", 4, &[]);
    assert!(changes(&other, &other).is_empty());
    let mut shifted = run("i", 4, &[]);
    let code = &mut shifted.series[0].configurations[0].code[0];
    Arc::make_mut(&mut code.listing).lines[0].3 = "mov.u32 %r7, %tid.x;".into();
    assert!(changes(&other, &shifted).is_empty());
}
