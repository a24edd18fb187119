//! The series of a kernel on several emulated chips, next to each other.
//!
//! Input: a run. Output: for each kernel that several chips ran, its series, and the best row of
//! each. No threshold compares two chips, so this is only shown.

use gpuprof_model::machine::Chip;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};
use gpuprof_model::series::SeriesId;

use super::{View, best, columns};

/// The metric that is shown, if rows have it.
const DURATION: &str = "duration";

/// A kernel on several chips.
#[derive(Debug)]
pub struct ByChip<'r> {
    /// The kernel, without a chip.
    pub id: SeriesId,
    /// Its series, in the order of the run.
    pub series: Vec<&'r SeriesResult>,
}

/// The kernels of `run` that several chips ran.
pub fn groups(run: &Run) -> Vec<ByChip<'_>> {
    let mut all: Vec<ByChip<'_>> = Vec::new();
    for series in run.series.iter().filter(|series| series.id.chip.is_some()) {
        let id = SeriesId { chip: None, ..series.id.clone() };
        match all.iter_mut().find(|group| group.id == id) {
            Some(group) => group.series.push(series),
            None => all.push(ByChip { id, series: vec![series] }),
        }
    }
    all.retain(|group| group.series.len() > 1);
    all
}

impl<'r> ByChip<'r> {
    /// The shown metric: that of the view, the duration, or the deciding one.
    pub fn metric<'v>(&'v self, view: &'v View) -> Option<&'v str> {
        let has = |name: &str| {
            let mut rows = self.series.iter().flat_map(|series| &series.configurations);
            rows.any(|row| best::value(row, name).is_some())
        };
        let asked = view.best_by.as_deref().filter(|name| has(name));
        asked.or_else(|| has(DURATION).then_some(DURATION)).or_else(|| self.decider(view))
    }

    /// The metric that decides which row is best on each chip.
    pub fn decider<'v>(&'v self, view: &'v View) -> Option<&'v str> {
        self.series.iter().find_map(|series| view.headline(series))
    }

    /// Whether each row of `series` is best by the metric that decides.
    pub fn marks(&self, series: &SeriesResult, view: &View) -> Vec<bool> {
        let rows = &series.configurations;
        self.decider(view).map_or_else(Vec::new, |metric| columns::marks_of_best(metric, rows))
    }

    /// The first best row of each chip by the metric that decides.
    pub fn bests(&self, view: &View) -> Vec<(Chip, &'r ConfigurationResult)> {
        let best = |series: &&'r SeriesResult| {
            let at = self.marks(series, view).into_iter().position(|is_best| is_best)?;
            Some((series.id.chip?, &series.configurations[at]))
        };
        self.series.iter().filter_map(best).collect()
    }

    /// The chips with estimates that were not checked on hardware.
    pub fn unchecked(&self) -> Vec<Chip> {
        let is_unchecked = |series: &&&SeriesResult| {
            let mut estimates =
                series.configurations.iter().filter_map(|row| row.estimate.as_ref());
            estimates.any(|estimate| !estimate.characterised)
        };
        self.series.iter().filter(is_unchecked).filter_map(|series| series.id.chip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{estimated, run, series};

    fn on(chip: Chip, times: [f64; 2]) -> SeriesResult {
        let rows = [64, 128].into_iter().zip(times);
        let mut series = series(rows.map(|(block, ns)| estimated(block, 1 << 20, ns)).collect());
        series.id.chip = Some(chip);
        series
    }

    #[test]
    fn each_chip_has_its_own_best_row() {
        let mut slow = on(Chip::L4, [900.0, 800.0]);
        slow.configurations[0].estimate.as_mut().unwrap().characterised = false;
        let run = run("r", vec![on(Chip::H100, [100.0, 200.0]), slow]);
        let [group] = &groups(&run)[..] else { panic!("one kernel") };
        assert_eq!(group.id.to_string(), "saxpy::saxpy");
        let view = View::default();
        assert_eq!(group.metric(&view), Some("duration"));
        let bests: Vec<(Chip, String)> = group
            .bests(&view)
            .into_iter()
            .map(|(chip, row)| (chip, row.configuration.to_string()))
            .collect();
        let expected = [(Chip::H100, "block=64,n=1048576"), (Chip::L4, "block=128,n=1048576")];
        assert_eq!(bests, expected.map(|(chip, row)| (chip, row.to_owned())));
        assert_eq!(group.unchecked(), [Chip::L4]);
    }

    #[test]
    fn a_kernel_on_one_chip_has_no_comparison_of_chips() {
        let alone = on(Chip::L4, [1.0, 2.0]);
        let mut other = on(Chip::H100, [1.0, 2.0]);
        other.id.kernel = "other".into();
        assert!(groups(&run("r", vec![alone, other])).is_empty());
        assert!(groups(&run("r", vec![series(Vec::new()), series(Vec::new())])).is_empty());
    }
}
