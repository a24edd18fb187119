//! A line of the report: what was looked at, how it is, and what was found.

use std::fmt;

use gpuprof_model::ExitCode;

/// The driver's file about the permission to read counters.
pub(super) const PARAMETERS: &str = "/proc/driver/nvidia/params";

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    Warn,
    Fail,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok  ",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) state: State,
    pub(super) what: &'static str,
    pub(super) found: String,
    /// The obstacle for the tool's main purpose, if the check found one.
    pub(super) obstacle: Option<Obstacle>,
}

/// The consequence of a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// The exit code of a run.
    pub(super) code: ExitCode,
    /// The impossible task.
    pub(super) sentence: &'static str,
}

impl Check {
    pub(super) fn new(state: State, what: &'static str, found: impl Into<String>) -> Self {
        Self { state, what, found: found.into(), obstacle: None }
    }

    /// A check that failed, and without which nothing runs.
    pub(super) fn obstacle(
        obstacle: Obstacle,
        what: &'static str,
        found: impl Into<String>,
    ) -> Self {
        Self { obstacle: Some(obstacle), ..Self::new(State::Fail, what, found) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.replace('\n', "\n                   ");
        writeln!(f, "{}  {:11}  {found}", self.state, self.what)
    }
}
