//! The slice and machine of each part of a merged run.
//!
//! Input: the rows of each series with the slice that has them and the machine that measured them.
//! Output: the records of the slices, each with its part of the run.

use std::collections::BTreeMap;

use gpuprof_model::run::{ConfigurationResult, SlicePart, SliceRecord};

use crate::store::manifest::OwnSeries;

/// A row of a slice.
pub(super) struct Row<'s> {
    pub(super) result: ConfigurationResult,
    /// The number of the slice.
    pub(super) slice: u32,
    /// The machine that measured it; empty if it is not measured.
    pub(super) host: &'s str,
}

/// A series, and the rows that slices have of it by their positions.
pub(super) type Gathered<'s> = BTreeMap<usize, (&'s OwnSeries, BTreeMap<usize, Row<'s>>)>;

/// Adds the slices' parts of `heads` to `records`, one record per slice.
pub(super) fn add(records: &mut [SliceRecord], heads: &Gathered<'_>) {
    for (own, rows) in heads.values() {
        let mut parts: BTreeMap<(u32, &str), Vec<(u32, u32)>> = BTreeMap::new();
        for (index, Row { slice, host, .. }) in (0_u32..).zip(rows.values()) {
            let ranges = parts.entry((*slice, host)).or_default();
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
                _ => ranges.push((index, index)),
            }
        }
        for ((slice, host), configurations) in parts {
            let record = records.iter_mut().find(|record| record.slice == slice);
            let Some(record) = record else { continue };
            let (series, host) = (own.description.id.to_string(), host.to_owned());
            record.measured.push(SlicePart { series, configurations, host });
        }
    }
}
