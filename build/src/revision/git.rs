//! git, asked in the user's repository.

use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use gpuprof_system::error::{Failure, Result};

/// Variables that a hook sets for its repository; we find the repository by its folder.
const OF_HOOKS: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// A repository with a work tree.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top folder of the work tree.
    pub toplevel: Utf8PathBuf,
}

impl Repository {
    /// The repository that `folder` is in.
    ///
    /// # Errors
    /// It is in none, or git cannot be asked (exit code 2).
    pub fn find(folder: &Utf8Path) -> Result<Self> {
        let toplevel = ask(folder, &["rev-parse", "--show-toplevel"]).map_err(|why| {
            Failure::usage(format!(
                "{folder} is in no git repository that can be used ({why}); a folder with another \
                 checkout or an archive needs none"
            ))
        })?;
        Ok(Self { toplevel: toplevel.into() })
    }

    /// git's answer to `arguments`; none if it refuses.
    pub fn ask(&self, arguments: &[&str]) -> Option<String> {
        ask(&self.toplevel, arguments).ok()
    }

    /// Has git do `arguments`.
    ///
    /// # Errors
    /// It refuses (exit code 2).
    pub fn tell(&self, arguments: &[&str]) -> Result<String> {
        ask(&self.toplevel, arguments).map_err(|why| {
            let words: Vec<&str> = arguments.iter().copied().take(2).collect();
            Failure::usage(format!("git {} failed in {}: {why}", words.join(" "), self.toplevel))
        })
    }

    /// Whether the history ends early.
    pub fn is_shallow(&self) -> bool {
        self.ask(&["rev-parse", "--is-shallow-repository"]).is_some_and(|answer| answer == "true")
    }

    /// The folder of git's own that all worktrees share.
    pub fn common_folder(&self) -> Option<Utf8PathBuf> {
        self.ask(&["rev-parse", "--git-common-dir"]).map(|path| self.toplevel.join(path))
    }
}

/// git's answer in `folder`, or the reason why there is none.
///
/// # Errors
/// git cannot be started, refuses, or answers with no text.
pub fn ask(folder: &Utf8Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    // gpuprof's checkouts must not run the user's hooks.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    OF_HOOKS.iter().for_each(|name| {
        command.env_remove(name);
    });
    let output = command.output().map_err(|e| format!("git cannot be started: {e}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        let reason = if stderr.is_empty() { output.status.to_string() } else { stderr };
        return Err(reason);
    }
    let text = String::from_utf8(output.stdout).map_err(|_| "its answer is not text".to_owned())?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Files that a build may read: if an untracked one exists, the revision does not contain all of
/// the source.
const SOURCES: [&str; 11] = [
    "*.rs",
    "*.cu",
    "*.cuh",
    "*.h",
    "*.hpp",
    "*.ptx",
    "*.cubin",
    "*.fatbin",
    "*Cargo.toml",
    ".cargo/*",
    ":(exclude)target",
];

/// The revision of the source in `root`, with `-dirty` if it has changes, or sources that git does
/// not track.
pub fn describe(root: &Utf8Path) -> Option<String> {
    let described =
        ask(root, &["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).ok()?;
    if described.ends_with("-dirty") {
        return Some(described);
    }
    let listed = [&["ls-files", "--others", "--exclude-standard", "--"], &SOURCES[..]].concat();
    let untracked = ask(root, &listed).ok()?;
    Some(if untracked.is_empty() { described } else { format!("{described}-dirty") })
}
