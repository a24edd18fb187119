//! Views, checked against the series that they are to show.

use gpuprof_model::expression::Type;
use gpuprof_model::metric::Catalogue;

use crate::error::{Failure, Result};
use gpuprof_analysis::view::View;

/// Refuses a view that speaks of what none of the series has, of which `axes` are the axes, and
/// `catalogue` the metrics.
///
/// # Errors
/// The option and what is wrong with it (exit code 2).
pub(super) fn check(view: &View, catalogue: &Catalogue, axes: &[Vec<(&str, Type)>]) -> Result<()> {
    view.check(catalogue, &axes.concat()).map_err(Failure::usage)?;
    let Some(filter) = &view.filter else { return Ok(()) };
    let errors: Vec<_> = axes.iter().map(|axes| filter.check_condition(axes).err()).collect();
    match errors.iter().flatten().next() {
        Some(error) if errors.iter().all(Option::is_some) => {
            Err(Failure::usage(error.render("--filter", filter.text())))
        }
        _ => Ok(()),
    }
}
