//! The thresholds that hold without being written.
//!
//! Input: a series on both sides of a comparison. Output: a threshold for each metric that may not
//! get worse, unless a written one replaces it.

use gpuprof_model::measurement::Source;
use gpuprof_model::metric::{Catalogue, Class, Direction};
use gpuprof_model::run::SeriesResult;
use gpuprof_model::threshold::{self, Threshold};

use crate::gate::default_time_limit::default_gate;
use crate::view::best;
use crate::view::columns::TOTALS;

/// The thresholds that a baseline adds to a series: no exact metric among its columns and none of
/// [`TOTALS`] may get worse at all, and `duration` by at most [`default_gate`]. The totals are
/// covered whether they are shown or not: a ratio stays the same, or improves, if everything is
/// done twice.
///
/// With a baseline that has the series as `theirs`, they apply to the metrics with a value there: a
/// merge cannot make worse a metric that the baseline never had, such as times of the emulator. Its
/// columns count as well as those of the run, so that removing a metric from the annotation does
/// not remove it from the gate.
pub fn default_thresholds(
    catalogue: &Catalogue,
    series: &SeriesResult,
    theirs: Option<&SeriesResult>,
) -> Vec<Threshold> {
    // What is exact on the emulator may not be so on hardware, so the results are asked; what was
    // exact in the baseline stays in the gate.
    let of_side = |side: &SeriesResult, name: &str| {
        let mut results = side.configurations.iter().filter_map(|row| row.metrics.get(name));
        let first = results.next()?;
        // A counter that patching may have moved in one row blocks no merge, and estimates have the
        // tolerance of times.
        let moved = first.source == Source::Estimated
            || first.perturbation.is_some()
            || results.any(|it| it.perturbation.is_some());
        Some(if moved { Class::Noisy } else { first.class })
    };
    let measured = |name: &str| match theirs.and_then(|theirs| of_side(theirs, name)) {
        Some(Class::Exact) => Some(Class::Exact),
        _ => of_side(series, name),
    };
    // A metric leaves the gate by no direction that is taken from it since the baseline: the
    // threshold stays, and finds that the two do not compare.
    let before = |name: &str| {
        let mut rows = theirs.into_iter().flat_map(|theirs| &theirs.configurations);
        rows.find_map(|row| Some(row.metrics.get(name)?.direction))
    };
    let threshold_on = |name: &str| {
        let metric = catalogue.find(name)?;
        let direction = match metric.direction {
            Direction::Neither => before(name).unwrap_or(Direction::Neither),
            known => known,
        };
        let exact = |comparison| Some(Threshold::against_baseline(name, comparison, 0.0));
        match (measured(name).unwrap_or(metric.class), direction, name) {
            (Class::Exact, Direction::Lower, _) => exact(threshold::Comparison::AtMost),
            (Class::Exact, Direction::Higher, _) => exact(threshold::Comparison::AtLeast),
            (Class::Noisy, _, "duration") => Some(default_gate()),
            (Class::Noisy, ..) | (_, Direction::Neither, _) => None,
        }
    };
    let held = |name: &&str| theirs.is_none_or(|theirs| has(theirs, name));
    compared(series, theirs).into_iter().filter(held).filter_map(threshold_on).collect()
}

/// The columns of `ours`, the columns of `theirs` that the run has values of as well, and the
/// totals with values on both sides. A total that is zero in the baseline does not count: a kernel
/// that begins to use shared memory is not worse for it.
pub(crate) fn compared<'r>(
    ours: &'r SeriesResult,
    theirs: Option<&'r SeriesResult>,
) -> Vec<&'r str> {
    let mut all: Vec<&str> = ours.columns.iter().map(String::as_str).collect();
    let more = theirs.into_iter().flat_map(|theirs| &theirs.columns).map(String::as_str);
    let positive = |series: &SeriesResult, name: &str| {
        series.configurations.iter().any(|row| best::value(row, name) > Some(0.0))
    };
    let totals = TOTALS.into_iter().filter(|name| positive(theirs.unwrap_or(ours), name));
    for name in more.chain(totals) {
        if !all.contains(&name) && has(ours, name) {
            all.push(name);
        }
    }
    all
}

/// Whether a configuration of `series` has a value of the metric called `name`.
pub(crate) fn has(series: &SeriesResult, name: &str) -> bool {
    series.configurations.iter().any(|row| best::value(row, name).is_some())
}
