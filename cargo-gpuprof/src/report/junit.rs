//! `JUnit` XML, as CI servers show it.
//!
//! Input: a run. Output: a suite a series and a case a threshold. A violated one is a failure,
//! one that could not be judged is skipped with its reason; a configuration whose process failed is
//! an error, and what vanished since the baseline is a failure of its own suite.

use std::io::{self, Write};

use gpuprof_model::run::{Run, SeriesResult, Status};
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Judgement, Verdict};
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use gpuprof_analysis::view::View;

use super::evidence::{evidence_with_place, in_full};
use super::{Report, on_device};

/// `JUnit` XML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Junit;

impl Report for Junit {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut document = Document::new("gpuprof");
        document.add_test_suites(run.series.iter().map(suite));
        if let Some(comparison) = run.comparison.as_ref().filter(|c| !c.vanished.is_empty()) {
            let mut vanished = TestSuite::new("baseline");
            vanished.add_test_cases(comparison.vanished.iter().map(|key| {
                let message =
                    format!("in the baseline `{}` and not in this run", comparison.baseline);
                TestCase::new(key.as_str(), bad(NonSuccessKind::Failure, "missing", &message))
            }));
            document.add_test_suite(vanished);
        }
        let text = document.to_string().map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    }
}

fn suite(series: &SeriesResult) -> TestSuite {
    let mut suite = TestSuite::new(series.id.to_string());
    for row in &series.configurations {
        if let Status::Failed { reason } | Status::Timeout { reason } = &row.status {
            let status = bad(NonSuccessKind::Error, row.status.word(), reason);
            let name = format!("{}{}", row.configuration, on_device(row));
            suite.add_test_case(case(series, &name, status));
        }
    }
    for judgement in &series.judgements {
        suite.add_test_case(case(series, &judgement.threshold, status(judgement)));
    }
    suite
}

fn case(series: &SeriesResult, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(series.id.to_string());
    case.extra.insert("file".into(), series.file.as_str().into());
    case.extra.insert("line".into(), series.line.to_string().into());
    case
}

fn status(judgement: &Judgement) -> TestCaseStatus {
    match (judgement.verdict, judgement.severity) {
        (Verdict::Pass | Verdict::Improved, _) => TestCaseStatus::success(),
        (Verdict::Fail, Severity::Hard) => {
            let mut failure = bad(NonSuccessKind::Failure, "fail", &evidence_with_place(judgement));
            if judgement.violations.len() > 1 {
                failure.set_description(in_full(judgement));
            }
            failure
        }
        _ => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_type(judgement.word()).set_message(evidence_with_place(judgement));
            skipped
        }
    }
}

fn bad(kind: NonSuccessKind, of_type: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(of_type).set_message(message);
    status
}
