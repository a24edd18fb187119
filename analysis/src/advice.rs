//! Advice: the findings of rules and measured neighbours on a series.
//!
//! Input: a series with its metrics, rules, and the device. Output: pieces of advice, the most
//! worthwhile first. Rules are data ([`rule`]) and apply to the best configuration of each amount
//! of work; all others have a measured gain: a better neighbour. Findings on a whole series are
//! code ([`series`]). Invariant: a condition holds beyond the noise of its inputs, an estimate
//! never exceeds the room that other units leave, and advice that a neighbour follows without being
//! faster is dropped.

mod apply_rule;
mod context;
mod neighbours;
pub mod rule;
pub mod series;
pub mod template;
mod values;

use std::collections::{BTreeSet, HashMap, HashSet};

use gpuprof_model::advice::{Advice, SeriesAdvice};
use gpuprof_model::code::{AccessCost, CostlyLine, costliest};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};

use crate::view::by_device::parts;
pub use context::AdviceContext;
use neighbours::Neighbours;
use rule::Rule;
pub use values::FACTS;

/// The advice on every series of `run`; of series without any there is none.
pub fn of_run(run: &Run, rules: &[Rule], catalogue: &Catalogue) -> Vec<SeriesAdvice> {
    let mut all = Vec::new();
    for series in &run.series {
        let device = run.provenance.device_of(&series.id);
        let terms = AdviceContext { rules, catalogue, device };
        for part in parts(series) {
            let pieces = of_series(&part.series, &terms);
            if !pieces.is_empty() {
                let device = part.device.map(str::to_owned);
                all.push(SeriesAdvice { series: series.id.clone(), device, pieces });
            }
        }
    }
    all
}

/// The advice on `series`, all of it measured on one device.
pub fn of_series(series: &SeriesResult, terms: &AdviceContext<'_>) -> Vec<Advice> {
    let neighbours = Neighbours::new(series);
    let mut pieces = series::advise(series, &neighbours);
    let mut outdone: BTreeSet<&str> = BTreeSet::new();
    let asked = advised_positions(series, &neighbours);
    for rule in terms.rules {
        let able = able(rule, &asked, series, terms);
        let found =
            able.filter_map(|at| Some((at, apply_rule::apply(rule, at, &neighbours, terms)?)));
        let mut found: Vec<(usize, Advice)> = found.collect();
        found.sort_by(|(_, a), (_, b)| a.by_worth(b));
        let name = |at: usize| series.configurations[at].configuration.to_string();
        let configurations: Vec<String> = found.iter().map(|(at, _)| name(*at)).collect();
        if let Some((at, mut piece)) = found.into_iter().next() {
            piece.message.extend(place(rule, &series.configurations[at]));
            piece.configurations = configurations;
            pieces.push(piece);
            outdone.extend(rule.instead_of.iter().map(String::as_str));
        }
    }
    pieces.retain(|piece| !outdone.contains(&*piece.rule));
    pieces.sort_by(Advice::by_worth);
    pieces
}

/// The line that causes most of the problem of `rule` at `row`, if a metric of the rule counts a
/// cost by line.
fn place(rule: &Rule, row: &ConfigurationResult) -> Option<String> {
    let decides = deciding_names(rule);
    let inputs = rule.inputs.iter().filter(|input| decides.contains(&&*input.name));
    let metrics = inputs.flat_map(|input| &input.metrics);
    let mut costs: Vec<AccessCost> =
        metrics.flat_map(|metric| AccessCost::of_metric(metric)).copied().collect();
    costs.extend(costs.clone().into_iter().filter_map(AccessCost::avoidable));
    let CostlyLine { line, emulated, .. } = costliest(&row.costly, &costs)?;
    let driver = if *emulated { " on the emulated driver" } else { "" };
    Some(format!("; most by {line}{driver}"))
}

/// The inputs and formulas by which `rule` decides whether it applies; others estimate its gain.
fn deciding_names(rule: &Rule) -> HashSet<&str> {
    let mut open = rule.when.names();
    let mut known = HashSet::new();
    while let Some(name) = open.pop() {
        if known.insert(name) {
            let formulas = rule.lets.iter().filter(|(of, _)| of == name);
            open.extend(formulas.flat_map(|(_, formula)| formula.names()));
        }
    }
    known
}

/// The positions to which rules apply: the best of each amount of work; if the best is unknown,
/// every finished one.
fn advised_positions(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<usize> {
    let finished = |at: &usize| series.configurations[*at].status == Status::Finished;
    match neighbours.bests() {
        best if best.is_empty() => (0..series.configurations.len()).filter(finished).collect(),
        mut best => {
            best.sort_unstable();
            best
        }
    }
}

/// The rows of `asked` that may have the required metrics of `rule`. Rows with the same metrics are
/// checked once, since most rules lack a metric of most series.
fn able<'a>(
    rule: &'a Rule,
    asked: &'a [usize],
    series: &'a SeriesResult,
    terms: &'a AdviceContext<'_>,
) -> impl Iterator<Item = usize> + 'a {
    let required = rule.required();
    let mut known: HashMap<*const (), bool> = HashMap::new();
    asked.iter().copied().filter(move |&at| {
        let row = &series.configurations[at];
        let may = |metric: &String| values::is_possible(row, terms, metric);
        *known.entry(row.metrics.list()).or_insert_with(|| {
            let mut inputs = rule.inputs.iter();
            inputs.all(|i| !required.contains(&*i.name) || i.metrics.iter().any(may))
        })
    })
}

/// The inputs without which `rule` cannot be asked about any configuration of `series`: by their
/// metrics, the first alternative of each.
pub fn missing(rule: &Rule, series: &SeriesResult, terms: &AdviceContext<'_>) -> Vec<String> {
    let rows: Vec<&ConfigurationResult> =
        series.configurations.iter().filter(|row| row.status == Status::Finished).collect();
    let has =
        |metric: &String| rows.iter().any(|row| values::reading(row, terms, metric).is_some());
    let required = rule.required();
    let inputs = rule.inputs.iter().filter(|input| required.contains(&*input.name));
    inputs.filter(|i| !i.metrics.iter().any(has)).map(|i| i.metrics[0].clone()).collect()
}

#[cfg(test)]
mod tests;
