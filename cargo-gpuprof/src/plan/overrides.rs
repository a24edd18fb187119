//! Overrides: clauses of `--series` and of the configuration file, put over the annotated ones.
//!
//! Input: series and clause texts in the order of their weight. Output: the same series with
//! other values, pairs, formulas and more conditions; never with another axis, since no kernel
//! would read it. A clause counts for every series that has its axes, and must count for one.

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{Axis, AxisKind, AxisValue, Clause, Derived, ExitCode, ParseError, Space};

use crate::error::{Failure, Result};

/// A clause that replaces annotated ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The clause.
    pub text: String,
    /// Where it was written: `--series`, or the configuration file.
    pub place: String,
    /// The text that the keys of its series hold; all series where there is none.
    pub only: Option<String>,
    /// The exit code where it is wrong.
    pub code: ExitCode,
}

impl Override {
    /// A `--series` of the command line.
    pub fn command_line(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            place: "--series".to_owned(),
            only: None,
            code: ExitCode::Usage,
        }
    }

    fn counts_for(&self, series: &SeriesDescription) -> bool {
        let key = series.id.to_string();
        self.only.as_ref().is_none_or(|only| key.contains(only.as_str()))
    }

    fn wrong(&self, error: &ParseError) -> Failure {
        Failure::new(self.code, error.render(&self.place, &self.text))
    }

    fn refused(&self, message: impl Into<String>) -> Failure {
        Failure::new(self.code, message)
    }
}

/// Puts `overrides` over `all`, one after the other.
///
/// # Errors
/// A clause that does not follow the grammar, that no series has the axes for, or that does not fit
/// the annotation.
pub(super) fn apply(all: &mut [(usize, SeriesDescription)], overrides: &[Override]) -> Result<()> {
    for change in overrides {
        let series: Vec<&mut SeriesDescription> = all
            .iter_mut()
            .map(|(_, series)| series)
            .filter(|series| change.counts_for(series))
            .collect();
        if series.is_empty() {
            // A table of the configuration file may name a series that this selection does not
            // build.
            continue;
        }
        let mut names: Vec<String> = Vec::new();
        for name in series.iter().flat_map(|series| series.space.names()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let clause = Clause::parse(&change.text, &names).map_err(|e| change.wrong(&e))?;
        one(series, change, &clause, &names)?;
    }
    for (_, series) in all.iter() {
        check(series)?;
    }
    Ok(())
}

fn one(
    series: Vec<&mut SeriesDescription>,
    change: &Override,
    clause: &Clause,
    names: &[String],
) -> Result<()> {
    let axes: Vec<&str> = match clause {
        Clause::Axis(axis) | Clause::Constant(axis) => vec![&axis.name],
        Clause::Zip(axes) => axes.iter().map(|axis| axis.name.as_str()).collect(),
        Clause::Derived(derived) => vec![&derived.name],
        Clause::Where(_) => Vec::new(),
    };
    let mut found = false;
    let mut first_error = None;
    for series in series {
        if !axes.iter().all(|axis| series.space.has(axis)) {
            continue;
        }
        match clause {
            Clause::Axis(axis) | Clause::Constant(axis) => replace(series, change, axis)?,
            Clause::Zip(axes) => zip(series, change, axes)?,
            Clause::Derived(derived) => derive(series, change, derived)?,
            Clause::Where(filter) => {
                if let Err(error) = series.space.check_filter(filter) {
                    let start = change.text.find(filter.text()).unwrap_or(0);
                    first_error.get_or_insert(error.shifted(start));
                    continue;
                }
                series.space.filters.push(filter.clone());
            }
        }
        found = true;
    }
    match first_error {
        _ if found => Ok(()),
        Some(error) => Err(change.wrong(&error)),
        None => Err(no_axis(change, &axes, names)),
    }
}

fn no_axis(change: &Override, axes: &[&str], names: &[String]) -> Failure {
    let missing: Vec<&str> =
        axes.iter().copied().filter(|axis| names.iter().all(|n| n != axis)).collect();
    let [axis, ..] = missing[..] else {
        return change.refused(format!("no series has all of the axes {}", axes.join(", ")));
    };
    let near = did_you_mean(axis, names.iter().map(String::as_str)).unwrap_or_else(|| {
        if names.is_empty() {
            "the series have no axes".into()
        } else {
            format!("the axes are {}", names.join(", "))
        }
    });
    change.refused(format!("no series has an axis `{axis}`: {near}"))
}

/// Gives an axis of `series` other values.
fn replace(series: &mut SeriesDescription, change: &Override, axis: &Axis) -> Result<()> {
    let kind = series.space.kind_of(&axis.name).unwrap_or(AxisKind::Int);
    let values = as_kind(axis, kind).ok_or_else(|| {
        let (place, given) = (&change.place, axis.kind());
        change.refused(format!(
            "axis `{}` of {} takes {kind}, but {place} gives {given}",
            axis.name, series.id
        ))
    })?;
    if let Some(compiled) = series.space.constants.get(&axis.name)
        && let Some(value) = values.iter().find(|value| !compiled.contains(value))
    {
        return Err(change.refused(format!(
            "axis `{name}` of {id} is compiled for {compiled}, not for {value}; choose one of \
             these, or add it to const {name} at {file}:{line}",
            name = axis.name,
            id = series.id,
            compiled = texts(compiled),
            file = series.file,
            line = series.line,
        )));
    }
    let Space { axes, derived, .. } = &mut series.space;
    match axes.iter_mut().find(|own| own.name == axis.name) {
        Some(own) => own.values = values,
        None => {
            derived.retain(|own| own.name != axis.name);
            axes.push(Axis { name: axis.name.clone(), values });
        }
    }
    Ok(())
}

/// Makes axes of `series` advance together.
fn zip(series: &mut SeriesDescription, change: &Override, axes: &[Axis]) -> Result<()> {
    let named = |name: &String| axes.iter().any(|axis| axis.name == *name);
    for zip in &series.space.zips {
        if let (Some(inside), Some(outside)) =
            (zip.iter().find(|n| named(n)), zip.iter().find(|n| !named(n)))
        {
            return Err(change.refused(format!(
                "axis `{inside}` of {} is also zipped with `{outside}`; give values for all of \
                 them: zip({} = …)",
                series.id,
                zip.join(" = …, ")
            )));
        }
    }
    axes.iter().try_for_each(|axis| replace(series, change, axis))?;
    series.space.zips.retain(|zip| !zip.iter().any(named));
    series.space.zips.push(axes.iter().map(|axis| axis.name.clone()).collect());
    Ok(())
}

/// Makes an axis of `series` follow from others.
fn derive(series: &mut SeriesDescription, change: &Override, derived: &Derived) -> Result<()> {
    let space = &mut series.space;
    let zipped = space.zips.iter().any(|zip| zip.contains(&derived.name));
    if zipped || space.constants.contains_key(&derived.name) {
        let why = if zipped { "zipped with others" } else { "compiled in" };
        return Err(change.refused(format!(
            "axis `{}` of {} is {why} and cannot follow from `{}`",
            derived.name, series.id, derived.formula
        )));
    }
    match space.derived.iter_mut().find(|own| own.name == derived.name) {
        Some(own) => *own = derived.clone(),
        None => {
            space.axes.retain(|axis| axis.name != derived.name);
            space.derived.push(derived.clone());
        }
    }
    series.space.check_derived(derived).map_err(|error| {
        let start = change.text.find(derived.formula.text()).unwrap_or(0);
        change.wrong(&error.shifted(start))
    })
}

/// What must be true of a series once all overrides are applied.
fn check(series: &SeriesDescription) -> Result<()> {
    let space = &series.space;
    for zip in &space.zips {
        let mut axes = space.axes.iter().filter(|axis| zip.contains(&axis.name));
        let Some(first) = axes.next() else { continue };
        if let Some(other) = axes.find(|axis| axis.values.len() != first.values.len()) {
            return Err(Failure::usage(format!(
                "`{}` and `{}` of {} are zipped, but have {} and {} values; give both: --series \
                 'zip({} = …, {} = …)'",
                first.name,
                other.name,
                series.id,
                first.values.len(),
                other.values.len(),
                first.name,
                other.name,
            )));
        }
    }
    for derived in &space.derived {
        space.check_derived(derived).map_err(|error| {
            Failure::usage(format!("axis `{}` of {}: {error}", derived.name, series.id))
        })?;
    }
    Ok(())
}

fn texts(values: &[AxisValue]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
