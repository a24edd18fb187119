//! From a prepared run to its results.
//!
//! Input: what is prepared. Output: the run, also one that was cut short. Whoever has to know what
//! happens meanwhile listens to the engine's events here: the journal, the progress, the results,
//! the list of what was retried, and the JSON lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use gpuprof_model::run::{ConfigurationResult, Status};

use super::engine::{self, At, Event, Observer, Open, Planned, Rounds};
use super::inputs::Checked;
use super::prepared::{Plan, Prepared};
use super::progress::Progress;
use super::results::{FoundOut, Results};
use crate::console;
use crate::error::{Failure, Result};
use crate::execute::{Execution, Interrupt};
use crate::options::MessageFormat;
use crate::plan::Side;
use crate::report::json_lines::{self, LineSide};
use crate::store::journal::{Journal, Replayed};

/// What was measured.
pub(super) struct Measured {
    /// What is known of it.
    pub(super) found: FoundOut,
    /// Seconds that it took; none of a run that was resumed, since nobody knows those before.
    pub(super) seconds: Option<u64>,
    /// What kept the engine from its end, where something did.
    pub(super) outcome: Result<()>,
}

/// Measures what is `prepared`; where it `tells_events`, as JSON lines to `out`.
///
/// # Errors
/// A journal that cannot be written, or that is of another run. Nothing has been measured then.
pub(super) fn measure(
    prepared: &Prepared<'_>,
    tells_events: bool,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<Measured> {
    let (journal, replayed) = journal(prepared)?;
    let executions = prepared.executions(interrupt);
    let begun = Instant::now();
    let mut listeners = Listeners::new(prepared, journal, tells_events.then_some(out));
    let outcome = match listeners.lines.run_started(prepared) {
        Ok(()) => engine::run(planned(prepared, &executions), &replayed, &mut listeners),
        failed => failed,
    };
    let outcome = outcome.and(listeners.empty_series());
    let found = listeners.end();
    let whole = prepared.plan.options.gate.resume.is_none();
    let seconds = whole.then(|| begun.elapsed().as_secs());
    Ok(Measured { found, seconds, outcome })
}

/// What the engine is to do, as `executions` do it.
fn planned<'a>(prepared: &'a Prepared<'a>, executions: &'a [Execution<'a>]) -> Planned<'a> {
    Planned {
        checked: &prepared.plan.both.checked,
        pairs: &prepared.plan.both.pairs,
        assignment: &prepared.plan.assignment,
        executions,
        harnesses: &prepared.plan.both.harnesses,
        limit: &prepared.plan.inputs.settings.timeout.origin,
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
        order: prepared.plan.order,
        isolate: prepared.plan.inputs.settings.isolate.value,
    }
}

/// The journal, with what it holds of a run that is resumed.
fn journal(prepared: &Prepared<'_>) -> Result<(Journal, Replayed)> {
    let folder = &prepared.plan.inputs.folder;
    if prepared.plan.options.gate.resume.is_none() {
        return Ok((Journal::begin(&folder.path, &prepared.made)?, Replayed::default()));
    }
    let (journal, replayed) = Journal::resume(&folder.path, &prepared.made)?;
    console::say(format_args!("resuming {}: {} passes are done", folder.id, replayed.len()));
    Ok((journal, replayed))
}

/// All that are told.
struct Listeners<'a, W> {
    plan: &'a Plan<'a>,
    journal: Journal,
    results: Results<'a>,
    progress: Progress,
    retries: Retries,
    lines: Lines<'a, W>,
}

impl<'a, W: Write> Listeners<'a, W> {
    fn new(prepared: &'a Prepared<'a>, journal: Journal, out: Option<&'a mut W>) -> Self {
        let plan = &prepared.plan;
        let settings = &plan.inputs.settings;
        let json = settings.message_format.value == MessageFormat::Json;
        Self {
            plan,
            journal,
            results: Results::new(prepared),
            progress: Progress::new(plan.configurations(), settings.notes()),
            retries: Retries::default(),
            lines: Lines { out: out.filter(|_| json), plan },
        }
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
    fn end(self) -> FoundOut {
        drop(self.progress);
        if let Some(sentence) = self.retries.sentence(self.plan) {
            self.plan.inputs.notes().say(sentence);
        }
        self.results.end()
    }
}

impl<W: Write> Observer for Listeners<'_, W> {
    fn look(&mut self, open: &[Open<'_>]) -> Result<BTreeMap<At, u32>> {
        Ok(self.results.look(open))
    }

    fn observe(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Started { at } => self.progress.start(&name(self.plan, at)),
            Event::PassFinished { step, result } => self.journal.pass(step, result)?,
            Event::CountersCollected { at, of, collected } => {
                self.journal.collected(at, of, collected)?;
            }
            Event::ConfigurationEnded { at, status } => self.journal.ended(at, status)?,
            Event::Retried { at, reason } => self.retries.add(at, reason),
            Event::CountersDenied { device, denial } => self.results.deny(device, denial),
            Event::ConfigurationFinished { at, found } => {
                let held = found.held;
                let result = self.results.add(at, found);
                if !matches!(result.status, Status::Skipped { .. }) {
                    self.progress.end(&name(self.plan, at), result, held);
                }
                let told = self.lines.configuration_finished(at, result);
                let judged = self.results.series(at.0);
                return told
                    .and(judged.map_or(Ok(()), |series| self.lines.series_finished(series)));
            }
        }
        Ok(())
    }
}

/// `package::target::kernel/axis=value`, with the revision where it is the other one.
fn name(plan: &Plan<'_>, (series, index): At) -> String {
    let planned = &plan.both.checked[series].planned;
    let side = match planned.side {
        Side::Head => "",
        Side::Base => " (base)",
    };
    format!("{}/{}{side}", planned.series.id, planned.configurations[index])
}

/// What was retried in isolation: what fails only beside others is a fault that somebody may want
/// to know of.
#[derive(Default)]
struct Retries(Vec<(At, String)>);

impl Retries {
    fn add(&mut self, at: At, reason: &str) {
        self.0.push((at, reason.to_owned()));
    }

    fn sentence(&self, plan: &Plan<'_>) -> Option<String> {
        let (at, why) = self.0.first()?;
        let key = name(plan, *at);
        let count: BTreeSet<_> = self.0.iter().map(|(at, _)| at).collect();
        let (what, first) = match count.len() {
            1 => (format!("{key} was"), String::new()),
            more => (format!("{more} configurations were"), format!(" (first {key})")),
        };
        Some(format!("{what} retried in isolation after failing alongside others{first}: {why}"))
    }
}

/// JSON lines on standard output, where they were asked for.
struct Lines<'a, W> {
    out: Option<&'a mut W>,
    plan: &'a Plan<'a>,
}

impl<W: Write> Lines<'_, W> {
    fn run_started(&mut self, prepared: &Prepared<'_>) -> Result<()> {
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

    fn series_finished(&mut self, series: &gpuprof_model::run::SeriesResult) -> Result<()> {
        for judgement in &series.judgements {
            self.write(&json_lines::Event::threshold_judged(&series.id, judgement))?;
        }
        self.write(&json_lines::Event::series_finished(series, &self.plan.inputs.view.view))
    }

    fn write(&mut self, event: &json_lines::Event<'_>) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        event.write(out).map_err(|e| Failure::output(Path::new("standard output"), &e))
    }
}
