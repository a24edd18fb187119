//! Modules as they are read: PTX, or machine code.
//!
//! Input: the source of a module, and what was compiled of it. Output: its file, its entry points
//! and its variables.

use std::fs;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::declared::{DeclaredSource, MachineCode};
use gpuprof_model::protocol::SeriesDescription;

use super::built::written;
use super::instances::RequestedInstance;
use crate::cuda_cpp::{self, Compiled, Entry, Variable};
use crate::{machine_code, source_files};
use gpuprof_system::error::{Failure, Result};

/// A module.
#[derive(Debug)]
pub(super) struct Module {
    /// Its file.
    pub(super) file: Utf8PathBuf,
    /// Its content.
    pub(super) code: Code,
    /// Its entry points; of machine code, one for each target that has it in another way.
    pub(super) points: Vec<Entry>,
    /// Its variables.
    pub(super) variables: Vec<Variable>,
}

/// The content of a module.
#[derive(Debug)]
pub(super) enum Code {
    /// PTX, as text.
    Ptx(String),
    /// Machine code.
    Machine(MachineCode),
}

impl Code {
    /// Its kind, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Ptx(_) => "PTX",
            Self::Machine(_) => "machine code",
        }
    }
}

impl Module {
    /// The module of `asked`, or of what was `compiled` from its source; none if a program contains
    /// it, or nothing was compiled. PTX text is written to a file in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read or is something else (exit code 101), a folder that cannot be
    /// written (110).
    pub(super) fn prepare(
        asked: &RequestedInstance<'_>,
        compiled: Option<&Compiled>,
        folder: &Utf8Path,
    ) -> Result<Option<Self>> {
        let held = |text: &str| Ok(Self::ptx(written(folder, text)?, text.to_owned()));
        let module = match (&asked.declared.source, compiled) {
            (_, Some(compiled)) => held(&in_workspace(asked.series, &compiled.ptx)),
            (DeclaredSource::PtxText(text), _) => held(text),
            (DeclaredSource::PtxFile(file), _) => {
                let path = path(asked, file);
                let text = fs::read_to_string(&path).map_err(|e| unreadable(asked, &path, &e))?;
                Ok(Self::ptx(path, text))
            }
            (DeclaredSource::MachineCode(file), _) => Self::machine(asked, file),
            (DeclaredSource::Cuda(_) | DeclaredSource::Embedded(_), None) => return Ok(None),
        };
        module.map(Some)
    }

    fn ptx(file: Utf8PathBuf, text: String) -> Self {
        let (points, variables) = (cuda_cpp::every_entry(&text), cuda_cpp::variables(&text));
        Self { file, code: Code::Ptx(text), points, variables }
    }

    fn machine(asked: &RequestedInstance<'_>, file: &str) -> Result<Self> {
        let path = path(asked, file);
        let bytes = fs::read(&path).map_err(|e| unreadable(asked, &path, &e))?;
        let read = machine_code::read(&bytes).map_err(|why| {
            let message = format!("{}: cannot take kernels from {path}: {why}", asked.place());
            Failure::new(ExitCode::BuildFailed, message)
        })?;
        let code = MachineCode { file: file.to_owned(), targets: read.targets, ptx: read.ptx };
        let (points, variables) = (read.entries, read.variables);
        Ok(Self { file: path, code: Code::Machine(code), points, variables })
    }
}

/// PTX that names the files of the package of `series` by their paths in the workspace, as the
/// code of its Rust kernels does; what is compiled and kept does not depend on the workspace.
fn in_workspace(series: &SeriesDescription, ptx: &str) -> String {
    let folder = package_in_workspace(&series.source_folder, Path::new(&series.file));
    source_files::with_files(ptx, |file| match Path::new(file).is_absolute() {
        true => file.to_owned(),
        false => folder.join(file).display().to_string(),
    })
}

/// The part of the `package` folder that is inside of the workspace: that with which `file` begins,
/// one of the package's in the workspace.
fn package_in_workspace<'p>(package: &'p Path, file: &Path) -> &'p Path {
    let outer = package.ancestors().find(|outer| outer.join(file).is_file());
    outer.and_then(|outer| package.strip_prefix(outer).ok()).unwrap_or(Path::new(""))
}

/// The `file` that `asked` names.
fn path(asked: &RequestedInstance<'_>, file: &str) -> Utf8PathBuf {
    let folder = Utf8PathBuf::from_path_buf(asked.series.source_folder.clone());
    folder.unwrap_or_default().join(file)
}

fn unreadable(
    asked: &RequestedInstance<'_>,
    path: &Utf8PathBuf,
    error: &std::io::Error,
) -> Failure {
    let place = asked.place();
    let message = format!("{place}: cannot read {path}, the file of this declaration: {error}");
    Failure::new(ExitCode::BuildFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_by_its_folder_in_the_workspace() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["member/src", "deep/member/src", "src/src"] {
            fs::create_dir_all(at(folder)).unwrap();
            fs::write(at(folder).join("lib.rs"), "").unwrap();
        }
        for (package, file, inside) in [
            ("member", "member/src/lib.rs", "member"),
            ("deep/member", "deep/member/src/lib.rs", "deep/member"),
            ("member", "src/lib.rs", ""),
            ("src", "src/lib.rs", ""),
            ("member", "elsewhere/lib.rs", ""),
        ] {
            assert_eq!(package_in_workspace(&at(package), Path::new(file)), Path::new(inside));
        }
    }
}
