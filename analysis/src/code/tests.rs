use std::collections::BTreeSet;
use std::sync::Arc;

use gpuprof_model::code::{Columns, LineCounts, Listing, MachineLine, OpcodeMix};

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
        ..Listing::default()
    };
    let mut row = fixture::emulated(64, 1 << 20);
    row.code = vec![CountedCode::new(listing, &counts)];
    let mut run = fixture::run("now", vec![fixture::series(vec![row])]);
    run.provenance.sources.add("src/lib.rs", &source, &BTreeSet::from([2, 3]));
    run
}

#[test]
fn a_more_expensive_line_is_reported_with_its_code() {
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
fn code_with_other_register_numbers_is_unchanged() {
    let other = run("i", 4, &[]);
    assert!(changes(&other, &other).is_empty());
    let mut shifted = run("i", 4, &[]);
    let code = &mut shifted.series[0].configurations[0].code[0];
    Arc::make_mut(&mut code.listing).lines[0].3 = "mov.u32 %r7, %tid.x;".into();
    assert!(changes(&other, &shifted).is_empty());
}

/// `run` with machine code: texts with the live registers at each, executed so often.
fn assembled(mut run: Run, machine: &[(u32, &str)], executed: Option<u64>) -> Run {
    let code = &mut run.series[0].configurations[0].code[0];
    let line = |(at, (live, text)): (u64, &(u32, &str))| {
        MachineLine(16 * at, 11, *live, (*text).to_owned())
    };
    Arc::make_mut(&mut code.listing).machine = (0..).zip(machine).map(line).collect();
    let counts = |times| {
        let mut counts = LineCounts::default();
        counts[Counter::Instructions] = times;
        counts
    };
    code.executed = executed.map(|times| Columns::new(&vec![counts(times); machine.len()]));
    run
}

#[test]
fn machine_code_of_two_revisions_is_side_by_side_with_its_opcodes_and_live_registers() {
    let (old, new) = (run("i", 4, &[]), run("8 * i", 32, &["shl.b32 %r2, %r1, 3;"]));
    let before = [(4, "LDG.E R4, [R2]"), (2, "EXIT")];
    let after = [(9, "IMAD.WIDE R2, R4, 0x8, R2"), (3, "LDG.E R5, [R2]"), (2, "EXIT")];
    let change = |times: Option<u64>| {
        let old = assembled(old.clone(), &before, times);
        changes(&old, &assembled(new.clone(), &after, times)).remove(0)
    };
    let in_code = change(None);
    let wide = |times| ("IMAD.WIDE".to_owned(), 0, times);
    let mix = |executed, all, wide| Some(OpcodeMix { executed, all, changed: vec![wide] });
    assert_eq!(in_code.machine_opcodes, mix(false, (2, 3), wide(1)));
    assert_eq!(in_code.opcodes, [("shl.b32".to_owned(), 0, 64)]);
    let live =
        ("live registers".to_owned(), "4 at src/lib.rs:3".into(), "9 at src/lib.rs:3".into());
    assert_eq!(in_code.facts, [live]);
    let same: Vec<(Option<&str>, bool)> = in_code
        .machine
        .iter()
        .map(|row| (row.before.as_ref().map(|line| &*line.1), row.same))
        .collect();
    assert_eq!(same, [(None, false), (Some("LDG.E R4, [R2]"), true), (Some("EXIT"), true)]);
    assert_eq!(in_code.machine[1].after, Some(DiffLine(16, "LDG.E R5, [R2]".into())));
    // A GPU counts the machine code alone.
    let executed = change(Some(64));
    assert_eq!(executed.machine_opcodes, mix(true, (128, 192), wide(64)));
    assert_eq!(executed.opcodes, []);
}

#[test]
fn different_machine_code_of_equal_ptx_is_a_change() {
    let of = |machine: &[(u32, &str)]| assembled(run("i", 4, &[]), machine, None);
    let old = of(&[(4, "LDG.E R4, [R2]")]);
    assert_eq!(changes(&old, &of(&[(4, "LDG.E R7, [R9]")])), []);
    assert_eq!(changes(&old, &run("i", 4, &[])), []);
    let [change] = &changes(&old, &of(&[(4, "LDG.E.64 R4, [R2]")]))[..] else { panic!("none") };
    assert!(change.ptx.is_empty() && change.machine.len() == 1, "{change:?}");
}

#[test]
fn added_doubles_and_local_memory_are_reported() {
    let (mut old, mut new) = (run("i", 4, &[]), run("i + 1", 4, &["add.u32 %r2, %r1, 1;"]));
    let code = &mut new.series[0].configurations[0].code[0];
    let mut rows = code.counts.rows(3);
    rows[2][Counter::Fp64Operations] = 5120;
    (rows[1][Counter::LocalLoads], rows[1][Counter::LocalStores]) = (64, 32);
    code.counts = Columns::new(&rows);
    let told = |old: &Run, new: &Run| changes(old, new)[0].costs.clone();
    let place = "of src/lib.rs:3 went from";
    let expected = [
        format!("the FP64 operations {place} 0 to 5,120"),
        format!("the local-memory accesses {place} 0 to 96"),
    ];
    assert_eq!(told(&old, &new), expected);
    assert_eq!(told(&new, &old)[0], format!("the FP64 operations {place} 5,120 to 0"));
    let metric = "ptx__local_ld.sum";
    for (run, value) in [(&mut new, 64.0), (&mut old, 0.0)] {
        let row = fixture::row(64, metric, Ok(value));
        run.series[0].configurations[0].metrics.extend(row.metrics);
    }
    let loads = (metric.to_owned(), "0".to_owned(), "64".to_owned());
    assert_eq!(changes(&old, &new)[0].facts, [loads]);
    // A line that was not there had none.
    let text = "fn kernel() {\n    let i = thread::global_x();\n}\n";
    let mut before = old.clone();
    before.provenance.sources = Sources::default();
    before.provenance.sources.add("src/lib.rs", text, &BTreeSet::from([2]));
    let loads = "the loads of src/lib.rs:3 are new, with 256 sectors".to_owned();
    assert_eq!(told(&before, &new), [&expected[..1], &[loads], &expected[1..]].concat());
    before.provenance.sources = Sources::default();
    assert_eq!(told(&before, &new), [""; 0]);
}

/// The changes of a line with these requests and sectors, branches and divergent branches.
fn costs_of(before: [u64; 4], after: [u64; 4]) -> Vec<String> {
    let counted = |index: &str, [requests, sectors, branches, divergent]: [u64; 4]| {
        let mut run = run(index, 4, &["bra $loop;"]);
        let code = &mut run.series[0].configurations[0].code[0];
        let mut rows = code.counts.rows(3);
        (rows[1][Counter::Branches], rows[1][Counter::DivergentBranches]) = (branches, divergent);
        (rows[2][Counter::Requests], rows[2][Counter::Sectors]) = (requests, sectors);
        code.counts = Columns::new(&rows);
        run
    };
    let mut after = counted("8 * i", after);
    let code = &mut after.series[0].configurations[0].code[0];
    Arc::make_mut(&mut code.listing).lines[0].3 = "mov.u32 %r1, %ntid.x;".into();
    changes(&counted("i", before), &after)[0].costs.clone()
}

#[test]
fn added_requests_and_branches_are_reported_as_totals() {
    // Each request takes fewer sectors, and there are more of them.
    let expected = [
        "the divergent branches of src/lib.rs:3 went from 480 to 992",
        "the sectors of the loads of src/lib.rs:3 went from 1,408 to 2,432",
    ];
    assert_eq!(costs_of([480, 1408, 512, 480], [992, 2432, 1024, 992]), expected);
    // Each takes as many.
    let expected = ["the sectors of the loads of src/lib.rs:3 went from 256 to 512"];
    assert_eq!(costs_of([64, 256, 0, 0], [128, 512, 0, 0]), expected);
    // One wide request costs as much as four.
    assert_eq!(costs_of([64, 256, 0, 0], [16, 256, 0, 0]), [""; 0]);
    // There are more, but above all each takes more.
    let expected = [
        "the loads of src/lib.rs:3 went from 4 to 1,024 sectors a request",
        "the branches of src/lib.rs:3 went from 0 to 43.8% divergent",
    ];
    assert_eq!(costs_of([64, 256, 512, 0], [96, 96 * 1024, 1024, 448]), expected);
}

#[test]
fn a_change_of_an_index_function_alone_is_shown() {
    let (mut old, mut new) = (run("at(i)", 4, &[]), run("at(i)", 32, &["shl.b32 %r2, %r1, 3;"]));
    let (old_lines, new_lines) =
        changed_lines("fn at() {\n    i\n}\n", "fn at() {\n    8 * i\n}\n");
    assert_eq!((&old_lines, &new_lines), (&BTreeSet::from([2]), &BTreeSet::from([2])));
    let text = |index: &str| format!("fn at(i: u32) -> u32 {{\n    {index}\n}}\n");
    old.provenance.sources.add("src/at.rs", &text("i"), &old_lines);
    new.provenance.sources.add("src/at.rs", &text("8 * i"), &new_lines);
    // Only the new one has an instruction there.
    let code = &mut new.series[0].configurations[0].code[0];
    let listing = Arc::make_mut(&mut code.listing);
    listing.files.push("src/at.rs".into());
    (listing.lines[1].1, listing.lines[1].2) = (2, 2);
    let source = changes(&old, &new).remove(0).source;
    let changed: Vec<&DiffRow> = source.iter().filter(|row| !row.same).collect();
    let line = |text: &str| Some(DiffLine(2, text.to_owned()));
    let expected = DiffRow {
        file: Some("src/at.rs".into()),
        before: line("    i"),
        after: line("    8 * i"),
        same: false,
    };
    assert_eq!(changed, [&expected]);
    // Neither has one, as if the multiplication were part of an address: all that changed counts.
    let code = &mut new.series[0].configurations[0].code[0];
    Arc::make_mut(&mut code.listing).lines[1].1 = 1;
    Arc::make_mut(&mut code.listing).lines[1].2 = 3;
    let source = changes(&old, &new).remove(0).source;
    assert_eq!(source[0].file.as_deref(), Some("src/at.rs"));
    let expected = DiffRow { file: None, ..expected };
    assert_eq!(source.iter().filter(|row| !row.same).collect::<Vec<_>>(), [&expected]);
}

/// `run` with this source.
fn with_source(mut run: Run, source: &str) -> Run {
    run.provenance.sources = Sources::default();
    run.provenance.sources.add("src/lib.rs", source, &(1..20).collect());
    run
}

#[test]
fn a_changed_constant_that_the_kernel_uses_is_shown_next_to_its_changed_lines() {
    let text = |stride: u32, other: u32, index: &str| {
        format!(
            "const STRIDE: usize = {stride};\nconst OTHER: usize = {other};\n\n\nfn kernel() {{\n    \
             let i = thread::global_x();\n    let a = x[{index}];\n}}\n"
        )
    };
    let of = |text: &str, more: &[&str]| {
        let mut run = with_source(run("i", 4, more), text);
        let code = &mut run.series[0].configurations[0].code[0];
        for line in &mut Arc::make_mut(&mut code.listing).lines {
            line.2 += 4;
        }
        run
    };
    let old = of(&text(4, 5, "STRIDE * i"), &[]);
    let new = of(&text(8, 9, "STRIDE * i + 1"), &["add.u32 %r2, %r1, 1;"]);
    let change = changes(&old, &new).remove(0);
    let changed = change.source.iter().filter(|row| !row.same);
    let texts: Vec<&str> = changed.filter_map(|row| Some(&*row.after.as_ref()?.1)).collect();
    assert_eq!(texts, ["const STRIDE: usize = 8;", "    let a = x[STRIDE * i + 1];"]);
    for (line, name) in [
        ("    pub const N: u32 = 1;", "N"),
        ("static constexpr std::size_t N = 4;", "N"),
        ("#define N (2)", "N"),
        ("let n = 4;", ""),
    ] {
        assert_eq!(constant(line).unwrap_or_default(), name, "{line}");
    }
}

#[test]
fn a_change_at_the_end_of_a_long_line_is_shown() {
    let text = |end: &str| {
        let long = "x[i] + ".repeat(60);
        format!("fn kernel() {{\n    let i = thread::global_x();\n    let a = {long}{end};\n}}\n")
    };
    let old = with_source(run("i", 4, &[]), &text("1"));
    let new = with_source(run("i", 4, &["add.u32 %r2, %r1, 1;"]), &text("2"));
    let source = changes(&old, &new).remove(0).source;
    let changed: Vec<&DiffRow> = source.iter().filter(|row| !row.same).collect();
    let [DiffRow { after: Some(line), .. }] = changed[..] else { panic!("{source:#?}") };
    assert_eq!(line.0, 3);
    assert!(line.1.contains("… 134 more characters, "), "{}", line.1);
}

#[test]
fn code_is_shown_for_the_configuration_with_the_largest_change() {
    let of = |index: &str, sectors: [u64; 2]| {
        let mut both = run(index, sectors[0], &[]);
        let mut other = run(index, sectors[1], &[]).series[0].configurations.remove(0);
        other.configuration = fixture::block(128);
        both.series[0].configurations.push(other);
        for row in &mut both.series[0].configurations {
            let ptx = format!("mov.u32 %r1, {index};");
            Arc::make_mut(&mut row.code[0].listing).lines[0].3 = ptx;
        }
        both
    };
    let place = |sectors| changes(&of("a", [4, 4]), &of("b", sectors)).remove(0).configuration;
    let first = fixture::emulated(64, 1 << 20).configuration.to_string();
    assert_eq!(place([4, 32]), "block=128");
    assert_eq!([place([32, 4]), place([8, 8])], [first.clone(), first]);
}
