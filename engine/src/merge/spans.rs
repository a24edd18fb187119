//! Where the time of a merged run went, and the cost of its series.
//!
//! Input: slices, each with the run that it ended as. Output: the spans of all of them on the clock
//! of the slice that began first, as far as the machines' clocks agree, the costs of each series
//! together, and the source text of all. A slice that was killed has left none.

use std::collections::BTreeSet;

use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{MOST_SPANS, Provenance, SeriesCost, Span, Spent};
use jiff::Timestamp;

use crate::store::slices::{StoredSlice, Timed};
use gpuprof_system::error::Result;

/// Gives `provenance` the spans of `slices`, at most [`MOST_SPANS`], the first ones, the costs of
/// the series, and the text of the counted lines.
///
/// # Errors
/// A `run.json` that is none (exit code 96).
pub(super) fn add(provenance: &mut Provenance, slices: &[StoredSlice]) -> Result<()> {
    let mut all: Vec<(&StoredSlice, Timed)> = Vec::new();
    for slice in slices {
        all.extend(slice.timed()?.map(|timed| (slice, timed)));
    }
    for cost in all.iter_mut().flat_map(|(_, timed)| std::mem::take(&mut timed.costs)) {
        added(&mut provenance.costs, cost);
    }
    for (_, timed) in &mut all {
        provenance.sources.join(std::mem::take(&mut timed.sources));
    }
    provenance.spans = join(all, &provenance.devices);
    Ok(())
}

/// Adds the cost of a part of a series.
fn added(costs: &mut Vec<SeriesCost>, part: SeriesCost) {
    match costs.iter_mut().find(|cost| cost.series == part.series) {
        Some(cost) => {
            cost.configurations = cost.configurations.saturating_add(part.configurations);
            cost.microseconds = cost.microseconds.saturating_add(part.microseconds);
        }
        None => costs.push(part),
    }
}

/// The spans of slices with rows measured by `devices`.
fn join(slices: Vec<(&StoredSlice, Timed)>, devices: &[DeviceName]) -> Vec<Span> {
    let begun = |(slice, timed): (_, Timed)| {
        timed.started.parse().ok().map(|started: Timestamp| (started, slice, timed.spans))
    };
    let all: Vec<(Timestamp, &StoredSlice, Vec<Span>)> =
        slices.into_iter().filter_map(begun).collect();
    let Some(first) = all.iter().map(|(started, ..)| *started).min() else { return Vec::new() };
    let mut merged: Vec<Span> = Vec::new();
    for (started, slice, spans) in all {
        let since = u64::try_from(started.duration_since(first).as_micros()).unwrap_or_default();
        let device = |device: u32| {
            let own = slice.found.starts.last().and_then(|s| s.devices.get(device as usize));
            let place = devices.iter().position(|name| own.is_some_and(|own| *own == name.uuid));
            u32::try_from(place.unwrap_or_default()).unwrap_or(u32::MAX)
        };
        merged.extend(spans.into_iter().map(|span| Span {
            slice: slice.manifest.slice,
            device: device(span.device),
            begin_us: span.begin_us.saturating_add(since),
            ..span
        }));
    }
    first_of(merged)
}

/// The kept part of `spans`: those that ended first, without parts of processes that ended later.
fn first_of(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.begin_us.saturating_add(span.length_us));
    spans.truncate(MOST_SPANS);
    let key = |span: &Span| (span.slice, span.process);
    let whole: BTreeSet<(u32, u32)> =
        spans.iter().filter(|span| span.spent == Spent::Process).map(key).collect();
    spans.retain(|span| span.process == 0 || whole.contains(&key(span)));
    spans
}
