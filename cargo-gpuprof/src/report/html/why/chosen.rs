//! The configurations that are explained: the best, the worst and the reference, each once.

use gpuprof_analysis::view::best;
use gpuprof_model::run::Status;

use crate::report::html::section::Section;

/// One of them.
pub(super) struct Chosen {
    /// What it is.
    pub(super) role: &'static str,
    /// Its position among the configurations.
    pub(super) row: usize,
}

/// Those of a series by the metric that decides; without one, the first that finished.
pub(super) fn chosen(section: &Section<'_>, metric: Option<&str>) -> Vec<Chosen> {
    let series = &*section.viewed.series;
    let rows = &series.configurations;
    let finished = || rows.iter().position(|row| row.status == Status::Finished);
    let Some((metric, best)) = metric.and_then(|m| Some((m, best::best(rows, m)?))) else {
        let first = finished().map(|row| Chosen { role: "The first configuration", row });
        return first.into_iter().collect();
    };
    let ratios = best::ratios(rows, metric);
    let told = ratios.iter().enumerate().filter_map(|(row, ratio)| Some((row, (*ratio)?)));
    let worst = told.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row);
    let places = section.view.reference.as_ref().map(|reference| reference.places(series));
    let reference = places.and_then(|places| places.get(best).copied().flatten());
    let mut chosen = vec![Chosen { role: "The best", row: best }];
    let others = [("The worst", worst), ("The reference", reference)];
    for (role, row) in others.into_iter().filter_map(|(role, row)| Some((role, row?))) {
        if chosen.iter().all(|other| other.row != row) {
            chosen.push(Chosen { role, row });
        }
    }
    chosen
}
