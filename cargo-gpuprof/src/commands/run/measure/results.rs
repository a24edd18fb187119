//! The results of a run, as the engine finds them.
//!
//! Input: what was found for each configuration. Output: its result, the judged series once its
//! last configuration has one, and in the end the run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter;

use gpuprof_model::Configuration;
use gpuprof_model::failure::{Denial, DenialKind};
use gpuprof_model::measurement::{DeviceRecord, HardwareValue, PassResult};
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, SharedRows, Status};
use gpuprof_model::text::printable;

use crate::commands::run::baseline::selected_baseline;
use crate::commands::run::counters::{self, CounterSetup};
use crate::commands::run::prepare::inputs::Inputs;
use crate::commands::run::prepare::prepared::{Plan, Prepared};
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::budget::Budget;
use gpuprof_analysis::gate::rounds::{self, RoundRequest};
use gpuprof_analysis::gate::run as gate;
use gpuprof_analysis::metrics::collect::{self, CollectContext};
use gpuprof_analysis::series;
use gpuprof_engine::passes::{At, Open, PassResults};
use gpuprof_engine::plan::{Both, Checked, Side};

/// What is known of the run.
pub(in crate::commands) struct Results<'a> {
    plan: &'a Plan,
    run: Run,
    /// The other revision, as far as it is measured, in the place of a stored baseline.
    base: Option<Against>,
    rows: Vec<Vec<Option<ConfigurationResult>>>,
    /// The context of the rows of each series.
    terms: Vec<CollectContext<'a>>,
    /// The rows' common data.
    shared: SharedRows,
    /// Of each series: how many of its configurations have no result yet.
    left: Vec<usize>,
    series: Vec<Option<SeriesResult>>,
    /// The error budget of all thresholds of the run.
    budget: Budget,
    /// For each device: why its counters are no longer available, if a pass found that out.
    denied: Vec<Option<Denial>>,
}

/// What is known in the end.
pub(in crate::commands) struct Collected {
    /// The run, with a result for every planned configuration.
    pub(in crate::commands) run: Run,
    /// What was measured of the other revision, to compare with.
    pub(in crate::commands) base: Option<Against>,
    /// For each device: why its counters were no longer available, if a pass found that out.
    pub(in crate::commands) denied: Vec<Option<Denial>>,
    /// The error budget of all thresholds of the run.
    pub(in crate::commands) budget: Budget,
}

impl Collected {
    /// The runs of both revisions, each with its planned series.
    pub(in crate::commands) fn revisions<'c>(
        &'c mut self,
        both: &'c Both,
    ) -> impl Iterator<Item = (&'c mut Run, &'c [Checked])> {
        let base = self.base.as_mut().and_then(|against| against.run.as_mut().ok());
        let base = base.map(|run| (run, both.bases()));
        iter::once((&mut self.run, both.heads())).chain(base)
    }
}

impl<'a> Results<'a> {
    /// No results, of a run with this `provenance`.
    pub(in crate::commands) fn new(prepared: &'a Prepared, provenance: Provenance) -> Self {
        let plan = &prepared.plan;
        let run = Run { provenance, ..prepared.document.clone() };
        let none = |series: &Checked| series.planned.configurations.iter().map(|_| None).collect();
        let discipline = counters::discipline(&plan.inputs.settings);
        let own = CollectContext::new(&plan.catalogue).under(discipline);
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
            shared: SharedRows::default(),
            left: plan.both.checked.iter().map(Checked::count).collect(),
            series: plan.both.checked.iter().map(|_| None).collect(),
            budget: budget(plan),
            denied: vec![None; plan.setups.len()],
        }
    }

    /// The counters of a device can no longer be had.
    pub(in crate::commands) fn deny(&mut self, device: usize, denial: &Denial) {
        self.denied[device] = Some(denial.clone());
    }

    /// The result of a configuration, by what was `found`.
    pub(in crate::commands) fn add(&mut self, at: At, found: PassResults) -> &ConfigurationResult {
        self.take_device(at, found.passes.first());
        self.take_input_files(at, found.passes.first());
        self.take_timer(at, &found.passes);
        let mut row = self.row(at, found);
        self.shared.keep_once(&mut row.metrics, &mut row.code);
        let (series, index) = at;
        self.left[series] -= 1;
        self.rows[series][index].insert(row)
    }

    fn row(&self, (at, index): At, mut found: PassResults) -> ConfigurationResult {
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
        let retried = found.retried.take().map(|reason| printable(&reason));
        let failed_attempts =
            found.failed_attempts.iter().map(|reason| printable(reason)).collect();
        let row = result(found, configuration, &self.terms[at]);
        ConfigurationResult { device, retried, failed_attempts, ..row }
    }

    /// The target number of rounds of each configuration that is `open`, on both sides if it has
    /// two, and undecided by a threshold.
    pub(in crate::commands) fn look(&mut self, open: &[Open<'_>]) -> BTreeMap<At, u32> {
        let mut rows: BTreeMap<At, ConfigurationResult> = BTreeMap::new();
        for Open { at, passes, hardware } in open {
            self.take_device(*at, passes.first());
            self.take_timer(*at, passes);
            let (passes, hardware) = (passes.to_vec(), (*hardware).clone());
            rows.insert(
                *at,
                self.row(*at, PassResults { passes, hardware, ..PassResults::default() }),
            );
        }
        let series: BTreeSet<usize> = rows.keys().map(|(series, _)| *series).collect();
        series.into_iter().flat_map(|series| self.wanted(series, &rows)).collect()
    }

    /// Like [`Results::look`], for one series of this revision, with its open rows among `rows`;
    /// none for a series of the other one.
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
            let run =
                run.map(|run| Run::unjudged(&run.id, run.provenance.clone(), vec![so_far(base)]));
            let (name, scope) = (known.name.clone(), known.scope.clone());
            Against { name, run, scope, ..*known }
        };
        let base = self.plan.both.pairs.base_of(head).zip(self.base.as_ref());
        let beside = base.map(|(base, known)| beside(known, base));
        let stored = self.base.as_ref().or(self.plan.inputs.against.as_ref());
        let against = beside.as_ref().or(stored);
        let (catalogue, checked) = (&self.plan.catalogue, &self.plan.both.checked[head]);
        let (series, own) = (so_far(head), &checked.thresholds);
        let wanted = rounds::wanted(catalogue, &series, own, &self.run, against, &self.budget);
        let all = &checked.planned.configurations;
        let positions: HashMap<&Configuration, usize> = all.iter().zip(0..).collect();
        let request = |wanted: RoundRequest| {
            let index = *positions.get(&wanted.configuration)?;
            Some(((head, index), wanted.rounds))
        };
        wanted.into_iter().filter_map(request).collect()
    }

    /// The judged series that `at` is of, or is compared with, once each of its configurations has
    /// a result on either side.
    pub(in crate::commands) fn series(&mut self, at: usize) -> Option<&SeriesResult> {
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
        let thresholds = &self.plan.both.checked[head].thresholds;
        let against = self.base.as_ref().or(self.plan.inputs.against.as_ref());
        let catalogue = &self.plan.catalogue;
        gate::judge(catalogue, &mut series, thresholds, &self.run, against, &self.budget);
        Some(self.series[head].insert(series))
    }

    /// All of it.
    pub(in crate::commands) fn end(mut self) -> Collected {
        self.take_planned_device();
        self.take_first_chip();
        self.run.series = self.series.into_iter().flatten().collect();
        let Self { run, base, denied, budget, .. } = self;
        Collected { run, base, denied, budget }
    }

    /// Keeps the device record of the first pass: for both revisions, since one run measures both
    /// on it, and all passes of one may fail.
    fn take_device(&mut self, at: At, pass: Option<&PassResult>) {
        let Some(pass) = pass else { return };
        let device = self.plan.assignment.device(at);
        if let Some(chip) = self.plan.both.checked[at.0].planned.series.id.chip {
            let of_base = self.base.as_mut().and_then(|base| base.run.as_mut().ok());
            for run in [Some(&mut self.run), of_base].into_iter().flatten() {
                run.provenance.chips.entry(chip).or_insert_with(|| pass.device.clone());
            }
        }
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

    /// Of several chips, the device of the run is the first one, whichever ended its first pass
    /// first.
    fn take_first_chip(&mut self) {
        let chips = self.plan.devices.several_chips();
        let base = self.base.as_mut().and_then(|base| base.run.as_mut().ok());
        for run in [Some(&mut self.run), base].into_iter().flatten() {
            let known = &run.provenance.chips;
            let first = chips.iter().find_map(|chip| known.get(chip)).cloned();
            run.provenance.device = first.or(run.provenance.device.take());
        }
    }

    /// If no pass ended, the device is the planned one: a failure of all configurations has
    /// happened on it. The emulated driver was never asked.
    fn take_planned_device(&mut self) {
        let Some(planned) = self.plan.devices.records.first() else { return };
        let known = self.described(0, planned.clone());
        let base = self.base.as_mut().filter(|_| !self.plan.both.pairs.is_empty());
        let base = base.and_then(|against| against.run.as_mut().ok());
        for run in [Some(&mut self.run), base].into_iter().flatten() {
            run.provenance.device.get_or_insert_with(|| known.clone());
        }
    }

    /// Keeps the input files that the first pass of a configuration reports.
    fn take_input_files(&mut self, at: At, pass: Option<&PassResult>) {
        let files = pass.into_iter().flat_map(|pass| &pass.input_files).cloned();
        let files = files.map(|file| (file.path, file.sha256));
        self.provenance_of(at).input_sha256.extend(files);
    }

    /// Keeps the timer of the samples of a configuration.
    fn take_timer(&mut self, at: At, passes: &[PassResult]) {
        let provenance = self.provenance_of(at);
        passes.iter().filter_map(|pass| pass.timing.as_ref()).for_each(|timing| {
            provenance.note_timer(timing);
        });
    }

    /// The provenance of the revision that a configuration belongs to.
    fn provenance_of(&mut self, at: At) -> &mut Provenance {
        let side = self.plan.both.checked[at.0].planned.side;
        match (side, &mut self.base) {
            (Side::Base, Some(Against { run: Ok(base), .. })) => &mut base.provenance,
            _ => &mut self.run.provenance,
        }
    }

    /// Puts the rows `measured` of a series of the other revision before its other rows.
    fn put_into_base(&mut self, mut measured: SeriesResult) {
        let Some(Against { run: Ok(base), .. }) = &mut self.base else { return };
        let Some(known) = base.series.iter_mut().find(|known| known.id == measured.id) else {
            return;
        };
        measured.configurations.append(&mut known.configurations);
        *known = measured;
    }

    /// The series at `at`, once all its configurations have results.
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
        series::assemble(described, &series.columns, &series.sections, configurations)
    }

    /// A pass's record of `device`, with one addition from CUPTI: its refusal of a virtual GPU, if
    /// NVML did not report one.
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
fn base(prepared: &Prepared) -> Option<Against> {
    let Inputs { base, settings, source, .. } = &prepared.plan.inputs;
    let run = prepared.base.clone()?;
    Some(Against {
        name: base.as_ref()?.name.clone(),
        run: Ok(run),
        across_devices: settings.across_devices.value,
        in_rounds: !prepared.plan.devices.emulated,
        scope: selected_baseline::scope(&prepared.plan.inputs.request, source),
    })
}

/// The error budget of the run that `plan` is of.
pub(in crate::commands) fn budget(plan: &Plan) -> Budget {
    let counts = plan.both.heads().iter().map(|head| head.planned.configurations.len());
    Budget::planned(&plan.catalogue, counts.zip(&plan.limits()))
}

/// The result of a configuration.
fn result(
    found: PassResults,
    configuration: &Configuration,
    terms: &CollectContext<'_>,
) -> ConfigurationResult {
    let PassResults { mut passes, hardware, parts, ended, .. } = found;
    for pass in &mut passes {
        pass.hardware.extend(hardware.clone());
    }
    if let Some(first) = passes.first_mut() {
        first.parts.extend(parts);
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
