//! Another process than the passes have, for each configuration of a measured run.

use std::path::PathBuf;

use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::execute::{Execution, Subject};
use gpuprof_engine::plan::Checked;
use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_system::interrupt::Interrupt;

use crate::commands::run::measure::results::Collected;
use crate::commands::run::prepare::prepared::Prepared;

/// CUPTI's library. A run without counters has not searched for it before.
///
/// # Errors
/// Why there is none.
pub(in crate::commands) fn library(prepared: &Prepared) -> Result<PathBuf, String> {
    let inputs = &prepared.plan.inputs;
    let named = inputs.settings.cupti_path(&inputs.source.root());
    match cupti::ask(named.as_deref(), Question::Locate).map_err(|failure| failure.message)? {
        Answer::Located(found) => Ok(found.path),
        answer => Err(answer.refusal().reason),
    }
}

/// Collects of each configuration of both revisions that finished, one after the other, until a
/// signal interrupts it.
pub(in crate::commands) fn each_finished(
    prepared: &Prepared,
    found: &mut Collected,
    interrupt: &Interrupt,
    mut collect: impl FnMut(&Subject<'_>, &mut ConfigurationResult),
) {
    let plan = &prepared.plan;
    let executions = prepared.executions(interrupt);
    for (run, planned) in found.revisions(&plan.both) {
        for series in &mut run.series {
            let Some(Checked { planned, .. }) = Checked::find(planned, &series.id) else {
                continue;
            };
            let Some(harness) = plan.both.harnesses.get(planned.harness) else { continue };
            for row in &mut series.configurations {
                let at = planned.configurations.iter().position(|it| *it == row.configuration);
                let finished = row.status == Status::Finished && interrupt.signal().is_none();
                let Some(at) = at.filter(|_| finished) else { continue };
                let on = |it: &&Execution<'_>| {
                    row.device.as_deref().is_none_or(|uuid| it.process.device == Some(uuid))
                };
                let Some(execution) = executions.iter().find(on) else { continue };
                let subject = Subject { execution, harness, planned, at };
                collect(&subject, row);
            }
        }
    }
}
