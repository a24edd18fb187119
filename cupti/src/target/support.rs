//! Whether a device can be profiled, and the obstacles.

use std::fmt;
use std::mem::offset_of;

use cudarc::cupti::sys;
use cudarc::driver::sys::CUdevice;

use crate::abi::{Call, Functions};
use crate::{Code, Failure};

/// CUPTI's answer for one property of the device's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// CUPTI could not find out.
    Unknown,
    /// Profiling does not work in this configuration.
    Unsupported,
    /// It would, and the system turned it off.
    Disabled,
    /// It works.
    Supported,
    /// Part of it works (CUPTI 13.3 and newer).
    Limited,
    /// An answer newer than this list.
    Other(u32),
}

impl Level {
    const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::Unsupported,
            2 => Self::Disabled,
            3 => Self::Supported,
            4 => Self::Limited,
            other => Self::Other(other),
        }
    }

    /// Whether it is an obstacle.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(self, Self::Unsupported | Self::Disabled)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::Unsupported => f.write_str("unsupported"),
            Self::Disabled => f.write_str("disabled"),
            Self::Supported => f.write_str("supported"),
            Self::Limited => f.write_str("limited"),
            Self::Other(number) => write!(f, "level {number}"),
        }
    }
}

/// CUPTI's answer about range profiling on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The whole: supported where everything else is.
    pub overall: Level,
    /// The compute capability: 7.0 and up.
    pub architecture: Level,
    /// SLI: supported where it is off.
    pub sli: Level,
    /// Virtual GPU: disabled where the host could allow profiling and does not.
    pub vgpu: Level,
    /// Confidential computing: supported where it is off.
    pub confidential_compute: Level,
    /// Mining processor: supported where it is none.
    pub cmp: Level,
    /// Windows Subsystem for Linux.
    pub wsl: Level,
}

impl Support {
    /// Every field but the overall one, with its name and the code that says what to do where it
    /// blocks.
    #[must_use]
    pub const fn parts(&self) -> [(&'static str, Level, Code); 6] {
        [
            ("architecture", self.architecture, Code::InvalidChipName),
            ("SLI", self.sli, Code::SliDeviceNotSupported),
            (
                "virtual GPU",
                self.vgpu,
                match self.vgpu {
                    Level::Disabled => Code::VirtualizedDeviceInsufficientPrivileges,
                    _ => Code::VirtualizedDeviceNotSupported,
                },
            ),
            (
                "confidential computing",
                self.confidential_compute,
                Code::ConfidentialComputingNotSupported,
            ),
            ("mining processor", self.cmp, Code::CmpDeviceNotSupported),
            ("WSL", self.wsl, Code::WslDeviceNotSupported),
        ]
    }

    /// The obstacles: each blocking property with the code whose advice applies.
    #[must_use]
    pub fn obstacles(&self) -> Vec<(&'static str, Level, Code)> {
        self.parts().into_iter().filter(|(_, level, _)| level.blocks()).collect()
    }

    pub(super) fn query(functions: &Functions, device: CUdevice) -> Result<Self, Failure> {
        use sys::CUpti_Profiler_DeviceSupported_Params as Params;
        let mut call = Call::<Params>::new();
        call.fields().cuDevice = device;
        call.fields().api = sys::CUpti_Profiler_API::CUPTI_PROFILER_RANGE_PROFILING;
        // SAFETY: only Target calls this, which exists once CUPTI is initialised; the device is of
        // its driver.
        unsafe { functions.device_supported.call(&mut call) }?;
        let level = |offset| Level::from_number(call.number_at(offset));
        Ok(Self {
            overall: level(offset_of!(Params, isSupported)),
            architecture: level(offset_of!(Params, architecture)),
            sli: level(offset_of!(Params, sli)),
            vgpu: level(offset_of!(Params, vGpu)),
            confidential_compute: level(offset_of!(Params, confidentialCompute)),
            cmp: level(offset_of!(Params, cmp)),
            wsl: level(offset_of!(Params, wsl)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_level_names_its_code() {
        let fine = Level::Supported;
        let support = Support {
            overall: Level::Unsupported,
            architecture: fine,
            sli: fine,
            vgpu: Level::Disabled,
            confidential_compute: Level::Unknown,
            cmp: Level::Unsupported,
            wsl: fine,
        };
        assert_eq!(
            support.obstacles(),
            [
                ("virtual GPU", Level::Disabled, Code::VirtualizedDeviceInsufficientPrivileges),
                ("mining processor", Level::Unsupported, Code::CmpDeviceNotSupported),
            ]
        );
    }
}
