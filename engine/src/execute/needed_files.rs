//! Checks that the tool's files that its processes need still exist.
//!
//! Input: the executions of a run and its harnesses. Output: the failure of a process that could
//! not find one of them. Such a process says nothing about its configuration: something else, such
//! as `cargo clean`, has removed the file meanwhile.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;

use super::Execution;
use crate::emulator::emulator_files;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::Failure;

/// Which file a path led to. A number is given again once its file is gone; the time of its making
/// is not.
type Identity = (u64, u64, Option<SystemTime>);

/// The files that processes need, as they were before the first process.
#[derive(Debug)]
pub struct NeededFiles(Vec<(Utf8PathBuf, Option<Identity>)>);

impl NeededFiles {
    /// The files that processes of `harnesses` need for `executions`.
    pub fn collect(executions: &[Execution<'_>], harnesses: &[Harness]) -> Self {
        let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
        for execution in executions {
            folders.insert(execution.process.folder.to_owned());
            files
                .extend(execution.process.emulator_folder.iter().copied().flat_map(emulator_files));
            files.extend(execution.process.nvtx.map(Utf8Path::to_owned));
            files.extend(execution.modules.values().flat_map(|own| own.ptx.values().cloned()));
        }
        for harness in harnesses {
            files.insert(harness.executable.clone());
            files.extend(harness.stand_in.iter().flat_map(|folder| emulator_files(folder)));
            // Build scripts may name folders that do not exist.
            folders.extend(harness.library_folders.iter().filter(|it| it.exists()).cloned());
        }
        let files =
            files.into_iter().map(|path| (fs::metadata(&path).ok().map(|it| identity(&it)), path));
        let files = files.map(|(known, path)| (path, known));
        Self(files.chain(folders.into_iter().map(|path| (path, None))).collect())
    }

    /// The failure, if one of them is missing now.
    ///
    /// # Errors
    /// One is gone, or another file lies there (exit code 110).
    pub fn check(&self) -> Result<(), Failure> {
        self.0.iter().try_for_each(|(path, known)| match (fs::metadata(path), known) {
            (Ok(now), Some(known)) if identity(&now) != *known => Err(lost(path, "was replaced")),
            (Ok(_), _) => Ok(()),
            (Err(error), _) => Err(lost(path, &format!("is gone: {error}")).caused_by(error)),
        })
    }
}

fn identity(known: &Metadata) -> Identity {
    (known.dev(), known.ino(), known.created().ok())
}

fn lost(path: &Utf8Path, how: &str) -> Failure {
    let message = format!(
        "{path}, which the processes of this run need, {how}. Something else removed it while the \
         run went on, as `cargo clean` does in a target folder that both use"
    );
    Failure::new(ExitCode::OutputFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_not_the_needed_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("libcuda.so")).unwrap();
        fs::write(&path, "").unwrap();
        let known = Some(identity(&fs::metadata(&path).unwrap()));
        let needed = NeededFiles(vec![(path.clone(), known)]);
        // What is written into it leaves it the same file.
        fs::write(&path, "more").unwrap();
        assert_eq!(needed.check(), Ok(()));
        fs::rename(&path, path.with_extension("moved")).unwrap();
        let gone = needed.check().unwrap_err();
        assert!(
            gone.message.contains("libcuda.so, which ") && gone.message.contains("is gone: No")
        );
        fs::write(&path, "").unwrap();
        let replaced = needed.check().unwrap_err();
        assert_eq!(replaced.code, ExitCode::OutputFailed);
        assert!(replaced.message.contains("need, was replaced. "), "{replaced}");
    }
}
