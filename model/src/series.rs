//! Names of a series and its entry points.
//!
//! Input: package, target, kernel, and a configuration's constants. Output: names that are the same
//! in every build. [`crate::space`] defines the configurations of a series.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::configuration::Configuration;
use crate::machine::Chip;

/// The name of a series: the package and target of its harness, its kernel, and the emulated chip
/// in a run on several.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesId {
    /// The package that holds the harness.
    pub package: String,
    /// The harness target, such as a bench.
    pub target: String,
    /// The annotated function.
    pub kernel: String,
    /// The emulated chip, in a run on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<Chip>,
}

impl SeriesId {
    /// The kernel, and the chip in a run on several: `scale`, `scale@l4`.
    pub fn name(&self) -> String {
        match self.chip {
            Some(chip) => format!("{}@{chip}", self.kernel),
            None => self.kernel.clone(),
        }
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::{}", self.package, self.target, self.name())
    }
}

/// The name in the PTX of the entry point of `configuration`: `symbol`, then each constant with its
/// value in the order of `constants` (`matmul_TILE_16`), the same in every build.
pub fn entry_point(symbol: &str, constants: &[&str], configuration: &Configuration) -> String {
    let mut name = symbol.to_owned();
    for constant in constants {
        if let Some(value) = configuration.get(constant) {
            name.push_str(&format!("_{constant}_{value}"));
        }
    }
    name
}

/// The name of an entry point without the suffix that makes it unique (`$1a2b3c4d$12$1$`), which
/// changes with the source.
pub fn without_place(symbol: &str) -> &str {
    let Some(rest) = symbol.strip_suffix('$') else { return symbol };
    let mut parts = rest.rsplitn(4, '$');
    let digits = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let placed = (0..3).all(|_| digits(parts.next()));
    parts.next().filter(|name| placed && !name.is_empty()).unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::AxisValue;

    #[test]
    fn an_entry_point_is_reported_without_its_suffix() {
        assert_eq!(without_place("scale$1a2b3c4d$12$1$"), "scale");
        assert_eq!(without_place("k_TILE_16$1a2b3c4d$12$1$"), "k_TILE_16");
        for other in ["scale", "scale$", "$1$2$3$", "a$b$1$2", "a$x$1$2$"] {
            assert_eq!(without_place(other), other);
        }
    }

    #[test]
    fn an_entry_point_is_named_by_its_constants() {
        let point = Configuration(vec![
            ("block".into(), AxisValue::Int(64)),
            ("TILE".into(), AxisValue::Int(16)),
            ("FAST".into(), AxisValue::Word("true".into())),
        ]);
        assert_eq!(entry_point("k", &["TILE", "FAST"], &point), "k_TILE_16_FAST_true");
        assert_eq!(entry_point("k", &[], &point), "k");
    }
}
