//! CUPTI's version: reported by itself, or derived from its functions.
//!
//! `cuptiGetVersion` is the first call in which CUPTI 13.2 crashes without a driver (13.2.86 was
//! tested; 13.5.25 returns 999). The functions that a library exports can be looked up without
//! calling anything, and 13.2 added new ones, so the version is a lower bound there.

use std::fmt;

/// A CUPTI version, named after the CUDA toolkit that it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// CUDA's major version.
    pub major: u32,
    /// CUDA's minor version.
    pub minor: u32,
    /// Whether only a lower bound is known.
    pub or_newer: bool,
}

impl Version {
    /// The first with the Range Profiler API.
    pub const OLDEST: Self = Self::new(12, 6);

    /// A known version.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, or_newer: false }
    }

    /// A lower bound.
    #[must_use]
    pub const fn at_least(major: u32, minor: u32) -> Self {
        Self { major, minor, or_newer: true }
    }

    /// The version of `CUPTI_API_VERSION`: from 13.0 on `xxyyzz`, before that a counter (table in
    /// `cupti_version.h`).
    #[must_use]
    pub const fn from_api(api: u32) -> Self {
        match api {
            130_000.. => Self::new(api / 10_000, api / 100 % 100),
            27.. => Self::new(12, 9),
            26 => Self::new(12, 8),
            24.. => Self::new(12, 6),
            23 => Self::new(12, 5),
            22 => Self::new(12, 4),
            21 => Self::new(12, 3),
            20 => Self::new(12, 2),
            19 => Self::new(12, 0),
            _ => Self::new(11, 8),
        }
    }

    /// Whether it has the Range Profiler API.
    #[must_use]
    pub const fn is_new_enough(self) -> bool {
        self.major > Self::OLDEST.major
            || self.major == Self::OLDEST.major && self.minor >= Self::OLDEST.minor
    }

    /// Whether its host API works without a CUDA driver: 12.6 to 13.1.
    #[must_use]
    pub const fn works_without_driver(self) -> bool {
        self.is_new_enough() && (self.major < 13 || self.major == 13 && self.minor < 2)
    }
}

/// The functions that date a library: the newest first, with the version that brought them.
pub(crate) const MARKERS: [(&str, Version); 3] = [
    ("cuptiClockControlLock", Version::at_least(13, 4)),
    ("cuptiProfilerHostSetDevicePartitionInfo", Version::at_least(13, 3)),
    ("cuptiProfilerHostGetSinglePassSets", Version::at_least(13, 2)),
];

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.or_newer { f.write_str(" or newer") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_numbers_become_toolkit_versions() {
        let text = |api| Version::from_api(api).to_string();
        assert_eq!(text(18), "11.8");
        assert_eq!(text(24), "12.6");
        assert_eq!(text(28), "12.9");
        assert_eq!(text(130_001), "13.0");
        assert_eq!(text(130_202), "13.2");
    }

    #[test]
    fn only_12_6_to_13_1_work_without_a_driver() {
        for (version, works) in [
            (Version::new(12, 5), false),
            (Version::new(12, 6), true),
            (Version::new(13, 1), true),
            (Version::new(13, 2), false),
            (Version::at_least(13, 4), false),
            (Version::new(14, 0), false),
        ] {
            assert_eq!(version.works_without_driver(), works, "{version}");
        }
    }
}
