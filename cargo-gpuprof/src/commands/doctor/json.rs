//! The report as one JSON document, for `doctor --message-format json`.
//!
//! Input: the checks and their conclusion. Output: a line that follows
//! `docs/schema/doctor.schema.json`.

use std::io::{self, Write};

use gpuprof_model::ExitCode;
use serde::Serialize;

use super::check::Check;
use super::devices::Examined;

/// The version of the document.
const SCHEMA_VERSION: u32 = 1;

/// The checks of this machine.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename = "doctor")]
pub(super) struct Document<'r> {
    /// The version of the document; a change that readers cannot ignore gives it another one.
    schema_version: u32,
    /// The exit code of this command: that of a run that can do no more than what was found.
    exit_code: u8,
    /// The conclusion of all checks, in a sentence for people.
    conclusion: &'r str,
    /// The checks of the machine.
    checks: Vec<Line<'r>>,
    /// The devices, in the driver's order.
    devices: Vec<Device<'r>>,
}

/// A check.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line<'r> {
    /// What was looked at.
    check: &'static str,
    /// How it is.
    state: State,
    /// The finding, with the remedy for a problem, for people.
    found: &'r str,
}

/// How a check ended.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum State {
    /// It is as it should be.
    Ok,
    /// Something cannot be done, or was not tried.
    Warn,
    /// It is not as it should be.
    Fail,
}

/// A device.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Device<'r> {
    /// Its position among the visible devices.
    device: usize,
    /// Its name.
    name: &'r str,
    /// Its UUID.
    uuid: &'r str,
    /// Its compute capability: major and minor.
    compute_capability: [u32; 2],
    /// Whether a run with the same `--devices` measures on it.
    used: bool,
    /// Its checks.
    checks: Vec<Line<'r>>,
}

/// Writes the document.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(
    checks: &[Check],
    devices: &[Examined],
    code: ExitCode,
    conclusion: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        exit_code: code.code(),
        conclusion,
        checks: checks.iter().map(line).collect(),
        devices: devices.iter().map(device).collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

fn device(examined: &Examined) -> Device<'_> {
    let (major, minor) = examined.device.compute_capability;
    Device {
        device: examined.at,
        name: &examined.device.name,
        uuid: &examined.device.uuid,
        compute_capability: [major, minor],
        used: examined.used,
        checks: examined.checks().map(line).collect(),
    }
}

fn line(check: &Check) -> Line<'_> {
    let state = match check.state {
        super::State::Ok => State::Ok,
        super::State::Warn => State::Warn,
        super::State::Fail => State::Fail,
    };
    Line { check: check.what, state, found: &check.found }
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture::h200;

    use super::super::State::{Fail, Ok, Warn};
    use super::*;
    use crate::schemas;

    #[test]
    fn the_document_holds_every_check_and_device_and_follows_its_schema() {
        let device = Examined {
            at: 1,
            device: h200(),
            used: true,
            settings: vec![Check::new(Warn, "clocks", "they move")],
            counters: Check::new(Fail, "counters", "permission: \"admins\" only"),
        };
        let checks = [Check::new(Ok, "emulator", "part of this program")];
        let mut out = Vec::new();
        write(&checks, &[device], ExitCode::NotPossible, "none here", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["reason"], "doctor");
        assert_eq!(document["exit_code"], 107);
        assert_eq!(document["checks"][0]["state"], "ok");
        assert_eq!(document["devices"][0]["compute_capability"], serde_json::json!([9, 0]));
        let counters = &document["devices"][0]["checks"][1];
        assert_eq!(counters["found"], "permission: \"admins\" only");
        schemas::check("doctor.schema.json", &schemars::schema_for!(Document<'_>));
    }
}
