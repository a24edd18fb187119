//! Names of a series and its entry points.
//!
//! Input: package, target, kernel, and a configuration's constants. Output: names that are the same
//! in every build. [`crate::space`] defines the configurations of a series.

mod matching;

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::configuration::Configuration;
use crate::machine::Chip;

pub use matching::{Listed, known_as};

/// The name of a series: the package and target of its harness, its kernel, and the emulated chip
/// in a run on several.
///
/// Its key is `package::kernel`, and `package::target::kernel` if another harness of the package
/// has a series of the kernel: [`tell_apart`] decides it for all harnesses together.
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
    /// Whether the key contains the target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_in_key: bool,
}

impl SeriesId {
    /// The series of `kernel` in a harness, with a key that does not contain the target.
    pub fn new(
        package: impl Into<String>,
        target: impl Into<String>,
        kernel: impl Into<String>,
    ) -> Self {
        let (package, target, kernel) = (package.into(), target.into(), kernel.into());
        Self { package, target, kernel, chip: None, target_in_key: false }
    }

    /// The kernel, and the chip in a run on several: `scale`, `scale@l4`.
    pub fn name(&self) -> String {
        match self.chip {
            Some(chip) => format!("{}@{chip}", self.kernel),
            None => self.kernel.clone(),
        }
    }

    /// `package::kernel`.
    pub fn short_key(&self) -> String {
        format!("{}::{}", self.package, self.name())
    }

    /// `package::target::kernel`, which is the same whatever other harnesses there are.
    pub fn full_key(&self) -> String {
        format!("{}::{}::{}", self.package, self.target, self.name())
    }

    /// The target, if the key does not contain it.
    pub fn target_beside_key(&self) -> Option<String> {
        (!self.target_in_key).then(|| self.target.clone())
    }

    /// Both keys: filters and tables of the configuration file may have either.
    pub fn keys(&self) -> [String; 2] {
        [self.short_key(), self.full_key()]
    }

    /// Whether one of its keys contains `text`.
    pub fn key_contains(&self, text: &str) -> bool {
        self.keys().iter().any(|key| key.contains(text))
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if self.target_in_key { self.full_key() } else { self.short_key() })
    }
}

/// Puts the target into the keys of those of `ids` that would not be unique without it: several
/// harnesses of a package have a series of the kernel, or one key is the other form of another.
pub fn tell_apart<'i>(ids: impl IntoIterator<Item = &'i mut SeriesId>) {
    let mut ids: Vec<&mut SeriesId> = ids.into_iter().collect();
    loop {
        let mut of_one_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, id) in ids.iter().enumerate() {
            of_one_key.entry(id.to_string()).or_default().push(at);
        }
        let ambiguous: Vec<usize> = of_one_key
            .into_values()
            .filter(|all| all.iter().any(|&at| ids[at].full_key() != ids[all[0]].full_key()))
            .flatten()
            .filter(|&at| !ids[at].target_in_key)
            .collect();
        if ambiguous.is_empty() {
            return;
        }
        ambiguous.into_iter().for_each(|at| ids[at].target_in_key = true);
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

    fn keys(ids: &[(&str, &str, &str)]) -> Vec<String> {
        let mut ids: Vec<SeriesId> = ids.iter().map(|&(p, t, k)| SeriesId::new(p, t, k)).collect();
        tell_apart(&mut ids);
        let once = ids.clone();
        tell_apart(&mut ids);
        assert_eq!(ids, once);
        ids.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_key_has_the_target_only_where_another_harness_of_the_package_has_the_kernel() {
        let all =
            [("p", "a", "scale"), ("p", "b", "scale"), ("p", "b", "copy"), ("q", "a", "scale")];
        assert_eq!(keys(&all), ["p::a::scale", "p::b::scale", "p::copy", "q::scale"]);
        assert_eq!(keys(&all[1..]), ["p::scale", "p::copy", "q::scale"]);
    }

    #[test]
    fn a_module_named_like_a_target_has_a_different_key() {
        // The short key of the second and the full key of the first.
        let all = [("p", "a", "scale"), ("p", "b", "a::scale"), ("p", "b", "scale")];
        assert_eq!(keys(&all), ["p::a::scale", "p::b::a::scale", "p::b::scale"]);
        assert_eq!(keys(&all[..2]), ["p::scale", "p::a::scale"]);
    }

    #[test]
    fn all_chips_of_a_series_have_the_same_form_of_key() {
        let on = |target, chip| SeriesId { chip, ..SeriesId::new("p", target, "k") };
        let [l4, h200] = [Some(Chip::L4), Some(Chip::H200)];
        let mut ids = [on("a", l4), on("a", h200), on("b", l4), on("b", h200)];
        tell_apart(&mut ids[..2]);
        assert_eq!(ids[1].to_string(), "p::k@h200");
        tell_apart(&mut ids);
        assert_eq!(ids[1].to_string(), "p::a::k@h200");
        assert!(ids[3].key_contains("p::k@h200") && ids[3].key_contains("::b::"));
        assert!(!ids[3].key_contains("::a::"));
    }

    #[test]
    fn a_document_without_the_form_of_the_key_is_read_and_one_with_the_short_form_is_unchanged() {
        let text = r#"{"package":"p","target":"t","kernel":"k"}"#;
        let id: SeriesId = serde_json::from_str(text).unwrap();
        assert_eq!(id, SeriesId::new("p", "t", "k"));
        assert_eq!(serde_json::to_string(&id).unwrap(), text);
    }

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
