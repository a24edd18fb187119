//! Asks harnesses what they hold, and the first of them whether a GPU answers.
//!
//! Input: harness executables. Output: the series of each. A harness of another protocol
//! version is told apart from one that is broken.

use std::collections::BTreeMap;

use gpuprof_cupti::{Advice, Code};
use gpuprof_model::ExitCode;
use gpuprof_model::protocol::{
    CounterPlan, CounterPlanRequest, CounterProblem, DriverProbe, Header, ReplyBody, RequestBody,
    SeriesDescription, VERSION,
};
use serde::Deserialize;

use crate::build::host::Harness;
use crate::error::{Failure, Result};
use crate::execute::{Ended, HarnessProcess};

/// Reads a reply's bytes.
///
/// # Errors
/// A harness of another protocol, with what to do; bytes that are no reply.
pub fn read_reply(bytes: &[u8], harness: &Harness) -> Result<ReplyBody, String> {
    #[derive(Deserialize)]
    struct Envelope {
        header: Header,
    }
    let place = format!("harness `{}` of package `{}`", harness.target, harness.package);
    let envelope: Envelope = serde_json::from_slice(bytes)
        .map_err(|e| format!("the reply of {place} is not understood: {e}"))?;
    if envelope.header.protocol != VERSION {
        let (theirs, ours) = (&envelope.header.version, env!("CARGO_PKG_VERSION"));
        let newer = envelope.header.protocol > VERSION;
        let remedy = if newer {
            format!(
                "install gpuprof {theirs} from its clone: cargo install --path cargo-gpuprof --locked"
            )
        } else {
            format!("set gpuprof = \"{ours}\" in the package's Cargo.toml")
        };
        return Err(format!(
            "{place} was built with gpuprof {theirs}, which speaks protocol {}; this is cargo-gpuprof {ours} with \
             protocol {VERSION}. To go on, {remedy}",
            envelope.header.protocol
        ));
    }
    let reply: gpuprof_model::protocol::Reply = serde_json::from_slice(bytes)
        .map_err(|e| format!("the reply of {place} is not understood: {e}"))?;
    reply.body.ok_or_else(|| format!("{place} does not understand protocol {VERSION}"))
}

fn ask(process: &HarnessProcess<'_>, harness: &Harness, body: RequestBody) -> Result<ReplyBody> {
    let failed = |message: String| Failure::new(ExitCode::DiscoveryFailed, message);
    let place = format!("harness `{}` of package `{}`", harness.target, harness.package);
    match process.ask(harness, body)? {
        Ended::Replied(bytes) => read_reply(&bytes, harness).map_err(failed),
        Ended::Without { how, stderr } => {
            Err(failed(format!("{place} did not say what it holds: it {how}{}", stderr.tail())))
        }
        Ended::TimedOut { seconds, stderr } => Err(failed(format!(
            "{place} did not say what it holds within {seconds} s{}",
            stderr.tail()
        ))),
        Ended::Interrupted => Err(failed(format!("interrupted while asking {place}"))),
    }
}

/// The series of every harness, by its position.
///
/// # Errors
/// A harness that cannot be asked (exit code 104).
pub fn series(
    process: &HarnessProcess<'_>,
    harnesses: &[Harness],
) -> Result<BTreeMap<usize, Vec<SeriesDescription>>> {
    let mut all = BTreeMap::new();
    for (position, harness) in harnesses.iter().enumerate() {
        let described = match ask(process, harness, RequestBody::Describe)? {
            ReplyBody::Described(Ok(series)) => series,
            ReplyBody::Described(Err(problem)) => {
                return Err(Failure::new(ExitCode::DiscoveryFailed, problem));
            }
            other => return Err(unexpected(harness, &other)),
        };
        all.insert(position, described);
    }
    Ok(all)
}

/// Whether a GPU answers, asked in a process of `harness`.
///
/// # Errors
/// A harness that cannot be asked (exit code 104).
pub fn probe(process: &HarnessProcess<'_>, harness: &Harness) -> Result<DriverProbe> {
    match ask(process, harness, RequestBody::Probe)? {
        ReplyBody::Probed(probe) => Ok(probe),
        other => Err(unexpected(harness, &other)),
    }
}

/// Whether counters can be collected, asked in a process of `harness`. The outer error is a harness
/// that cannot be asked; one that crashes over it is a machine that does not give counters.
///
/// # Errors
/// A harness that cannot be asked (exit code 104).
pub fn plan_counters(
    process: &HarnessProcess<'_>,
    harness: &Harness,
    request: CounterPlanRequest,
) -> Result<Result<CounterPlan, CounterProblem>> {
    match process.ask(harness, RequestBody::PlanCounters(request))? {
        Ended::Replied(bytes) => match read_reply(&bytes, harness) {
            Ok(ReplyBody::CountersPlanned(outcome)) => Ok(outcome),
            Ok(other) => Err(unexpected(harness, &other)),
            Err(problem) => Err(Failure::new(ExitCode::DiscoveryFailed, problem)),
        },
        Ended::Without { how, stderr } => {
            Ok(Err(CounterProblem::Machine(crashed(&how.to_string(), &stderr.tail()))))
        }
        Ended::TimedOut { seconds, .. } => Ok(Err(CounterProblem::Machine(silent(seconds)))),
        Ended::Interrupted => {
            Err(Failure::new(ExitCode::DiscoveryFailed, "interrupted while planning counters"))
        }
    }
}

/// CUPTI ended the process that asked it; `tail` is the end of what that one said.
fn crashed(how: &str, tail: &str) -> String {
    format!(
        "the process that tried to set up CUPTI {how}{tail}\n  cause: a library that does not fit the driver, or another \
         tool in the process\n  check: cargo gpuprof doctor; env | grep -E 'LD_PRELOAD|CUDA_INJECTION'\n  remedy: try \
         another version, named by --cupti-path or GPUPROF_CUPTI: that of the driver's CUDA major version"
    )
}

/// CUPTI did not answer: seen where another process held the profiler.
fn silent(seconds: u64) -> String {
    let Advice { check, remedy, .. } = Code::HardwareBusy.advice();
    format!(
        "CUPTI did not answer within {seconds} s\n  cause: probably another tool that holds the GPU's performance \
         counters: asking for them beside one was seen to hang\n  check: {check}\n  remedy: {remedy}"
    )
}

fn unexpected(harness: &Harness, reply: &ReplyBody) -> Failure {
    Failure::new(
        ExitCode::DiscoveryFailed,
        format!("harness `{}` answered another question: {reply:?}", harness.target),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cupti_that_does_not_answer_comes_with_check_and_remedy() {
        let silent = silent(60);
        assert!(silent.starts_with("CUPTI did not answer within 60 s\n  cause: "), "{silent}");
        assert!(silent.contains("\n  check: nvidia-smi"), "{silent}");
        assert!(silent.contains("\n  remedy: stop it, or pause DCGM's profiling"), "{silent}");
    }
}
