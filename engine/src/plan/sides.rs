//! The series of both revisions, joined by name.
//!
//! Input: the planned series, and those of the other revision's harnesses. Output:
//! the measured part of the other revision (the configurations that both have) and its pairs; and
//! the other revision's document, which names everything it has, so that new, vanished and changed
//! entries are reported as with a stored baseline.

use std::collections::{BTreeMap, HashMap, HashSet};

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::series::{Listed, known_as};
use gpuprof_model::{Configuration, ExitCode};

use gpuprof_analysis::series::unmeasured;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};

use super::{Checked, PlannedSeries, Selection, Side, of_base, selected_of_base};
use crate::schedule::Pairs;

/// Why a configuration of the other revision was not measured.
const GONE: &str = "this revision does not have it";

/// How many series a message names.
const NAMED: usize = 5;

/// The series of a run: those of this revision and, behind them, those of the other one.
#[derive(Debug)]
pub struct Both {
    /// The harnesses in the same order, as planned series count them.
    pub harnesses: Vec<Harness>,
    /// The series.
    pub checked: Vec<Checked>,
    /// How many of them are of this revision.
    heads: usize,
    /// Which configurations are measured side by side.
    pub pairs: Pairs,
    /// Every series that the other revision has, with the configurations that are not measured.
    pub known: Vec<SeriesResult>,
}

impl Both {
    /// Those of this revision alone.
    pub fn alone(harnesses: Vec<Harness>, heads: Vec<Checked>) -> Self {
        let pairs = Pairs::default();
        Self { harnesses, heads: heads.len(), checked: heads, pairs, known: Vec::new() }
    }

    /// Joins the series of this revision, `heads`, with the series that the other one's harnesses
    /// `described`. For a slice, `whole` has the configurations of the whole plan by series: a
    /// configuration of another slice has not vanished.
    ///
    /// # Errors
    /// They have no configuration in common (exit code 4), and this is not a slice.
    pub fn join(
        harnesses: Vec<Harness>,
        heads: Vec<Checked>,
        other_harnesses: &[Harness],
        described: BTreeMap<usize, Vec<SeriesDescription>>,
        selection: &Selection,
        whole: Option<&Whole>,
    ) -> Result<Self> {
        let joined = join(&heads, described, harnesses.len(), (selection, whole))?;
        Ok(Self {
            harnesses: [&harnesses, other_harnesses].concat(),
            heads: heads.len(),
            checked: [heads, joined.checked].concat(),
            pairs: joined.pairs,
            known: joined.known,
        })
    }

    /// The series of this revision.
    pub fn heads(&self) -> &[Checked] {
        &self.checked[..self.heads]
    }

    /// Those of the other one.
    pub fn bases(&self) -> &[Checked] {
        &self.checked[self.heads..]
    }

    /// How many configurations each series of the other one has.
    pub fn counts(&self) -> Vec<usize> {
        self.bases().iter().map(Checked::count).collect()
    }
}

/// Gives the series `described` by the other revision's harnesses the ids that they have among
/// `known`, those of this revision, and drops repeated ones.
pub fn name_as(
    described: &mut BTreeMap<usize, Vec<SeriesDescription>>,
    known: &[SeriesDescription],
    some_benches: bool,
) {
    let theirs: Vec<Listed<'_>> = described.values().flatten().map(Listed::from).collect();
    let ours: Vec<Listed<'_>> = known.iter().map(Listed::from).collect();
    let mut ids = known_as(&theirs, &ours, some_benches).into_iter();
    for all in described.values_mut() {
        let named = std::mem::take(all).into_iter().zip(&mut ids);
        *all = named
            .filter_map(|(series, id)| Some(SeriesDescription { id: id?, ..series }))
            .collect();
    }
}

/// The configurations of a whole plan by series.
pub type Whole = HashMap<String, HashSet<Configuration>>;

/// What is measured of the other revision.
#[derive(Debug, Default)]
struct Joined {
    checked: Vec<Checked>,
    pairs: Pairs,
    known: Vec<SeriesResult>,
}

fn join(
    heads: &[Checked],
    described: BTreeMap<usize, Vec<SeriesDescription>>,
    harnesses: usize,
    (selection, whole): (&Selection, Option<&Whole>),
) -> Result<Joined> {
    let mut joined = Joined::default();
    let flat = described.into_iter().flat_map(|(at, all)| all.into_iter().map(move |s| (at, s)));
    for (harness, series) in flat {
        let series = of_base(series, selection);
        let head = heads.iter().position(|head| head.planned.series.id == series.id);
        let mut all = selected_of_base(&series, selection);
        if let Some(planned) = whole.and_then(|whole| whole.get(&series.id.to_string())) {
            all.retain(|point| !planned.contains(point));
        }
        let Some(head) = head else {
            joined.known.push(unmeasured(&series, all, GONE));
            continue;
        };
        let ours = &heads[head].planned.configurations;
        let holds = |point: &Configuration| series.space.holds(point).unwrap_or(false);
        let positions: Vec<usize> = (0..ours.len()).filter(|&at| holds(&ours[at])).collect();
        let here: HashSet<&Configuration> = ours.iter().collect();
        let gone = all.into_iter().filter(|point| !here.contains(point));
        joined.known.push(unmeasured(&series, gone.collect(), GONE));
        if positions.is_empty() {
            continue;
        }
        let planned = PlannedSeries {
            side: Side::Base,
            harness: harnesses + harness,
            configurations: positions.iter().map(|&at| ours[at].clone()).collect(),
            series,
            unlisted: Vec::new(),
        };
        joined.pairs.join(head, heads.len() + joined.checked.len(), positions);
        joined.checked.push(Checked { planned, ..heads[head].clone() });
    }
    if joined.pairs.is_empty() && whole.is_none() {
        return Err(none_in_common(heads, &joined.known));
    }
    Ok(joined)
}

fn none_in_common(heads: &[Checked], known: &[SeriesResult]) -> Failure {
    let named = |ids: &mut dyn Iterator<Item = String>| {
        let all: Vec<String> = ids.collect();
        match all.len().checked_sub(NAMED) {
            Some(more) if more > 0 => format!("{} and {more} more", all[..NAMED].join(", ")),
            _ => all.join(", "),
        }
    };
    let ours = named(&mut heads.iter().map(|head| head.planned.series.id.to_string()));
    let theirs = named(&mut known.iter().map(|series| series.id.to_string()));
    Failure::new(
        ExitCode::NoSeries,
        format!(
            "the two revisions have no configuration in common, so nothing can be compared\n  \
             requested here: {ours}\n  the base has: {theirs}\nwithout --base, this \
             revision is measured alone"
        ),
    )
}
