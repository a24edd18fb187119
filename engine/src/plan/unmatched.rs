//! Filters that select nothing.
//!
//! Input: the annotated series, and filters. Output: an error that names the filter, the nearest
//! name, and the series that exist. A filter next to others must select something too: its kernel
//! may have another name now.

use std::collections::BTreeSet;

use gpuprof_model::filter::{Pattern, Subject};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::suggest::{self, did_you_mean, nearest};
use gpuprof_model::{Configuration, Filters, ParseError, SeriesId};

use super::selection::Selection;
use gpuprof_system::error::{Failure, Result};

/// How many series a message names before it counts the rest.
const NAMED: usize = 20;

/// A series with its selected configurations.
pub(super) type Chosen<'c> = (&'c SeriesDescription, &'c [Configuration]);

/// An annotated series, for messages.
pub(super) struct AnnotatedSeries {
    id: SeriesId,
    file: String,
}

impl From<&SeriesDescription> for AnnotatedSeries {
    fn from(series: &SeriesDescription) -> Self {
        let SeriesDescription { id, file, .. } = series;
        Self { id: id.clone(), file: file.clone() }
    }
}

/// Refuses filter conditions on axes that no series of `all` has, and conditions that compare an
/// axis of a series with a value of another type.
///
/// # Errors
/// The place of the condition, with the nearest name or form (exit code 2).
pub(super) fn check_conditions(
    all: &[(usize, SeriesDescription)],
    filters: &Filters,
) -> Result<()> {
    let axes: Vec<_> = all.iter().map(|(_, series)| series.space.types()).collect();
    let others = Filters { expressions: Vec::new(), ..filters.clone() };
    let without = Selection { filters: others, ..Selection::default() };
    filters.expressions.iter().try_for_each(|expression| {
        let wrong = |e: ParseError| Failure::usage(e.render("-E", expression.text()));
        expression.check(&axes).map_err(wrong)?;
        all.iter().zip(&axes).try_for_each(|((_, series), axes)| {
            let (id, keys) = (&series.id, series.id.keys());
            let subject = Subject { series: Some(&keys), axes: Some(axes), configuration: None };
            if !without.may_take(series) {
                return Ok(());
            }
            let of_series =
                |e: ParseError| ParseError { message: format!("{} in {id}", e.message), ..e };
            expression.holds(subject).map(|_| ()).map_err(|e| wrong(of_series(e)))
        })
    })
}

/// Says which filter selects nothing, next to others that have selected `planned`; not checked for
/// a sample, except for series that are left out.
pub(super) fn find(
    selection: &Selection,
    planned: &[Chosen<'_>],
    known: &[AnnotatedSeries],
) -> Option<String> {
    let filters = &selection.filters;
    let excludes = |pattern: &&Pattern| known.iter().any(|it| pattern.matches_any(&it.id.keys()));
    if let Some(idle) = filters.excluded.iter().find(|pattern| !excludes(pattern)) {
        let near =
            near([idle.name()].iter(), known).map_or_else(String::new, |it| format!(": {it}"));
        let known = there_are(known);
        return Some(format!("--exclude-series {idle} leaves out no series{near}\n{known}"));
    }
    if selection.sample.is_some() {
        return None;
    }
    let idle = alone(filters).into_iter().find(|one| !selects(one, planned))?;
    Some(no_match(selection, &idle, known))
}

/// Each of several texts and each of several expressions, as separate filters.
fn alone(filters: &Filters) -> Vec<Filters> {
    let Filters { texts, exact, expressions, .. } = filters;
    let text = |text: &String| Filters { exact: *exact, ..Filters::of_texts([text]) };
    let expression =
        |one: &_| Filters { expressions: vec![Clone::clone(one)], ..Filters::default() };
    let texts = texts.iter().filter(|_| texts.len() > 1).map(text);
    let expressions = expressions.iter().filter(|_| expressions.len() > 1).map(expression);
    texts.chain(expressions).collect()
}

/// Whether `filters` select something of `planned`.
fn selects(filters: &Filters, planned: &[Chosen<'_>]) -> bool {
    let selection = Selection { filters: filters.clone(), ..Selection::default() };
    planned.iter().any(|(series, configurations)| {
        let own = selection.on(series);
        own.all == Some(true) || configurations.iter().any(|it| own.takes(it).unwrap_or(true))
    })
}

/// `filters` match none of the series `known`; suggests similar names.
pub(super) fn no_match(
    selection: &Selection,
    filters: &Filters,
    known: &[AnnotatedSeries],
) -> String {
    let Filters { texts, exact, expressions, excluded } = filters;
    let words = texts.iter().map(|text| {
        let series = text.split('/').next().unwrap_or(text);
        series.rsplit("::").next().unwrap_or(series).to_owned()
    });
    let patterns = expressions.iter().flat_map(|it| it.patterns()).map(Pattern::name);
    let words: Vec<String> = words.chain(patterns).collect();
    // Next to an expression, a text may name a series that exists.
    let both = !texts.is_empty() && !expressions.is_empty();
    let exists = |word: &String| known.iter().any(|series| series.id.kernel == *word);
    let near = near(words.iter().filter(|word| !(both && exists(word))), known);
    let near = near.or_else(|| texts.iter().find_map(|filter| in_file(filter, known)));
    // A subcommand that is misspelt is taken for a filter.
    let near = near.or_else(|| {
        let name = *nearest(texts.first()?, selection.subcommands.iter().copied()).first()?;
        Some(format!("did you mean the subcommand `{name}`?"))
    });
    let near = near.map(|near| format!(": {near}")).unwrap_or_default();
    let expressions = expressions.iter().map(|expression| format!("`-E {expression}`"));
    let excluded = excluded.iter().map(|pattern| format!("`--exclude-series {pattern}`"));
    let texts = texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
    let others = expressions.chain(excluded).collect::<Vec<_>>().join(", ");
    // A series has to match a text, and an expression.
    let written = match (texts.is_empty(), others.is_empty()) {
        (false, false) => format!("both {texts} and {others}"),
        _ => texts + &others,
    };
    let whole = if *exact { " (--exact compares whole names)" } else { "" };
    format!("no series matches {written}{whole}{near}\n{}", there_are(known))
}

/// The kernels with a name near to one of `words`.
fn near<'w>(
    mut words: impl Iterator<Item = &'w String>,
    known: &[AnnotatedSeries],
) -> Option<String> {
    let kernels: BTreeSet<&str> = known.iter().map(|series| &*series.id.kernel).collect();
    words.find_map(|word| did_you_mean(word, kernels.iter().copied()))
}

/// The first kernels of the files that `filter` names: a filter compares names of series, not of
/// files.
fn in_file(filter: &str, known: &[AnnotatedSeries]) -> Option<String> {
    let kernels = known.iter().filter(|series| series.file.contains(filter));
    let kernels: Vec<&str> = kernels.map(|series| &*series.id.kernel).take(3).collect();
    suggest::which(&kernels)
}

/// The series `known`, a line each.
fn there_are(known: &[AnnotatedSeries]) -> String {
    let mut text = String::from("there are:");
    known
        .iter()
        .take(NAMED)
        .for_each(|AnnotatedSeries { id, .. }| text.push_str(&format!("\n  {id}")));
    match known.len().saturating_sub(NAMED) {
        0 => text,
        more => text + &format!("\n  and {more} more; `cargo gpuprof list` shows them all"),
    }
}
