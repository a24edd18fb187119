//! What to run: series after filters and overrides, configurations, passes. Pure.
//!
//! Comes in: described series, `--series` texts and filters. Goes out: the configurations of each
//! series in series order. An override that matches no axis is an error, never an ignored word.

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::series::{configuration_count, configurations};
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{Axis, AxisKind, AxisValue, Configuration, ExitCode};

use crate::error::{Failure, Result};

/// The most configurations a run may have.
pub const MAX_CONFIGURATIONS: usize = 100_000;

/// Which series and configurations to take.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `AXIS=VALUES` texts.
    pub overrides: Vec<String>,
    /// Texts that keys must hold.
    pub filters: Vec<String>,
    /// Whether keys must equal a filter.
    pub exact: bool,
}

/// One series to run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSeries {
    /// Which harness holds it.
    pub harness: usize,
    /// The series, its axes with the overrides applied.
    pub series: SeriesDescription,
    /// The configurations to run.
    pub configurations: Vec<Configuration>,
}

/// Chooses what to run.
///
/// # Errors
/// An override that no series has an axis for, or of another kind (exit code 2); too many
/// configurations (exit code 2); nothing left (exit code 4).
pub fn plan(
    described: impl IntoIterator<Item = (usize, SeriesDescription)>,
    selection: &Selection,
) -> Result<Vec<PlannedSeries>> {
    let mut all: Vec<(usize, SeriesDescription)> = described.into_iter().collect();
    if all.is_empty() {
        return Err(Failure::new(
            ExitCode::NoSeries,
            "the harnesses hold no series. The linker leaves out crates that no code names: list every crate \
             with kernels in gpuprof::main!(…), and annotate functions with #[gpuprof::kernel] or \
             #[gpuprof::series]",
        ));
    }
    for text in &selection.overrides {
        let axis = Axis::parse(text).map_err(|e| Failure::usage(e.render("--series", text)))?;
        apply(&mut all, &axis)?;
    }
    let known: Vec<String> = all.iter().map(|(_, series)| series.id.to_string()).collect();
    let mut planned = Vec::new();
    let mut total = 0_usize;
    for (harness, series) in all {
        let id = series.id.to_string();
        let count = configuration_count(&series.axes).unwrap_or(usize::MAX);
        if count > MAX_CONFIGURATIONS {
            return Err(too_many(&id, count));
        }
        let whole = selection.takes(&id);
        let points: Vec<Configuration> = configurations(&series.axes)
            .filter(|point| whole || selection.takes(&format!("{id}/{point}")))
            .collect();
        total += points.len();
        if !points.is_empty() {
            planned.push(PlannedSeries { harness, series, configurations: points });
        }
        if total > MAX_CONFIGURATIONS {
            return Err(too_many("all series together", total));
        }
    }
    if planned.is_empty() {
        let filters = selection.filters.join("`, `");
        return Err(Failure::new(
            ExitCode::NoSeries,
            format!("no series matches `{filters}`; there are: {}", known.join(", ")),
        ));
    }
    Ok(planned)
}

fn too_many(what: &str, count: usize) -> Failure {
    Failure::usage(format!(
        "{what} would have {count} configurations, more than {MAX_CONFIGURATIONS}; give fewer values with --series"
    ))
}

impl Selection {
    fn takes(&self, key: &str) -> bool {
        self.filters.is_empty()
            || self
                .filters
                .iter()
                .any(|f| if self.exact { key == f } else { key.contains(f.as_str()) })
    }
}

fn apply(all: &mut [(usize, SeriesDescription)], axis: &Axis) -> Result<()> {
    let mut found = false;
    let mut names: Vec<String> = Vec::new();
    for (_, series) in all.iter_mut() {
        for own in &mut series.axes {
            if own.name == axis.name {
                own.values = as_kind(axis, own.kind()).ok_or_else(|| {
                    Failure::usage(format!(
                        "axis `{}` of {} holds {}, and --series gives {}",
                        axis.name,
                        series.id,
                        own.kind(),
                        axis.kind()
                    ))
                })?;
                found = true;
            } else if !names.contains(&own.name) {
                names.push(own.name.clone());
            }
        }
    }
    if found {
        return Ok(());
    }
    let near = did_you_mean(&axis.name, names.iter().map(String::as_str)).unwrap_or_else(|| {
        if names.is_empty() {
            "the series have no axes".into()
        } else {
            format!("the axes are {}", names.join(", "))
        }
    });
    Err(Failure::usage(format!("no series has an axis `{}`: {near}", axis.name)))
}

/// The values as `kind`: 256 is 256x1 where extents are wanted.
fn as_kind(axis: &Axis, kind: AxisKind) -> Option<Vec<AxisValue>> {
    axis.values
        .iter()
        .map(|value| match (value, kind) {
            (AxisValue::Int(n), AxisKind::Dims) => {
                Some(AxisValue::Dims([u32::try_from(*n).ok()?, 1, 1]))
            }
            (AxisValue::Int(n), AxisKind::Word) => Some(AxisValue::Word(n.to_string())),
            _ => (value.kind() == kind).then(|| value.clone()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::SeriesId;

    fn described(kernel: &str, axes: &[&str]) -> (usize, SeriesDescription) {
        let id = SeriesId { package: "p".into(), target: "t".into(), kernel: kernel.into() };
        let series = SeriesDescription {
            id,
            source_package: "p".into(),
            source_folder: "/p".into(),
            file: "src/lib.rs".into(),
            line: 1,
            docs: String::new(),
            axes: axes.iter().map(|a| Axis::parse(a).unwrap()).collect(),
            thresholds: Vec::new(),
            metrics: Vec::new(),
            device_function: true,
        };
        (0, series)
    }

    fn select(overrides: &[&str], filters: &[&str]) -> Selection {
        let own = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect();
        Selection { overrides: own(overrides), filters: own(filters), exact: false }
    }

    #[test]
    fn an_override_replaces_the_values_of_the_series_that_have_the_axis() {
        let all = [described("a", &["block=64,128", "n=1"]), described("b", &["tile=8"])];
        let planned = plan(all, &select(&["block=32..128"], &[])).unwrap();
        assert_eq!(planned[0].configurations.len(), 3);
        assert_eq!(planned[1].configurations.len(), 1);
    }

    #[test]
    fn an_unknown_axis_is_refused_with_the_nearest() {
        let failure =
            plan([described("a", &["block=64"])], &select(&["blok=64"], &[])).unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        assert_eq!(failure.message, "no series has an axis `blok`: did you mean `block`?");
        let failure = plan([described("a", &["block=64"])], &select(&["zzz=64"], &[])).unwrap_err();
        assert_eq!(failure.message, "no series has an axis `zzz`: the axes are block");
    }

    #[test]
    fn an_override_of_another_kind_is_refused() {
        let failure =
            plan([described("a", &["block=64"])], &select(&["block=16x16"], &[])).unwrap_err();
        assert_eq!(
            failure.message,
            "axis `block` of p::t::a holds whole numbers, and --series gives extents such as 16x16"
        );
        let planned =
            plan([described("a", &["block=16x16"])], &select(&["block=256"], &[])).unwrap();
        assert_eq!(planned[0].configurations[0].to_string(), "block=256x1");
    }

    #[test]
    fn filters_take_series_or_single_configurations() {
        let all = || [described("a", &["block=64,128"]), described("b", &["block=64"])];
        let keys = |filters: &[&str]| -> Vec<String> {
            let planned = plan(all(), &select(&[], filters)).unwrap();
            planned
                .iter()
                .flat_map(|p| {
                    p.configurations.iter().map(|c| format!("{}/{c}", p.series.id.kernel))
                })
                .collect()
        };
        assert_eq!(keys(&["::a"]), ["a/block=64", "a/block=128"]);
        assert_eq!(keys(&["block=64"]), ["a/block=64", "b/block=64"]);
        let failure = plan(all(), &select(&[], &["zzz"])).unwrap_err();
        assert_eq!(failure.code, ExitCode::NoSeries);
        assert_eq!(failure.message, "no series matches `zzz`; there are: p::t::a, p::t::b");
    }

    #[test]
    fn nothing_registered_is_no_success() {
        let failure = plan([], &Selection::default()).unwrap_err();
        assert_eq!(failure.code, ExitCode::NoSeries);
        assert!(failure.message.contains("gpuprof::main!"));
    }

    #[test]
    fn too_many_configurations_are_refused_before_they_are_made() {
        let failure = plan(
            [described("a", &["x=1..1000 step 1", "y=1..1000 step 1"])],
            &Selection::default(),
        )
        .unwrap_err();
        assert!(failure.message.starts_with("p::t::a would have 1000000 configurations"));
    }
}
