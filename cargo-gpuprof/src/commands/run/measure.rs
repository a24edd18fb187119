//! From a prepared run to its results.
//!
//! Input: a prepared run. Output: the run, even if it was cut short. The listeners of the engine's
//! events are here: the journal, the progress, the results and the JSON lines.

pub(in crate::commands) mod machine_code;
pub(in crate::commands) mod results;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use gpuprof_model::ExitCode;
use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{ConfigurationResult, Provenance, SeriesResult, Status};
use gpuprof_model::verdict::Judgement;

use crate::commands::run::counters::conflicts::Conflicts;
use crate::commands::run::counters::over_time;
use crate::commands::run::counters::source_counters;
use crate::commands::run::measure::machine_code::MachineCode;
use crate::commands::run::measure::results::{Collected, Results};
use crate::commands::run::output::costliest_line;
use crate::commands::run::output::progress::Progress;
use crate::commands::run::output::source_text;
use crate::commands::run::prepare::prepared::{Plan, Prepared};
use crate::commands::run::prepare::scheduler;
use crate::commands::run::prepare::slice;
use crate::commands::settings::Origin;
use crate::options::MessageFormat;
use gpuprof_engine::execute::{Execution, NeededFiles};
use gpuprof_engine::passes::Costs;
use gpuprof_engine::passes::Stopwatch;
use gpuprof_engine::passes::{self, At, Event, Observer, Open, PassResults, Planned, Rounds};
use gpuprof_engine::plan::{Checked, PlannedSeries, Side};
use gpuprof_engine::store::journal::{Journal, Replayed, Start};
use gpuprof_report::json_lines::{self, LineSide};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// What was measured.
pub(super) struct Measured {
    /// What is known of it.
    pub(super) found: Collected,
    /// Its duration; none of a resumed run, since the earlier part is unknown.
    pub(super) took: Option<Duration>,
    /// The reason why the engine ended early, if it did.
    pub(super) outcome: Result<()>,
}

/// Measures what is `prepared`; if it `tells_events`, as JSON lines to `out`.
///
/// # Errors
/// A journal that cannot be written, or that is of another run. Nothing has been measured then.
pub(super) fn measure(
    prepared: &Prepared,
    tells_events: bool,
    watch: Stopwatch,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<Measured> {
    let start = scheduler::start()?;
    let (journal, replayed) = journal(prepared, start.clone())?;
    let executions = prepared.executions(interrupt);
    let needed = NeededFiles::collect(&executions, &prepared.plan.both.harnesses);
    let series: Vec<_> = prepared.plan.both.checked.iter().map(|it| &it.planned).collect();
    let limit = limit(&prepared.plan.inputs.settings.timeout.origin);
    let begun = Instant::now();
    let mut listeners = Listeners::new(
        prepared,
        journal,
        provenance(prepared, &replayed, &start),
        Conflicts::new(prepared, &executions, interrupt),
        MachineCode::new(&prepared.plan, &executions),
        watch,
        tells_events.then_some(out),
    );
    let planned = planned(prepared, (&series, &limit), &executions, &needed);
    let outcome = match listeners.lines.run_started(prepared) {
        Ok(()) => passes::run(planned, &replayed, &mut listeners),
        failed => failed,
    };
    let outcome = outcome.and(listeners.empty_series());
    let outcome = outcome.and_then(|()| listeners.whole());
    let mut found = listeners.end();
    source_counters::add(prepared, &mut found, interrupt);
    over_time::add(prepared, &mut found, interrupt);
    costliest_line::add(prepared, &mut found.run, interrupt);
    source_text::add(prepared, &mut found);
    let took = (!prepared.plan.inputs.folder.resumes).then(|| begun.elapsed());
    Ok(Measured { found, took, outcome })
}

/// The engine's work, by `executions`.
fn planned<'a>(
    prepared: &'a Prepared,
    (series, limit): (&'a [&'a PlannedSeries], &'a str),
    executions: &'a [Execution<'a>],
    needed: &'a NeededFiles,
) -> Planned<'a> {
    Planned {
        series,
        pairs: &prepared.plan.both.pairs,
        assignment: &prepared.plan.assignment,
        executions,
        harnesses: &prepared.plan.both.harnesses,
        needed,
        limit,
        rounds: prepared.plan.most_rounds.map(|most| Rounds {
            most,
            until: prepared
                .plan
                .inputs
                .settings
                .time_budget
                .value
                .and_then(|budget| Instant::now().checked_add(budget.duration())),
        }),
        limited: &prepared.plan.limited,
        energy: &prepared.plan.energy,
        order: prepared.plan.order,
        isolate: prepared.plan.isolate(),
        retries: prepared.plan.inputs.settings.retries.value,
    }
}

/// The origin of the limit on the time of a process, for messages.
fn limit(origin: &Origin) -> String {
    match origin {
        Origin::Default => "the default limit; --timeout raises it".to_owned(),
        Origin::Configuration(file) => format!("the limit of {file}; --timeout raises it"),
        Origin::CommandLine(option) => format!("the limit of {option}"),
    }
}

/// The journal, with the contents from a resumed run.
fn journal(prepared: &Prepared, start: Start) -> Result<(Journal, Replayed)> {
    let folder = &prepared.plan.inputs.folder;
    if !folder.resumes {
        slice::write(prepared, &start)?;
        return Ok((Journal::begin(&folder.path, &prepared.made, start)?, Replayed::default()));
    }
    let (journal, replayed) = Journal::resume(&folder.path, &prepared.made, start)?;
    let again = replayed.last_start().map_or(0, |start| start.again.len());
    let again = match again {
        0 => String::new(),
        1 => "; 1 unfinished series is measured again on this GPU".to_owned(),
        count => format!("; {count} unfinished series are measured again on this GPU"),
    };
    console::say(format_args!("resuming {}: {} passes are done{again}", folder.id, replayed.len()));
    Ok((journal, replayed))
}

/// The provenance: with its slice, and with its devices, if it has several, including those of the
/// part before it was resumed.
fn provenance(prepared: &Prepared, replayed: &Replayed, start: &Start) -> Provenance {
    let mut all = replayed.devices();
    all.extend(prepared.plan.devices.records.iter().map(|d| (&*d.uuid, &*d.name)));
    let name = |(uuid, name): (&str, &str)| DeviceName { uuid: uuid.into(), name: name.into() };
    Provenance {
        devices: if all.len() > 1 { all.into_iter().map(name).collect() } else { Vec::new() },
        slices: slice::records(&prepared.plan.inputs, start),
        ..prepared.document.provenance.clone()
    }
}

/// All listeners.
struct Listeners<'a, W> {
    plan: &'a Plan,
    journal: Journal,
    results: Results<'a>,
    conflicts: Conflicts<'a>,
    machine_code: MachineCode<'a>,
    watch: Stopwatch,
    costs: Costs,
    progress: Progress,
    lines: Lines<'a, W>,
    /// How many configurations of each series have not ended.
    left: Vec<usize>,
    /// The first failure, if the run is to end after it.
    failure: Option<String>,
}

impl<'a, W: Write> Listeners<'a, W> {
    fn new(
        prepared: &'a Prepared,
        journal: Journal,
        provenance: Provenance,
        conflicts: Conflicts<'a>,
        machine_code: MachineCode<'a>,
        watch: Stopwatch,
        out: Option<&'a mut W>,
    ) -> Self {
        let plan = &prepared.plan;
        let settings = &plan.inputs.settings;
        let json = settings.message_format.value == MessageFormat::Json;
        Self {
            plan,
            journal,
            results: Results::new(prepared, provenance),
            conflicts,
            machine_code,
            watch,
            costs: Costs::default(),
            progress: Progress::new(
                plan.configurations(),
                plan.inputs.request.no_capture,
                settings.notes(),
            ),
            lines: Lines { out: out.filter(|_| json), plan },
            left: plan.both.checked.iter().map(Checked::count).collect(),
            failure: None,
        }
    }

    /// Takes the result of a configuration, and judges its series if that was the last of it. The
    /// first failure is kept if the run is to end after it.
    fn finished(&mut self, at: At, mut found: PassResults) -> Result<()> {
        let (plan, held) = (self.plan, found.held);
        self.conflicts.add(at, &mut found);
        self.machine_code.add(at, &mut found);
        let result = self.results.add(at, found);
        let skipped = matches!(result.status, Status::Skipped { .. });
        let failed = result.status.is_failure();
        let mut failure = failed.then(|| format!("{} failed", name(plan, at)));
        if !skipped {
            self.progress.end(&name(plan, at), result, held);
        }
        let row = plan.inputs.slice.as_ref().map(|_| result.clone());
        let mut written = self.lines.configuration_finished(at, result);
        if let Some(series) = self.results.series(at.0) {
            written = written.and(self.lines.series_finished(series));
            failure = failure.or_else(|| violated(plan, series));
        }
        if plan.inputs.settings.fail_fast.value && self.failure.is_none() {
            self.failure = failure.map(|what| format!("--fail-fast: {what}"));
        }
        if skipped { written } else { written.and(self.ended(at, row)) }
    }

    /// Records that all of a slice is measured, if it is.
    fn whole(&mut self) -> Result<()> {
        let all = self.left.iter().all(|&left| left == 0);
        if all && self.plan.inputs.slice.is_some() { self.journal.whole() } else { Ok(()) }
    }

    /// Records that a configuration has ended, with its result if this is a slice; after the last
    /// one of its series, and of the partner series, those are done.
    fn ended(&mut self, (series, index): At, row: Option<ConfigurationResult>) -> Result<()> {
        self.left[series] -= 1;
        if let Some(row) = row {
            let id = &self.plan.both.checked[series].planned.series.id;
            self.journal.row((series, index), id, row)?;
        }
        let pairs = &self.plan.both.pairs;
        let head = pairs.head_of(series).map_or(series, |(head, _)| head);
        let both = [Some(head), pairs.base_of(head)];
        if both.iter().flatten().any(|&series| self.left[series] > 0) {
            return Ok(());
        }
        both.iter().flatten().try_for_each(|&series| self.journal.done(series))
    }

    /// Judges the series that have no configuration: no event speaks of them.
    fn empty_series(&mut self) -> Result<()> {
        let all = self.plan.both.heads().iter().enumerate();
        for (at, _) in all.filter(|(_, series)| series.planned.configurations.is_empty()) {
            if let Some(series) = self.results.series(at) {
                self.lines.series_finished(series)?;
            }
        }
        Ok(())
    }

    /// As [`Results::end`].
    fn end(self) -> Collected {
        drop(self.progress);
        for reason in self.machine_code.reasons() {
            let notes = self.plan.inputs.notes();
            notes.say(format_args!("the machine code has no text: {reason}"));
        }
        let mut found = self.results.end();
        found.run.provenance.spans = self.watch.spans();
        let both = &self.plan.both;
        found.run.provenance.costs = self.costs.of_series(&both.checked, &both.pairs);
        found
    }
}

impl<W: Write> Observer for Listeners<'_, W> {
    fn look(&mut self, open: &[Open<'_>]) -> Result<BTreeMap<At, u32>> {
        Ok(self.results.look(open))
    }

    fn stop_reason(&self) -> Option<String> {
        self.failure.clone()
    }

    fn observe(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Started { at } => self.progress.start(&name(self.plan, at)),
            Event::Spent { device, stretches } => {
                self.costs.hear(&stretches);
                self.watch.hear(device, stretches);
            }
            Event::PassFinished { step, result } => {
                self.journal.pass(step, result)?;
                // Every process prints the same.
                if let Some(text) = result.printed.as_deref().filter(|_| step.repeat == 0) {
                    let of = name(self.plan, (step.series, step.configuration));
                    let notes = self.plan.inputs.notes();
                    notes.say(format_args!("{of} printed:\n{}", text.trim_end()));
                }
            }
            Event::EnergyMeasured { step, energy } => self.journal.energy(step, energy)?,
            Event::CountersCollected { at, of, collected } => {
                self.journal.collected(at, of, collected)?;
            }
            Event::ConfigurationEnded { at, status } => self.journal.ended(at, status)?,
            Event::Retried { at, reason } => self.journal.retried(at, reason)?,
            Event::CountersDenied { device, denial } => self.results.deny(device, denial),
            Event::FailedAttempt { at, reason } => self.journal.failed_attempt(at, reason)?,
            Event::ConfigurationFinished { at, found } => return self.finished(at, found),
        }
        Ok(())
    }
}

/// The first threshold that `series` violates, if violations count.
fn violated(plan: &Plan, series: &SeriesResult) -> Option<String> {
    let fails = |judgement: &&Judgement| {
        plan.inputs.gate.judgement_exit_code(judgement) == ExitCode::ThresholdFailed
    };
    let first = series.judgements.iter().find(fails)?;
    Some(format!("{} violates `{}`", series.id, first.threshold))
}

/// The key of a configuration, with the revision where it is the other one.
fn name(plan: &Plan, (series, index): At) -> String {
    let planned = &plan.both.checked[series].planned;
    let side = match planned.side {
        Side::Head => "",
        Side::Base => " (base)",
    };
    format!("{}/{}{side}", planned.series.id, planned.configurations[index])
}

/// JSON lines on standard output, if they were requested.
struct Lines<'a, W> {
    out: Option<&'a mut W>,
    plan: &'a Plan,
}

impl<W: Write> Lines<'_, W> {
    fn run_started(&mut self, prepared: &Prepared) -> Result<()> {
        let (document, plan) = (&prepared.document, self.plan);
        let heads = plan.both.heads();
        let (series, configurations) = (heads.len(), heads.iter().map(Checked::count).sum());
        let provenance = &document.provenance;
        self.write(&json_lines::Event::run_started(
            &document.id,
            provenance,
            series,
            configurations,
        ))
    }

    fn configuration_finished(
        &mut self,
        (series, _): At,
        result: &ConfigurationResult,
    ) -> Result<()> {
        let planned = &self.plan.both.checked[series].planned;
        let side = match planned.side {
            Side::Base => Some(LineSide::Base),
            Side::Head => self.plan.inputs.base.is_some().then_some(LineSide::Head),
        };
        self.write(&json_lines::Event::configuration_finished(&planned.series.id, result, side))
    }

    fn series_finished(&mut self, series: &SeriesResult) -> Result<()> {
        for judgement in &series.judgements {
            self.write(&json_lines::Event::threshold_judged(&series.id, judgement))?;
        }
        self.write(&json_lines::Event::series_finished(series, &self.plan.inputs.view.view))
    }

    fn write(&mut self, event: &json_lines::Event<'_>) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        event.write(out).map_err(Failure::standard_output)
    }
}
