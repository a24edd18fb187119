//! The hold on a device: while it lasts, no other gpuprof measures there.
//!
//! Input: the UUID that CUDA gives, and the requested clocks. Output: a [`Hold`]. The lock and the
//! clocks end with it, and with its process.

use std::env;
use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::machine::ClockControl;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::clocks::{self, LockedClocks};
use super::lock::{self, Lock, Owner};

/// A request to hold a device.
#[derive(Debug, Clone, Copy)]
pub struct HoldRequest<'a> {
    /// The clocks to set.
    pub clocks: ClockControl,
    /// NVML's library, if the user named one.
    pub nvml: Option<&'a Utf8Path>,
    /// Whether to wait for another gpuprof.
    pub wait: bool,
}

/// A device that this process alone measures on, until this is dropped.
#[derive(Debug)]
pub struct Hold {
    // Dropped first: the next owner of the lock finds the original clocks.
    _clocks: Option<LockedClocks>,
    _lock: Lock,
}

impl Hold {
    /// Takes the device, waiting for another gpuprof that has it and saying so on standard error.
    ///
    /// # Errors
    /// The device or its clocks cannot be had (exit code 107); an interrupt.
    pub fn take(uuid: &str, terms: &HoldRequest<'_>, interrupt: &Interrupt) -> Result<Self> {
        let path = lock::path(&lock::folder(), uuid);
        let mut waiting = Waiting::new(uuid, "is measuring on it");
        let lock = lock::wait(&path, &Owner::this_process(), interrupt, |owner| {
            if terms.wait {
                waiting.tell(owner)
            } else {
                return Err(busy(uuid, owner));
            }
            Ok(())
        })?;
        drop(waiting);
        if let Some(warning) = clocks::settled(uuid, interrupt)? {
            console::say(warning);
        }
        let clocks = match terms.clocks {
            ClockControl::None => None,
            control => {
                let program = env::current_exe().map_err(|e| {
                    Failure::new(
                        ExitCode::NotPossible,
                        format!("cannot find the executable of the clock guard: {e}"),
                    )
                })?;
                Some(clocks::lock(&program, uuid, control, terms.nvml, interrupt)?)
            }
        };
        Ok(Self { _clocks: clocks, _lock: lock })
    }
}

fn busy(uuid: &str, owner: Option<&Owner>) -> Failure {
    let message = format!(
        "another gpuprof is measuring on {uuid} ({}); leave out --no-wait to wait for it",
        named(owner)
    );
    Failure::new(ExitCode::NotPossible, message)
}

fn named(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "its owner is unknown".to_owned(), ToString::to_string)
}

/// One line on standard error: kept up to date on a terminal, written once for each owner
/// elsewhere.
pub(super) struct Waiting<'a> {
    /// For what.
    what: &'a str,
    /// The other gpuprof's activity on it.
    why: &'static str,
    began: Instant,
    told: Option<Option<Owner>>,
    line: Option<ProgressBar>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(what: &'a str, why: &'static str) -> Self {
        Self { what, why, began: Instant::now(), told: None, line: None }
    }

    pub(super) fn tell(&mut self, owner: Option<&Owner>) {
        let Self { what, why, .. } = *self;
        let text = format!("waiting for {what}: another gpuprof {why} ({})", named(owner));
        if std::io::stderr().is_terminal() {
            let line = self.line.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("gpuprof: {seconds} s {wide_msg}");
                let style = style.expect("the template is valid").with_key(
                    "seconds",
                    |state: &ProgressState, out: &mut dyn fmt::Write| {
                        let _ = write!(out, "{}", state.elapsed().as_secs());
                    },
                );
                let bar = ProgressBar::new_spinner().with_style(style);
                bar.enable_steady_tick(Duration::from_millis(250));
                bar
            });
            line.set_message(text);
            return;
        }
        if self.is_news(owner) {
            console::say(text);
            self.told = Some(owner.cloned());
        }
    }

    /// Whether to report `owner`. An owner is written a moment after the lock is taken, and removed
    /// a moment before it is released: an unknown owner is reported only if none has been reported
    /// and none appears for a second.
    pub(super) fn is_news(&self, owner: Option<&Owner>) -> bool {
        match (&self.told, owner) {
            (Some(told), Some(_)) => told.as_ref() != owner,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (None, None) => self.began.elapsed() > Duration::from_secs(1),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_lock_is_not_announced_again() {
        let owner = |pid| Owner { pid, ..Owner::this_process() };
        let mut waiting = Waiting::new("GPU-1", "measures on it");
        waiting.began -= Duration::from_secs(2);
        assert!(waiting.is_news(None), "an unknown process has had it for two seconds");
        waiting.told = Some(Some(owner(1)));
        assert!(!waiting.is_news(Some(&owner(1))) && !waiting.is_news(None));
        assert!(waiting.is_news(Some(&owner(2))));
    }
}
