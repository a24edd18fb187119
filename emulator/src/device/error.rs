//! Why a launch did not end well.

use crate::machine::FaultReport;
use std::fmt;

/// Why a launch did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchError {
    /// It was refused before it began: one sentence says why.
    Config(String),
    /// It is cooperative, and its blocks do not fit on the device together.
    CooperativeTooLarge(String),
    /// It began and was stopped.
    Fault(Box<FaultReport>),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(message) | Self::CooperativeTooLarge(message) => f.write_str(message),
            Self::Fault(report) => f.write_str(&report.message),
        }
    }
}

impl std::error::Error for LaunchError {}
