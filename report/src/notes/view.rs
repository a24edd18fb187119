//! Remarks on a view, under its table: rows that it left out, and the meaning of its comparisons.
//!
//! Input: a series as a view has it. Output: a sentence each, for people.

use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Statistic;

use gpuprof_analysis::compared_pair::processes;
use gpuprof_analysis::stats::two_sample::MIN_PROCESSES;
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::pareto;
use gpuprof_analysis::view::rank::{Ranking, ranking};
use gpuprof_analysis::view::{SeriesView, View};

/// How many configurations that tie are named before the rest is counted.
const NAMED: usize = 6;

/// A relative difference that a reader does not take for noise.
const VISIBLE: f64 = 0.1;

/// The least number of processes of a run without `--repeat`.
const ENOUGH: usize = 7;

/// The remarks on `viewed`.
pub(crate) fn list_remarks(viewed: &SeriesView<'_>, view: &View) -> Vec<String> {
    let rows = &viewed.series.configurations;
    let mut remarks = besides_the_best(viewed, view);
    if let Some(metric) = view.headline(&viewed.series) {
        let at = viewed.remarks.len() + usize::from(viewed.left_out > 0);
        let remark = best_by(rows, metric, view.best_by.is_some());
        remark.into_iter().for_each(|remark| remarks.insert(at, remark));
    }
    remarks
}

/// As [`list_remarks`], without which row is best: the page says that by itself.
pub(crate) fn besides_the_best(viewed: &SeriesView<'_>, view: &View) -> Vec<String> {
    let mut remarks = viewed.remarks.clone();
    if viewed.left_out > 0 {
        let (few, all) = (viewed.shown.len(), viewed.shown.len() + viewed.left_out);
        remarks.push(format!(
            "{few} of {all} rows, those that matter most; cargo gpuprof report --all has all"
        ));
    }
    let rows = &viewed.series.configurations;
    match (&view.best_by, view.headline(&viewed.series)) {
        (Some(metric), None) => {
            remarks.push(format!("no row has a value of {metric}, so no row is best"));
        }
        (_, Some(_)) => {}
        (None, None) => remarks.extend(columns::undecided(&viewed.series)),
    }
    if !view.pareto.is_empty() {
        let metrics = view.pareto.join(", ");
        remarks.push(if pareto::front(rows, &view.pareto).contains(&true) {
            format!("front: no other row is as good in all of {metrics} and better in one")
        } else {
            format!("no row has a value of all of {metrics}, so there is no front")
        });
    }
    remarks
}

/// The best row by `metric` and the rows indistinguishable from it; if the table shows that
/// already, only if the metric was `asked` for.
fn best_by(rows: &[ConfigurationResult], metric: &str, asked: bool) -> Option<String> {
    let best = best::best(rows, metric)?;
    let ranking = ranking(rows, metric)?;
    let Ties { equal, hidden } = Ties::split(rows, metric, best, &ranking);
    if !asked && hidden.is_empty() {
        return None;
    }
    let mut text = format!("best by {metric}: {}", crate::key(&rows[best]));
    if !equal.is_empty() {
        text.push_str(&format!(" and {} more with the same value", equal.len()));
    }
    if let Some(tied) = tied(rows, &hidden) {
        text.push_str(&format!("; {tied} (~)"));
        text.extend(few_processes(rows, metric, best, &hidden));
    } else if ranking.unknown {
        text.push_str(&format!(
            "; finding the others that are as good takes {MIN_PROCESSES} processes per \
             configuration (--repeat)"
        ));
    }
    Some(text)
}

/// More processes would distinguish rows: some of `hidden` are visibly worse than the best, and few
/// processes of many rows leave wide bounds.
fn few_processes(
    rows: &[ConfigurationResult],
    metric: &str,
    best: usize,
    hidden: &[usize],
) -> Option<String> {
    let top = best::value(&rows[best], metric)?;
    let apart = |row: &usize| {
        best::value(&rows[*row], metric).is_some_and(|it| (it - top).abs() > VISIBLE * top.abs())
    };
    let processes = |row: &usize| {
        best::result(&rows[*row], metric).map(|it| processes(it, Statistic::Median).len())
    };
    let fewest = hidden.iter().chain([&best]).filter_map(processes).min()?;
    (fewest < ENOUGH && hidden.iter().any(apart)).then(|| {
        format!(
            "; {fewest} processes per configuration are few for {} configurations, and \
             --repeat {ENOUGH} separates more of them",
            rows.len()
        )
    })
}

/// The rows that tie with the best.
#[derive(Default)]
pub(crate) struct Ties {
    /// Those with the same value.
    pub(crate) equal: Vec<usize>,
    /// Those that the noise hides.
    pub(crate) hidden: Vec<usize>,
}

impl Ties {
    /// The ties of `ranking` with `best`, by `metric`.
    fn split(rows: &[ConfigurationResult], metric: &str, best: usize, ranking: &Ranking) -> Self {
        let value = best::value(&rows[best], metric);
        let (equal, hidden) =
            ranking.tied().partition(|&row| best::value(&rows[row], metric) == value);
        Self { equal, hidden }
    }

    /// The ties with `best`, by `metric`.
    pub(crate) fn with_best(rows: &[ConfigurationResult], metric: &str, best: usize) -> Self {
        let ranking = ranking(rows, metric);
        ranking.map_or_else(Self::default, |it| Self::split(rows, metric, best, &it))
    }
}

/// The rows `hidden` are indistinguishable from the best; none if there are none.
pub(crate) fn tied(rows: &[ConfigurationResult], hidden: &[usize]) -> Option<String> {
    Some(format!("it is indistinguishable from {}", named(rows, hidden)?))
}

/// The first keys of `some` of the rows, and how many more there are; none if there are none.
pub(crate) fn named(rows: &[ConfigurationResult], some: &[usize]) -> Option<String> {
    let named: Vec<String> = some.iter().take(NAMED).map(|&row| crate::key(&rows[row])).collect();
    let more = match some.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}
