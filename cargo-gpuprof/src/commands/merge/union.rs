//! The run that slices make together.
//!
//! Input: slices of one plan, each once. Output: the run as one process would have measured it:
//! series and configurations in the order of the plan, whichever slice has them. Unmeasured
//! configurations of a slice are `skipped`; a missing slice leaves nothing. Nothing is judged here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gpuprof_analysis::metrics::collect;
use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{
    ConfigurationResult, Provenance, Run, SCHEMA_VERSION, SeriesResult, Status,
};
use gpuprof_model::{Configuration, ExitCode};

use super::parts::{self, Gathered, Row};
use crate::commands::series_result;
use gpuprof_engine::store::manifest::OwnSeries;
use gpuprof_engine::store::slices::StoredSlice;
use gpuprof_system::error::{Failure, Result};

/// Why a configuration of a slice has no result.
const NOT_MEASURED: &str = "its slice ended before it was measured";

/// The union of slices.
#[derive(Debug)]
pub(super) struct Union {
    /// This revision.
    pub(super) run: Run,
    /// The other one, if there is one.
    pub(super) base: Option<Run>,
    /// Of each series of the run, its position in the plan.
    pub(super) positions: Vec<usize>,
}

/// Joins `slices` to the run `id`.
///
/// # Errors
/// A journal that has something else than its manifest (exit code 96).
pub(super) fn join(id: &str, slices: &mut [StoredSlice]) -> Result<Union> {
    let devices = several(slices);
    for row in slices.iter_mut().flat_map(|slice| slice.found.rows.values_mut()) {
        row.device = row.device.take().filter(|_| !devices.is_empty());
    }
    let taken: Vec<_> =
        slices.iter_mut().map(|slice| std::mem::take(&mut slice.found.rows)).collect();
    let slices: &[StoredSlice] = slices;
    let mut heads = Gathered::new();
    let mut bases: HashMap<(String, Configuration), ConfigurationResult> = HashMap::new();
    for (slice, rows) in slices.iter().zip(taken) {
        for own in &slice.manifest.own {
            heads.entry(own.position).or_insert_with(|| (own, BTreeMap::new()));
        }
        for (at, row) in rows {
            match slice.manifest.own.get(at.0) {
                Some(own) => {
                    let position = position(slice, own, at.1, &row)?;
                    let (_, rows) =
                        heads.entry(own.position).or_insert_with(|| (own, BTreeMap::new()));
                    rows.insert(position, (row, slice.manifest.slice, slice.found.host(at)));
                }
                None => {
                    let id = of_base(slice, at.0)?;
                    bases.insert((id, row.configuration.clone()), row);
                }
            }
        }
        skip(slice, &mut heads);
    }
    let positions = heads.keys().copied().collect();
    let mut provenance = provenance(slices, devices);
    parts::add(&mut provenance.slices, &heads);
    let mut run = Run {
        schema_version: SCHEMA_VERSION,
        id: id.to_owned(),
        series: heads.into_values().map(series).collect(),
        provenance,
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    };
    let mut base = base(&run, slices, bases);
    run.note_timers();
    base.iter_mut().for_each(Run::note_timers);
    Ok(Union { run, base, positions })
}

fn series((own, rows): (&OwnSeries, BTreeMap<usize, Row<'_>>)) -> SeriesResult {
    let rows = rows.into_values().map(|(row, ..)| row).collect();
    series_result::assemble(&own.description, &own.columns, &own.sections, rows)
}

/// The position of the `index`th configuration of `own` in the plan.
fn position(
    slice: &StoredSlice,
    own: &OwnSeries,
    index: usize,
    row: &ConfigurationResult,
) -> Result<usize> {
    let known = own.configurations.get(index).filter(|known| **known == row.configuration);
    match known.and_then(|_| own.positions.get(index)) {
        Some(&position) => Ok(position),
        None => Err(other_than_planned(slice)),
    }
}

/// The series of the other revision that is `at` in the journal of `slice`.
fn of_base(slice: &StoredSlice, at: usize) -> Result<String> {
    let base = slice.manifest.base.as_ref();
    let id = base.and_then(|base| base.measured.get(at - slice.manifest.own.len()).cloned());
    id.ok_or_else(|| other_than_planned(slice))
}

fn other_than_planned(slice: &StoredSlice) -> Failure {
    let folder = &slice.folder;
    Failure::new(
        ExitCode::Configuration,
        format!("{folder}: journal.jsonl has results of what manifest.json does not have"),
    )
}

/// Gives what `slice` was to measure and did not its reason.
fn skip(slice: &StoredSlice, heads: &mut Gathered<'_>) {
    for own in &slice.manifest.own {
        let Some((_, rows)) = heads.get_mut(&own.position) else { continue };
        for (&position, configuration) in own.positions.iter().zip(&own.configurations) {
            rows.entry(position).or_insert_with(|| {
                let reason = NOT_MEASURED.to_owned();
                let row = collect::unfinished(configuration.clone(), Status::Skipped { reason });
                (row, slice.manifest.slice, "")
            });
        }
    }
}

/// The devices of all rows, if there are several.
fn several(slices: &[StoredSlice]) -> Vec<DeviceName> {
    let rows = slices.iter().flat_map(|slice| slice.found.rows.values());
    let uuids: BTreeSet<&str> = rows.filter_map(|row| row.device.as_deref()).collect();
    if uuids.len() < 2 {
        return Vec::new();
    }
    // All of one model: any slice's device has the name.
    let device = slices.iter().find_map(StoredSlice::device);
    let name = device.map(|device| device.name.clone()).unwrap_or_default();
    uuids.into_iter().map(|uuid| DeviceName { uuid: uuid.to_owned(), name: name.clone() }).collect()
}

/// The provenance: common entries of all slices, and entries that only some have.
fn provenance(slices: &[StoredSlice], devices: Vec<DeviceName>) -> Provenance {
    let measured = || slices.iter().filter(|slice| slice.manifest.made.is_some());
    let first = measured().next().or(slices.first()).map(|slice| slice.manifest.provenance.clone());
    let each = || measured().map(|slice| &slice.manifest.provenance);
    let start = |slice: &StoredSlice| slice.manifest.provenance.slices.clone();
    Provenance {
        started: each().map(|p| p.started.clone()).min().unwrap_or_default(),
        device: measured().find_map(|slice| slice.found.device.clone()),
        devices,
        replay_mode: each().find_map(|p| p.replay_mode),
        counter_range: each().find_map(|p| p.counter_range),
        order: each().find_map(|p| p.order.clone()),
        ptx_sha256: each().flat_map(|p| p.ptx_sha256.clone()).collect(),
        input_sha256: slices.iter().flat_map(|slice| slice.found.input_sha256.clone()).collect(),
        kernel_toolchain: each().find_map(|p| p.kernel_toolchain.clone()),
        slices: slices.iter().flat_map(start).collect(),
        ..first.unwrap_or_default()
    }
}

/// The other revision's run: the measured configurations of each of its series, in the order of
/// this revision, then those that neither has measured.
fn base(
    head: &Run,
    slices: &[StoredSlice],
    mut rows: HashMap<(String, Configuration), ConfigurationResult>,
) -> Option<Run> {
    let all = || slices.iter().filter_map(|slice| slice.manifest.base.as_ref());
    let first = all().next()?;
    let mut series = Vec::new();
    for known in &first.known {
        let id = known.id.full_key();
        let ours = head.series.iter().filter(|series| series.id == known.id);
        let keys = ours.flat_map(|series| &series.configurations).map(|row| &row.configuration);
        let mut measured: Vec<ConfigurationResult> =
            keys.filter_map(|key| rows.remove(&(id.clone(), key.clone()))).collect();
        let here: HashSet<Configuration> =
            measured.iter().map(|row| row.configuration.clone()).collect();
        let others = known.configurations.iter();
        measured.extend(others.filter(|row| !here.contains(&row.configuration)).cloned());
        let ours = head.series.iter().find(|series| series.id == known.id);
        series.push(SeriesResult {
            columns: ours.map(|series| series.columns.clone()).unwrap_or_default(),
            configurations: measured,
            ..known.clone()
        });
    }
    let each = || all().map(|base| &base.provenance);
    Some(Run {
        id: Run::base_id(&head.id),
        series,
        provenance: Provenance {
            started: head.provenance.started.clone(),
            device: head.provenance.device.clone(),
            devices: head.provenance.devices.clone(),
            slices: head.provenance.slices.clone(),
            ptx_sha256: each().flat_map(|p| p.ptx_sha256.clone()).collect(),
            kernel_toolchain: each().find_map(|p| p.kernel_toolchain.clone()),
            git_revision: first.provenance.git_revision.clone(),
            ..head.provenance.clone()
        },
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
        ..*head
    })
}
