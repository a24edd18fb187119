//! Which slice measured a configuration of a merged run, and on which machine.
//!
//! Input: a run. Output: of each of its configurations the number of the slice and the host;
//! nothing of a run that was not merged.

use std::collections::{BTreeSet, HashMap};

use gpuprof_model::Configuration;
use gpuprof_model::run::{Run, SeriesResult, SlicePart};

/// The most hosts that are named.
const NAMED: usize = 4;

/// Who measured what.
#[derive(Debug, Default)]
pub(super) struct MeasuredBy<'r> {
    of: HashMap<(String, &'r Configuration), (u32, &'r str)>,
}

impl<'r> MeasuredBy<'r> {
    /// The slices and machines of `run`.
    pub(super) fn collect(run: &'r Run) -> Self {
        let series: HashMap<String, &SeriesResult> =
            run.series.iter().map(|series| (series.id.to_string(), series)).collect();
        let mut of = HashMap::new();
        for record in &run.provenance.slices {
            for SlicePart { series: id, configurations, host } in &record.measured {
                let Some(series) = series.get(id) else { continue };
                for &(first, last) in configurations {
                    let rows = series.configurations.iter().skip(first as usize);
                    let count = (last as usize).saturating_sub(first as usize) + 1;
                    of.extend(rows.take(count).map(|row| {
                        ((id.clone(), &row.configuration), (record.slice, host.as_str()))
                    }));
                }
            }
        }
        Self { of }
    }

    /// Whether the run was merged of slices.
    pub(super) fn is_known(&self) -> bool {
        !self.of.is_empty()
    }

    /// The slice of a configuration of `series`, and the machine that measured it, if any.
    pub(super) fn row(&self, series: &str, row: &Configuration) -> Option<(u32, &'r str)> {
        self.of.get(&(series.to_owned(), row)).copied()
    }
}

/// `run` was merged: the number and origin of its slices; none for other runs.
pub(super) fn sentence(run: &Run) -> Option<String> {
    let slices = &run.provenance.slices;
    let parts = || slices.iter().flat_map(|record| &record.measured);
    parts().next()?;
    let of = slices.first().map_or(0, |record| record.of);
    let hosts: BTreeSet<&str> =
        parts().map(|part| part.host.as_str()).filter(|host| !host.is_empty()).collect();
    let named = hosts.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = match hosts.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!(" and {more} more"),
        _ => String::new(),
    };
    let there = slices.len();
    let count = if there == of as usize { there.to_string() } else { format!("{there} of {of}") };
    let noun = if of == 1 { "slice" } else { "slices" };
    Some(format!("merged from {count} {noun}, measured on {named}{more}"))
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_model::run::SliceRecord;

    use super::*;

    /// A run of three configurations, of which slice 1 measured the first and the last, on another
    /// machine each, and slice 3 nothing.
    fn merged() -> Run {
        let rows = [64, 128, 256].map(|block| fixture::emulated(block, 1024));
        let mut run = fixture::run("1", vec![fixture::series(rows.into())]);
        let id = run.series[0].id.to_string();
        let part = |first, last, host: &str| SlicePart {
            series: id.clone(),
            configurations: vec![(first, last)],
            host: host.into(),
        };
        let record = |slice, measured| SliceRecord { slice, of: 3, measured, ..Default::default() };
        run.provenance.slices = vec![
            record(1, vec![part(0, 0, "n1"), part(2, 2, "n2")]),
            record(2, vec![part(1, 1, "")]),
        ];
        run
    }

    #[test]
    fn every_configuration_names_its_slice_and_host() {
        let run = merged();
        let by = MeasuredBy::collect(&run);
        let id = run.series[0].id.to_string();
        let all: Vec<_> =
            run.series[0].configurations.iter().map(|r| by.row(&id, &r.configuration)).collect();
        assert_eq!(all, [Some((1, "n1")), Some((2, "")), Some((1, "n2"))]);
        assert_eq!(by.row("other", &run.series[0].configurations[0].configuration), None);
        let whole = fixture::run("2", Vec::new());
        assert!(!MeasuredBy::collect(&whole).is_known() && by.is_known());
        assert_eq!(sentence(&whole), None);
        let said = "merged from 2 of 3 slices, measured on n1, n2";
        assert_eq!(sentence(&run).as_deref(), Some(said));
    }
}
