//! The filters of a command line, together.
//!
//! A configuration is selected if it matches one of the texts, and one of the expressions, where
//! there are any, and if its series is not left out.

use serde::{Deserialize, Serialize};

use super::expression::FilterExpression;
use super::pattern::{self, Pattern};
use super::subject::{Subject, both, either};
use crate::configuration::Configuration;
use crate::expression::Type;
use crate::text::ParseError;

/// The filters of a command line. Without any, every series is selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    /// Texts of which a key holds one. One with `*` or `?` is a [`Pattern`].
    #[serde(rename = "filters")]
    pub texts: Vec<String>,
    /// Whether a text is a whole name instead: a kernel, or more of a key.
    pub exact: bool,
    /// Expressions of which one holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<FilterExpression>,
    /// Series that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Pattern>,
}

impl Filters {
    /// Filters of these `texts` alone.
    pub fn of_texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { texts: texts.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Whether they select `subject`; none if that depends on something unknown of it.
    ///
    /// # Errors
    /// The condition of an expression has no value in the configuration, such as a division by
    /// zero.
    pub fn select(&self, subject: Subject<'_>) -> Result<Option<bool>, ParseError> {
        let texts = match self.texts.is_empty() {
            true => Some(true),
            false => any(self.texts.iter().map(|text| Ok(self.text_matches(text, subject))))?,
        };
        let expressions = match self.expressions.is_empty() {
            true => Some(true),
            false => any(self.expressions.iter().map(|expression| expression.holds(subject)))?,
        };
        let excluded =
            subject.series.map(|keys| self.excluded.iter().any(|it| it.matches_any(keys)));
        let kept = match self.excluded.is_empty() {
            true => Some(true),
            false => excluded.map(|excluded| !excluded),
        };
        Ok(both(both(texts, expressions), kept))
    }

    /// Whether they select a configuration of the series with these keys.
    ///
    /// # Errors
    /// As [`Filters::select`].
    pub fn take(
        &self,
        series: &[String],
        axes: &[(&str, Type)],
        configuration: &Configuration,
    ) -> Result<bool, ParseError> {
        let (series, axes, configuration) = (Some(series), Some(axes), Some(configuration));
        Ok(self.select(Subject { series, axes, configuration })? == Some(true))
    }

    /// Whether they select every configuration of the series with these keys, whatever its axes.
    pub fn take_whole(&self, series: &[String]) -> bool {
        let subject = Subject { series: Some(series), ..Subject::default() };
        matches!(self.select(subject), Ok(Some(true)))
    }

    /// Whether `text` selects `subject`; none if only a configuration can say.
    fn text_matches(&self, text: &str, subject: Subject<'_>) -> Option<bool> {
        let keys = subject.series?;
        let pattern = Pattern::wild(text).filter(|_| !self.exact);
        let fits = |key: &str| match &pattern {
            Some(pattern) => pattern.matches(key),
            None if self.exact => pattern::names(key).any(|name| name == text),
            None => key.contains(text),
        };
        if keys.iter().any(|key| fits(key)) {
            return Some(true);
        }
        let point = subject.configuration?;
        Some(keys.iter().any(|key| fits(&format!("{key}/{point}"))))
    }
}

fn any(
    all: impl Iterator<Item = Result<Option<bool>, ParseError>>,
) -> Result<Option<bool>, ParseError> {
    let mut any = Some(false);
    for one in all {
        any = either(any, one?);
        if any == Some(true) {
            break;
        }
    }
    Ok(any)
}
