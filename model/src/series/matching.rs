//! The series of another revision, or of a stored file, among those of this revision.
//!
//! Input: the series of both sides, with the places of their annotations. Output: the id here of
//! each series there. This is the only place that decides whether two series are the same one: what
//! is read gets the ids of this revision once, and from then on equal ids are the same series.
//!
//! Two series of one kernel and one bench target of a package are the same. If one series of the
//! kernel is left on each side, these are the same too: the target was renamed. A series that
//! several harnesses of the other side list from one annotation counts once, because older versions
//! listed the series of a library in every harness that links it.

use std::collections::{BTreeMap, BTreeSet};

use super::SeriesId;

/// A series and the place of its annotation.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'s> {
    /// Its name.
    pub id: &'s SeriesId,
    /// The file of its annotation.
    pub file: &'s str,
    /// The line there.
    pub line: u32,
}

/// The series of one kernel of a package: the place of the annotation by target.
type Targets<'s> = BTreeMap<&'s str, (&'s str, u32)>;

/// The counterpart of a series of the other side.
#[derive(Clone, Copy)]
enum Here<'s> {
    /// The series of this target.
    Of(&'s str),
    /// Nothing.
    Absent,
    /// A series that another harness lists too.
    Repeated,
}

/// The ids that the series `theirs` have among `ours`, in the order of `theirs`; none of a series
/// that only repeats another one of `theirs`.
///
/// A series that is not among `ours` keeps its target, and its key contains it if `ours` have the
/// kernel. If only `some_benches` of this side are known, the other ones may exist, so a target
/// counts as renamed only if the file is the same.
pub fn known_as(
    theirs: &[Listed<'_>],
    ours: &[Listed<'_>],
    some_benches: bool,
) -> Vec<Option<SeriesId>> {
    let (before, here) = (by_kernel(theirs), by_kernel(ours));
    let nothing = Targets::new();
    let found: BTreeMap<_, _> = before
        .iter()
        .map(|(kernel, before)| {
            let here = here.get(kernel).unwrap_or(&nothing);
            (*kernel, among(before, here, some_benches))
        })
        .collect();
    let in_key: BTreeMap<_, _> =
        ours.iter().map(|it| ((kernel(it.id), &*it.id.target), it.id.target_in_key)).collect();
    let known = |id: &SeriesId| match found[&kernel(id)][&*id.target] {
        Here::Of(target) => Some(SeriesId {
            target: target.to_owned(),
            target_in_key: in_key[&(kernel(id), target)],
            ..id.clone()
        }),
        Here::Absent => {
            let target_in_key = id.target_in_key || here.contains_key(&kernel(id));
            Some(SeriesId { target_in_key, ..id.clone() })
        }
        Here::Repeated => None,
    };
    theirs.iter().map(|it| known(it.id)).collect()
}

fn kernel(id: &SeriesId) -> (&str, &str) {
    (&id.package, &id.kernel)
}

/// The targets of each kernel: the chips of a series are not distinguished.
fn by_kernel<'s>(series: &[Listed<'s>]) -> BTreeMap<(&'s str, &'s str), Targets<'s>> {
    let mut all: BTreeMap<_, Targets<'_>> = BTreeMap::new();
    for &Listed { id, file, line } in series {
        all.entry(kernel(id)).or_default().insert(&id.target, (file, line));
    }
    all
}

fn among<'s>(
    before: &Targets<'s>,
    here: &Targets<'s>,
    some_benches: bool,
) -> BTreeMap<&'s str, Here<'s>> {
    let added: Vec<_> = here.iter().filter(|(target, _)| !before.contains_key(*target)).collect();
    // A series that two benches include by `mod` belongs to each, and one of the two may be
    // renamed.
    let renamed = !added.is_empty() && shares_place(here);
    let kept = before.iter().filter(|(target, _)| here.contains_key(*target));
    let mut found: BTreeMap<_, _> = kept.map(|(&target, _)| (target, Here::Of(target))).collect();
    let mut places: Vec<_> = found.keys().map(|target| before[target]).collect();
    let mut left = Vec::new();
    for (&target, &place) in before.iter().filter(|(target, _)| !here.contains_key(*target)) {
        let repeated = places.contains(&place) && !renamed;
        found.insert(target, if repeated { Here::Repeated } else { Here::Absent });
        if !repeated {
            places.push(place);
            left.push((target, place));
        }
    }
    if let ([(old, (was_in, _))], [(new, (is_in, _))]) = (&left[..], &added[..])
        && (!some_benches || was_in == is_in)
    {
        found.insert(old, Here::Of(new));
    }
    found
}

/// Whether two of `targets` have the series of one annotation.
fn shares_place(targets: &Targets<'_>) -> bool {
    let places: BTreeSet<_> = targets.values().collect();
    places.len() < targets.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Series as `target file:line`, all of the kernel `k` of the package `p`.
    fn ids(texts: &[&str]) -> Vec<(SeriesId, String, u32)> {
        let read = |text: &&str| {
            let (target, place) = text.split_once(' ').unwrap();
            let (file, line) = place.split_once(':').unwrap();
            (SeriesId::new("p", target, "k"), file.to_owned(), line.parse().unwrap())
        };
        let mut all: Vec<_> = texts.iter().map(read).collect();
        super::super::tell_apart(all.iter_mut().map(|(id, ..)| id));
        all
    }

    fn listed(all: &[(SeriesId, String, u32)]) -> Vec<Listed<'_>> {
        all.iter().map(|(id, file, line)| Listed { id, file, line: *line }).collect()
    }

    /// For each of `theirs` its key and target among `ours`.
    fn found(theirs: &[&str], ours: &[&str], some_benches: bool) -> Vec<String> {
        let (theirs, ours) = (ids(theirs), ids(ours));
        let all = known_as(&listed(&theirs), &listed(&ours), some_benches);
        let text = |id: SeriesId| format!("{id} of {}", id.target);
        all.into_iter().map(|id| id.map_or("-".into(), text)).collect()
    }

    const ALL: bool = false;
    const SOME: bool = true;

    #[test]
    fn the_only_series_of_a_kernel_matches_under_any_target() {
        let [before, here] = [["old benches/old.rs:3"], ["new benches/new.rs:4"]];
        assert_eq!(found(&before, &here, ALL), ["p::k of new"]);
        assert_eq!(found(&before, &before, ALL), ["p::k of old"]);
    }

    #[test]
    fn adding_a_harness_does_not_rename_the_first() {
        let one = ["a benches/a.rs:3"];
        let both = ["a benches/a.rs:3", "b benches/b.rs:3"];
        assert_eq!(found(&one, &both, ALL), ["p::a::k of a"]);
        assert_eq!(found(&both, &one, ALL), ["p::k of a", "p::b::k of b"]);
        let renamed = ["a benches/a.rs:3", "c benches/c.rs:3"];
        assert_eq!(found(&both, &renamed, ALL), ["p::a::k of a", "p::c::k of c"]);
        // Which of them it was cannot be known.
        assert_eq!(found(&["c benches/c.rs:3"], &both, ALL), ["p::c::k of c"]);
    }

    #[test]
    fn a_series_that_every_harness_listed_is_one_series() {
        let twice = ["a src/lib.rs:7", "b src/lib.rs:7"];
        assert_eq!(found(&twice, &["a src/lib.rs:8"], ALL), ["p::k of a", "-"]);
        assert_eq!(found(&twice, &["b src/lib.rs:8"], ALL), ["-", "p::k of b"]);
        assert_eq!(found(&twice, &["c src/lib.rs:8"], ALL), ["p::k of c", "-"]);
        assert_eq!(found(&twice, &twice, ALL), ["p::a::k of a", "p::b::k of b"]);
        assert_eq!(found(&twice, &[], ALL), ["p::a::k of a", "-"]);
    }

    #[test]
    fn a_bench_that_shares_a_file_may_be_renamed_or_removed() {
        let both = ["a benches/common.rs:3", "b benches/common.rs:3"];
        let renamed = ["b benches/common.rs:5", "c benches/common.rs:5"];
        assert_eq!(found(&both, &renamed, ALL), ["p::c::k of c", "p::b::k of b"]);
        assert_eq!(found(&both, &["b benches/common.rs:3"], ALL), ["-", "p::k of b"]);
    }

    #[test]
    fn without_other_benches_only_the_same_file_matches_another_target() {
        let library = ["a src/lib.rs:7"];
        assert_eq!(found(&library, &["b src/lib.rs:7"], SOME), ["p::k of b"]);
        let own = ["a benches/a.rs:3"];
        assert_eq!(found(&own, &["b benches/b.rs:3"], SOME), ["p::a::k of a"]);
    }

    #[test]
    fn other_kernels_packages_and_chips_are_not_mixed() {
        use crate::machine::Chip;
        let on = |chip| SeriesId { chip: Some(chip), ..SeriesId::new("p", "old", "k") };
        let theirs = [
            on(Chip::L4),
            on(Chip::H200),
            SeriesId::new("q", "new", "k"),
            SeriesId::new("p", "new", "other"),
        ];
        let ours = [SeriesId::new("p", "new", "k")];
        fn places(ids: &[SeriesId]) -> Vec<Listed<'_>> {
            ids.iter().map(|id| Listed { id, file: "f", line: 1 }).collect()
        }
        let all = known_as(&places(&theirs), &places(&ours), ALL);
        let keys: Vec<String> = all.iter().flatten().map(SeriesId::full_key).collect();
        assert_eq!(keys, ["p::new::k@l4", "p::new::k@h200", "q::new::k", "p::new::other"]);
    }
}
