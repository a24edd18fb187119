//! The nearest names to a misspelt one.
//!
//! Input: a word and the names that exist. Output: at most three names close enough to be what
//! was meant, best first; ties keep the order of the names, so messages are stable.

/// At most three of `names` within a third of `word`'s length in edit distance, or containing it.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let lower = word.to_ascii_lowercase();
    let allowed = (word.len() / 3).max(2);
    let mut close: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let distance = edit_distance(&lower, &name.to_ascii_lowercase());
            let contained = lower.len() >= 4 && name.to_ascii_lowercase().contains(&lower);
            (distance <= allowed || contained).then_some((distance, name))
        })
        .collect();
    close.sort_by_key(|&(distance, _)| distance);
    close.into_iter().take(3).map(|(_, name)| name).collect()
}

/// "did you mean `a`, `b` or `c`?", or `None` where nothing is near.
pub fn did_you_mean<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    which(&nearest(word, names))
}

/// "did you mean `a`, `b` or `c`?" of these `names`, or `None` where there are none.
pub fn which(names: &[&str]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        [head @ .., last] => Some(format!("did you mean {} or {last}?", head.join(", "))),
    }
}

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(edit_distance("blokc", "block"), 1);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn far_words_are_not_suggested() {
        assert_eq!(did_you_mean("zzzzzz", ["block", "grid"]), None);
        assert_eq!(
            did_you_mean("blok", ["grid", "block"]).as_deref(),
            Some("did you mean `block`?")
        );
    }
}
