//! Exact bank conflicts on a GPU, for configurations that ask for them.
//!
//! Input: a configuration after its passes. Output: its counters, with the bank conflicts that
//! another process counts by instruction, or why they are not known.

use std::cell::OnceCell;
use std::path::PathBuf;

use gpuprof_engine::execute::{Execution, Subject};
use gpuprof_engine::passes::{At, PassResults};
use gpuprof_model::measurement::HardwareValue;
use gpuprof_model::metric::Origin;
use gpuprof_model::protocol::SourceCollector;
use gpuprof_system::interrupt::Interrupt;

use crate::commands::run::counters::collector::library;
use crate::commands::run::prepare::prepared::Prepared;
use crate::options::ReplayMode;

/// The collector of bank conflicts.
pub(in crate::commands) struct Conflicts<'a> {
    prepared: &'a Prepared,
    executions: &'a [Execution<'a>],
    interrupt: &'a Interrupt,
    /// CUPTI's library, or why there is none.
    cupti: OnceCell<Result<PathBuf, String>>,
}

impl<'a> Conflicts<'a> {
    /// Nothing is counted so far.
    pub(in crate::commands) fn new(
        prepared: &'a Prepared,
        executions: &'a [Execution<'a>],
        interrupt: &'a Interrupt,
    ) -> Self {
        Self { prepared, executions, interrupt, cupti: OnceCell::new() }
    }

    /// Adds the conflicts of the configuration at `at` to what was `found` of it.
    pub(in crate::commands) fn add(&self, at: At, found: &mut PassResults) {
        let plan = &self.prepared.plan;
        let checked = &plan.both.checked[at.0];
        let asked =
            checked.asked(&plan.catalogue).any(|it| plan.catalogue.counts_instructions(&it));
        let is_over = found.ended.is_none() && self.interrupt.signal().is_none();
        if !asked || !is_over || plan.devices.emulated {
            return;
        }
        let planned = &checked.planned;
        let subject = Subject {
            execution: &self.executions[plan.assignment.device(at)],
            harness: &plan.both.harnesses[planned.harness],
            planned,
            at: at.1,
        };
        let counted = match plan.inputs.settings.replay_mode.value {
            ReplayMode::None => Err("--replay-mode none collects no counters".to_owned()),
            ReplayMode::Application | ReplayMode::Range | ReplayMode::Kernel => {
                let cupti = self.cupti.get_or_init(|| library(self.prepared));
                let counted = subject.collect(SourceCollector::Conflicts, cupti);
                counted.map(|result| result.hardware)
            }
        };
        let counted = counted.unwrap_or_else(|reason| {
            let own = plan.catalogue.own().filter(|it| it.origin == Origin::Instructions);
            let none = |name: String| (name, HardwareValue::Unavailable(reason.clone()));
            own.map(|it| none(it.name.to_string())).collect()
        });
        // A counter pass may have counted divergent branches before.
        for (name, value) in counted {
            found.hardware.entry(name).or_insert(value);
        }
    }
}
