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

use super::decided::Prepared;
use super::results::Collected;
use crate::commands::Source;

/// Adds the text to what was `found` of both revisions.
pub(super) fn add(prepared: &Prepared, found: &mut Collected) {
    let inputs = &prepared.plan.inputs;
    let read = |run: &Run, source: &Source, changed: Lines| {
        let read = |root: Utf8PathBuf| read((run, changed), &root, prepared.built);
        source.folder().map_or_else(Sources::default, read)
    };
    let (mut old, mut new) = Default::default();
    let base = found.base.as_mut().and_then(|against| against.run.as_mut().ok());
    if let Some((run, base)) = base.zip(inputs.base.as_ref()) {
        if let Some((base, head)) = base.source.folder().zip(inputs.source.folder()) {
            let files = counted(run).into_keys().chain(counted(&found.run).into_keys());
            (old, new) = changed(files, &base, &head);
        }
        run.provenance.sources = read(run, &base.source, old);
    }
    found.run.provenance.sources = read(&found.run, &inputs.source, new);
}

/// The lines of each of `files` that differ between two folders, in either.
fn changed(files: impl Iterator<Item = String>, old: &Utf8Path, new: &Utf8Path) -> (Lines, Lines) {
    let (mut before, mut after) = (Lines::new(), Lines::new());
    for file in files.collect::<BTreeSet<_>>() {
        let text = |root: &Utf8Path| fs::read_to_string(within(root, &file)?).ok();
        if let Some((a, b)) = text(old).zip(text(new)) {
            let (a, b) = changed_lines(&a, &b);
            before.insert(file.clone(), a);
            after.insert(file, b);
        }
    }
    (before, after)
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

/// The text of the counted lines of `run`, which was `built` from the source in `root`, and of
/// those that `changed`.
fn read((run, changed): (&Run, Lines), root: &Utf8Path, built: SystemTime) -> Sources {
    let mut sources = Sources::default();
    let mut wanted = counted(run);
    for (file, lines) in changed {
        wanted.entry(file).or_default().extend(lines);
    }
    for (file, lines) in wanted {
        let Some(path) = within(root, &file) else { continue };
        let changed = fs::metadata(&path).and_then(|it| it.modified()).is_ok_and(|at| at > built);
        if changed {
            sources.add_changed(&file);
        } else {
            // A report says that the text of the file is not known.
            let text = fs::read_to_string(&path).unwrap_or_default();
            sources.add(&file, &text, &lines);
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
    fn a_file_that_changed_after_the_build_has_no_text() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(root.join("lib.rs"), "one\ntwo\n").unwrap();
        let mut counts = LineCounts::default();
        counts[Counter::Instructions] = 1;
        let lines = vec![ListedLine(1, 1, 2, "ret;".into())];
        let files = vec!["lib.rs".to_owned()];
        let listing = Listing { kernel: "kernel".into(), files, lines, ..Listing::default() };
        let mut row = fixture::emulated(64, 1 << 20);
        row.code = vec![CountedCode::new(listing, &[counts])];
        let run = fixture::run("now", vec![fixture::series(vec![row])]);
        let built = SystemTime::now() + Duration::from_secs(1);
        let read = |root: &Utf8Path, built| read((&run, Lines::new()), root, built);
        assert_eq!(read(root, built).line("lib.rs", 2), Some("two"));
        let changed = read(root, built - Duration::from_secs(3600));
        assert_eq!(changed.line("lib.rs", 2), None);
        assert!(changed.missing("lib.rs").is_some_and(|why| why.contains("changed")));
        assert_eq!(read(&root.join("elsewhere"), built), Sources::default());
    }
}
