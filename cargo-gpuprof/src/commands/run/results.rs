//! The results of a run, as the engine finds them.
//!
//! Input: what was found for each configuration. Output: its result, the judged series once its
//! last configuration has one, and in the end the run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpuprof_model::failure::{Denial, DenialKind};
use gpuprof_model::measurement::{DeviceRecord, HardwareValue, PassResult};
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, Shared, Status};
use gpuprof_model::{Configuration, Threshold};

use super::against;
use super::counters::{self, CounterSetup};
use super::inputs::{Checked, Inputs};
use super::prepared::{Plan, Prepared};
use crate::commands::series_result;
use crate::commands::thresholds::Placed;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::budget::Budget;
use gpuprof_analysis::gate::rounds::{self, Wanted};
use gpuprof_analysis::gate::run as gate;
use gpuprof_analysis::metrics::collect::{self, Terms};
use gpuprof_engine::passes::{At, Found, Open};
use gpuprof_engine::plan::Side;

/// What is known of the run.
pub(super) struct Results<'a> {
    plan: &'a Plan<'a>,
    run: Run,
    /// The other revision, as far as it is measured, in the place of a stored baseline.
    base: Option<Against>,
    rows: Vec<Vec<Option<ConfigurationResult>>>,
    /// What the rows of each series are made by.
    terms: Vec<Terms<'a>>,
    /// What the rows have in common.
    shared: Shared,
    /// Of each series: how many of its configurations have no result yet.
    left: Vec<usize>,
    series: Vec<Option<SeriesResult>>,
    /// What all thresholds of the run may err in together.
    budget: Budget,
    /// Of each device: why its counters can no longer be had, where a pass found that out.
    denied: Vec<Option<Denial>>,
}

/// What is known in the end.
pub(super) struct FoundOut {
    /// The run, with a result for every planned configuration.
    pub(super) run: Run,
    /// What was measured of the other revision, to compare with.
    pub(super) base: Option<Against>,
    /// Of each device: why its counters could no longer be had, where a pass found that out.
    pub(super) denied: Vec<Option<Denial>>,
    /// What all thresholds of the run may err in together.
    pub(super) budget: Budget,
}

impl<'a> Results<'a> {
    /// No results, of a run with this `provenance`.
    pub(super) fn new(prepared: &'a Prepared<'a>, provenance: Provenance) -> Self {
        let plan = &prepared.plan;
        let run = Run { provenance, ..prepared.document.clone() };
        let none = |series: &Checked| series.planned.configurations.iter().map(|_| None).collect();
        let discipline = counters::discipline(&plan.inputs.settings);
        let own = Terms::new(&plan.catalogue).under(discipline);
        let terms = |series: &Checked| {
            let asked = series.asked(&plan.catalogue);
            own.clone().asking(asked.chain(plan.catalogue.defined().cloned()))
        };
        Self {
            plan,
            run,
            base: base(prepared),
            rows: plan.both.checked.iter().map(none).collect(),
            terms: plan.both.checked.iter().map(terms).collect(),
            shared: Shared::default(),
            left: plan.both.checked.iter().map(Checked::count).collect(),
            series: plan.both.checked.iter().map(|_| None).collect(),
            budget: budget(plan),
            denied: vec![None; plan.setups.len()],
        }
    }

    /// The counters of a device can no longer be had.
    pub(super) fn deny(&mut self, device: usize, denial: &Denial) {
        self.denied[device] = Some(denial.clone());
    }

    /// The result of a configuration, by what was `found`.
    pub(super) fn add(&mut self, at: At, found: Found) -> &ConfigurationResult {
        self.take_device(at, found.passes.first());
        self.take_input_files(at, found.passes.first());
        let mut row = self.row(at, found);
        self.shared.keep_once(&mut row.metrics);
        let (series, index) = at;
        self.left[series] -= 1;
        self.rows[series][index].insert(row)
    }

    fn row(&self, (at, index): At, mut found: Found) -> ConfigurationResult {
        let series = &self.plan.both.checked[at];
        let device = self.plan.assignment.device((at, index));
        explain_missing_counters(&self.plan.setups[device], &mut found.passes);
        let configuration = &series.planned.configurations[index];
        let device = match self.run.provenance.devices.is_empty() {
            true => None,
            // A run that is resumed may have had another one.
            false => found
                .passes
                .first()
                .map(|pass| &pass.device.uuid)
                .or_else(|| Some(&self.plan.devices.records.get(device)?.uuid)),
        };
        let device = device.cloned();
        ConfigurationResult { device, ..result(found, configuration, &self.terms[at]) }
    }

    /// Up to how many rounds each configuration is to be measured that is `open`, on both sides
    /// where it has two, and that a threshold leaves undecided.
    pub(super) fn look(&mut self, open: &[Open<'_>]) -> BTreeMap<At, u32> {
        let mut rows: BTreeMap<At, ConfigurationResult> = BTreeMap::new();
        for Open { at, passes, hardware } in open {
            self.take_device(*at, passes.first());
            let (passes, hardware) = (passes.to_vec(), (*hardware).clone());
            rows.insert(*at, self.row(*at, Found { passes, hardware, ..Found::default() }));
        }
        let series: BTreeSet<usize> = rows.keys().map(|(series, _)| *series).collect();
        series.into_iter().flat_map(|series| self.wanted(series, &rows)).collect()
    }

    /// As [`Results::look`], of one series of this revision, whose open rows are among `rows`; none
    /// of a series of the other one.
    fn wanted(&self, head: usize, rows: &BTreeMap<At, ConfigurationResult>) -> Vec<(At, u32)> {
        if head >= self.plan.both.heads().len() {
            return Vec::new();
        }
        let so_far = |at: usize| {
            let all = self.rows[at].iter().enumerate();
            let row = |(index, row): (usize, &Option<ConfigurationResult>)| {
                row.as_ref().or(rows.get(&(at, index))).cloned()
            };
            self.with_rows(&self.plan.both.checked[at], all.filter_map(row).collect())
        };
        let beside = |known: &Against, base: usize| {
            let run = known.run.as_ref().map_err(Clone::clone);
            let run = run.map(|run| Run {
                series: vec![so_far(base)],
                id: run.id.clone(),
                provenance: run.provenance.clone(),
                comparison: None,
                conclusion: None,
                advice: Vec::new(),
                ..*run
            });
            let (name, scope) = (known.name.clone(), known.scope.clone());
            Against { name, run, scope, ..*known }
        };
        let base = self.plan.both.pairs.base_of(head).zip(self.base.as_ref());
        let beside = base.map(|(base, known)| beside(known, base));
        let stored = self.base.as_ref().or(self.plan.inputs.against.as_ref());
        let against = beside.as_ref().or(stored);
        let (catalogue, thresholds) = (&self.plan.catalogue, self.thresholds(head));
        let series = so_far(head);
        let wanted =
            rounds::wanted(catalogue, &series, &thresholds, &self.run, against, &self.budget);
        let all = &self.plan.both.checked[head].planned.configurations;
        let positions: HashMap<&Configuration, usize> = all.iter().zip(0..).collect();
        let of = |wanted: Wanted| {
            let index = *positions.get(&wanted.configuration)?;
            Some(((head, index), wanted.rounds))
        };
        wanted.into_iter().filter_map(of).collect()
    }

    /// The thresholds of the series at `head`, as they are judged.
    fn thresholds(&self, head: usize) -> Vec<gate::Written> {
        let placed = |p: &Placed| (p.threshold.clone(), p.origin.clone(), p.place.clone());
        self.plan.both.checked[head].thresholds.iter().map(placed).collect()
    }

    /// The judged series that `at` is of, or is compared with, once each of its configurations has
    /// a result on either side.
    pub(super) fn series(&mut self, at: usize) -> Option<&SeriesResult> {
        let pairs = &self.plan.both.pairs;
        let head = pairs.head_of(at).map_or(at, |(head, _)| head);
        let base = pairs.base_of(head);
        if self.left[head] > 0 || base.is_some_and(|base| self.left[base] > 0) {
            return None;
        }
        if let Some(base) = base {
            let measured = self.unjudged(base);
            self.put_into_base(measured);
        }
        let mut series = self.unjudged(head);
        let thresholds = self.thresholds(head);
        let against = self.base.as_ref().or(self.plan.inputs.against.as_ref());
        let catalogue = &self.plan.catalogue;
        gate::judge(catalogue, &mut series, &thresholds, &self.run, against, &self.budget);
        Some(self.series[head].insert(series))
    }

    /// All of it.
    pub(super) fn end(mut self) -> FoundOut {
        self.take_planned_device();
        self.run.series = self.series.into_iter().flatten().collect();
        let Self { run, base, denied, budget, .. } = self;
        FoundOut { run, base, denied, budget }
    }

    /// Keeps what the first pass says of its device: for both revisions, since one run measures
    /// both on it, and all passes of one may fail.
    fn take_device(&mut self, at: At, pass: Option<&PassResult>) {
        let Some(pass) = pass else { return };
        let device = self.plan.assignment.device(at);
        let measured = !self.plan.both.pairs.is_empty();
        let base = match &self.base {
            Some(Against { run: Ok(base), .. }) if measured => Some(base),
            _ => None,
        };
        let unknown = |run: &Run| run.provenance.device.is_none();
        if !unknown(&self.run) && base.is_none_or(|base| !unknown(base)) {
            return;
        }
        let known = self.described(device, pass.device.clone());
        if let Some(Against { run: Ok(base), .. }) = self.base.as_mut().filter(|_| measured)
            && unknown(base)
        {
            base.provenance.device = Some(known.clone());
        }
        if unknown(&self.run) {
            self.run.provenance.device = Some(known);
        }
    }

    /// Where no pass ended, the device is the one that was to measure: what fails in all
    /// configurations has failed on it. Nobody has asked the emulated driver.
    fn take_planned_device(&mut self) {
        let Some(planned) = self.plan.devices.records.first() else { return };
        let known = self.described(0, planned.clone());
        let base = self.base.as_mut().filter(|_| !self.plan.both.pairs.is_empty());
        let base = base.and_then(|against| against.run.as_mut().ok());
        for run in [Some(&mut self.run), base].into_iter().flatten() {
            run.provenance.device.get_or_insert_with(|| known.clone());
        }
    }

    /// Keeps what the first pass of a configuration says of the files that it read.
    fn take_input_files(&mut self, at: At, pass: Option<&PassResult>) {
        let side = self.plan.both.checked[at.0].planned.side;
        let provenance = match (side, &mut self.base) {
            (Side::Base, Some(Against { run: Ok(base), .. })) => &mut base.provenance,
            _ => &mut self.run.provenance,
        };
        let files = pass.into_iter().flat_map(|pass| &pass.input_files).cloned();
        provenance.input_sha256.extend(files.map(|file| (file.path, file.sha256)));
    }

    /// Puts what was `measured` of a series of the other revision before what it has besides.
    fn put_into_base(&mut self, mut measured: SeriesResult) {
        let Some(Against { run: Ok(base), .. }) = &mut self.base else { return };
        let Some(known) = base.series.iter_mut().find(|known| known.id == measured.id) else {
            return;
        };
        measured.configurations.append(&mut known.configurations);
        *known = measured;
    }

    /// The series at `at`, whose configurations all have results.
    fn unjudged(&mut self, at: usize) -> SeriesResult {
        let rows = std::mem::take(&mut self.rows[at]).into_iter().flatten().collect();
        self.with_rows(&self.plan.both.checked[at], rows)
    }

    fn with_rows(
        &self,
        series: &Checked,
        configurations: Vec<ConfigurationResult>,
    ) -> SeriesResult {
        let described = &series.planned.series;
        series_result::of(described, &series.columns, &series.sections, configurations)
    }

    /// The record that a pass gave of `device`, with what CUPTI let out: that it refuses a virtual
    /// GPU, where NVML did not say that it is one.
    fn described(&self, device: usize, record: DeviceRecord) -> DeviceRecord {
        let planned = match &self.plan.setups[device] {
            CounterSetup::Unavailable(_, denial) => Some(denial),
            _ => None,
        };
        let mut denials = planned.into_iter().chain(&self.denied[device]);
        match denials.any(|denial| denial.kind == DenialKind::VirtualGpu) {
            true => DeviceRecord { virtual_gpu: Some(true), ..record },
            false => record,
        }
    }
}

/// The other revision, of which nothing is measured yet.
fn base(prepared: &Prepared<'_>) -> Option<Against> {
    let Inputs { base, settings, source, .. } = &prepared.plan.inputs;
    let run = prepared.base.clone()?;
    Some(Against {
        name: base.as_ref()?.name.clone(),
        run: Ok(run),
        across_devices: settings.across_devices.value,
        in_rounds: !prepared.plan.devices.emulated,
        scope: against::scope(prepared.plan.options, source),
    })
}

/// The error budget of the run that `plan` is of.
pub(super) fn budget(plan: &Plan<'_>) -> Budget {
    fn of(series: &Checked) -> (usize, Vec<&Threshold>) {
        let thresholds = series.thresholds.iter().map(|placed| &placed.threshold);
        (series.planned.configurations.len(), thresholds.collect())
    }
    let compared = plan.inputs.against.is_some() || plan.inputs.base.is_some();
    Budget::planned(&plan.catalogue, plan.both.heads().iter().map(of), compared)
}

/// The result of a configuration.
fn result(found: Found, configuration: &Configuration, terms: &Terms<'_>) -> ConfigurationResult {
    let Found { mut passes, hardware, ended, .. } = found;
    for pass in &mut passes {
        pass.hardware.extend(hardware.clone());
    }
    match ended {
        Some(Status::Skipped { reason }) if !passes.is_empty() => {
            let so_far = collect::finished(configuration.clone(), &passes, terms);
            if so_far.status != Status::Finished {
                return so_far;
            }
            let reason =
                format!("{reason}; the results of {} of its processes are kept", passes.len());
            ConfigurationResult { status: Status::Skipped { reason }, ..so_far }
        }
        Some(status) => collect::unfinished(configuration.clone(), status),
        None => collect::finished(configuration.clone(), &passes, terms),
    }
}

/// Gives every counter that cannot be had on a device its reason.
fn explain_missing_counters(setup: &CounterSetup, passes: &mut [PassResult]) {
    for pass in passes {
        for (metric, reason) in setup.without_value() {
            pass.hardware.insert(metric.to_owned(), HardwareValue::Unavailable(reason.to_owned()));
        }
    }
}
