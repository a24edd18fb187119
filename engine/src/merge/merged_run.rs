//! The run that slices make together.
//!
//! Input: slices of one plan, each once. Output: the run as one process would have measured it:
//! series and configurations in the order of the plan, whichever slice has them. Unmeasured
//! configurations of a slice are `skipped`; a missing slice leaves nothing. Nothing is judged here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::metrics::collect;
use gpuprof_analysis::series;
use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, Status};
use gpuprof_model::{Configuration, ExitCode};
use gpuprof_system::error::{Failure, Result};

use super::parts::{self, Gathered, Row};
use super::{Slices, spans};
use crate::store::manifest::{Outline, OwnSeries};
use crate::store::slices::StoredSlice;

/// Why a configuration of a slice has no result.
const NOT_MEASURED: &str = "its slice ended before it was measured";

/// The union of slices.
#[derive(Debug)]
pub struct Union {
    /// This revision.
    pub run: Run,
    /// The other one, if there is one.
    pub base: Option<Run>,
    /// The plan of both.
    pub(super) plan: Outline,
    /// The slices' notes on each series of the run.
    pub(super) own: Vec<OwnSeries>,
    /// The slices' notes on the comparison, each once.
    pub(super) notes: Vec<String>,
}

impl Slices {
    /// Joins the slices to the run `id`; `partial` says whether it is accepted that they lack
    /// something.
    ///
    /// # Errors
    /// A journal that has something else than its manifest, or a slice with an invalid document of
    /// its run (exit code 96).
    pub fn join(self, id: &str, partial: bool) -> Result<Union> {
        let lacks = self.absent().record(self.plan.slices, partial);
        let Self { plan, all: mut slices, .. } = self;
        let mut union = join(id, plan, &mut slices)?;
        let provenance = &mut union.run.provenance;
        spans::add(provenance, &slices)?;
        provenance.missing_slices = lacks;
        if let Some(base) = &mut union.base {
            for slice in &slices {
                base.provenance.sources.join(slice.base_sources()?);
            }
        }
        Ok(union)
    }
}

impl Union {
    /// The selection of their plan.
    pub fn scope(&self) -> &Scope {
        &self.plan.scope
    }

    /// The other revision, if the slices measured one, as the other side of the comparison.
    pub fn measured_base(&self, across_devices: bool) -> Option<Against> {
        let (name, base) = self.plan.base.as_ref().zip(self.base.as_ref())?;
        Some(Against {
            name: name.clone(),
            run: Ok(base.clone()),
            across_devices,
            // On the emulated driver nothing is timed, and so nothing is in rounds.
            in_rounds: base.provenance.device.as_ref().is_some_and(|device| !device.emulated),
            scope: self.plan.scope.clone(),
        })
    }
}

fn join(id: &str, plan: Outline, slices: &mut [StoredSlice]) -> Result<Union> {
    let devices = several(slices);
    for row in slices.iter_mut().flat_map(|slice| slice.found.rows.values_mut()) {
        row.device = row.device.take().filter(|_| !devices.is_empty());
    }
    let taken: Vec<_> =
        slices.iter_mut().map(|slice| std::mem::take(&mut slice.found.rows)).collect();
    let slices: &[StoredSlice] = slices;
    let mut heads = Gathered::new();
    let mut bases: HashMap<(String, Configuration), ConfigurationResult> = HashMap::new();
    for (slice, mut rows) in slices.iter().zip(taken) {
        for (series, own) in slice.manifest.own.iter().enumerate() {
            let (_, here) = heads.entry(own.position).or_insert_with(|| (own, BTreeMap::new()));
            for (index, configuration) in own.configurations.iter().enumerate() {
                let result = rows.remove(&(series, index));
                here.insert(
                    own.positions[index],
                    row(slice, (series, index), configuration, result)?,
                );
            }
        }
        for ((series, _), row) in rows {
            bases.insert((of_base(slice, series)?, row.configuration.clone()), row);
        }
    }
    let mut provenance = provenance(slices, devices);
    parts::add(&mut provenance.slices, &heads);
    let own = heads.values().map(|(own, _)| (*own).clone()).collect();
    let series = heads.into_values().map(assemble).collect();
    let mut run = Run::unjudged(id, provenance, series);
    let mut base = base(&run, slices, bases);
    run.note_timers();
    base.iter_mut().for_each(Run::note_timers);
    let mut seen = HashSet::new();
    let notes = slices.iter().flat_map(|slice| &slice.manifest.notes);
    let notes = notes.filter(|note| seen.insert(*note)).cloned().collect();
    Ok(Union { run, base, plan, own, notes })
}

fn assemble((own, rows): (&OwnSeries, BTreeMap<usize, Row<'_>>)) -> SeriesResult {
    let rows = rows.into_values().map(|row| row.result).collect();
    series::assemble(&own.description, &own.columns, &own.sections, rows)
}

/// The row of the `planned` configuration that is `at` in `slice`: its `result`, or that it has
/// none.
fn row<'s>(
    slice: &'s StoredSlice,
    at: (usize, usize),
    planned: &Configuration,
    result: Option<ConfigurationResult>,
) -> Result<Row<'s>> {
    let number = slice.manifest.slice;
    match result {
        Some(result) if result.configuration == *planned => {
            Ok(Row { result, slice: number, host: slice.found.host(at) })
        }
        Some(_) => Err(other_than_planned(slice)),
        None => {
            let skipped = Status::Skipped { reason: NOT_MEASURED.to_owned() };
            let result = collect::unfinished(planned.clone(), skipped);
            Ok(Row { result, slice: number, host: "" })
        }
    }
}

/// The series of the other revision that is `at` in the journal of `slice`.
fn of_base(slice: &StoredSlice, at: usize) -> Result<String> {
    let at = at.checked_sub(slice.manifest.own.len());
    let base = slice.manifest.base.as_ref().zip(at);
    let id = base.and_then(|(base, at)| base.measured.get(at).cloned());
    id.ok_or_else(|| other_than_planned(slice))
}

fn other_than_planned(slice: &StoredSlice) -> Failure {
    let folder = &slice.folder;
    Failure::new(
        ExitCode::Configuration,
        format!("{folder}: journal.jsonl has results of what manifest.json does not have"),
    )
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
    let provenance = Provenance {
        ptx_sha256: each().flat_map(|p| p.ptx_sha256.clone()).collect(),
        kernel_toolchain: each().find_map(|p| p.kernel_toolchain.clone()),
        git_revision: first.provenance.git_revision.clone(),
        ..head.provenance.clone()
    };
    Some(Run::unjudged(Run::base_id(&head.id), provenance, series))
}
