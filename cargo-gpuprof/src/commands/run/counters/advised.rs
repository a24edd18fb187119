//! The cost of the counters of the rules of advice in a run.

use std::collections::BTreeSet;

use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::SectionColumns;

use gpuprof_engine::plan::Checked;
use gpuprof_engine::schedule::Counters;

/// The counters that would be collected without advice: those `asked` for, and of sections.
pub(super) fn otherwise(
    catalogue: &Catalogue,
    checked: &[Checked],
    asked: &BTreeSet<String>,
) -> Vec<String> {
    let sections = checked.iter().flat_map(|c| &c.sections).flat_map(SectionColumns::names);
    let metrics = sections.filter_map(|name| catalogue.find(name));
    let of_sections =
        metrics.flat_map(|metric| catalogue.hardware_names(&metric)).map(|name| name.into_owned());
    let all: BTreeSet<String> = asked.iter().cloned().chain(of_sections).collect();
    all.into_iter().collect()
}

/// The cost of the `counters` in words, next to the passes `otherwise` needed.
pub(super) fn cost(counters: &Counters, otherwise: &[String], without: Option<usize>) -> String {
    let metrics = counters.metrics().filter(|metric| !otherwise.contains(metric));
    let passes = counters.groups.iter().map(|group| group.passes).sum();
    words(metrics.count(), passes, without)
}

fn words(more: usize, passes: u32, without: Option<usize>) -> String {
    let pass = if passes == 1 { "pass" } else { "passes" };
    let instead = match without {
        Some(without) => format!(" instead of {without}"),
        None => String::new(),
    };
    format!(
        "--advice collects {more} more counters for the rules of advice: {passes} {pass} for a \
         configuration{instead}"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_cost_of_advice_is_compared_with_passes_without_it() {
        assert_eq!(
            super::words(41, 12, Some(2)),
            "--advice collects 41 more counters for the rules of advice: 12 passes for a \
             configuration instead of 2"
        );
        assert!(super::words(1, 1, None).ends_with(": 1 pass for a configuration"));
    }
}
