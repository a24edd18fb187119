//! What to run: series after filters and overrides, configurations, passes. Pure.
//!
//! Input: described series, the clauses of `--series` and of the configuration file, and filters.
//! Output: the configurations of each series in series order. An override that matches no axis is
//! an error and never ignored; more configurations than the limit are an error before they are
//! generated.

mod checked;
mod exclusions;
mod overrides;
mod sample;
mod selection;
mod sides;
mod unmatched;

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{Configuration, ExitCode};

pub use checked::Checked;
pub use exclusions::left_out;
use gpuprof_system::error::{Failure, Result};
pub use selection::{MAX_CONFIGURATIONS, Selection};
use selection::{MAX_VISITED, too_large, without_value};
pub use sides::{Both, Whole, name_as};
use unmatched::AnnotatedSeries;

pub use overrides::{Override, ParsedOverride, parse_overrides};

/// The revision that a series is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Side {
    /// The revision that is judged.
    #[default]
    Head,
    /// The revision that it is compared with (`--base`).
    Base,
}

/// One series to run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSeries {
    /// The revision.
    pub side: Side,
    /// Which harness holds it.
    pub harness: usize,
    /// The series, its axes with the overrides applied.
    pub series: SeriesDescription,
    /// The configurations to run; none where the series' conditions keep none.
    pub configurations: Vec<Configuration>,
    /// Values of overrides that the annotation does not list, in words.
    pub unlisted: Vec<String>,
}

/// Chooses what to run.
///
/// # Errors
/// An override that is wrong or that no series has an axis for; an expression without a value; too
/// many configurations (exit code 2, or 96 for the configuration file); nothing left (exit code 4).
pub fn plan(
    described: impl IntoIterator<Item = (usize, SeriesDescription)>,
    selection: &Selection,
) -> Result<Vec<PlannedSeries>> {
    let all: Vec<(usize, SeriesDescription)> = described.into_iter().collect();
    if all.is_empty() {
        return Err(Failure::new(
            ExitCode::NoSeries,
            "the harnesses hold no series. Annotate functions with #[gpuprof::kernel] or \
             #[gpuprof::series], and list every crate with kernels in gpuprof::main!(…): the \
             linker leaves out crates that no code names",
        ));
    }
    let known: Vec<AnnotatedSeries> =
        all.iter().map(|(_, series)| AnnotatedSeries::from(series)).collect();
    unmatched::check_conditions(&all, &selection.filters)?;
    let all = overridden(all, selection)?;
    let planned = expanded(&all, selection);
    // A mistaken clause is a better reason than its consequences.
    let used: Vec<&SeriesDescription> = match &planned {
        Ok(planned) if !planned.is_empty() => planned.iter().map(|it| &it.series).collect(),
        _ => all.iter().map(|taken| &taken.series).collect(),
    };
    overrides::check_used(&used, &selection.overrides)?;
    let planned = planned?;
    if planned.iter().any(|series| !series.configurations.is_empty()) {
        let chosen: Vec<_> = planned.iter().map(|it| (&it.series, &*it.configurations)).collect();
        return match unmatched::find(selection, &chosen, &known) {
            Some(message) => Err(Failure::new(ExitCode::NoSeries, message)),
            None => Ok(planned),
        };
    }
    Err(nothing(&planned, selection, &known))
}

/// The series of `all` of which something is selected, with their configurations.
fn expanded(all: &[CandidateSeries], selection: &Selection) -> Result<Vec<PlannedSeries>> {
    let most = selection.max_configurations;
    let mut planned: Vec<PlannedSeries> = Vec::new();
    let mut total = 0_usize;
    for CandidateSeries { harness, series, unlisted } in all {
        let whole = selection.on(series).all == Some(true);
        let configurations = match selection.sample {
            Some(count) => sample::spread(series, selection, count.min(most + 1)),
            None => every(series, selection),
        }?;
        total += configurations.len();
        if total > most {
            let count = format!("more than {most} configurations");
            return Err(too_many("all series together", &count));
        }
        if whole || !configurations.is_empty() {
            let (side, harness) = (Side::Head, *harness);
            let (series, unlisted) = (series.clone(), unlisted.clone());
            planned.push(PlannedSeries { side, harness, series, configurations, unlisted });
        }
    }
    Ok(planned)
}

/// Why no configuration is left of the series `known`, of which `planned` are selected.
fn nothing(planned: &[PlannedSeries], selection: &Selection, known: &[AnnotatedSeries]) -> Failure {
    let message = if planned.is_empty() {
        unmatched::no_match(selection, &selection.filters, known)
    } else {
        let conditions = |p: &PlannedSeries| {
            let all: Vec<String> =
                p.series.space.filters.iter().map(|f| format!("where {f}")).collect();
            format!("{} ({})", p.series.id, all.join(", "))
        };
        let series: Vec<String> = planned.iter().map(conditions).collect();
        format!("no configuration meets the conditions of {}", series.join(", "))
    };
    Failure::new(ExitCode::NoSeries, message)
}

/// A series of the other revision with the overrides of `selection` that fit it: axes that only
/// this revision has do not apply.
pub fn of_base(mut series: SeriesDescription, selection: &Selection) -> SeriesDescription {
    for parsed in &selection.overrides {
        let mut changed = series.clone();
        if overrides::apply(&mut changed, [parsed]).is_ok() {
            series = changed;
        }
    }
    series
}

/// Every selected configuration of a series of the other revision; none if only a sample is
/// selected, or if there are more than a run may have: no other run measures those.
pub fn selected_of_base(series: &SeriesDescription, selection: &Selection) -> Vec<Configuration> {
    match selection.sample {
        Some(_) => Vec::new(),
        None => every(series, selection).unwrap_or_default(),
    }
}

/// A series that the filters may take.
struct CandidateSeries {
    harness: usize,
    series: SeriesDescription,
    unlisted: Vec<String>,
}

/// The series that the filters may take, with the overrides.
///
/// # Errors
/// An override that does not fit a series of which something is taken.
fn overridden(
    all: Vec<(usize, SeriesDescription)>,
    selection: &Selection,
) -> Result<Vec<CandidateSeries>> {
    let mut taken = Vec::new();
    for (harness, annotated) in all {
        let mut series = annotated.clone();
        match overrides::apply(&mut series, &selection.overrides) {
            Ok(()) if selection.may_take(&series) => {
                let unlisted = overrides::unlisted(&annotated, &series);
                taken.push(CandidateSeries { harness, series, unlisted });
            }
            // It has no configurations now: those of the annotation say whether it is meant.
            Err(failure) if selection.takes_any(&annotated) => return Err(failure),
            _ => {}
        }
    }
    Ok(taken)
}

/// Every configuration of `series` that is selected.
fn every(series: &SeriesDescription, selection: &Selection) -> Result<Vec<Configuration>> {
    let id = series.id.to_string();
    let own = selection.on(series);
    let limit = selection.max_configurations;
    let mut points = series.space.points();
    if own.all == Some(true)
        && series.space.filters.is_empty()
        && points.combinations() > limit as u64
    {
        let over = format!(", more than {limit}");
        let count = match series.space.combinations() {
            Some(count) => format!("{count} configurations{over}"),
            None => "more than 2^64 configurations".to_owned(),
        };
        return Err(too_many(&id, &count));
    }
    let mut out = Vec::new();
    while let Some(point) = points.next() {
        let point = point.map_err(|e| without_value(series, &e))?;
        if own.takes(&point)? {
            out.push(point);
        }
        if out.len() > limit {
            return Err(too_many(&id, &format!("more than {limit} configurations")));
        }
        if points.visited() > MAX_VISITED {
            return Err(too_large(series));
        }
    }
    Ok(out)
}

fn too_many(what: &str, count: &str) -> Failure {
    Failure::usage(format!(
        "{what} would have {count}; give fewer values with --series, take some with \
         --sample N, or raise the limit with --max-configs"
    ))
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
