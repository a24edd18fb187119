//! The source text of a run's counts by line.
//!
//! Input: a measured run, and the folders of its source. Output: the same with the text of the
//! lines that have counts. Files outside of the workspace are not read.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::sync::Arc;

use gpuprof_model::code::Sources;
use gpuprof_model::run::Run;

use super::decided::Prepared;
use super::results::Collected;
use crate::commands::Source;

/// Adds the text to what was `found` of both revisions.
pub(super) fn add(prepared: &Prepared, found: &mut Collected) {
    let inputs = &prepared.plan.inputs;
    found.run.provenance.sources = read(&found.run, &inputs.source);
    let base = found.base.as_mut().and_then(|against| against.run.as_mut().ok());
    if let Some((run, base)) = base.zip(inputs.base.as_ref()) {
        run.provenance.sources = read(run, &base.source);
    }
}

/// The text of the counted lines of `run`, which was built from `source`.
fn read(run: &Run, source: &Source) -> Sources {
    let mut sources = Sources::default();
    let Some(root) = source.folder() else { return sources };
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
        if path.starts_with(&root) && !file.split('/').any(|part| part == "..") {
            // A report shows the lines of a file without text as numbers.
            let text = fs::read_to_string(&path).unwrap_or_default();
            sources.add(file, &text, &lines);
        }
    }
    sources
}
