//! Filters: which series and configurations a command line selects.
//!
//! Input: texts, filter expressions and names to leave out, and the key of a series with its axes
//! and a configuration. Output: whether it is selected, as in nextest.

mod expression;
mod filters;
mod pattern;
mod subject;
#[cfg(test)]
mod tests;

pub use expression::FilterExpression;
pub use filters::Filters;
pub use pattern::Pattern;
pub(crate) use pattern::matches_whole;
pub use subject::Subject;
