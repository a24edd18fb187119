//! A checkout of another revision, below the target folder.
//!
//! Several are kept, so that concurrent runs do not wait for each other, and each is locked by the
//! run that uses it. A checkout that has the requested commit already is preferred: cargo then
//! finds its files as old as its output, and builds nothing. Each has its own target folder: cargo
//! cannot distinguish two checkouts of one workspace, and with a shared folder it would reuse the
//! output of one for the other if that one's files are older. In a checkout the paths from the root
//! are those of the machine, below `root`: a relative path that leaves the repository leads to the
//! same file as in the user's tree.

use std::fs::{self, File};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Repository, neighbours, submodules};
use gpuprof_system::error::{Failure, Result};

/// The number of unused checkouts to keep.
const KEPT: usize = 2;

/// How many runs may have a checkout at once.
const MOST: usize = 64;

/// A checkout, locked as long as it is held.
#[derive(Debug)]
pub struct Checkout {
    /// The top folder of the repository, in it.
    pub toplevel: Utf8PathBuf,
    /// Its target folder.
    pub target: Utf8PathBuf,
    /// The folder that represents the root of the file system.
    root: Utf8PathBuf,
    lock: File,
}

impl Checkout {
    /// Checks `commit` of `repository` out, below `folder`.
    ///
    /// # Errors
    /// git refuses (exit code 2), or the folder cannot be written (exit code 110).
    pub fn take(repository: &Repository, commit: &str, folder: &Utf8Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
        let folder = folder.canonicalize_utf8().map_err(Failure::writing(folder))?;
        forget_those_that_are_gone(repository, &folder);
        let mut free = free(&folder, repository)?;
        let wanted = free.iter().position(|checkout| checkout.head().as_deref() == Some(commit));
        let checkout = free.remove(wanted.unwrap_or(0));
        for unused in free.into_iter().skip(KEPT) {
            unused.remove(repository);
        }
        checkout.put(repository, commit)?;
        submodules::check_out(repository, &checkout.repository())?;
        Ok(checkout)
    }

    /// Links the paths outside of the checkout that its manifests name, and the folder `workspace`
    /// if the repository is only a part of that.
    ///
    /// # Errors
    /// A link cannot be made (exit code 110).
    pub fn link_neighbours(&self, manifest: &Utf8Path, workspace: &Utf8Path) -> Result<()> {
        neighbours::link(&self.root, &self.toplevel, manifest, workspace)
    }

    /// The commit that is checked out, if one is.
    fn head(&self) -> Option<String> {
        self.is_there().then(|| self.repository().ask(&["rev-parse", "HEAD"])).flatten()
    }

    fn is_there(&self) -> bool {
        self.toplevel.join(".git").exists()
    }

    fn repository(&self) -> Repository {
        Repository { toplevel: self.toplevel.clone() }
    }

    fn put(&self, repository: &Repository, commit: &str) -> Result<()> {
        if self.head().is_some() {
            let own = self.repository();
            // Restores files that a build or a harness changed; unchanged files keep their times.
            own.tell(&["checkout", "--quiet", "--force", "--detach", commit])?;
            own.tell(&["clean", "--quiet", "-d", "--force"])?;
            return Ok(());
        }
        let _ = fs::remove_dir_all(&self.root);
        let add = ["worktree", "add", "--quiet", "--force", "--detach"];
        repository.tell(&[&add[..], &[self.toplevel.as_str(), commit]].concat())?;
        Ok(())
    }

    /// Removes it, with git's record of it.
    fn remove(self, repository: &Repository) {
        let _ = repository.ask(&["worktree", "remove", "--force", self.toplevel.as_str()]);
        for folder in [&self.root, &self.target] {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Drop for Checkout {
    /// Closing the file would give the lock back only once no process that is being started shares
    /// it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// The unused checkouts below `folder`, and a new one if there is none.
fn free(folder: &Utf8Path, repository: &Repository) -> Result<Vec<Checkout>> {
    let mut free = Vec::new();
    for number in 0..MOST {
        let own = folder.join(format!("checkout-{number}"));
        let (root, target) = (own.join("root"), own.join("target"));
        if !root.exists() && !free.is_empty() {
            break;
        }
        let path = folder.join(format!("checkout-{number}.lock"));
        let lock = File::create(&path).map_err(Failure::writing(&path))?;
        if lock.try_lock().is_err() {
            continue;
        }
        let below = repository.toplevel.as_str().trim_start_matches('/');
        free.push(Checkout { toplevel: root.join(below), target, root, lock });
    }
    if free.is_empty() {
        return Err(Failure::usage(format!(
            "all {MOST} checkouts in {folder} are in use by other runs"
        )));
    }
    Ok(free)
}

/// Removes git's record of checkouts that `cargo clean` removed; other worktrees of the user stay,
/// even if their disk is not mounted.
fn forget_those_that_are_gone(repository: &Repository, folder: &Utf8Path) {
    let list = repository.ask(&["worktree", "list", "--porcelain"]).unwrap_or_default();
    let ours = list.lines().filter_map(|line| line.strip_prefix("worktree ")).map(Utf8Path::new);
    for path in ours.filter(|path| path.starts_with(folder) && !path.exists()) {
        let _ = repository.ask(&["worktree", "remove", "--force", path.as_str()]);
    }
}

#[cfg(test)]
#[path = "checkout_tests.rs"]
mod tests;
