//! The explained configurations: the best, the one at which a threshold failed, the worst and the
//! reference, each once; and all others, if they are few.

use gpuprof_analysis::view::best;
use gpuprof_model::run::Status;
use gpuprof_model::verdict::Weight;

use crate::html::section::Section;

/// The most other configurations on a page: each costs ten kilobytes.
const MOST_OTHERS: usize = 24;

/// One of them.
pub(super) struct Chosen {
    /// Its role.
    pub(super) role: &'static str,
    /// Its position among the configurations.
    pub(super) row: usize,
}

/// Those of a series by the metric that decides; without one, the first that finished.
pub(super) fn chosen(section: &Section<'_>, metric: Option<&str>) -> Vec<Chosen> {
    let series = &*section.viewed.series;
    let rows = &series.configurations;
    let finished = || rows.iter().position(|row| row.status == Status::Finished);
    let failed = failed(section);
    let Some((metric, best)) = metric.and_then(|m| Some((m, best::best(rows, m)?))) else {
        let first = failed
            .map(|row| Chosen { role: FAILED, row })
            .or_else(|| finished().map(|row| Chosen { role: "The first configuration", row }));
        return first.into_iter().collect();
    };
    let ratios = best::ratios(rows, metric);
    let known_ratios = ratios.iter().enumerate().filter_map(|(row, ratio)| Some((row, (*ratio)?)));
    let worst = known_ratios.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row);
    let places = section.view.reference.as_ref().map(|reference| reference.places(series));
    let reference = places.and_then(|places| places.get(best).copied().flatten());
    let mut chosen = vec![Chosen { role: "The best", row: best }];
    let others = [(FAILED, failed), ("The worst", worst), ("The reference", reference)];
    for (role, row) in others.into_iter().filter_map(|(role, row)| Some((role, row?))) {
        if chosen.iter().all(|other| other.row != row) {
            chosen.push(Chosen { role, row });
        }
    }
    chosen
}

/// The role of the configuration that decided a violated threshold.
pub(super) const FAILED: &str = "Beyond its limit";

/// The finished configuration at which the threshold failed that is violated most.
fn failed(section: &Section<'_>) -> Option<usize> {
    let series = &*section.viewed.series;
    let violated =
        section.part.series.judgements.iter().filter(|judgement| match judgement.weight() {
            Weight::Bad => true,
            Weight::Fine | Weight::Warning | Weight::Doubtful => false,
        });
    let most = violated.min_by(|a, b| {
        let margin = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
        margin(a.margin_percent).total_cmp(&margin(b.margin_percent))
    });
    let key = most?.configuration.as_deref()?;
    let place = |row: &gpuprof_model::run::ConfigurationResult| {
        row.configuration.to_string() == key && row.status == Status::Finished
    };
    series.configurations.iter().position(place)
}

/// The finished configurations that are not among `chosen`; none where the page's series have too
/// many.
pub(super) fn others(section: &Section<'_>, series: usize, chosen: &[Chosen]) -> Vec<usize> {
    let rows = section.viewed.series.configurations.iter().enumerate();
    let rows = rows.filter(|(_, row)| row.status == Status::Finished).map(|(at, _)| at);
    let all: Vec<usize> = rows.filter(|at| chosen.iter().all(|c| c.row != *at)).collect();
    if all.len() * series.max(1) > MOST_OTHERS { Vec::new() } else { all }
}
