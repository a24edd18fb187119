//! The search for cuda-oxide's backend, a file that rustc loads.
//!
//! Input: the environment, and the project's settings. Output: the file, or the searched places,
//! which are those of `cargo oxide`, in its order. Unlike `cargo oxide`, nothing is built or
//! fetched, and a named file that does not exist is an error.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};

use super::project::Project;

/// The variable that names it.
const VARIABLE: &str = "CUDA_OXIDE_BACKEND";

/// Its file.
const FILE: &str = "librustc_codegen_cuda.so";

/// Its path in cuda-oxide's own repository.
const CRATE: &str = "crates/rustc-codegen-cuda";

/// The environment's settings for it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The file that is named.
    pub named: Option<OsString>,
    /// Cargo's home, below which `cargo oxide` keeps one.
    pub cargo_home: Option<PathBuf>,
}

/// A backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The file.
    pub path: Utf8PathBuf,
    /// The setting or the folder that led to it.
    pub place: &'static str,
}

/// That there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The searched places.
    searched: Vec<(&'static str, String)>,
    /// Whether one was named, so that no other will do.
    pub named: bool,
}

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
        Self {
            named: env::var_os(VARIABLE).filter(|value| !value.is_empty()),
            cargo_home: env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home),
        }
    }

    /// The backend for a workspace in `root` with its `project`, for a machine of the kind `host`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn find(
        &self,
        project: &Project,
        root: &Utf8Path,
        host: &str,
    ) -> Result<Backend, NotFound> {
        let target = root.join(CRATE).join("target");
        let all = [
            (VARIABLE, self.named.as_ref().map(PathBuf::from)),
            (".cargo/cuda-oxide.toml", project.backend.clone().map(Into::into)),
            ("the workspace", Some(target.join(host).join("debug").join(FILE).into())),
            ("the workspace", Some(target.join("debug").join(FILE).into())),
            ("the cache of cargo oxide", self.cached()),
        ];
        let mut searched = Vec::new();
        for (at, (place, path)) in all.into_iter().enumerate() {
            let Some(path) = path else { continue };
            let named = at < 2;
            match Utf8PathBuf::from_path_buf(path) {
                Ok(path) if path.is_file() => return Ok(Backend { path, place }),
                Ok(path) => searched.push((place, path.into_string())),
                Err(path) => searched.push((place, path.display().to_string())),
            }
            if named {
                return Err(NotFound { searched, named });
            }
        }
        Err(NotFound { searched, named: false })
    }

    fn cached(&self) -> Option<PathBuf> {
        self.cargo_home.as_ref().map(|home| home.join("cuda-oxide").join(FILE))
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([(place, path)], true) = (self.searched.as_slice(), self.named) {
            return write!(f, "{place} names {path}, which is not a file");
        }
        f.write_str("cuda-oxide's backend is not here")?;
        for (place, path) in &self.searched {
            write!(f, "\n  looked for {path} ({place})")?;
        }
        write!(
            f,
            "\n`cargo oxide build` in the package builds it once; or name the file: \
             {VARIABLE}=/path/to/{FILE}"
        )
    }
}

impl std::error::Error for NotFound {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn backends_are_searched_in_order_unless_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let write = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let mut search =
            Search { named: None, cargo_home: Some(root.join("home").into_std_path_buf()) };
        let mut project = Project::default();
        let find = |search: &Search, project: &Project| search.find(project, root, "x86_64-l");
        let told = find(&search, &project).unwrap_err().to_string();
        assert_eq!(
            told.replace(root.as_str(), "R"),
            "cuda-oxide's backend is not here\n  \
             looked for R/crates/rustc-codegen-cuda/target/x86_64-l/debug/librustc_codegen_cuda.so \
             (the workspace)\n  \
             looked for R/crates/rustc-codegen-cuda/target/debug/librustc_codegen_cuda.so (the \
             workspace)\n  \
             looked for R/home/cuda-oxide/librustc_codegen_cuda.so (the cache of cargo oxide)\n\
             `cargo oxide build` in the package builds it once; or name the file: \
             CUDA_OXIDE_BACKEND=/path/to/librustc_codegen_cuda.so"
        );
        let cached = write("home/cuda-oxide/librustc_codegen_cuda.so");
        assert_eq!(find(&search, &project).unwrap().path, cached);
        let own = write("crates/rustc-codegen-cuda/target/debug/librustc_codegen_cuda.so");
        assert_eq!(find(&search, &project).unwrap().path, own);
        project.backend = Some(write("b.so"));
        assert_eq!(find(&search, &project).unwrap().place, ".cargo/cuda-oxide.toml");
        search.named = Some("/nowhere/b.so".into());
        let told = find(&search, &project).unwrap_err();
        assert_eq!(
            (told.to_string().as_str(), told.named),
            ("CUDA_OXIDE_BACKEND names /nowhere/b.so, which is not a file", true)
        );
    }
}
