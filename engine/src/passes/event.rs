//! The events of the engine.
//!
//! Output: typed events, in chronological order. The engine waits for its observers, so an
//! observer's writes are done before the next process measures.

use std::collections::BTreeMap;
use std::time::Duration;

use gpuprof_model::failure::Denial;
use gpuprof_model::measurement::{CountedPart, Energy, HardwareValue, PassResult};
use gpuprof_model::run::Status;

use crate::execute::Stretch;
use crate::schedule::{Collected, Step};
use gpuprof_system::error::Result;

/// A configuration: the position of its series, and its own in the series.
pub type At = (usize, usize);

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// A process starts to work for a configuration, among others perhaps.
    Started {
        /// The first that it works for.
        at: At,
    },
    /// Processes of a device spent time.
    Spent {
        /// The position of the device.
        device: usize,
        /// Where it went.
        stretches: Vec<Stretch>,
    },
    /// A timed pass finished.
    PassFinished {
        /// Which.
        step: Step,
        /// Its result.
        result: &'e PassResult,
    },
    /// The energy of a launch was measured, for a timed pass that had finished.
    EnergyMeasured {
        /// Which.
        step: Step,
        /// Its result.
        energy: &'e Energy,
    },
    /// A counter pass finished.
    CountersCollected {
        /// Of which configuration.
        at: At,
        /// Steps that its counters take.
        of: usize,
        /// The counters collected so far.
        collected: &'e Collected,
    },
    /// A configuration ended early.
    ConfigurationEnded {
        /// Which.
        at: At,
        /// How.
        status: &'e Status,
    },
    /// A configuration failed in a shared process and is retried in isolation.
    Retried {
        /// Which.
        at: At,
        /// How it failed.
        reason: &'e str,
    },
    /// A process of a configuration failed and is started again.
    FailedAttempt {
        /// Which.
        at: At,
        /// How it failed.
        reason: &'e str,
    },
    /// A pass found that a device gives no counters any more.
    CountersDenied {
        /// The position of the device.
        device: usize,
        /// Why.
        denial: &'e Denial,
    },
    /// Nothing works for a configuration any more.
    ConfigurationFinished {
        /// Which.
        at: At,
        /// The results of all its processes.
        found: PassResults,
    },
}

/// The results of the processes of a configuration.
#[derive(Debug, Default)]
pub struct PassResults {
    /// The results of its timed passes, in order.
    pub passes: Vec<PassResult>,
    /// Its counters.
    pub hardware: BTreeMap<String, HardwareValue>,
    /// Those of parts of its measured range.
    pub parts: Vec<CountedPart>,
    /// The status that ended it early.
    pub ended: Option<Status>,
    /// The failures of processes that were started again.
    pub failed_attempts: Vec<String>,
    /// How long its processes had the device.
    pub held: Duration,
    /// How it first failed next to others, if it was retried alone.
    pub retried: Option<String>,
}

/// How far one side of a configuration is that is measured in rounds.
#[derive(Debug, Clone, Copy)]
pub struct Open<'s> {
    /// Which side of which configuration.
    pub at: At,
    /// The results of its timed passes, one a round.
    pub passes: &'s [PassResult],
    /// Its counters.
    pub hardware: &'s BTreeMap<String, HardwareValue>,
}

/// Receives the events.
pub trait Observer {
    /// Looks at both sides of the configurations that are `open`, and says of this revision's up to
    /// how many rounds they are to be measured; of what is decided, nothing.
    ///
    /// # Errors
    /// As [`Observer::observe`].
    fn look(&mut self, open: &[Open<'_>]) -> Result<BTreeMap<At, u32>>;

    /// Why nothing further is to be measured; none to go on.
    fn stop_reason(&self) -> Option<String> {
        None
    }

    /// Takes an event.
    ///
    /// # Errors
    /// An observer's write failed. The engine starts nothing more then.
    fn observe(&mut self, event: Event<'_>) -> Result<()>;
}
