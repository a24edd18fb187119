//! The source line of the access that costs most, for a violated threshold of a run on a GPU. The
//! counters of a GPU have no lines, so the emulated driver runs the configuration that decided.
//!
//! Input: a judged run. Output: the same, with the emulated driver's lines in the rows and the
//! judgements, as far as a few seconds suffice. If the emulated driver cannot run a configuration,
//! it has no line.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gpuprof_analysis::gate::judge::costly_line;
use gpuprof_engine::emulator::emulator_folder;
use gpuprof_engine::execute::Subject;
use gpuprof_model::code::{AccessCost, CostlyLine};
use gpuprof_model::measurement::PassResult;
use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::verdict::{Judgement, Verdict};
use gpuprof_system::interrupt::Interrupt;

use crate::commands::run::prepare::prepared::Prepared;
use gpuprof_engine::plan::Checked;

/// How long the emulated driver may take for a run.
const LIMIT: Duration = Duration::from_secs(10);

/// Adds the lines to `run`, which is the result of what was `prepared`.
pub(in crate::commands) fn add(prepared: &Prepared, run: &mut Run, interrupt: &Interrupt) {
    let until = Instant::now() + LIMIT;
    for series in run.series.iter_mut().filter(|_| !prepared.plan.devices.emulated) {
        let heads = prepared.plan.both.heads();
        let Some(checked) = Checked::find(heads, &series.id) else { continue };
        let costs = |judgement: &Judgement| {
            let metric = judgement.threshold.metric();
            metric.map(|it| AccessCost::of_derived(it, &prepared.plan.catalogue))
        };
        let lack = series.judgements.iter().filter(|it| lacks_line(it, costs(it)));
        let keys: BTreeSet<String> = lack.filter_map(|it| it.configuration.clone()).collect();
        for key in keys {
            let mut rows = series.configurations.iter_mut();
            // Counts of the GPU by line have lines already.
            let lacks = |row: &&mut ConfigurationResult| {
                row.source.is_none() && row.configuration.to_string() == key
            };
            if let Some(row) = rows.find(lacks) {
                let left = until.saturating_duration_since(Instant::now());
                let found = emulated(prepared, (checked, &key), left, interrupt);
                if let Some(PassResult { costly, code, .. }) = found {
                    let emulated = |line| CostlyLine { emulated: true, ..line };
                    row.costly = costly.into_iter().map(emulated).collect();
                    row.code = code;
                }
            }
        }
        for judgement in &mut series.judgements {
            let of_line = |costs: Vec<_>| costly_line(judgement, &costs, &series.configurations);
            judgement.costly = costs(judgement).and_then(of_line);
        }
    }
}

/// Whether a line with these `costs` would help. The emulated driver has no machine code.
fn lacks_line(judgement: &Judgement, costs: Option<Vec<AccessCost>>) -> bool {
    let counted = |cost: &AccessCost| *cost != AccessCost::LocalInstructions;
    let helps = judgement.verdict == Verdict::Fail && judgement.costly.is_none();
    helps && costs.is_some_and(|costs| costs.iter().any(counted))
}

/// The configuration `key` on the emulated driver.
fn emulated(
    prepared: &Prepared,
    (checked, key): (&Checked, &str),
    left: Duration,
    interrupt: &Interrupt,
) -> Option<PassResult> {
    let planned = &checked.planned;
    let at = planned.configurations.iter().position(|it| it.to_string() == key)?;
    if left.is_zero() || interrupt.signal().is_some() {
        return None;
    }
    let folder = emulator_folder(&prepared.plan.inputs.source.target_directory).ok()?;
    let execution = prepared.emulated_execution(&folder, left, interrupt);
    let harness = prepared.plan.both.harnesses.get(planned.harness)?;
    Subject { execution: &execution, harness, planned, at }.ask(|_| {}).ok()
}
