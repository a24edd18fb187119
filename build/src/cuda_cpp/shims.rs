//! Headers that no set of CUDA headers has, in memory.
//!
//! Input: the shims to use. Output: their names and texts for NVRTC. NVRTC finds no header of the C
//! or C++ standard library; most of the functions that kernels use from it are built in.

use super::diagnostic::Diagnostic;

/// The extent of the stand-ins for the host's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shims {
    /// The headers of the standard library, and those of CUDA's runtime.
    Standard,
    /// Also CUDA's runtime functions, `__host__`, and CUB without functions that only a host can
    /// call: enough to read host code, which is then dropped.
    Host,
}

/// The files, with the headers that each one replaces: `FILE NAME NAME …`.
const NAMES: &str = include_str!("shims/names.txt");

/// The text of every file.
const TEXTS: [(&str, &str); 6] = [
    ("integers.h", include_str!("shims/integers.h")),
    ("limits.h", include_str!("shims/limits.h")),
    ("math.h", include_str!("shims/math.h")),
    ("assert.h", include_str!("shims/assert.h")),
    ("standard.h", include_str!("shims/standard.h")),
    ("empty.h", include_str!("shims/empty.h")),
];

/// What is included before the sources.
pub(super) const SIGNATURES: &str = "gpuprof/signatures.h";
pub(super) const PRELUDE: &str = "gpuprof/prelude.h";
pub(super) const HOST: &str = "gpuprof/host.h";

/// The placeholder for the name of a header in the text of `standard.h`.
const HEADER: &str = "HEADER";

impl Shims {
    /// The headers: the name in `#include`, and the text.
    pub(super) fn headers(self) -> Vec<(String, String)> {
        let mut headers = vec![
            (SIGNATURES.into(), include_str!("shims/signatures.h").into()),
            (PRELUDE.into(), include_str!("shims/prelude.h").into()),
        ];
        for line in NAMES.lines() {
            let mut words = line.split_whitespace();
            let file = words.next().unwrap_or_default();
            let text = TEXTS.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text);
            headers.extend(words.map(|name| (name.into(), text.replace(HEADER, name))));
        }
        if self == Self::Host {
            headers.push((HOST.into(), include_str!("shims/host.h").into()));
            headers.push(("cub/cub.cuh".into(), include_str!("shims/cub.h").into()));
        }
        headers
    }
}

/// NVRTC's messages about the host's side: CUDA's runtime, a launch, the standard library, and
/// CUB's functions for the host.
const OF_THE_HOST: [&str; 10] = [
    "\"cuda",
    "required runtime APIs",
    "__host__",
    "\"std\"",
    "std::",
    "\"stderr\"",
    "\"fprintf\"",
    "\"exit\"",
    "\"FILE\"",
    "cub.cuh",
];

/// Whether stand-ins for the host's side may help against these errors. An attempt takes more than
/// a second, too long after a mistyped name.
pub(super) fn help(errors: &[Diagnostic]) -> bool {
    errors.iter().any(is_of_the_host)
}

/// Whether `error` is about the host's side.
pub(super) fn is_of_the_host(error: &Diagnostic) -> bool {
    let is_of_the_host = |text: &str| OF_THE_HOST.iter().any(|it| text.contains(it));
    is_of_the_host(&error.message)
}

/// Functions without an attribute are the device's, so a file with host code compiles.
pub(super) const OPTION: &str = "-default-device";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stand_in_header_exists_once_with_a_text() {
        let mut headers = Shims::Host.headers();
        assert!(headers.iter().all(|(name, text)| !text.is_empty() && !name.is_empty()));
        let all = headers.len();
        headers.sort();
        headers.dedup_by(|a, b| a.0 == b.0);
        assert_eq!(headers.len(), all);
        let text = |name: &str| &headers.iter().find(|(it, _)| it == name).unwrap().1;
        assert!(text("tuple").contains("<cuda/std/tuple>"), "{}", text("tuple"));
        for (file, _) in TEXTS {
            assert!(NAMES.lines().any(|line| line.starts_with(file)), "{file} is used nowhere");
        }
    }
}
