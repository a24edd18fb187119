//! `JUnit` XML, as CI servers show it.
//!
//! Input: a run and its outcome. Output: a suite of one case for the run as a whole, and a suite a
//! series, with a case a configuration and a case a threshold. The run's case passes only if the
//! exit code is 0: a threshold that decides it is a failure, anything else an error. A threshold's
//! case fails if its judgement makes the exit code other than 0; an unjudged threshold that does
//! not affect it is skipped with its reason; the property `source` is `estimated` if an estimate
//! decided it. A configuration with a failed process is an error, and so is a series without any
//! measurement, unless it was skipped; the properties of a finished one say whether it was
//! `verified`, the `largest_error` in units of the tolerance and the compared elements of each
//! buffer, and its time is that of warm-up and samples, if it was timed. In a merged run properties
//! give the `slice` of a configuration and the `host` that measured it. Entries that vanished since
//! the baseline are a separate suite.

use std::io::{self, Write};
use std::time::Duration;

use gpuprof_model::comparison::Comparison;
use gpuprof_model::exit_code::ExitCode;
use gpuprof_model::measurement::Timing;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::verdict::{Judgement, Weight};
use quick_junit::{
    NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

use gpuprof_analysis::gate::outcome::{RunOutcome, unmeasured};
use gpuprof_analysis::view::View;

use super::changes::no_finished;
use super::escaped::xml;
use super::estimates::is_estimated;
use super::judgement::{evidence_with_place, in_full};
use super::measured_by::MeasuredBy;
use super::notes::validity::lacks_race_check;
use super::{Report, conclusion, key, on_device};

/// `JUnit` XML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Junit {
    /// The outcome of the run; by default the one of its judgements.
    pub outcome: Option<RunOutcome>,
}

impl Report for Junit {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let outcome = self.outcome.unwrap_or_else(|| RunOutcome::of_stored(run, None));
        let mut document = Document::new("gpuprof");
        document.add_test_suites(whole(run, outcome));
        let measured_by = MeasuredBy::collect(run);
        let suite = |series| suite(series, outcome, &measured_by);
        document.add_test_suites(run.series.iter().map(suite));
        document.add_test_suites(run.comparison.as_ref().and_then(|c| baseline(c, outcome)));
        let text = document.to_string().map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    }
}

/// The suite of one case for the whole run; none if nothing was judged and nothing went wrong.
fn whole(run: &Run, outcome: RunOutcome) -> Option<TestSuite> {
    let conclusion = conclusion::write_conclusion(run);
    let status = match (conclusion::exit_sentence(outcome, conclusion.as_ref()), &conclusion) {
        (Some(ended), _) => bad(kind(outcome.exit_code), "conclusion", &ended),
        (None, None) => return None,
        (None, Some(conclusion)) => match conclusion.weight {
            Weight::Fine | Weight::Warning => TestCaseStatus::success(),
            Weight::Doubtful | Weight::Bad => skipped("conclusion", conclusion.sentence.clone()),
        },
    };
    let mut case = TestCase::new("the run as a whole", status);
    if let Some(conclusion) = conclusion {
        case.set_system_out(xml(&conclusion.lines().join("\n")));
    }
    let mut suite = TestSuite::new("conclusion");
    suite.add_test_case(case);
    Some(suite)
}

/// The suite of vanished entries of the baseline.
fn baseline(comparison: &Comparison, outcome: RunOutcome) -> Option<TestSuite> {
    let gone = format!("in the baseline `{}` and not in this run", comparison.baseline);
    let gone = comparison.vanished.iter().map(|key| (key, gone.clone()));
    let unheld = comparison.unheld.iter();
    let unheld = unheld.map(|key| (key, no_finished(&comparison.baseline, key)));
    let mut suite = TestSuite::new("baseline");
    suite.add_test_cases(gone.chain(unheld).map(|(key, message)| {
        TestCase::new(xml(key), status(outcome.gate.vanished_exit_code(), "missing", message))
    }));
    (!suite.test_cases.is_empty()).then_some(suite)
}

fn suite(series: &SeriesResult, outcome: RunOutcome, measured_by: &MeasuredBy<'_>) -> TestSuite {
    let id = series.id.to_string();
    let mut suite = TestSuite::new(xml(&id));
    for row in &series.configurations {
        let mut case = configuration(series, row);
        if let Some((slice, host)) = measured_by.row(&id, &row.configuration) {
            case.add_property(("slice", slice.to_string().as_str()));
            if !host.is_empty() {
                case.add_property(("host", xml(host).as_str()));
            }
        }
        let says_nothing = row.unverified.is_some_and(Unverified::says_nothing);
        if says_nothing && outcome.gate.vanished_exit_code() != ExitCode::Success {
            let why = "the reference cannot reject a wrong result; the row's notes say why";
            case.status = bad(NonSuccessKind::Failure, "unverified", why);
        }
        if let Some(time) = timed(row) {
            case.set_time(time);
            suite.set_time(suite.time.unwrap_or_default() + time);
        }
        suite.add_test_case(case);
    }
    if let Some(why) = unmeasured(series) {
        // The cause of a skipped row is a failure elsewhere.
        let was_skipped = |row: &ConfigurationResult| matches!(row.status, Status::Skipped { .. });
        let code = match series.configurations.iter().any(was_skipped) {
            true => ExitCode::Success,
            false => outcome.gate.of_unmeasured(),
        };
        let status = status(code, "unmeasured", why);
        suite.add_test_case(case(series, "every configuration", status));
    }
    for judgement in &series.judgements {
        let mut case = case(series, &judgement.threshold.text, of_judgement(judgement, outcome));
        if is_estimated(judgement) {
            case.add_property(("source", "estimated"));
        }
        suite.add_test_case(case);
    }
    suite
}

fn of_judgement(judgement: &Judgement, outcome: RunOutcome) -> TestCaseStatus {
    let code = outcome.of_judgement(judgement);
    if code == ExitCode::Success && judgement.weight() == Weight::Fine {
        return TestCaseStatus::success();
    }
    let mut status = status(code, &judgement.word(), evidence_with_place(judgement));
    if code != ExitCode::Success && judgement.violations.len() > 1 {
        status.set_description(xml(&in_full(judgement)));
    }
    status
}

/// The status of a case that contributes `code` to the exit code.
fn status(code: ExitCode, of_type: &str, message: String) -> TestCaseStatus {
    match code {
        ExitCode::Success => skipped(of_type, message),
        code => bad(kind(code), of_type, &message),
    }
}

/// The kind of a case that does not pass: a failure if thresholds decided `code`.
fn kind(code: ExitCode) -> NonSuccessKind {
    match code {
        ExitCode::ThresholdFailed | ExitCode::NotJudged => NonSuccessKind::Failure,
        _ => NonSuccessKind::Error,
    }
}

/// How a configuration ended, and if it finished, whether it was verified.
fn configuration(series: &SeriesResult, row: &ConfigurationResult) -> TestCase {
    let status = match &row.status {
        Status::Finished => flaky(row),
        Status::Failed { reason } | Status::Timeout { reason } => {
            bad(NonSuccessKind::Error, row.status.word(), reason)
        }
        Status::Invalid { reason } | Status::Skipped { reason } => {
            skipped(row.status.word(), reason.clone())
        }
    };
    let mut case = case(series, &format!("{}{}", key(row), on_device(row)), status);
    if row.status == Status::Finished {
        let word = match row.verified {
            true if lacks_race_check(row) => "true (no race check)",
            true => "true",
            false => "false",
        };
        case.add_property(("verified", word));
    }
    if let Some(why) = row.unverified {
        case.add_property(("unverified", why.word()));
    }
    if let Some(error) = row.largest_error {
        case.add_property(("largest_error", error.to_string().as_str()));
    }
    for (buffer, elements) in row.verification.iter().flat_map(|it| &it.buffers) {
        case.add_property((
            format!("verified_elements.{buffer}").as_str(),
            elements.to_string().as_str(),
        ));
    }
    if let Some(checks) = row.checks {
        case.add_property(("checks", checks.to_string().as_str()));
    }
    if let Some(reason) = &row.retried {
        case.add_property(("retried", reason.as_str()));
    }
    case
}

/// The status of a configuration that finished, with the failures before.
fn flaky(row: &ConfigurationResult) -> TestCaseStatus {
    let mut status = TestCaseStatus::success();
    for reason in &row.failed_attempts {
        let mut rerun = TestRerun::new(NonSuccessKind::Error);
        rerun.set_type("failed").set_message(xml(reason));
        status.add_rerun(rerun);
    }
    status
}

/// How long a configuration was timed, in all of its processes.
fn timed(row: &ConfigurationResult) -> Option<Duration> {
    let total_ns = |timing: &Timing| timing.warmup_ns.0 + timing.samples_ns.iter().sum::<f64>();
    let nanoseconds: f64 = row.timings.iter().map(total_ns).sum();
    Duration::try_from_secs_f64(nanoseconds / 1e9).ok().filter(|time| !time.is_zero())
}

fn case(series: &SeriesResult, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(xml(name), status);
    case.set_classname(xml(&series.id.to_string()));
    case.extra.insert("file".into(), xml(&series.file).into());
    case.extra.insert("line".into(), series.line.to_string().into());
    case
}

fn skipped(of_type: &str, message: String) -> TestCaseStatus {
    let mut skipped = TestCaseStatus::skipped();
    skipped.set_type(of_type).set_message(xml(&message));
    skipped
}

fn bad(kind: NonSuccessKind, of_type: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(of_type).set_message(xml(message));
    status
}
