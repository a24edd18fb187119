//! A series or configuration that filters are applied to, and answers that may be unknown.

use crate::configuration::Configuration;
use crate::expression::Type;

/// A series or a configuration, with its unknown parts as none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'s> {
    /// The keys of the series: each of its forms.
    pub series: Option<&'s [String]>,
    /// Its axes.
    pub axes: Option<&'s [(&'s str, Type)]>,
    /// One of its configurations.
    pub configuration: Option<&'s Configuration>,
}

/// `a && b`, as far as it is known.
pub(super) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

/// `a || b`, as far as it is known.
pub(super) fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    both(a.map(|a| !a), b.map(|b| !b)).map(|neither| !neither)
}
