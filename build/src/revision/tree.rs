//! The source tree of another revision, and how cargo builds it next to this one.
//!
//! Input: the resolved word of `--base`, and the build of this revision. Output: the request to
//! cargo for the same packages of the other one. cargo's output is below `gpuprof/base` of the
//! target folder. The user's tree does not change.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};

use super::{Checkout, Commit, Repository};
use crate::options::{BuildOptions, CargoRequest};

/// The folder, below the target folder, of everything that is made of other revisions.
const FOLDER: &str = "gpuprof/base";

/// The source tree of another revision.
#[derive(Debug)]
pub struct Tree {
    /// The revision's name.
    pub name: String,
    /// Its commit; none of a folder, which may have changes.
    pub commit: Option<String>,
    /// What cargo builds there.
    pub cargo: CargoRequest,
    /// Its checkout, which no other run changes meanwhile.
    pub checkout: Option<Checkout>,
}

/// This revision.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The root of its workspace.
    pub root: &'a Utf8Path,
    /// Its target folder.
    pub target_directory: &'a Utf8Path,
    /// How it is built.
    pub build: &'a BuildOptions,
}

impl Head<'_> {
    /// The revision in the folder `name` that the user has checked out, in its `repository`, if it
    /// is in one.
    ///
    /// # Errors
    /// There is no Cargo.toml (exit code 2).
    pub fn tree_in_folder(&self, name: &str, repository: Option<Repository>) -> Result<Tree> {
        let folder = Utf8Path::new(name);
        let (manifest, of_root) = self.manifest()?;
        let below = repository.and_then(|repository| {
            manifest.strip_prefix(&repository.toplevel).map(Utf8Path::to_owned).ok()
        });
        let mut candidates =
            below.into_iter().chain(["Cargo.toml".into()]).map(|path| folder.join(path));
        let Some(manifest) = candidates.find(|path| path.is_file()) else {
            return Err(Failure::usage(format!("the folder {folder} has no Cargo.toml")));
        };
        let manifest = manifest.canonicalize_utf8().map_err(|e| unreadable(&manifest, &e))?;
        // cargo does not distinguish two folders, so each needs its own target folder.
        let own = manifest.parent().unwrap_or(folder).as_str().trim_start_matches('/').to_owned();
        let target = absolute(self.target_directory)?.join(FOLDER).join("folders").join(own);
        let cargo = CargoRequest {
            folder: manifest.parent().map(Into::into),
            manifest_path: Some(manifest),
            config_files: Vec::new(),
            target_dir: Some(target.join("target")),
            ..self.packages(of_root)
        };
        Ok(Tree { name: name.to_owned(), commit: None, cargo, checkout: None })
    }

    /// The revision that is `commit` of `repository`, checked out next to the user's, which is
    /// `own`.
    ///
    /// # Errors
    /// It cannot be checked out; it lacks the package (exit code 4).
    pub fn check_out(
        &self,
        commit: Commit,
        repository: &Repository,
        own: Option<String>,
    ) -> Result<Tree> {
        let own = own.map_or_else(|| "unknown".to_owned(), |own| describe(&own));
        let (name, hash, notes) = (commit.name, short(&commit.hash), Notes::new(self.build.quiet));
        notes.say(format_args!("base: {name}, {hash}; head: {own}"));
        let folder = absolute(self.target_directory)?.join(FOLDER);
        let checkout = Checkout::take(repository, &commit.hash, &folder)?;
        let (manifest, of_root) = self.manifest()?;
        let there = |path: &Utf8Path| {
            let below = path.strip_prefix(&repository.toplevel);
            below.map(|below| checkout.toplevel.join(below)).ok()
        };
        let Some(manifest) = there(&manifest).filter(|path| path.is_file()) else {
            return Err(Failure::new(ExitCode::NoSeries, format!("it has no {manifest}")));
        };
        checkout.link_neighbours(&manifest, self.root)?;
        if let Some(own) = there(self.root) {
            lock_alike(self.root, &own)?;
        }
        say_toolchain(repository, &checkout, notes);
        let here = present_folder().and_then(|folder| there(&folder));
        let cargo = CargoRequest {
            // Cargo reads the configuration of every folder that it is started in, and the checkout
            // lies in the user's tree.
            folder: Some(repository.toplevel.parent().unwrap_or(&repository.toplevel).to_owned()),
            config_files: config_files(&checkout.toplevel, here.as_deref().or(manifest.parent())),
            manifest_path: Some(manifest),
            target_dir: Some(checkout.target.clone()),
            ..self.packages(of_root)
        };
        // Cargo may have put a lock file into it.
        Ok(Tree { name, commit: Some(commit.hash), cargo, checkout: Some(checkout) })
    }

    /// The packages to build; `of_root` says whether their manifest is the workspace's.
    fn packages(&self, of_root: bool) -> CargoRequest {
        let cargo = &self.build.cargo;
        let everything = of_root && cargo.package.is_empty();
        CargoRequest { workspace: cargo.workspace || everything, ..cargo.clone() }
    }

    /// The manifest that selects the measured packages, and whether that is the workspace's because
    /// no package was chosen.
    fn manifest(&self) -> Result<(Utf8PathBuf, bool)> {
        let given = self.build.cargo.manifest_path.clone();
        let here = || present_folder().map(|f| f.join("Cargo.toml")).filter(|path| path.is_file());
        let (manifest, of_root) = match given.or_else(here) {
            Some(manifest) => (manifest, false),
            None => (self.root.join("Cargo.toml"), true),
        };
        let manifest = manifest.canonicalize_utf8().map_err(|e| unreadable(&manifest, &e))?;
        Ok((manifest, of_root))
    }
}

/// A revision as people read it, of `git describe --abbrev=40 --dirty`.
fn describe(revision: &str) -> String {
    match revision.strip_suffix("-dirty") {
        Some(clean) => format!("{} with uncommitted changes", short(clean)),
        None => short(revision).to_owned(),
    }
}

fn short(revision: &str) -> &str {
    let hexadecimal = revision.len() == 40 && revision.chars().all(|c| c.is_ascii_hexdigit());
    if hexadecimal { &revision[..9] } else { revision }
}

fn present_folder() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}

fn absolute(path: &Utf8Path) -> Result<Utf8PathBuf> {
    camino::absolute_utf8(path).map_err(Failure::writing(path))
}

fn unreadable(path: &Utf8Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {path}: {error}"))
}

/// cargo's configuration files from `toplevel` down to `folder`, the one with the highest priority
/// last.
fn config_files(toplevel: &Utf8Path, folder: Option<&Utf8Path>) -> Vec<Utf8PathBuf> {
    let folders = folder.into_iter().flat_map(Utf8Path::ancestors);
    let inside = folders.take_while(|folder| folder.starts_with(toplevel));
    let file = |folder: &Utf8Path| {
        let names = ["config", "config.toml"].map(|name| folder.join(".cargo").join(name));
        names.into_iter().find(|path| path.is_file())
    };
    let mut files: Vec<Utf8PathBuf> = inside.filter_map(file).collect();
    files.reverse();
    files
}

/// A revision without a lock file is built with the dependencies of this one.
fn lock_alike(here: &Utf8Path, there: &Utf8Path) -> Result<()> {
    let (ours, theirs) = (here.join("Cargo.lock"), there.join("Cargo.lock"));
    if theirs.exists() || !ours.is_file() || !there.is_dir() {
        return Ok(());
    }
    let copied = fs::copy(&ours, &theirs);
    copied.map(|_| ()).map_err(Failure::writing(&theirs))
}

/// Warns that a revision requires a different toolchain from that of both builds.
fn say_toolchain(repository: &Repository, checkout: &Checkout, notes: Notes) {
    let asked = |folder: &Utf8Path| {
        let files = ["rust-toolchain.toml", "rust-toolchain"].map(|name| folder.join(name));
        files.into_iter().find_map(|path| fs::read_to_string(path).ok())
    };
    let theirs = asked(&checkout.toplevel);
    if theirs.is_some() && theirs != asked(&repository.toplevel) {
        notes.say(
            "the base names another toolchain in its rust-toolchain file; one toolchain, that of \
             this revision, builds both, so what the toolchain changes is not measured",
        );
    }
}
