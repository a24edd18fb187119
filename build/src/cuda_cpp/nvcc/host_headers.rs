//! The headers of the host's compiler, which nvcc starts.
//!
//! Input: a header. Output: whether a host compiler may find it by its own search. If that is
//! unknown, such as for a compiler in an unusual place, the answer is yes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cuda_cpp::nvrtc::NoReply;

/// The default folder of headers.
const SYSTEM: &str = "/usr/include";

/// The variables with further folders.
const VARIABLES: [&str; 3] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"];

/// No host compiler was found; with the remedy.
pub(super) fn none() -> NoReply {
    let reason = "it needs a C++ compiler of the host's and found none: install one (Debian: `apt \
                  install g++`), or name one by NVCC_CCBIN or options = [\"-ccbin=/path/to/g++\"]";
    NoReply::Unusable(reason.to_owned())
}

/// Whether the host's compiler may find `header` where it searches by itself.
pub(super) fn may_have(header: &str) -> bool {
    // Those of the C++ library have no ending.
    let is_of_the_library = Path::new(header).extension().is_none();
    let is_told_more = VARIABLES.iter().any(|name| env::var_os(name).is_some());
    let cannot_tell = is_of_the_library || is_told_more || !Path::new(SYSTEM).is_dir();
    cannot_tell || is_in(&folders(), header)
}

/// Whether `header` is in one of `folders`.
pub(super) fn is_in(folders: &[PathBuf], header: &str) -> bool {
    folders.iter().any(|folder| folder.join(header).exists())
}

/// The folders of the system, of the C++ library, and of gcc itself.
fn folders() -> Vec<PathBuf> {
    let of_targets = below(&[SYSTEM.into()]);
    let of_gcc = below(&below(&["/usr/lib/gcc".into()]));
    let of_gcc = of_gcc.into_iter().map(|folder| folder.join("include"));
    let mut all: Vec<PathBuf> = vec![SYSTEM.into(), "/usr/local/include".into()];
    let library = of_targets.iter().filter(|folder| folder.ends_with("c++"));
    let of_library = below(&library.cloned().collect::<Vec<_>>());
    let of_target = of_targets.iter().map(|folder| folder.join("c++")).collect::<Vec<_>>();
    all.extend(below(&of_target));
    all.extend(of_library);
    all.extend(of_gcc);
    all.extend(of_targets.into_iter().filter(|folder| is_target(folder)));
    all
}

/// `/usr/include/x86_64-linux-gnu`
fn is_target(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
}

/// The folders in `folders`.
fn below(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_header_is_distinguished_from_a_missing_one() {
        assert!(may_have("vector"));
        let is_told_more = VARIABLES.iter().any(|name| env::var_os(name).is_some());
        let cannot_tell = is_told_more || !Path::new(SYSTEM).is_dir();
        assert_eq!(may_have("gpuprof/nowhere.cuh"), cannot_tell);
        assert!(!Path::new("/usr/include/stdio.h").exists() || may_have("stdio.h"));
    }
}
