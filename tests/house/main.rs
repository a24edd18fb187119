//! The house rules that no tool of Rust's checks: short lines, short functions, no import circles.

mod circles;
mod decisions;
mod english;
mod files;
mod functions;
mod lines;
mod modules;
mod prose;
mod tuples;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use circles::Needs;
use modules::Modules;
use prose::{Kind, Line};

/// Finds the numbers of the lines of a text that are too wide.
type WideLines = fn(&str) -> Vec<usize>;

/// Reads the prose of a file's text.
type ProseReader = fn(&str) -> Vec<Line>;

/// Hits by habit, kind of prose and file.
type HitsByFile = BTreeMap<(usize, usize, String), usize>;

/// Comments and documents are read next to code, in half a window.
#[test]
fn comments_and_documents_wrap_at_100_columns() {
    let mut wide = Vec::new();
    let checks: [(&str, WideLines); 2] = [("rs", lines::wide_comments), ("md", lines::wide_prose)];
    for (extension, check) in checks {
        for file in files::with_extension(extension) {
            let text = fs::read_to_string(&file).unwrap();
            let numbers = check(&text).into_iter();
            wide.extend(numbers.map(|number| format!("{}:{number}", files::shown(&file))));
        }
    }
    assert!(
        wide.is_empty(),
        "Comments and documents wrap at {} columns. Wrap these lines:\n{}",
        lines::WIDTH,
        wide.join("\n")
    );
}

#[test]
fn functions_are_at_most_60_lines_long() {
    let mut long = Vec::new();
    for file in files::with_extension("rs") {
        // Fixtures with compile errors may not even be tokens.
        let Ok(tokens) = fs::read_to_string(&file).unwrap().parse() else { continue };
        for it in functions::long_functions(tokens) {
            long.push(format!("{}:{} {} ({})", files::shown(&file), it.line, it.name, it.lines));
        }
    }
    assert!(
        long.is_empty(),
        "A function has at most {} lines. Extract a part of these:\n{}",
        functions::LENGTH,
        long.join("\n")
    );
}

/// A file in which a tuple is the index that users write.
const INDEXED_BY_TUPLES: &str = "runtime/src/device/constant.rs";

#[test]
fn no_parameter_is_a_tuple_of_more_than_two_values() {
    let mut long = Vec::new();
    for file in files::with_extension("rs") {
        let shown = files::shown(&file);
        if is_test(&shown) || shown == INDEXED_BY_TUPLES {
            continue;
        }
        let Ok(tokens) = fs::read_to_string(&file).unwrap().parse() else { continue };
        for it in tuples::long_parameters(tokens) {
            long.push(format!("{shown}:{} {}", it.line, it.function));
        }
    }
    assert!(
        long.is_empty(),
        "Make these parameters a struct, an array or several parameters:\n{}",
        long.join("\n")
    );
}

/// Files in which a message of another crate decides, since that crate has no other sign.
const BY_TEXT: [&str; 1] = ["engine/src/store/untrusted.rs"];

#[test]
fn no_message_decides_what_happens_and_no_result_holds_a_result() {
    let mut found = Vec::new();
    for file in files::with_extension("rs") {
        let shown = files::shown(&file);
        if is_test(&shown) || BY_TEXT.contains(&shown.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let lines = decisions::by_text(&text).into_iter().chain(decisions::nested_results(&text));
        found.extend(lines.map(|line| format!("{shown}:{line}")));
    }
    assert!(
        found.is_empty(),
        "What reacts to a failure goes by its kind (model/src/failure.rs), not by its words, and \
         an outcome is one enum, not a result in a result:\n{}",
        found.join("\n")
    );
}

/// A path counts if it begins with a folder of the repository or of the subcommand's source; the
/// others are short forms after a whole path.
#[test]
fn the_files_that_the_architecture_names_exist() {
    let text = fs::read_to_string(files::path("docs/architecture.md")).unwrap();
    let named = text.split('`').skip(1).step_by(2).filter(|it| !it.contains([' ', '*', '…']));
    let roots = [files::path(""), files::path("cargo-gpuprof/src")];
    let missing = named.filter(|path| {
        let Some((folder, _)) = path.split_once('/') else { return false };
        let whole = roots.iter().any(|root| root.join(folder).is_dir());
        let is_file = path.ends_with(".rs") && !path.contains("NAME");
        is_file && whole && !roots.iter().any(|root| root.join(path).is_file())
    });
    let missing = missing.collect::<Vec<_>>();
    assert!(missing.is_empty(), "docs/architecture.md names files that do not exist: {missing:?}");
}

/// Whether a file is no part of a product.
fn is_test(shown: &str) -> bool {
    shown.starts_with("tests/")
        || shown.contains("/tests/")
        || shown.contains("/examples/")
        || shown.ends_with("tests.rs")
}

/// The packages of the tool.
const OF_TOOL: [&str; 6] = ["build", "cargo-gpuprof", "catalogue", "engine", "report", "system"];

/// The tool's output contains text from files and other programs, which must not act on a terminal
/// or in a CI job's log.
#[test]
fn the_tool_says_everything_through_two_modules() {
    // Elsewhere than on Linux there is only `main`.
    let free = ["cargo-gpuprof/src/main.rs", "system/src/console.rs"];
    let mut found = Vec::new();
    for file in files::with_extension("rs") {
        let shown = files::shown(&file);
        let of_tool = OF_TOOL.iter().any(|it| file.starts_with(files::path(it).join("src")));
        if !of_tool || free.contains(&shown.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let says = |line: &str| line.contains("println!(") || line.contains("dbg!(");
        let lines = text.lines().enumerate().filter(|(_, line)| says(line));
        found.extend(lines.map(|(index, _)| format!("{shown}:{}", index + 1)));
    }
    assert!(found.is_empty(), "say these with `console`:\n{}", found.join("\n"));
}

/// The integration tests of a package are one executable if it has a `tests/main.rs`: a file that
/// is not a module of it would never run.
#[test]
fn every_file_of_tests_is_a_module_of_its_main() {
    let mains = files::with_extension("rs");
    let mains: Vec<_> = mains.into_iter().filter(|file| file.ends_with("tests/main.rs")).collect();
    assert!(mains.len() >= 3, "{mains:?}");
    for main in mains {
        let text = fs::read_to_string(&main).unwrap();
        for entry in fs::read_dir(main.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.extension().is_some_and(|it| it == "rs") && name != "main" {
                let module = format!("mod {name};");
                assert!(text.lines().any(|line| line == module), "{}: {name}", main.display());
            }
        }
    }
}

/// A native engineer in a hurry reads this repository.
#[test]
fn english_habits_stay_below_their_limits() {
    let mut lines = [0_usize; 3];
    let mut hits = vec![[0_usize; 3]; english::HABITS.len()];
    let mut by_file = BTreeMap::new();
    let readers: [(&str, ProseReader); 2] =
        [("rs", prose::read_rust), ("md", prose::read_markdown)];
    for (extension, read) in readers {
        for file in files::with_extension(extension) {
            let shown = files::shown(&file);
            // These describe the habits.
            if shown.starts_with("tests/house/") {
                continue;
            }
            for line in read(&fs::read_to_string(&file).unwrap()) {
                lines[line.kind as usize] += 1;
                for (habit, count) in english::count(&line.text).into_iter().enumerate() {
                    hits[habit][line.kind as usize] += count;
                    *by_file.entry((habit, line.kind as usize, shown.clone())).or_insert(0) +=
                        count;
                }
            }
        }
    }
    let mut text = String::new();
    for (index, habit) in english::HABITS.iter().enumerate() {
        for kind in [Kind::Comment, Kind::Message, Kind::Markdown] {
            let density = 1000.0 * hits[index][kind as usize] as f64 / lines[kind as usize] as f64;
            let limit = habit.limits[kind as usize];
            if density > limit {
                text += &format!("{kind:?}: {}: {density:.2}, limit {limit}\n", habit.name);
                text += &most_hits(&by_file, index, kind);
            }
        }
    }
    assert!(text.is_empty(), "hits in 1,000 lines of prose:\n{text}");
}

/// The files with the most hits of a habit.
fn most_hits(by_file: &HitsByFile, habit: usize, kind: Kind) -> String {
    let of_habit = by_file
        .iter()
        .filter(|((index, of, _), count)| *index == habit && *of == kind as usize && **count > 0);
    let mut files: Vec<_> = of_habit.map(|((_, _, file), count)| (*count, file)).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.0));
    files.iter().take(5).map(|(count, file)| format!("    {count} in {file}\n")).collect()
}

/// Data flows one way, so a file can be read and moved with its dependencies.
#[test]
fn files_of_a_package_import_each_other_without_circles() {
    refuse_circles("files", |_, needs| needs);
}

/// A room is a module directly below a crate's root: a package that grows is cut along its rooms.
#[test]
fn rooms_of_a_package_import_each_other_without_circles() {
    refuse_circles("rooms", |folder, needs| circles::of_rooms(&needs, &folder.join("src")));
}

/// Fails if what `collapse` makes of the files of any package is in circles.
fn refuse_circles(what: &str, collapse: impl Fn(&Path, Needs) -> Needs) {
    let mut count = 0;
    let mut text = String::new();
    for folder in files::packages() {
        let needs = collapse(&folder, needs_of(&folder));
        let circles = circles::circles(&needs);
        let here: usize = circles.iter().map(BTreeSet::len).sum();
        if here > 0 {
            text += &format!("{}: {here} {what} in circles\n", files::shown(&folder));
            text.extend(circles.iter().map(|it| describe(what, it, &needs)));
        }
        count += here;
    }
    assert!(
        count == 0,
        "{count} {what} import each other in circles. Move what both need to a place below both, \
         or hand it in as an argument.\n\n{text}"
    );
}

/// The dependencies between the files of all crates of a package. A file that a package includes
/// from another one by `#[path]` belongs to the other.
fn needs_of(package: &Path) -> Needs {
    let mut needs = Needs::new();
    for root in roots(package) {
        let found = circles::needs(&Modules::of_crate(&root)).into_iter();
        for (file, others) in found.filter(|it| it.0.starts_with(package)) {
            needs.entry(file).or_default().extend(others);
        }
    }
    needs
}

/// The root files of a package's crates.
fn roots(package: &Path) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["src/lib.rs", "src/main.rs", "support/lib.rs"]
        .iter()
        .map(|it| package.join(it))
        .filter(|it| it.exists())
        .collect();
    for folder in ["", "tests", "benches", "examples"] {
        let entries = fs::read_dir(package.join(folder)).into_iter().flatten();
        let files = entries.map(|it| it.unwrap().path());
        roots.extend(files.filter(|it| it.extension().is_some_and(|it| it == "rs")));
    }
    roots
}

/// The members of a circle, each with its dependencies on the others.
fn describe(what: &str, circle: &BTreeSet<PathBuf>, needs: &Needs) -> String {
    let mut text = format!("  a circle of {} {what}:\n", circle.len());
    for file in circle {
        text += &format!("    {}\n", files::shown(file));
        for (other, path) in needs[file].iter().filter(|it| circle.contains(it.0)) {
            text += &format!("      needs {} for `{path}`\n", files::shown(other));
        }
    }
    text
}
