//! `JUnit` XML, as CI servers show it.
//!
//! Input: a run. Output: a suite of one case for the run as a whole, which fails where a threshold
//! decides the exit code, and a suite a series, with a case a configuration and a case a threshold.
//! A threshold's case fails where its judgement makes the exit code other than 0; what was not
//! judged and costs nothing is skipped with its reason. A configuration whose process failed is an
//! error, and so is a series of which nothing was measured; the properties of one that finished say
//! whether it was `verified` and the `largest_error` in units of the tolerance, and its time is
//! that of warm-up and samples, where it was timed. In a merged run properties say which `slice`
//! has a configuration and which `host` measured it. What vanished since the baseline is a suite of
//! its own.

use std::io::{self, Write};
use std::time::Duration;

use gpuprof_model::comparison::Comparison;
use gpuprof_model::exit_code::ExitCode;
use gpuprof_model::measurement::Timing;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::verdict::{Judgement, Weight};
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use gpuprof_analysis::gate::run::{Gate, unmeasured};
use gpuprof_analysis::view::View;

use super::changes::no_finished;
use super::escaped::xml;
use super::evidence::{evidence_with_place, in_full};
use super::measured_by::MeasuredBy;
use super::{Report, conclusion, key, on_device};

/// `JUnit` XML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Junit {
    /// What decides the exit code.
    pub gate: Gate,
}

impl Report for Junit {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut document = Document::new("gpuprof");
        document.add_test_suites(self.conclusion(run));
        let measured_by = MeasuredBy::of(run);
        document.add_test_suites(run.series.iter().map(|series| self.suite(series, &measured_by)));
        let lacks = |c: &&Comparison| !c.vanished.is_empty() || !c.unheld.is_empty();
        if let Some(comparison) = run.comparison.as_ref().filter(lacks) {
            let mut vanished = TestSuite::new("baseline");
            let gone = format!("in the baseline `{}` and not in this run", comparison.baseline);
            let gone = comparison.vanished.iter().map(|key| (key, gone.clone()));
            let unheld = comparison.unheld.iter();
            let unheld = unheld.map(|key| (key, no_finished(&comparison.baseline, key)));
            vanished.add_test_cases(gone.chain(unheld).map(|(key, message)| {
                let status = match self.gate.of_vanished() {
                    ExitCode::Success => skipped("missing", message),
                    _ => bad(NonSuccessKind::Failure, "missing", &message),
                };
                TestCase::new(xml(key), status)
            }));
            document.add_test_suite(vanished);
        }
        let text = document.to_string().map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    }
}

impl Junit {
    /// What the run comes to, as a suite of one case; none where nothing was judged.
    fn conclusion(self, run: &Run) -> Option<TestSuite> {
        let told = conclusion::of(run)?;
        let lines = xml(&told.lines().join("\n"));
        let code = self.gate.exit_code(run);
        let status = match (code, told.weight) {
            (ExitCode::ThresholdFailed | ExitCode::NotJudged, _) => {
                bad(NonSuccessKind::Failure, "conclusion", &told.sentence)
            }
            (_, Weight::Fine | Weight::Warning) => TestCaseStatus::success(),
            (_, Weight::Doubtful | Weight::Bad) => skipped("conclusion", told.sentence),
        };
        let mut case = TestCase::new("the run as a whole", status);
        case.set_system_out(lines);
        let mut suite = TestSuite::new("conclusion");
        suite.add_test_case(case);
        Some(suite)
    }

    fn suite(self, series: &SeriesResult, measured_by: &MeasuredBy<'_>) -> TestSuite {
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
            if says_nothing && self.gate.of_vanished() != ExitCode::Success {
                let why = "the reference accepts what the buffers held before the launch";
                case.status = bad(NonSuccessKind::Failure, "unverified", why);
            }
            if let Some(time) = timed(row) {
                case.set_time(time);
                suite.set_time(suite.time.unwrap_or_default() + time);
            }
            suite.add_test_case(case);
        }
        if let Some(why) = unmeasured(series) {
            let status = bad(NonSuccessKind::Error, "unmeasured", &why);
            suite.add_test_case(case(series, "every configuration", status));
        }
        for judgement in &series.judgements {
            suite.add_test_case(case(series, &judgement.threshold, self.status(judgement)));
        }
        suite
    }

    fn status(self, judgement: &Judgement) -> TestCaseStatus {
        let word = judgement.word();
        if self.gate.of(judgement) != ExitCode::Success {
            let evidence = evidence_with_place(judgement);
            let mut failure = bad(NonSuccessKind::Failure, &word, &evidence);
            if judgement.violations.len() > 1 {
                failure.set_description(xml(&in_full(judgement)));
            }
            return failure;
        }
        match judgement.weight() {
            Weight::Fine => TestCaseStatus::success(),
            Weight::Warning | Weight::Doubtful | Weight::Bad => {
                skipped(&word, evidence_with_place(judgement))
            }
        }
    }
}

/// How a configuration ended, and where it finished, whether it was verified.
fn configuration(series: &SeriesResult, row: &ConfigurationResult) -> TestCase {
    let status = match &row.status {
        Status::Finished => TestCaseStatus::success(),
        Status::Failed { reason } | Status::Timeout { reason } => {
            bad(NonSuccessKind::Error, row.status.word(), reason)
        }
        Status::Invalid { reason } | Status::Skipped { reason } => {
            skipped(row.status.word(), reason.clone())
        }
    };
    let mut case = case(series, &format!("{}{}", key(row), on_device(row)), status);
    if row.status == Status::Finished {
        case.add_property(("verified", if row.verified { "true" } else { "false" }));
    }
    if let Some(why) = row.unverified {
        case.add_property(("unverified", why.word()));
    }
    if let Some(error) = row.largest_error {
        case.add_property(("largest_error", error.to_string().as_str()));
    }
    if let Some(checks) = row.checks {
        case.add_property(("checks", checks.to_string().as_str()));
    }
    case
}

/// How long a configuration was timed, in all of its processes.
fn timed(row: &ConfigurationResult) -> Option<Duration> {
    let of = |timing: &Timing| timing.warmup_ns + timing.samples_ns.iter().sum::<f64>();
    let nanoseconds: f64 = row.timings.iter().map(of).sum();
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
