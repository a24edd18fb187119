//! Telling: a configuration when its last process has gone, a series when its last configuration
//! has been told.
//!
//! Input: the state of a configuration. Output: its result with an event, and the judged
//! series.

use std::collections::HashSet;
use std::io::Write;

use gpuprof_model::measurement::{DeviceRecord, HardwareValue, PassResult};
use gpuprof_model::metric;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::{Axis, Space};

use super::Sweep;
use super::state::State;
use crate::commands::run::Checked;
use crate::commands::run::counters::CounterSetup;
use crate::commands::run::progress::Progress;
use crate::commands::run::refusal;
use crate::error::{Failure, Result};
use crate::report::json_lines::Event;
use gpuprof_analysis::gate::run as gate;
use gpuprof_analysis::metrics::collect::Terms;
use gpuprof_analysis::view::columns;

impl Sweep<'_> {
    pub(super) fn tell_if_over(
        &self,
        at: (usize, usize),
        state: &mut State,
        told: &mut Told<'_, impl Write>,
    ) -> Result<()> {
        if state.told || !state.is_over(self.execution(at)) {
            return Ok(());
        }
        self.tell(at, state, told)
    }

    /// Tells the result of a configuration, and of its series when it was the last one.
    pub(super) fn tell(
        &self,
        (at, index): (usize, usize),
        state: &mut State,
        told: &mut Told<'_, impl Write>,
    ) -> Result<()> {
        let series = &self.checked[at];
        let device = self.spread.device((at, index));
        state.told = true;
        if told.run.provenance.device.is_none() {
            let known = state.passes.first().map(|pass| pass.device.clone());
            told.run.provenance.device = known.map(|known| self.described(device, known));
        }
        explain_missing_counters(&self.setups[device], &mut state.passes);
        let terms = Terms {
            asked: series.asked().chain(metric::defined()).collect(),
            discipline: self.discipline,
        };
        let configuration = &series.planned.configurations[index];
        let device = self.names.get(device).map(|name| name.uuid.clone());
        let result = ConfigurationResult { device, ..state.result(configuration, &terms) };
        let id = &series.planned.series.id;
        if !matches!(result.status, Status::Skipped { .. }) {
            told.progress.end(&format!("{id}/{configuration}"), &result, state.held);
        }
        let trouble = self.event(&Event::configuration_finished(id, &result), told.out);
        told.results[at][index] = Some(result);
        told.left[at] -= 1;
        if told.left[at] > 0 {
            return trouble;
        }
        let results = std::mem::take(&mut told.results[at]).into_iter().flatten().collect();
        let finished = self.finish(series, results, told.run);
        let trouble = trouble.and(self.told(&finished, told.out));
        told.finished[at] = Some(finished);
        trouble
    }

    fn told(&self, series: &SeriesResult, out: &mut impl Write) -> Result<()> {
        for judgement in &series.judgements {
            self.event(&Event::threshold_judged(&series.id, judgement), out)?;
        }
        self.event(&Event::series_finished(series, self.view), out)
    }

    fn finish(
        &self,
        series: &Checked,
        configurations: Vec<ConfigurationResult>,
        run: &Run,
    ) -> SeriesResult {
        let described = &series.planned.series;
        let mut finished = SeriesResult {
            id: described.id.clone(),
            file: described.file.clone(),
            line: described.line,
            axes: swept_axes(&described.space, &configurations),
            dependent_axes: described.space.dependent().map(str::to_owned).collect(),
            columns: columns::choose(&series.columns, &configurations),
            sections: series.sections.clone(),
            configurations,
            judgements: Vec::new(),
            not_applicable: Vec::new(),
            changes: Vec::new(),
        };
        let placed = |p: &crate::commands::thresholds::Placed| {
            (p.threshold.clone(), p.origin.clone(), p.place.clone())
        };
        let thresholds: Vec<_> = series.thresholds.iter().map(placed).collect();
        gate::judge(&mut finished, &thresholds, run, self.against);
        finished
    }

    pub(super) fn event(&self, event: &Event<'_>, out: &mut impl Write) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        event.write(out).map_err(|e| Failure::output(std::path::Path::new("standard output"), &e))
    }
}

impl Sweep<'_> {
    /// The record that a pass gave of `device`, with what CUPTI let out: that it refuses a virtual
    /// GPU, where NVML did not say that it is one.
    fn described(&self, device: usize, record: DeviceRecord) -> DeviceRecord {
        let planned = match &self.setups[device] {
            CounterSetup::Unavailable(_, reason) => Some(reason),
            _ => None,
        };
        let mut refusals = planned.into_iter().chain(&self.denied[device]);
        match refusals.any(|reason| refusal::is_virtual_gpu(reason)) {
            true => DeviceRecord { virtual_gpu: Some(true), ..record },
            false => record,
        }
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

/// What has been told, and where it goes.
pub(super) struct Told<'o, W> {
    pub(super) progress: Progress,
    run: &'o mut Run,
    out: &'o mut W,
    results: Vec<Vec<Option<ConfigurationResult>>>,
    left: Vec<usize>,
    finished: Vec<Option<SeriesResult>>,
}

impl<'o, W: Write> Told<'o, W> {
    pub(super) fn new(
        checked: &[Checked],
        progress: Progress,
        run: &'o mut Run,
        out: &'o mut W,
    ) -> Self {
        let counts = checked.iter().map(|series| series.planned.configurations.len());
        Self {
            progress,
            run,
            out,
            results: counts.clone().map(|count| (0..count).map(|_| None).collect()).collect(),
            left: counts.collect(),
            finished: checked.iter().map(|_| None).collect(),
        }
    }

    /// Puts the series into the run, in their order, and ends the progress.
    pub(super) fn end(self) {
        self.run.series.extend(self.finished.into_iter().flatten());
    }
}

/// The axes with the values that occur in `configurations`, each once.
fn swept_axes(space: &Space, configurations: &[ConfigurationResult]) -> Vec<Axis> {
    let axis = |name: &str| {
        let mut seen = HashSet::new();
        let values = configurations.iter().filter_map(|c| c.configuration.get(name));
        let values = values.filter(|value| seen.insert(*value)).cloned().collect();
        Axis { name: name.to_owned(), values }
    };
    space.names().map(axis).collect()
}
