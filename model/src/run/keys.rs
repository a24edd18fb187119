//! The keys of a run's series, throughout its document.
//!
//! Input: a document of any version, and the series that it is compared with. Output: the same
//! document, in which a series of both has one id and one key.

use std::collections::HashMap;

use super::{Run, SeriesResult};
use crate::series::{Listed, SeriesId, known_as, tell_apart};

impl<'s> From<&'s SeriesResult> for Listed<'s> {
    fn from(series: &'s SeriesResult) -> Self {
        Self { id: &series.id, file: &series.file, line: series.line }
    }
}

impl Run {
    /// Gives the series of a stored document today's keys: older versions wrote the target into
    /// all of them.
    pub fn shorten_keys(&mut self) {
        let before: Vec<String> = self.series.iter().map(|series| series.id.full_key()).collect();
        let mut ids: Vec<SeriesId> = self.series.iter().map(|series| series.id.clone()).collect();
        tell_apart(&mut ids);
        self.rename(before, ids.into_iter().map(Some).collect());
    }

    /// Gives the series that are among `ours` the ids they have there ([`known_as`]), and drops
    /// repeated ones.
    pub fn name_as<'s>(
        &mut self,
        ours: impl IntoIterator<Item = impl Into<Listed<'s>>>,
        some_benches: bool,
    ) {
        let before = self.series.iter().map(|series| series.id.to_string()).collect();
        let theirs: Vec<Listed<'_>> = self.series.iter().map(Listed::from).collect();
        let ours: Vec<Listed<'_>> = ours.into_iter().map(Into::into).collect();
        let ids = known_as(&theirs, &ours, some_benches);
        self.rename(before, ids);
    }

    /// Gives the series called `before` their `ids`, and drops every series without one.
    fn rename(&mut self, before: Vec<String>, ids: Vec<Option<SeriesId>>) {
        let mut keys = HashMap::new();
        let mut of_id = HashMap::new();
        let mut kept = Vec::with_capacity(self.series.len());
        let all = std::mem::take(&mut self.series);
        for ((mut series, before), id) in all.into_iter().zip(before).zip(ids) {
            let Some(id) = id else { continue };
            let (old, key) = (std::mem::replace(&mut series.id, id.clone()), id.to_string());
            if key != before {
                keys.insert(before, key);
            }
            if old != id {
                of_id.insert(old, id);
            }
            kept.push(series);
        }
        self.series = kept;
        for advice in &mut self.advice {
            if let Some(id) = of_id.get(&advice.series) {
                advice.series = id.clone();
            }
        }
        if !keys.is_empty() {
            self.texts_with_keys().for_each(|text| replace_key(text, &keys));
        }
    }

    /// Every text of the document that begins with the key of a series.
    fn texts_with_keys(&mut self) -> impl Iterator<Item = &mut String> {
        let findings = self.conclusion.iter_mut().flat_map(|conclusion| {
            let others = conclusion.improved.iter_mut().chain(&mut conclusion.undecided);
            conclusion.failed.iter_mut().chain(others).map(|finding| &mut finding.series)
        });
        let compared = self.comparison.iter_mut().flat_map(|comparison| {
            let one_side = comparison.vanished.iter_mut().chain(&mut comparison.appeared);
            let less = comparison.unheld.iter_mut().chain(&mut comparison.weaker);
            let code = comparison.code.iter_mut().map(|change| &mut change.series);
            one_side.chain(less).chain(code)
        });
        let costs = self.provenance.costs.iter_mut().map(|cost| &mut cost.series);
        let parts = self.provenance.slices.iter_mut().flat_map(|slice| &mut slice.measured);
        findings.chain(compared).chain(costs).chain(parts.map(|part| &mut part.series))
    }
}

/// Replaces the key at the start of `text`: a configuration or a sentence may follow it.
fn replace_key(text: &mut String, keys: &HashMap<String, String>) {
    let ends = text.match_indices(['/', ':']).map(|(at, _)| at).chain([text.len()]);
    let mut ends = ends.filter(|&end| !text[end..].starts_with("::"));
    let found = ends.find_map(|end| Some((end, keys.get(&text[..end])?)));
    if let Some((end, key)) = found {
        *text = format!("{key}{}", &text[end..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_replaced_whole_and_only_at_the_start() {
        let keys = HashMap::from([("p::t::k".to_owned(), "p::k".to_owned())]);
        for (before, after) in [
            ("p::t::k", "p::k"),
            ("p::t::k/block=64", "p::k/block=64"),
            ("p::t::k/block=64: a text of p::t::k", "p::k/block=64: a text of p::t::k"),
            ("p::t::k: duration", "p::k: duration"),
            ("p::t::kk", "p::t::kk"),
            ("p::t::k::m", "p::t::k::m"),
            ("q::p::t::k", "q::p::t::k"),
            ("", ""),
        ] {
            let mut text = before.to_owned();
            replace_key(&mut text, &keys);
            assert_eq!(text, after);
        }
    }
}
