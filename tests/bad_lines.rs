//! Kernels of 200 lines with one bad line each: every report leads to it without a click.

use std::fmt::Write;
use std::fs;

use crate::support::{Workspace, repository_folder};

/// A kernel by its name, its bad line, and the threshold that this line violates.
const KERNELS: [(&str, &str, &str); 6] = [
    (
        "strided",
        "sum += unsafe { *x.add(32 * i as usize) };",
        "every load_sectors_per_request <= 4",
    ),
    ("conflicting", "unsafe { tile.write(32 * i, sum) };", "every bank_conflicts == 0"),
    (
        "diverging",
        "if i % 2 == 1 { unsafe { *y.add(64 + i as usize) = sum } };",
        "every ptx__branches_divergent.sum <= 0",
    ),
    (
        "indexing",
        "{ let mut all = [sum; 32]; all[i as usize % 32] += 1.0; sum += all[i as usize * 7 % 32] };",
        "every local_memory <= 0",
    ),
    // The load is in a function that the compiler inlines.
    (CALLING, "sum += unsafe { far(x, i) };", "every load_sectors_per_request <= 4"),
    ("widening", "sum = (f64::from(sum) * 1.000_000_1) as f32;", "every ptx_fp64_flops <= 0"),
];

/// The kernel whose bad line is in a function, and the source of this function's module.
const CALLING: &str = "calling";
const MODULE: &str = "#[inline(always)]\npub unsafe fn far(x: *const f32, i: u32) -> f32 {\n    \
    unsafe { *x.add(32 * i as usize) }\n}\n";

/// Lines before and after the bad one.
const ORDINARY: usize = 94;

/// The source of all kernels, and the number of the bad line of each.
fn source() -> (String, Vec<usize>) {
    let mut text = "use gpuprof::prelude::*;\nmod helper;\nuse helper::far;\n".to_owned();
    let mut bad_lines = Vec::new();
    for (name, bad, threshold) in KERNELS {
        let ordinary = "    sum = sum * 0.9 + 0.1;\n".repeat(ORDINARY);
        let attribute = "series(block = [64]), grid = 1, args(random(4096), zeros(128))";
        let _ = write!(
            text,
            "\n#[gpuprof::kernel({attribute}, threshold({threshold:?}))]\n\
             pub unsafe fn {name}(x: *const f32, y: *mut f32) {{\n    \
             let tile = shared!([f32; 2048]);\n    let i = thread::x();\n    \
             let mut sum = unsafe {{ *x.add(i as usize) }};\n    \
             unsafe {{ tile.write(i, sum) }};\n    block::sync();\n{ordinary}"
        );
        bad_lines.push(text.lines().count() + 1);
        let _ = write!(
            text,
            "    {bad}\n{ordinary}    block::sync();\n    \
             unsafe {{ *y.add(i as usize) = sum + tile.read(i) }};\n}}\n"
        );
    }
    (text, bad_lines)
}

#[test]
fn each_bad_line_is_named_in_the_terminal_the_page_and_the_comment_on_a_pull_request() {
    let (text, bad_lines) = source();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let runtime = repository_folder().join("runtime");
    let manifest = format!(
        "[workspace]\n[package]\nname = \"bad_lines\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\ngpuprof = {{ path = {runtime:?} }}\n[[bench]]\nname = \"kernels\"\n\
         harness = false\n"
    );
    let mut workspace = Workspace::of(
        folder.path(),
        &[
            ("Cargo.toml", &manifest),
            ("src/lib.rs", &text),
            ("src/helper.rs", MODULE),
            ("benches/kernels.rs", "gpuprof::main!(bad_lines);\n"),
        ],
    );
    let lock = repository_folder().join("Cargo.lock");
    fs::copy(lock, folder.path().join("Cargo.lock")).expect("the repository is locked");
    workspace.target = Workspace::repository().target;
    let shown = workspace.gpuprof(&["run", "--offline", "--quiet"]).exits_with(100).stdout;
    let written =
        |format: &str| workspace.gpuprof(&["report", "--format", format]).exits_with(0).stdout;
    let (page, comment) = (written("html"), written("markdown"));
    let by_line = workspace.gpuprof(&["report", "--source", "--all"]).exits_with(0).stdout;
    for (title, bad) in [("  local ld  ", KERNELS[3].1), ("  FP64  ", KERNELS[5].1)] {
        let listing = by_line.lines().skip_while(|line| !line.contains(title));
        let mut hot = listing.take_while(|line| !line.is_empty()).filter(|it| it.contains('█'));
        assert!(hot.any(|line| line.ends_with(bad)), "{title}: not hot in\n{by_line}");
    }
    for format in ["table", "json"] {
        let far = workspace.gpuprof(&["report", "--source", "lib.rs:9000", "--format", format]);
        let far = far.exits_with(2);
        let said = "is near lib.rs:9000; --source alone shows its lines";
        assert!(far.stdout.is_empty() && far.stderr.contains(said), "{}", far.transcript());
    }
    for ((name, bad, _), line) in KERNELS.iter().zip(bad_lines) {
        let called = *name == CALLING;
        let named = match called {
            true => format!("most by src/helper.rs:3, inlined at src/lib.rs:{line}: "),
            false => format!("most by src/lib.rs:{line}: "),
        };
        let link = format!("-{line}\">src/lib.rs:{line}</a>: ");
        assert!(page.contains(&link), "{name}: no link {link} in the page:\n{page}");
        for (what, report) in [("terminal", &shown), ("comment", &comment)] {
            assert!(report.contains(&named), "{name}: {named} is not in the {what}:\n{report}");
        }
        let source = format!("src/lib.rs:{line} | {bad}");
        assert!(called || shown.contains(&source), "{name}: no {source} in the terminal:\n{shown}");
    }
}
