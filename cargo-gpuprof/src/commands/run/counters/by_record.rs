//! Checks names of counters without CUPTI, against recorded lists.
//!
//! Input: the written metrics, and the chip; on the emulated driver any chip will do, since it
//! counts for no particular GPU. Output: nothing, or a refusal with the nearest names. An available
//! CUPTI decides instead, since it may be newer.

use std::borrow::Cow;
use std::collections::BTreeSet;

use gpuprof_model::metric::Catalogue;

use super::refused::needed_for;
use gpuprof_catalogue::chips::{Chips, NoMetric};
use gpuprof_system::error::{Failure, Result};

/// Refuses counters of `written` metrics that `chip` does not have; without one, that no chip has.
///
/// # Errors
/// There are some (exit code 2).
pub(super) fn check(
    catalogue: &Catalogue,
    written: &BTreeSet<&str>,
    chip: Option<&str>,
) -> Result<()> {
    let metrics = written.iter().filter_map(|name| catalogue.find(name));
    let counters: BTreeSet<Cow<'_, str>> =
        metrics.flat_map(|metric| catalogue.hardware_names(&metric)).collect();
    if counters.is_empty() {
        return Ok(());
    }
    let chips = Chips::shipped();
    let problems: Vec<NoMetric> =
        counters.iter().filter_map(|name| chips.validate(name, chip).err()).collect();
    if problems.is_empty() {
        return Ok(());
    }
    let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let refused: Vec<_> = problems.iter().map(NoMetric::refused).collect();
    let near = |counter: &str| Ok(chips.nearest(counter, chip));
    let message = needed_for(catalogue, (reasons.join("\n"), &refused), written, near)?;
    Err(Failure::usage(message))
}
