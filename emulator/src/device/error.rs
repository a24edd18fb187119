//! Why a launch did not end well.

use crate::machine::FaultReport;
use std::fmt;

/// Why a launch did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchError {
    /// It was refused before it began: one sentence says why.
    Config(String),
    /// It began and was stopped.
    Fault(Box<FaultReport>),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(message) => f.write_str(message),
            Self::Fault(report) => f.write_str(&report.message),
        }
    }
}

impl std::error::Error for LaunchError {}
