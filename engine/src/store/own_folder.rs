//! The folder of a workspace's stored runs and baselines.
//!
//! Input: a workspace and its target folder. Output: the folder with `gpuprof/runs` and
//! `gpuprof/baselines`. That is the target folder if it lies in the workspace. Any other, such as
//! `CARGO_TARGET_DIR`, may be shared, so each workspace has a folder in it. Older versions kept all
//! runs and baselines in the target folder itself: those with this workspace's packages move over
//! when its folder is made. Runs of archives belong to no workspace: nothing moves from a folder
//! that has some.

use std::fs::{self, File};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::run::Run;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sha256::sha256;

use super::run_folder::LOCK;
use super::{document, prune};

/// The folder of the folders of workspaces, below a target folder.
const WORKSPACES: &str = "gpuprof/workspaces";

const RUNS: &str = "gpuprof/runs";
const BASELINES: &str = "gpuprof/baselines";

/// The mark of a target folder in which runs of archives are stored.
const OF_ARCHIVES: &str = "gpuprof/.archives";

/// How many digits of the hash of a workspace's path are in its folder's name.
const DIGITS: usize = 12;

/// A workspace, as far as its stored runs depend on it.
#[derive(Debug)]
pub struct Workspace<'a> {
    /// Its root.
    pub root: &'a Utf8Path,
    /// The names of its packages.
    pub packages: &'a [&'a str],
}

/// The folder of a workspace's runs and baselines.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnFolder {
    /// The folder with `gpuprof/runs` and `gpuprof/baselines`.
    pub path: Utf8PathBuf,
    /// A note on the entries that moved there; none if there are none.
    pub moved: Option<String>,
}

impl Workspace<'_> {
    /// The folder of its runs and baselines in `target`.
    pub fn own_folder(&self, target: &Utf8Path) -> OwnFolder {
        let [root, below] = [self.root, target].map(real);
        if below.starts_with(&root) || absolute(target).starts_with(absolute(self.root)) {
            return OwnFolder { path: target.to_owned(), moved: None };
        }
        let hash = &sha256(root.as_str().as_bytes())[..DIGITS];
        let name = format!("{}-{hash}", root.file_name().unwrap_or("workspace"));
        let path = target.join(WORKSPACES).join(name);
        let moved = if path.exists() { None } else { self.take_over(target, &path) };
        OwnFolder { path, moved }
    }

    /// Moves the runs and baselines with its packages from `target` to `own`, and says so.
    fn take_over(&self, target: &Utf8Path, own: &Utf8Path) -> Option<String> {
        if target.join(OF_ARCHIVES).exists() {
            return None;
        }
        let runs = self.take((&target.join(RUNS), &own.join(RUNS)), |name| {
            prune::is_id(name).then(|| "run.json".into())
        });
        let baselines = self.take((&target.join(BASELINES), &own.join(BASELINES)), |name| {
            name.ends_with(".json").then(Utf8PathBuf::new)
        });
        if target.join(RUNS).exists() || target.join(BASELINES).exists() {
            // The next command has nothing to look for.
            let _ = fs::create_dir_all(own);
        }
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        (runs + baselines > 0).then(|| {
            let (runs, baselines) = (counted(runs, "run"), counted(baselines, "baseline"));
            format!("moved {runs} and {baselines} of this workspace from {target}/gpuprof to {own}")
        })
    }

    /// Moves the entries of `from` with its packages to `to`, and counts them; `document` names
    /// the run document in an entry of this name. Entries that another process uses stay.
    fn take(
        &self,
        (from, to): (&Utf8Path, &Utf8Path),
        document: impl Fn(&str) -> Option<Utf8PathBuf>,
    ) -> usize {
        let entries = fs::read_dir(from).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let moves = |name: &String| {
            let Some(inside) = document(name) else { return false };
            let entry = from.join(name);
            let file = if inside.as_str().is_empty() { entry.clone() } else { entry.join(inside) };
            let is_own = document::read(&file).is_ok_and(|run| self.holds(&run));
            let lock = File::options().append(true).open(entry.join(LOCK)).ok();
            let is_free = lock.as_ref().is_none_or(|lock| lock.try_lock().is_ok());
            is_own && is_free && move_to(&entry, &to.join(name)).is_ok()
        };
        names.filter(moves).count()
    }

    /// Whether `run` has series, all of this workspace's packages.
    fn holds(&self, run: &Run) -> bool {
        let is_own = |package: &str| self.packages.contains(&package);
        !run.series.is_empty() && run.series.iter().all(|series| is_own(&series.id.package))
    }
}

/// Keeps the runs and baselines in `target`, which are those of archives, from a workspace with the
/// same packages.
///
/// # Errors
/// `target` cannot be written (exit code 110).
pub fn keep_for_archives(target: &Utf8Path) -> Result<()> {
    let mark = target.join(OF_ARCHIVES);
    let folder = mark.parent().unwrap_or(target);
    let text = "Runs of archives are stored here. They do not move to a workspace.\n";
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&mark, text));
    written.map_err(Failure::writing(&mark))
}

fn move_to(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)
}

fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    let absolute = std::path::absolute(path).ok();
    absolute.and_then(|it| Utf8PathBuf::from_path_buf(it).ok()).unwrap_or_else(|| path.to_owned())
}

/// `path` without links, as far as it is there.
fn real(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| absolute(path))
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;

    use super::*;

    fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        (folder, path)
    }

    fn run(id: &str, package: &str) -> Vec<u8> {
        let mut series = fixture::series(vec![fixture::emulated(64, 1024)]);
        series.id.package = package.into();
        serde_json::to_vec(&fixture::run(id, vec![series])).unwrap()
    }

    #[test]
    fn a_target_folder_in_the_workspace_is_used_directly() {
        let (_keep, root) = folder();
        let workspace = Workspace { root: &root, packages: &["a"] };
        let target = root.join("target");
        let own = OwnFolder { path: target.clone(), moved: None };
        assert_eq!(workspace.own_folder(&target), own);
    }

    #[test]
    fn workspaces_with_one_target_folder_have_separate_folders() {
        let (_keep, shared) = folder();
        let of = |name: &str| {
            let root = shared.join(name).join("project");
            fs::create_dir_all(&root).unwrap();
            Workspace { root: &root, packages: &["a"] }.own_folder(&shared.join("built")).path
        };
        let (one, two) = (of("one"), of("two"));
        assert!(one != two && one == of("one"), "{one} {two}");
        let name = one.strip_prefix(shared.join("built/gpuprof/workspaces")).unwrap();
        assert!(name.as_str().starts_with("project-"), "{name}");
    }

    #[test]
    fn older_runs_and_baselines_move_to_the_workspace_with_their_packages() {
        let (_keep, shared) = folder();
        let (root, target) = (shared.join("project"), shared.join("built"));
        let old = |path: &str, bytes: &[u8]| {
            let file = target.join("gpuprof").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        };
        let [own, foreign, used] =
            ["20251121T010203000Z-1", "20251121T010203000Z-2", "20251121T010203000Z-3"];
        for (id, package) in [(own, "a"), (foreign, "b"), (used, "a")] {
            old(&format!("runs/{id}/run.json"), &run(id, package));
            old(&format!("runs/{id}/{LOCK}"), b"");
        }
        old("baselines/main.json", &run(own, "a"));
        old("baselines/theirs.json", &run(foreign, "b"));
        let lock = File::create(target.join(RUNS).join(used).join(LOCK)).unwrap();
        lock.lock().unwrap();
        let workspace = Workspace { root: &root, packages: &["a", "c"] };
        let OwnFolder { path, moved } = workspace.own_folder(&target);
        let said =
            format!("moved 1 run and 1 baseline of this workspace from {target}/gpuprof to {path}");
        assert_eq!(moved, Some(said));
        let names = |folder: Utf8PathBuf| {
            let mut names: Vec<String> = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(path.join(RUNS)), [own]);
        assert_eq!(names(path.join(BASELINES)), ["main.json"]);
        assert_eq!(names(target.join(RUNS)), [foreign, used]);
        assert_eq!(names(target.join(BASELINES)), ["theirs.json"]);
        assert_eq!(workspace.own_folder(&target).moved, None);
    }
    #[test]
    fn runs_and_baselines_of_archives_are_not_moved() {
        let (_keep, shared) = folder();
        let (root, target) = (shared.join("project"), shared.join("built"));
        let baseline = target.join(BASELINES).join("main.json");
        fs::create_dir_all(baseline.parent().unwrap()).unwrap();
        fs::write(&baseline, run("20251121T010203000Z-1", "a")).unwrap();
        keep_for_archives(&target).unwrap();
        let own = Workspace { root: &root, packages: &["a"] }.own_folder(&target);
        assert_eq!(own.moved, None);
        assert!(baseline.exists());
    }
}
