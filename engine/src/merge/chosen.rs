//! Chooses one of several measurements of a slice.
//!
//! Input: slices of one plan. Output: each number once. Two copies with the same id are one
//! measurement; the longer journal is the later copy. The measurement that was complete first is
//! kept, whatever its results: keeping the better one would let users improve results by repeating.

use crate::store::slices::StoredSlice;

gpuprof_model::words! {
    /// The measurement to keep of a slice that was measured several times.
    pub enum Prefer = First {
        /// The first complete measurement, whatever its result
        First = "first",
        /// The newest complete measurement
        Newest = "newest",
    }
}

/// Each slice of `slices` once, chosen by `prefer`, in the order of their numbers; and notes on the
/// measurements that are not kept.
pub(super) fn chosen(slices: Vec<StoredSlice>, prefer: Prefer) -> (Vec<StoredSlice>, Vec<String>) {
    let mut chosen: Vec<StoredSlice> = Vec::new();
    let mut notes = Vec::new();
    for slice in slices {
        let number = slice.manifest.slice;
        let Some(at) = chosen.iter().position(|other| other.manifest.slice == number) else {
            chosen.push(slice);
            continue;
        };
        let other = &mut chosen[at];
        let same = other.manifest.run == slice.manifest.run;
        if same && other.journal == slice.journal {
            continue;
        }
        let takes = if same { slice.bytes > other.bytes } else { wins(&slice, other, prefer) };
        let lost = if takes { std::mem::replace(other, slice) } else { slice };
        notes.push(sentence(&chosen[at], &lost, prefer));
    }
    chosen.sort_by_key(|slice| slice.manifest.slice);
    (chosen, notes)
}

/// Whether to keep `one` rather than `two`.
fn wins(one: &StoredSlice, two: &StoredSlice, prefer: Prefer) -> bool {
    if one.is_whole() != two.is_whole() {
        return one.is_whole();
    }
    // The run's id, if both have the same time: the order of folders must not matter.
    let when = |slice: &StoredSlice| (slice.at().to_owned(), slice.manifest.run.clone());
    match (prefer, one.is_whole()) {
        (Prefer::Newest, _) => when(one) > when(two),
        (Prefer::First, true) => when(one) < when(two),
        (Prefer::First, false) => (two.measured(), when(one)) < (one.measured(), when(two)),
    }
}

fn sentence(taken: &StoredSlice, left: &StoredSlice, prefer: Prefer) -> String {
    let number = taken.manifest.slice;
    let why = match (taken.is_whole(), left.is_whole(), prefer) {
        (true, false, _) => "which is whole",
        (_, _, Prefer::Newest) => "the newest (--prefer newest)",
        (true, true, Prefer::First) => "which was whole first; --prefer newest takes the other one",
        (false, _, Prefer::First) => "which has more",
    };
    let (taken, left) = (&taken.folder, &left.folder);
    format!("slice {number} was measured twice: {taken} counts, {why}; {left} does not")
}
