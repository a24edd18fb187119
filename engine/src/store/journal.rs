//! The journal of a run: every finished pass, on disk before the next process measures.
//!
//! A line of JSON each: first the run's build and device, then one for every pass that ended. A
//! line has a checksum, and is written at once and synchronised; a kill at any instant leaves whole
//! lines and at most the beginning of one, which is dropped when the run is resumed. Any other
//! invalid content is refused with its path and byte. The file is locked while a run writes it, so
//! that two never write one; and each start of the run has a line, which distinguishes two writers
//! if locks are unreliable.

mod checksum;
mod grouped;
mod identity_difference;
mod line;
mod reader;
mod replayed;
mod rows;
mod run_identity;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::measurement::{Energy, PassResult};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::SeriesId;

use super::file_lock;
use super::untrusted::ordinary;
use crate::schedule::{Collected, Step};
use gpuprof_system::error::{Failure, Result};
use line::Line;
use replayed::{Parsed, parse};

pub use identity_difference::{Difference, Values};
pub use line::Start;
pub use replayed::Replayed;
pub use rows::Rows;
pub use run_identity::{IdentityPart, RunIdentity};

/// The file's name in a run's folder.
pub const FILE: &str = "journal.jsonl";

/// Why a run that began without counters, which can be had now, is not resumed with them.
const WITHOUT: &str = "it began without hardware counters (denied, or not requested), but now they \
                       are collected; to continue without them, add --replay-mode none";

/// Why a run with counters is not resumed where none are collected.
const NO_LONGER: &str = "it began with hardware counters, but now none are collected; to continue, \
                         make them available again (`cargo gpuprof doctor` checks them)";

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: Utf8PathBuf,
    /// The name of the start that writes.
    by: String,
    /// How many bytes are whole lines.
    whole: u64,
    /// The series that it says are done.
    done: BTreeSet<usize>,
    /// The configurations that it has results of.
    rows: BTreeSet<(usize, usize)>,
}

impl Journal {
    /// Begins the journal of a new run in `folder`, which `start` works on.
    ///
    /// # Errors
    /// It cannot be written (exit code 110).
    pub fn begin(folder: &Utf8Path, made: &RunIdentity, start: Start) -> Result<Self> {
        let path = folder.join(FILE);
        let failed = |e: &std::io::Error| Failure::output(path.as_std_path(), e);
        let file = File::options()
            .create_new(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(|e| failed(&e))?;
        file_lock::at_once_if_any(&file, &path)?;
        let (done, rows) = Default::default();
        let mut journal = Self { file, path, by: start.id.clone(), whole: 0, done, rows };
        journal.write(&Line::Made(Box::new(made.clone())))?;
        let devices = made.uuids();
        journal.write(&Line::Begin(Box::new(Start { devices, ..start })))?;
        Ok(journal)
    }

    /// Resumes the journal in `folder`, which must match `made`; `start` begins a start's lines. On
    /// other devices of the same model, unfinished series are measured again.
    ///
    /// # Errors
    /// Another process writes it (exit code 75); its build differs (exit code 2, or 107 for another
    /// model of device); it is not a journal (exit code 96); it cannot be written (exit code 110).
    pub fn resume(folder: &Utf8Path, made: &RunIdentity, start: Start) -> Result<(Self, Replayed)> {
        let path = folder.join(FILE);
        let failed = |e: &std::io::Error| Failure::output(path.as_std_path(), e);
        let file = File::options().read(true).append(true).open(&path).map_err(|e| failed(&e))?;
        file_lock::at_once_if_any(&file, &path)?;
        ordinary(&path, file.metadata().map_err(|e| failed(&e))?.file_type())?;
        let parsed = parse(BufReader::new(&file), &path, &made.tool_version)?;
        let Parsed { identity: before, mut replayed, length: whole } =
            parsed.ok_or_else(|| refused(folder, &changed(&Difference::ToolVersion)))?;
        check(folder, &before, made)?;
        replayed.file = Some(file.try_clone().map_err(|e| failed(&e))?);
        file.set_len(whole).map_err(|e| failed(&e))?;
        let devices = made.uuids();
        let moved = match replayed.last_start() {
            Some(last) => last.devices != devices,
            None => before.uuids() != devices,
        };
        let again = if moved { replayed.unfinished() } else { Vec::new() };
        let start = Start { devices, again, ..start };
        replayed.add_start(start.clone());
        let (done, rows) = (replayed.done().clone(), replayed.rows().clone());
        let mut journal = Self { file, path, by: start.id.clone(), whole, done, rows };
        journal.write(&Line::Begin(Box::new(start)))?;
        Ok((journal, replayed))
    }

    /// Records a pass that ran to its end.
    ///
    /// # Errors
    /// It is not on disk (exit code 110).
    pub fn pass(&mut self, step: Step, result: &PassResult) -> Result<()> {
        let Step { series, configuration, repeat } = step;
        self.write(&Line::Pass { series, configuration, repeat, result: Box::new(result.clone()) })
    }

    /// Records the energy of a launch, for a pass that was recorded before.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn energy(&mut self, step: Step, energy: &Energy) -> Result<()> {
        let Step { series, configuration, repeat } = step;
        self.write(&Line::Energy { series, configuration, repeat, energy: energy.clone() })
    }

    /// Records what is collected of a configuration's counters, which take `of` steps.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn collected(
        &mut self,
        (series, configuration): (usize, usize),
        of: usize,
        collected: &Collected,
    ) -> Result<()> {
        self.write(&if collected.steps == of {
            let Collected { hardware, parts, .. } = collected.clone();
            Line::Counters { series, configuration, hardware, parts }
        } else {
            Line::CounterStep { series, configuration, of, collected: collected.clone() }
        })
    }

    /// Records a process that failed and is started again.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn failed_attempt(
        &mut self,
        (series, configuration): (usize, usize),
        reason: &str,
    ) -> Result<()> {
        self.write(&Line::FailedAttempt { series, configuration, reason: reason.to_owned() })
    }

    /// Records a configuration that ended early. One that was skipped has not ended.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn ended(
        &mut self,
        (series, configuration): (usize, usize),
        status: &Status,
    ) -> Result<()> {
        if matches!(status, Status::Skipped { .. }) {
            return Ok(());
        }
        self.write(&Line::Ended { series, configuration, status: status.clone() })
    }

    /// Records that a configuration is measured again alone, since it failed next to others for
    /// this `reason`.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn retried(&mut self, (series, configuration): (usize, usize), reason: &str) -> Result<()> {
        self.write(&Line::Retried { series, configuration, reason: reason.to_owned() })
    }

    /// Records that a series is measured to its end.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn done(&mut self, series: usize) -> Result<()> {
        // A run that is resumed says so of all that it had, once more.
        if !self.done.insert(series) {
            return Ok(());
        }
        self.write(&Line::Done { series })
    }

    /// Records the result of a configuration of the series `id`, for a merge of slices.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn row(
        &mut self,
        at: (usize, usize),
        id: &SeriesId,
        row: ConfigurationResult,
    ) -> Result<()> {
        if !self.rows.insert(at) {
            return Ok(());
        }
        let (series, configuration) = at;
        let row = Box::new(SeriesResult { configurations: vec![row], ..SeriesResult::named(id) });
        self.write(&Line::Row { series, configuration, row })
    }

    /// Records that everything is measured.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn whole(&mut self) -> Result<()> {
        self.write(&Line::Whole { at: jiff::Timestamp::now().to_string() })
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let bytes = line::written(line, &self.by);
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // A full disk takes part of a line; a later line must not join it.
            let _ = self.file.set_len(self.whole);
        } else {
            self.whole += bytes.len() as u64;
        }
        written.map_err(Failure::writing(&self.path))
    }
}

impl Drop for Journal {
    /// Closing the file would give the lock back only once no process that is being started shares
    /// it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Refuses to resume in `folder` if the run is made of `now` and the journal of something else,
/// `before`.
fn check(folder: &Utf8Path, before: &RunIdentity, now: &RunIdentity) -> Result<()> {
    if let Some((was, is)) = before.models(now) {
        return Err(Failure::new(
            ExitCode::NotPossible,
            format!(
                "{folder} cannot be resumed: it began on {was}, and this is {is}; resume it on \
                 {was}, or start over without --resume"
            ),
        ));
    }
    let Some(difference) = before.difference(now) else { return Ok(()) };
    let why = match &difference {
        Difference::Counters(Values { before, .. }) if before.is_empty() => WITHOUT.to_owned(),
        Difference::Counters(Values { now, .. }) if now.is_empty() => NO_LONGER.to_owned(),
        Difference::Baseline(names) => of_another_baseline(names),
        other => changed(other),
    };
    Err(refused(folder, &why))
}

/// The baselines of both runs, and how to resume with the baseline of the beginning.
fn of_another_baseline(names: &Values<Option<String>>) -> String {
    let described = |name: &Option<String>| match name {
        Some(name) => format!("baseline `{name}`"),
        None => "no baseline".to_owned(),
    };
    let remedy = match &names.before {
        Some(name) => format!("add --baseline {name}"),
        None => "leave the baseline out, and compare the finished run with `cargo gpuprof \
                 compare`"
            .to_owned(),
    };
    let (was, is) = (described(&names.before), described(&names.now));
    format!("it began with {was}, and now has {is}; to continue, {remedy}")
}

/// That there is a `difference`, with both values if they are a few words.
fn changed(difference: &Difference) -> String {
    let quoted =
        |value: &str| if value.is_empty() { "nothing".to_owned() } else { format!("`{value}`") };
    match difference.values() {
        Some(Values { before, now }) => {
            let (was, is) = (quoted(&before), quoted(&now));
            format!("{difference} was {was} when it began, and is {is} now")
        }
        None => format!("{difference} changed since"),
    }
}

fn refused(folder: &Utf8Path, why: &str) -> Failure {
    let text = format!("{folder} cannot be resumed: {why}; to start over, leave out --resume");
    Failure::usage(text)
}

#[cfg(test)]
mod tests;
