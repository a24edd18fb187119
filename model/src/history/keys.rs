//! The keys of a history's lines, in one form.
//!
//! Input: lines of any version and of any set of harnesses, in which one series may have its bench
//! target in its key or not. Output: the same lines, with one key for one series.

use std::collections::{BTreeMap, BTreeSet};

use super::Entry;
use crate::series::{SeriesId, tell_apart};

impl Entry {
    /// Its series, of which the kernel includes the chip; none if its key has no such parts.
    fn series_id(&self) -> Option<SeriesId> {
        let (package, rest) = self.series.split_once("::")?;
        match &self.target {
            Some(target) => Some(SeriesId::new(package, target, rest)),
            None => {
                let (target, kernel) = rest.split_once("::")?;
                Some(SeriesId { target_in_key: true, ..SeriesId::new(package, target, kernel) })
            }
        }
    }

    /// The keys of its series, for filters.
    pub fn keys(&self) -> Vec<String> {
        self.series_id().map_or_else(|| vec![self.series.clone()], |id| id.keys().into())
    }
}

/// Gives each series of `entries` one key. It contains the target if a run measured several
/// harnesses of the package with that kernel; else the target's name does not matter, and is that
/// of the newest run.
pub fn unite_keys(entries: &mut [Entry]) {
    let kernel = |id: &SeriesId| (id.package.clone(), id.kernel.clone());
    let ids: Vec<Option<SeriesId>> = entries.iter().map(Entry::series_id).collect();
    let mut targets: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    let mut newest: BTreeMap<_, (&str, &str)> = BTreeMap::new();
    for (entry, id) in entries.iter().zip(&ids) {
        let Some(id) = id else { continue };
        targets.entry((&entry.run, kernel(id))).or_default().insert(&id.target);
        let last = newest.entry(kernel(id)).or_default();
        *last = (*last).max((&entry.started, &id.target));
    }
    let several: BTreeSet<_> = targets
        .into_iter()
        .filter(|(_, targets)| targets.len() > 1)
        .map(|((_, kernel), _)| kernel)
        .collect();
    let united = |id: &SeriesId| match several.contains(&kernel(id)) {
        true => SeriesId { target_in_key: true, ..id.clone() },
        false => SeriesId::new(&*id.package, newest[&kernel(id)].1, &*id.kernel),
    };
    let mut united: Vec<Option<SeriesId>> = ids.iter().map(|id| id.as_ref().map(united)).collect();
    tell_apart(united.iter_mut().flatten());
    for (entry, id) in entries.iter_mut().zip(&united) {
        let Some(id) = id else { continue };
        (entry.series, entry.target) = (id.to_string(), id.target_beside_key());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::entry;
    use super::*;

    /// Entries of these `run series target`, and the keys that they get.
    fn united(lines: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let of = |(at, &(run, series, target)): (usize, &(&str, &str, Option<&str>))| Entry {
            run: run.into(),
            started: format!("2026-11-23T03:44:{at:02}Z"),
            series: series.into(),
            target: target.map(str::to_owned),
            ..entry()
        };
        let mut entries: Vec<Entry> = lines.iter().enumerate().map(of).collect();
        unite_keys(&mut entries);
        let once = entries.clone();
        unite_keys(&mut entries);
        assert_eq!(entries, once);
        entries.into_iter().map(|entry| entry.series).collect()
    }

    #[test]
    fn timelines_continue_over_old_keys_and_renamed_targets() {
        let lines = [
            ("r1", "p::old::k", None),
            ("r2", "p::new::k", None),
            ("r3", "p::k", Some("new")),
            ("r3", "p::m::k", Some("new")),
        ];
        assert_eq!(united(&lines), ["p::k", "p::k", "p::k", "p::m::k"]);
    }

    #[test]
    fn two_harnesses_of_one_run_keep_their_lines_apart() {
        let lines = [
            ("r1", "p::k", Some("a")),
            ("r2", "p::a::k", None),
            ("r2", "p::b::k", None),
            ("r3", "p::k@l4", Some("b")),
        ];
        assert_eq!(united(&lines), ["p::a::k", "p::a::k", "p::b::k", "p::k@l4"]);
    }

    #[test]
    fn a_line_is_found_by_both_keys() {
        let line = |series: &str, target: Option<&str>| Entry {
            series: series.into(),
            target: target.map(str::to_owned),
            ..entry()
        };
        for line in [line("p::m::k", Some("t")), line("p::t::m::k", None)] {
            assert_eq!(line.keys(), ["p::m::k", "p::t::m::k"], "{line:?}");
        }
        assert_eq!(Entry { series: "odd".into(), ..entry() }.keys(), ["odd"]);
    }
}
