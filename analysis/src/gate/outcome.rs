//! The outcome of a run: its exit code, decided once for the process and every report.
//!
//! Input: a judged run, the gate, and the exit codes of everything else that went wrong. Output:
//! one exit code, and the contribution of each part of the run to it. Crashes outrank failures,
//! failures outrank doubt. A vanished entry, or a series without any measurement here or in the
//! baseline, is doubt and never a pass, and so is a run that judges or compares nothing. The kind
//! of end in a conclusion follows from the same code.

use gpuprof_model::ExitCode;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, Status};
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::gate::nothing_judged::{self, Nothing};
use crate::metrics::did_nothing;

/// How strictly a run is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Whether missing and undecided results end with exit code 106 even next to judged ones.
    pub strict: bool,
    /// Whether thresholds have a say at all; not with `--no-gate`.
    pub gated: bool,
    /// Whether the run is a slice of a plan: other slices may measure the rest of a series.
    pub slice: bool,
    /// Whether the run makes the baseline that it would be compared with.
    pub first: bool,
}

impl Default for Gate {
    /// Thresholds decide; missing and undecided results do not, next to others that are judged.
    fn default() -> Self {
        Self { strict: false, gated: true, slice: false, first: false }
    }
}

impl Gate {
    /// The gate that `run` was stored with.
    pub fn of_stored(run: &Run) -> Self {
        let Provenance { not_gated, strict, .. } = &run.provenance;
        Self { strict: *strict, gated: not_gated.is_none(), ..Self::default() }
    }

    /// The contribution of `judgement` to the exit code.
    pub fn judgement_exit_code(self, judgement: &Judgement) -> ExitCode {
        if self.gated { judgement.exit_code(self.strict) } else { ExitCode::Success }
    }

    /// The exit code for something requested that is absent: an entry that vanished since the
    /// baseline, or a reference that cannot reject any result.
    pub fn vanished_exit_code(self) -> ExitCode {
        if self.gated { Verdict::Missing.exit_code(self.strict) } else { ExitCode::Success }
    }

    /// The contribution of a configuration: of its end, and of a reference that rejects nothing.
    pub fn of_configuration(self, row: &ConfigurationResult) -> ExitCode {
        let ended = match row.status {
            Status::Failed { .. } | Status::Timeout { .. } => ExitCode::ProcessFailed,
            Status::Finished | Status::Invalid { .. } | Status::Skipped { .. } => ExitCode::Success,
        };
        match row.unverified.is_some_and(Unverified::says_nothing) {
            true => ended.or_worse(self.vanished_exit_code()),
            false => ended,
        }
    }

    /// The contribution of a series without any measurement.
    pub fn of_unmeasured(self) -> ExitCode {
        if self.slice { ExitCode::Success } else { ExitCode::NoSeries }
    }

    /// Like [`RunOutcome::decide`], without other causes.
    #[cfg(test)]
    pub(crate) fn exit_code(self, run: &Run) -> ExitCode {
        RunOutcome::decide(run, self, []).exit_code
    }

    /// The exit code that the parts of `run` amount to, which judges or compares `nothing`.
    pub(crate) fn exit_code_with(self, run: &Run, nothing: Option<&Nothing>) -> ExitCode {
        let of_series = |series: &SeriesResult| {
            let rows = series.configurations.iter().map(|row| self.of_configuration(row));
            let judged =
                series.judgements.iter().map(|judgement| self.judgement_exit_code(judgement));
            let code = rows.chain(judged).fold(ExitCode::Success, ExitCode::or_worse);
            unmeasured(series).map_or(code, |_| code.or_worse(self.of_unmeasured()))
        };
        let code = run.series.iter().map(of_series).fold(ExitCode::Success, ExitCode::or_worse);
        let lost = run.comparison.as_ref().is_some_and(|comparison| {
            comparison.absent.is_some()
                || comparison.obstacle().is_some()
                || !comparison.vanished.is_empty()
                || !comparison.unheld.is_empty()
                || !comparison.weaker.is_empty()
        });
        let code = if lost { code.or_worse(self.vanished_exit_code()) } else { code };
        let slices = &run.provenance.missing_slices;
        if slices.as_ref().is_some_and(|slices| !slices.accepted) {
            return code.or_worse(ExitCode::NotJudged);
        }
        let lacks = nothing.is_some() && code == ExitCode::Success && self.gated && !self.slice;
        if lacks { ExitCode::NotJudged } else { code }
    }
}

/// Why nothing of `series` was measured, if nothing was: that is not a success, whatever thresholds
/// it has.
pub fn unmeasured(series: &SeriesResult) -> Option<String> {
    let rows = &series.configurations;
    let count = |is: fn(&Status) -> bool| rows.iter().filter(|row| is(&row.status)).count();
    let invalid = count(|status| matches!(status, Status::Invalid { .. }));
    let skipped = count(|status| matches!(status, Status::Skipped { .. }));
    let empty = rows.iter().filter(|row| did_nothing(row)).count();
    if invalid + skipped + empty < rows.len() {
        return None;
    }
    if empty > 0 {
        return Some("no work of the device lies in its measured range".to_owned());
    }
    Some(match (rows.len(), skipped) {
        (0, _) => "no configuration meets its conditions; `cargo gpuprof list` shows them".into(),
        (1, 0) => "its only configuration is invalid".into(),
        (all, 0) => format!("all of its {all} configurations are invalid"),
        (all, _) if invalid == 0 => format!("all of its {all} configurations were skipped"),
        (all, _) => format!("of its {all} configurations {invalid} are invalid, {skipped} skipped"),
    })
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOutcome {
    /// The exit code of the process.
    pub exit_code: ExitCode,
    /// The exit code of the same run if its thresholds decided it.
    pub judged: ExitCode,
    /// The contribution of each part of the run.
    pub gate: Gate,
}

impl RunOutcome {
    /// Decides the outcome of `run`; `others` are the exit codes of other causes: a signal,
    /// an error, counters that a device denies.
    pub fn decide(run: &Run, gate: Gate, others: impl IntoIterator<Item = ExitCode>) -> Self {
        let nothing = nothing_judged::found(run, gate.first);
        let own = gate.exit_code_with(run, nothing.as_ref());
        let exit_code = others.into_iter().fold(own, ExitCode::or_worse);
        let judged = Gate { gated: true, ..gate }.exit_code_with(run, nothing.as_ref());
        Self { exit_code, judged, gate }
    }

    /// The outcome of a stored `run` that ended with `exit_code`, if that is known.
    pub fn of_stored(run: &Run, exit_code: Option<ExitCode>) -> Self {
        let decided = Self::decide(run, Gate::of_stored(run), []);
        Self { exit_code: exit_code.unwrap_or(decided.exit_code), ..decided }
    }

    /// The outcome if the process also fails with `code`.
    #[must_use]
    pub fn or_worse(self, code: ExitCode) -> Self {
        Self { exit_code: self.exit_code.or_worse(code), ..self }
    }

    /// The contribution of `judgement`: a threshold without a value is an obstacle if the run ended
    /// because a device denies its counters.
    pub fn of_judgement(self, judgement: &Judgement) -> ExitCode {
        let decides = self.gate.gated && judgement.severity == Severity::Hard;
        match (self.exit_code, judgement.verdict) {
            (ExitCode::NotPossible, Verdict::Unavailable) if decides => ExitCode::NotPossible,
            _ => self.gate.judgement_exit_code(judgement),
        }
    }
}
