//! The source text of a run's counts by line.
//!
//! Input: a measured run, and the folders of its source. Output: the same with the text of the
//! lines that have counts, and of those that changed since the base. Files outside of the workspace
//! are not read, and neither is a file that changed after the build: its lines would be others.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::code::changed_lines;
use gpuprof_model::code::Sources;
use gpuprof_model::run::Run;

use crate::commands::Source;
use crate::commands::run::measure::results::Collected;
use crate::commands::run::prepare::prepared::Prepared;

/// Adds the text to what was `found` of both revisions.
pub(in crate::commands) fn add(prepared: &Prepared, found: &mut Collected) {
    let inputs = &prepared.plan.inputs;
    let read = |lines: Lines, source: &Source| {
        let read = |root: Utf8PathBuf| read(lines, &root, prepared.built);
        source.folder().map_or_else(Sources::default, read)
    };
    let mut head = counted(&found.run);
    let base = found.base.as_mut().and_then(|against| against.run.as_mut().ok());
    if let Some((run, base)) = base.zip(inputs.base.as_ref()) {
        let mut lines = counted(run);
        if let Some((old, new)) = base.source.folder().zip(inputs.source.folder()) {
            add_changed((&mut lines, &old), (&mut head, &new));
        }
        run.provenance.sources = read(lines, &base.source);
    }
    found.run.provenance.sources = read(head, &inputs.source);
}

/// Adds to the lines of each side those that differ between the two folders.
fn add_changed((old, before): (&mut Lines, &Utf8Path), (new, after): (&mut Lines, &Utf8Path)) {
    let files: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    for file in files {
        let text = |root: &Utf8Path| text(&within(root, &file)?);
        if let Some((a, b)) = text(before).zip(text(after)) {
            let (a, b) = changed_lines(&a, &b);
            old.entry(file.clone()).or_default().extend(a);
            new.entry(file).or_default().extend(b);
        }
    }
}

/// The numbers of lines by file.
type Lines = BTreeMap<String, BTreeSet<u32>>;

/// The lines of `run` that have counts.
fn counted(run: &Run) -> Lines {
    let mut counted = Lines::new();
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let mut known = HashSet::new();
    let codes = rows.flat_map(|row| &row.code);
    for code in codes.filter(|code| known.insert(Arc::as_ptr(&code.listing))) {
        for source in code.listing.lines.iter().filter_map(|line| code.source(line)) {
            counted.entry(source.file.to_owned()).or_default().insert(source.line);
        }
    }
    counted
}

/// The path of `file`, unless it is outside of `root`.
fn within(root: &Utf8Path, file: &str) -> Option<Utf8PathBuf> {
    let path = root.join(file);
    let inside = path.starts_with(root) && !file.split('/').any(|part| part == "..");
    inside.then_some(path)
}

/// The text of a file, if it can be read. CUDA C++ may have comments in any encoding.
fn text(path: &Utf8Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of these lines in `root`, from which the kernels were `built`.
fn read(wanted: Lines, root: &Utf8Path, built: SystemTime) -> Sources {
    let mut sources = Sources::default();
    for (file, lines) in wanted {
        let Some(path) = within(root, &file) else { continue };
        let changed = fs::metadata(&path).and_then(|it| it.modified()).is_ok_and(|at| at > built);
        if changed {
            sources.add_changed(&file);
        } else {
            // A report says that the text of the file is not known.
            sources.add(&file, &text(&path).unwrap_or_default(), &lines);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gpuprof_analysis::fixture;
    use gpuprof_model::code::{CountedCode, Counter, LineCounts, ListedLine, Listing};

    use super::*;

    #[test]
    fn lines_that_differ_between_two_folders_are_added_on_their_side() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [old, new] = folders.each_ref().map(|it| Utf8Path::from_path(it.path()).unwrap());
        fs::write(old.join("lib.rs"), "one\ntwo\n").unwrap();
        fs::write(new.join("lib.rs"), "one\nand\ntwo\nthree\n").unwrap();
        let lines =
            |all: &[u32]| Lines::from([("lib.rs".to_owned(), all.iter().copied().collect())]);
        let (mut before, mut after) = (lines(&[1]), Lines::new());
        add_changed((&mut before, old), (&mut after, new));
        assert_eq!((before, after), (lines(&[1]), lines(&[2, 4])));
    }

    #[test]
    fn a_file_that_changed_after_the_build_has_no_text() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        // The second line is in Latin-1.
        fs::write(root.join("lib.rs"), b"one\ntwo // \xb5s\n").unwrap();
        let mut counts = LineCounts::default();
        counts[Counter::Instructions] = 1;
        let lines = vec![ListedLine(1, 1, 2, "ret;".into())];
        let files = vec!["lib.rs".to_owned()];
        let listing = Listing { kernel: "kernel".into(), files, lines, ..Listing::default() };
        let mut row = fixture::emulated(64, 1 << 20);
        row.code = vec![CountedCode::new(listing, &[counts])];
        let run = fixture::run("now", vec![fixture::series(vec![row])]);
        let built = SystemTime::now() + Duration::from_secs(1);
        let read = |root: &Utf8Path, built| read(counted(&run), root, built);
        assert_eq!(read(root, built).line("lib.rs", 2), Some("two // \u{fffd}s"));
        let changed = read(root, built - Duration::from_secs(3600));
        assert_eq!(changed.line("lib.rs", 2), None);
        assert!(changed.missing("lib.rs").is_some_and(|why| why.contains("changed")));
        assert_eq!(read(&root.join("elsewhere"), built), Sources::default());
    }
}
