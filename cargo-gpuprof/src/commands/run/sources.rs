//! The source text of a run's counts by line.
//!
//! Input: a measured run, and the folders of its source. Output: the same with the text of the
//! lines that have counts. Files outside of the workspace are not read, and neither is a file that
//! changed after the build: its lines would be others.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use camino::Utf8Path;
use gpuprof_model::code::Sources;
use gpuprof_model::run::Run;

use super::decided::Prepared;
use super::results::Collected;
use crate::commands::Source;

/// Adds the text to what was `found` of both revisions.
pub(super) fn add(prepared: &Prepared, found: &mut Collected) {
    let inputs = &prepared.plan.inputs;
    let read = |run: &Run, source: &Source| {
        source.folder().map_or_else(Sources::default, |root| read(run, &root, prepared.built))
    };
    found.run.provenance.sources = read(&found.run, &inputs.source);
    let base = found.base.as_mut().and_then(|against| against.run.as_mut().ok());
    if let Some((run, base)) = base.zip(inputs.base.as_ref()) {
        run.provenance.sources = read(run, &base.source);
    }
}

/// The text of the counted lines of `run`, which was `built` from the source in `root`.
fn read(run: &Run, root: &Utf8Path, built: SystemTime) -> Sources {
    let mut sources = Sources::default();
    let mut counted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let mut known = HashSet::new();
    let codes = rows.flat_map(|row| &row.code);
    for code in codes.filter(|code| known.insert(Arc::as_ptr(&code.listing))) {
        for source in code.listing.lines.iter().filter_map(|line| code.source(line)) {
            counted.entry(source.file).or_default().insert(source.line);
        }
    }
    for (file, lines) in counted {
        let path = root.join(file);
        if !path.starts_with(root) || file.split('/').any(|part| part == "..") {
            continue;
        }
        let changed = fs::metadata(&path).and_then(|it| it.modified()).is_ok_and(|at| at > built);
        if changed {
            sources.add_changed(file);
        } else {
            // A report says that the text of the file is not known.
            let text = fs::read_to_string(&path).unwrap_or_default();
            sources.add(file, &text, &lines);
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
        assert_eq!(read(&run, root, built).line("lib.rs", 2), Some("two"));
        let changed = read(&run, root, built - Duration::from_secs(3600));
        assert_eq!(changed.line("lib.rs", 2), None);
        assert!(changed.missing("lib.rs").is_some_and(|why| why.contains("changed")));
        assert_eq!(read(&run, &root.join("elsewhere"), built), Sources::default());
    }
}
