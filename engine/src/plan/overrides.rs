//! Overrides: clauses of `--series` and of the configuration file, put over the annotated ones.
//!
//! Input: series, and clause texts in ascending priority. Output: the same series with other
//! values, pairs, formulas and more conditions; never with another axis, since no kernel would read
//! it. A clause applies to every series that has its axes, and must apply to one of the selected
//! ones; other series neither need it nor conflict with it.

use gpuprof_model::each_once::each_once;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{Axis, AxisKind, AxisValue, Clause, Derived, ExitCode, ParseError, Space};

use gpuprof_system::error::{Failure, Result};

/// A clause that replaces annotated ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The clause.
    pub text: String,
    /// Its origin: `--series`, or the configuration file.
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
        self.only.as_ref().is_none_or(|only| series.id.key_contains(only))
    }

    fn wrong(&self, error: &ParseError) -> Failure {
        Failure::new(self.code, error.render(&self.place, &self.text))
    }

    fn refused(&self, message: impl Into<String>) -> Failure {
        Failure::new(self.code, message)
    }
}

/// An override with its clause.
#[derive(Debug, Clone)]
pub struct ParsedOverride {
    /// The override.
    pub change: Override,
    clause: Clause,
}

/// The clauses of `overrides`, which may speak of the axes of the series `all`. One that applies to
/// none of these may be wrong: a table of the configuration file may name a series that is not
/// built.
///
/// # Errors
/// A clause that does not follow the grammar.
pub fn parse_overrides<'s>(
    all: impl IntoIterator<Item = &'s SeriesDescription> + Clone,
    overrides: Vec<Override>,
) -> Result<Vec<ParsedOverride>> {
    let mut parsed = Vec::new();
    for change in overrides {
        let series = || all.clone().into_iter().filter(|s| change.counts_for(s));
        match Clause::parse(&change.text, &names(series())) {
            Ok(clause) => parsed.push(ParsedOverride { change, clause }),
            Err(_) if series().next().is_none() => {}
            Err(error) => return Err(change.wrong(&error)),
        }
    }
    Ok(parsed)
}

/// Applies `overrides` to a series, one after the other, if it is selected and has their axes.
///
/// # Errors
/// A clause that does not fit the annotation.
pub(super) fn apply<'o>(
    series: &mut SeriesDescription,
    overrides: impl IntoIterator<Item = &'o ParsedOverride>,
) -> Result<()> {
    for parsed in overrides {
        match parsed.fits(series) {
            Ok(true) => parsed.put_over(series)?,
            Err(error) if parsed.speaks_of(series) => {
                let message = format!("{} in {}", error.message, series.id);
                return Err(parsed.change.wrong(&ParseError { message, ..error }));
            }
            Ok(false) | Err(_) => {}
        }
    }
    check(series)
}

/// Refuses an override with axes that no series in `taken` has, if it applies to any.
///
/// # Errors
/// It speaks of nothing that is taken.
pub(super) fn check_used(taken: &[&SeriesDescription], overrides: &[ParsedOverride]) -> Result<()> {
    for parsed in overrides {
        let series: Vec<&SeriesDescription> =
            taken.iter().copied().filter(|series| parsed.change.counts_for(series)).collect();
        let mut fits = series.iter().map(|series| parsed.fits(series));
        match fits.find(|fits| !matches!(fits, Ok(false))) {
            Some(Ok(_)) => {}
            _ if series.is_empty() => {}
            Some(Err(first)) => {
                if !fits.any(|fits| fits.is_ok()) {
                    return Err(parsed.change.wrong(&first));
                }
            }
            None => {
                return Err(no_axis(&parsed.change, &parsed.axes(), &names(series.into_iter())));
            }
        }
    }
    Ok(())
}

/// The names of the axes of `series`, each once.
fn names<'s>(series: impl Iterator<Item = &'s SeriesDescription>) -> Vec<String> {
    each_once(series.flat_map(|series| series.space.names()).map(str::to_owned))
}

impl ParsedOverride {
    /// The axes that it gives something to.
    fn axes(&self) -> Vec<&str> {
        match &self.clause {
            Clause::Axis(axis) | Clause::Constant(axis) => vec![&axis.name],
            Clause::Zip(axes) => axes.iter().map(|axis| axis.name.as_str()).collect(),
            Clause::Derived(derived) => vec![&derived.name],
            Clause::Where(_) => Vec::new(),
        }
    }

    /// Whether it counts for `series`, which has all of its axes.
    ///
    /// # Errors
    /// A condition on axes that the series does not have.
    fn fits(&self, series: &SeriesDescription) -> Result<bool, ParseError> {
        if !self.change.counts_for(series) {
            return Ok(false);
        }
        if let Clause::Where(filter) = &self.clause {
            let start = self.change.text.find(filter.text()).unwrap_or(0);
            series.space.check_filter(filter).map_err(|error| error.shifted(start))?;
        }
        Ok(self.axes().iter().all(|axis| series.space.has(axis)))
    }

    /// Whether `series` has every axis of the condition, whatever their types.
    fn speaks_of(&self, series: &SeriesDescription) -> bool {
        match &self.clause {
            Clause::Where(filter) => !filter.lacks_axis(&series.space.types()),
            Clause::Axis(_) | Clause::Constant(_) | Clause::Zip(_) | Clause::Derived(_) => false,
        }
    }

    fn put_over(&self, series: &mut SeriesDescription) -> Result<()> {
        match &self.clause {
            Clause::Axis(axis) | Clause::Constant(axis) => replace(series, &self.change, axis),
            Clause::Zip(axes) => zip(series, &self.change, axes),
            Clause::Derived(derived) => derive(series, &self.change, derived),
            Clause::Where(filter) => {
                series.space.filters.push(filter.clone());
                Ok(())
            }
        }
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

/// Words that `series` has for an axis and `annotated` does not list, a sentence each: the kernel's
/// expressions may know more words, and a misspelt one would run with an unknown word.
pub(super) fn unlisted(annotated: &SeriesDescription, series: &SeriesDescription) -> Vec<String> {
    let listed = |name: &str| annotated.space.axes.iter().find(|axis| axis.name == name);
    let words = series.space.axes.iter().flat_map(|axis| {
        axis.values.iter().filter_map(|value| match value {
            AxisValue::Word(word) => Some((listed(&axis.name)?, word)),
            _ => None,
        })
    });
    words
        .filter(|(own, word)| !own.values.contains(&AxisValue::Word((*word).clone())))
        .map(|(own, word)| {
            let known: Vec<String> = own.values.iter().map(ToString::to_string).collect();
            let near = did_you_mean(word, known.iter().map(String::as_str));
            format!(
                "axis `{}` of {} lists {}, and not `{word}`, which runs all the same{}",
                own.name,
                series.id,
                known.join(", "),
                near.map(|near| format!("; {near}")).unwrap_or_default()
            )
        })
        .collect()
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

/// The invariants of a series after all overrides.
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
