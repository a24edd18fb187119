//! The engine's work and its progress.

use std::collections::BTreeMap;
use std::time::Instant;

use gpuprof_model::failure::Denial;
use gpuprof_model::run::Status;

use super::event::{At, Observer};
use super::state::State;
use crate::execute::{Execution, NeededFiles};
use crate::plan::PlannedSeries;
use crate::plan::Side;
use crate::schedule::device_assignment::Assignment;
use crate::schedule::{Interleave, Isolate, Pairs};
use crate::store::journal::Replayed;
use gpuprof_analysis::sequential::Most;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::Result;

/// Why a configuration was skipped, if nothing failed.
pub(super) const INTERRUPTED: &str = "the run was interrupted";

/// How far the rounds may go.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// So many of a configuration at most.
    pub most: Most,
    /// No look asks for more of them after this.
    pub until: Option<Instant>,
}

/// What is to be done. Nothing of it changes while it is done.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    /// What is to be measured.
    pub series: &'a [&'a PlannedSeries],
    /// Which configurations of two revisions are measured side by side.
    pub pairs: &'a Pairs,
    /// Which device measures what.
    pub assignment: &'a Assignment,
    /// How each device does.
    pub executions: &'a [Execution<'a>],
    /// Who is asked.
    pub harnesses: &'a [Harness],
    /// The files that their processes need; if one is missing, no configuration is to blame.
    pub needed: &'a NeededFiles,
    /// The origin of the limit on the time of a process, in words.
    pub limit: &'a str,
    /// The most rounds beyond the common ones, if there can be more.
    pub rounds: Option<Rounds>,
    /// Of each series: whether limits that are numbers speak of noisy metrics of it.
    pub limited: &'a [bool],
    /// Of each series: whether the energy of its launches is wanted.
    pub energy: &'a [bool],
    /// In which order passes run.
    pub order: Interleave,
    /// The unit that gets separate processes.
    pub isolate: Isolate,
    /// How many failed processes of a configuration are started again.
    pub retries: u32,
}

impl<'a> Planned<'a> {
    /// How many configurations each series has.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.series.iter().map(|it| it.configurations.len()).collect()
    }

    /// The same of this revision; those of the other revision are added.
    pub(super) fn counts_of_head(&self) -> Vec<usize> {
        let own = self.series.iter().filter(|it| it.side == Side::Head);
        own.map(|it| it.configurations.len()).collect()
    }

    /// Whether a look may ask for more processes of a configuration: it has a partner, or a limit
    /// that is a number.
    pub(super) fn may_grow(&self, at: At) -> bool {
        let limited = || self.limited.get(at.0).copied().unwrap_or(false);
        self.rounds.is_some() && (self.pairs.partner(at).is_some() || limited())
    }

    /// Whether the energy of the launches of a series is measured on a device.
    pub(super) fn wants_energy(&self, series: usize, device: usize) -> bool {
        self.energy.get(series).copied().unwrap_or(false) && !self.executions[device].emulated
    }

    /// How the device of a configuration does.
    pub(super) fn execution(&self, at: At) -> &'a Execution<'a> {
        &self.executions[self.assignment.device(at)]
    }
}

/// How far the engine is.
pub(super) struct Sweep<'a, 'o> {
    pub(super) planned: Planned<'a>,
    pub(super) observer: &'o mut dyn Observer,
    pub(super) states: Vec<Vec<State>>,
    /// For each device: why its counters are no longer available, if a pass found that out.
    pub(super) denied: Vec<Option<Denial>>,
    /// The number of configurations of a series that fit in one process, if that turned out to be
    /// small.
    pub(super) together: BTreeMap<usize, usize>,
}

impl<'a, 'o> Sweep<'a, 'o> {
    pub(super) fn new(planned: Planned<'a>, observer: &'o mut dyn Observer) -> Self {
        let of_series = |count| std::iter::repeat_with(State::default).take(count).collect();
        Self {
            planned,
            observer,
            states: planned.counts().into_iter().map(of_series).collect(),
            denied: vec![None; planned.executions.len()],
            together: BTreeMap::new(),
        }
    }

    /// Takes over the results of a resumed run. Configurations that were finished are reported at
    /// once, so that not all need to be in memory.
    pub(super) fn take_up(&mut self, replayed: &Replayed) -> Result<()> {
        for at in self.all() {
            let execution = self.planned.execution(at);
            let rounds = self.planned.rounds.filter(|_| self.planned.may_grow(at));
            let most = rounds.map_or(execution.repeat.most, |rounds| rounds.most.single_limit());
            let most = most.max(execution.repeat.most);
            let mut state = State::replayed(replayed, execution, at, most)?;
            state.in_rounds = rounds.is_some();
            state.wants_energy =
                self.planned.wants_energy(at.0, self.planned.assignment.device(at));
            let over = state.was_over(execution);
            let ended = state.ended.is_some();
            *self.state(at) = state;
            if over {
                self.finish(at)?;
            } else if let (Some(reason), false) = (self.refusal(at), ended) {
                // It would be invalid, whatever the device.
                self.end(at, Status::Invalid { reason })?;
            }
        }
        Ok(())
    }

    /// Why a configuration cannot be launched, if that is known without a process.
    fn refusal(&self, at: At) -> Option<String> {
        self.planned.execution(at).refusal(self.planned.series[at.0], at.1)
    }

    pub(super) fn state(&mut self, (series, index): At) -> &mut State {
        &mut self.states[series][index]
    }
}
