//! The displayed part of a long list.
//!
//! Input: the findings of a conclusion. Output: the first findings of every series and metric, and
//! the number of the others.

use gpuprof_model::conclusion::Finding;

/// The most findings that a list shows.
const LISTED: usize = 8;

/// A finding that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListedFinding<'f> {
    /// The finding.
    pub finding: &'f Finding,
    /// How many more there are of the same series and metric, if this is the last one shown.
    pub more: usize,
}

/// The shown part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut<'f> {
    /// The shown findings.
    pub shown: Vec<ListedFinding<'f>>,
    /// The number of findings of series and metrics without a shown one.
    pub rest: usize,
}

/// Cuts `all` to the findings that are shown.
pub fn cut(all: &[Finding]) -> Cut<'_> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in all {
        match groups.iter_mut().find(|group| alike(group[0], finding)) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let each = if all.len() <= LISTED { LISTED } else { (LISTED / groups.len().max(1)).max(1) };
    let rest = groups.iter().skip(LISTED).map(Vec::len).sum();
    let shown = groups.iter().take(LISTED).flat_map(|group| first(group, each)).collect();
    Cut { shown, rest }
}

/// The first `most` of a group, the last of which says how many more there are.
fn first<'f>(group: &[&'f Finding], most: usize) -> Vec<ListedFinding<'f>> {
    let (count, more) = (group.len().min(most), group.len().saturating_sub(most));
    let listed = |(at, finding): (usize, &&'f Finding)| ListedFinding {
        finding,
        more: if at + 1 == count { more } else { 0 },
    };
    group.iter().take(count).enumerate().map(listed).collect()
}

/// Whether two findings say the same of two configurations, or of two thresholds of a series.
fn alike(one: &Finding, other: &Finding) -> bool {
    let place = |finding: &Finding| (finding.series.clone(), finding.verdict);
    let asked = |finding: &Finding| (finding.metric.clone(), finding.threshold.clone());
    let same = match (one.value, other.value) {
        (None, None) => one.reason == other.reason,
        (Some(_), Some(_)) => asked(one) == asked(other),
        _ => false,
    };
    place(one) == place(other) && same
}
