//! The search for programs of CUDA's toolkit. ptxas, nvcc and nvdisasm share it, so that one run
//! does not mix toolkits.
//!
//! Input: a program, and the places to look at. Output: the first file that answers, or
//! [`NotFound`] with what is wrong with each.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpuprof_cupti::locate::{named_toolkits, path_of, site_packages, toolkits_in};

/// A program of the toolkit.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file.
    pub name: &'static str,
    /// The variable that names its file or folder.
    pub variable: &'static str,
    /// Its folders in Python's site-packages.
    pub packages: &'static [&'static str],
    /// The command that installs it.
    pub install: &'static str,
    /// The beginning of the message that there is none.
    pub absent: &'static str,
    /// Its end, with `{}` for the command.
    pub remedy: &'static str,
}

/// Where to look. Everything that comes from outside is in here, so tests choose it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The file, or its folder, that the program's variable names. Nothing else is tried.
    pub variable: Option<PathBuf>,
    /// `$CUDA_HOME` and `$CUDA_PATH`.
    pub toolkits: Vec<PathBuf>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// `$PATH`.
    pub path: Option<OsString>,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
}

/// No file answers as the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The program.
    pub program: &'static Program,
    /// What is wrong with the files that were tried.
    pub reasons: Vec<String>,
    /// Whether a path was named, so that nothing else will do.
    pub named: bool,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { install, absent, remedy, .. } = self.program;
        f.write_str(absent)?;
        for reason in &self.reasons {
            write!(f, " ({reason})")?;
        }
        write!(f, ": {}", remedy.replace("{}", install))
    }
}

impl Search {
    /// The places that the environment of this process names for `program`.
    pub fn from_environment(program: &Program) -> Self {
        Self {
            variable: path_of(program.variable),
            toolkits: named_toolkits(),
            prefix: Some("/usr/local".into()),
            path: env::var_os("PATH"),
            python: true,
        }
    }

    /// The first file that `identify` takes; it also gets the place of the file, in words.
    ///
    /// # Errors
    /// There is none.
    pub fn locate<T>(
        &self,
        program: &'static Program,
        identify: impl Fn(&Path, &'static str) -> Result<T, String>,
    ) -> Result<T, NotFound> {
        let mut reasons = Vec::new();
        for (file, place) in self.candidates(program) {
            match identify(&file, place) {
                Ok(found) => return Ok(found),
                Err(reason) => reasons.push(format!("{}: {reason}", file.display())),
            }
        }
        Err(NotFound { program, reasons, named: self.variable.is_some() })
    }

    /// The first file of `program` that says its version.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, program: &'static Program) -> Result<Installed, NotFound> {
        self.locate(program, |file, place| {
            Ok(Installed { file: file.into(), version: version(file)?, place })
        })
    }

    /// The files to try, in order, each with its place: existing files, or only the named one.
    fn candidates(&self, program: &Program) -> Vec<(PathBuf, &'static str)> {
        if let Some(named) = &self.variable {
            let file = if named.is_dir() { named.join(program.name) } else { named.clone() };
            return vec![(file, program.variable)];
        }
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        let toolkits = self.toolkits.iter().chain(&in_prefix).map(|it| it.join("bin"));
        let toolkits = toolkits.map(|folder| (folder, "CUDA toolkit"));
        let path = self.path.iter().flat_map(env::split_paths).filter(|it| it.is_absolute());
        let path = path.map(|folder| (folder, "PATH"));
        let packages = if self.python { site_packages() } else { Vec::new() };
        let packages =
            packages.iter().flat_map(|it| program.packages.iter().map(|name| it.join(name)));
        let packages = packages.map(|folder| (folder, "the active Python's site-packages"));
        let all = toolkits.chain(path).chain(packages);
        let files = all.map(|(folder, place)| (folder.join(program.name), place));
        files.filter(|(file, _)| file.metadata().is_ok_and(|it| it.is_file())).collect()
    }
}

/// A program that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its file.
    pub file: PathBuf,
    /// Its version: `13.0.88`.
    pub version: String,
    /// Its place, in words.
    pub place: &'static str,
}

/// The version that the program in `file` says: `13.0.88`.
fn version(file: &Path) -> Result<String, String> {
    let mut command = Command::new(file);
    let output = command.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_once(", V").map(|(_, rest)| rest);
    let version = version.and_then(|rest| rest.split_whitespace().next());
    version.map(ToOwned::to_owned).ok_or_else(|| "it does not say its version".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ptxas;

    #[test]
    fn a_named_compiler_is_the_only_candidate_and_the_toolkit_precedes_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let bin = |name: &str| {
            let bin = folder.path().join(name).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("ptxas"), "").unwrap();
            bin
        };
        let (toolkit, path) = (bin("toolkit"), bin("path"));
        let mut search = Search {
            toolkits: vec![folder.path().join("toolkit"), folder.path().join("none")],
            path: Some(path.clone().into()),
            ..Search::default()
        };
        let files = |search: &Search| {
            search.candidates(&ptxas::PROGRAM).into_iter().map(|(it, _)| it).collect()
        };
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [toolkit.join("ptxas"), path.join("ptxas")]);
        search.variable = Some(path.clone());
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [path.join("ptxas")]);
        search.variable = Some("/nowhere/ptxas".into());
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [PathBuf::from("/nowhere/ptxas")]);
    }
}
