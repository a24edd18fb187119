//! Groups of metrics that CUPTI collects with one config image each.
//!
//! Input: any list of a chip's metrics. Output: as few groups as a first fit finds, each with its
//! config image and its passes; usually one group, if CUPTI accepts all metrics in one image.
//!
//! CUPTI refuses to combine (12.6 to 13.1, on every tested chip) the counters of the links (`pcie`,
//! `nvlrx`, `nvltx`, `ctc`) with those of the rest of the GPU. It accepts SASS-patched metrics next
//! to hardware counters and gives them a separate pass within the image, so a separate group would
//! save nothing.

use std::collections::BTreeSet;

use super::{ConfigProblem, Host};

/// Metrics that are collected with one config image, in passes and a counter data image of their
/// own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The metrics, in the order asked for.
    pub metrics: Vec<String>,
    /// Their config image.
    pub config: Vec<u8>,
    /// The passes it takes.
    pub passes: usize,
}

impl Host {
    /// Splits `names` into groups that can be collected. Every name is in one group, once; groups
    /// are ordered by the first name of each. Deterministic for a chip, a CUPTI version and a list.
    ///
    /// # Errors
    /// [`ConfigProblem`], as [`Host::config_image`] has it, but for
    /// [`ConfigProblem::CannotCombine`].
    pub fn groups(&self, names: &[impl AsRef<str>]) -> Result<Vec<Group>, ConfigProblem> {
        let mut seen = BTreeSet::new();
        let names: Vec<&str> =
            names.iter().map(AsRef::as_ref).filter(|name| seen.insert(*name)).collect();
        let split = match self.config_image(&names) {
            Ok(config) => return Ok(vec![self.group(&names, config)?]),
            Err(ConfigProblem::CannotCombine { groups }) => groups,
            Err(problem) => return Err(problem),
        };
        let group = |metrics: Vec<String>| {
            let config = self.config_image(&metrics)?;
            self.group(&metrics, config)
        };
        split.into_iter().map(group).collect()
    }

    fn group(&self, metrics: &[impl AsRef<str>], config: Vec<u8>) -> Result<Group, ConfigProblem> {
        let passes = self.passes(&config)?;
        let metrics = metrics.iter().map(|name| name.as_ref().to_owned()).collect();
        Ok(Group { metrics, config, passes })
    }
}

/// Puts every name into the first group that takes it. Names of one hardware unit go together as
/// far as `fits` lets them, so that a long list costs a question a unit and not one a name. Names
/// that `fits` refuses even alone are left out.
pub(super) fn partition<'n>(
    names: &[&'n str],
    mut fits: impl FnMut(&[&'n str]) -> bool,
) -> Vec<Vec<&'n str>> {
    let mut groups: Vec<Vec<&'n str>> = Vec::new();
    let mut place = |piece: &[&'n str]| -> bool {
        for group in &mut groups {
            let with = [group.as_slice(), piece].concat();
            if fits(&with) {
                *group = with;
                return true;
            }
        }
        let fresh = fits(piece);
        if fresh {
            groups.push(piece.to_vec());
        }
        fresh
    };
    for unit in by_unit(names) {
        if !place(&unit) && unit.len() > 1 {
            for name in unit {
                place(&[name]);
            }
        }
    }
    let position = |name: &&str| names.iter().position(|other| other == name);
    groups.iter_mut().for_each(|group| group.sort_by_key(position));
    groups.sort_by_key(|group| group.first().and_then(position));
    groups
}

/// The names by hardware unit, in the order in which units appear.
fn by_unit<'n>(names: &[&'n str]) -> Vec<Vec<&'n str>> {
    let unit = |name: &'n str| name.split_once("__").map_or(name, |(unit, _)| unit);
    let mut units: Vec<Vec<&'n str>> = Vec::new();
    for name in names {
        match units.iter_mut().find(|other| unit(other[0]) == unit(name)) {
            Some(other) => other.push(name),
            None => units.push(vec![name]),
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compatible_metrics_form_one_group() {
        let names = ["sm__a.sum", "dram__b.sum", "sm__c.sum"];
        assert_eq!(partition(&names, |_| true), [names.to_vec()]);
        assert!(partition(&[], |_| true).is_empty());
    }

    #[test]
    fn incompatible_units_are_separated_with_few_queries() {
        let link = |name: &&str| name.starts_with("pcie__");
        let mut asked = 0;
        let names: Vec<String> = (0..100).map(|i| format!("sm__{i}.sum")).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.insert(1, "pcie__x.sum");
        names.push("pcie__y.sum");
        let groups = partition(&names, |group| {
            asked += 1;
            group.iter().all(link) || !group.iter().any(link)
        });
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].len(), groups[0][0]), (100, "sm__0.sum"));
        assert_eq!(groups[1], ["pcie__x.sum", "pcie__y.sum"]);
        assert!(asked <= 3, "{asked} questions");
    }

    #[test]
    fn a_unit_with_incompatible_metrics_is_split() {
        let names = ["l2__a.sum", "sm__b.sum", "sm__c.sum"];
        let both = |group: &[&str]| group.contains(&"sm__b.sum") && group.contains(&"sm__c.sum");
        let groups = partition(&names, |group| !both(group));
        assert_eq!(groups, [vec!["l2__a.sum", "sm__b.sum"], vec!["sm__c.sum"]]);
    }

    proptest! {
        /// Of a rule by colours: two names go together unless their pair of colours is refused.
        #[test]
        fn every_name_is_in_one_group_and_every_group_fits(
            colours in prop::collection::vec(0usize..5, 0..20),
            refused in prop::collection::vec((0usize..5, 0usize..5), 0..6),
        ) {
            let names: Vec<String> =
                colours.iter().enumerate().map(|(i, c)| format!("u{}__{c}_{i}.sum", i % 3)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let colour = |name: &str| colours[names.iter().position(|n| *n == name).unwrap()];
            let fits = |group: &[&str]| !refused.iter().filter(|(a, b)| a != b).any(|(a, b)| {
                let has = |wanted: &usize| group.iter().any(|name| colour(name) == *wanted);
                has(a) && has(b)
            });
            let groups = partition(&names, fits);
            prop_assert!(groups.iter().all(|group| fits(group)));
            let mut placed: Vec<&str> = groups.concat();
            placed.sort_unstable();
            let mut all = names.clone();
            all.sort_unstable();
            prop_assert_eq!(placed, all);
            let first: Vec<usize> = groups.iter().map(|group| names.iter().position(|n| *n == group[0]).unwrap()).collect();
            prop_assert!(first.is_sorted());
            prop_assert!(groups.iter().all(|group| group.is_sorted_by_key(|name| names.iter().position(|n| n == name))));
        }
    }
}
