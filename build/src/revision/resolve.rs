//! What a revision's name means: a commit, a folder or an archive.

use camino::Utf8Path;
use gpuprof_model::suggest::did_you_mean;

use super::Repository;
use gpuprof_system::error::{Failure, Result};

/// The word for the commit at which this branch left the default one.
pub const MERGE_BASE: &str = "merge-base";

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full hash.
    pub hash: String,
    /// Its name: the user's word, with its resolution.
    pub name: String,
}

/// The meaning of the word of `--base`.
#[derive(Debug)]
pub enum Meaning {
    /// A commit of a repository.
    Commit(Commit, Repository),
    /// A folder, and the repository of this revision, if it is in one.
    Folder(Option<Repository>),
    /// An archive.
    Archive,
}

impl Meaning {
    /// Resolves `name` in `folder` of the workspace: a git revision, unless it is written as a
    /// path, else a file or a folder.
    ///
    /// # Errors
    /// It means nothing (exit code 2).
    pub fn resolve(name: &str, folder: &Utf8Path) -> Result<Self> {
        let path = Utf8Path::new(name);
        let repository = Repository::find(folder);
        let known = match &repository {
            Ok(repository) if !name.starts_with(['.', '/']) => commit(repository, name),
            Ok(_) => Err(Failure::usage(format!("no folder or file {name}"))),
            Err(failure) => Err(failure.clone()),
        };
        match (known, repository) {
            (Ok(commit), Ok(repository)) => Ok(Self::Commit(commit, repository)),
            _ if path.is_file() => Ok(Self::Archive),
            (_, repository) if path.is_dir() => Ok(Self::Folder(repository.ok())),
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        }
    }
}

/// The commit that `text` means in `repository`.
///
/// # Errors
/// None (exit code 2), with similar names and a hint to fetch.
pub fn commit(repository: &Repository, text: &str) -> Result<Commit> {
    if text == MERGE_BASE {
        return merge_base(repository);
    }
    match hash(repository, text) {
        Some(hash) => Ok(Commit { hash, name: text.to_owned() }),
        None => Err(unknown(repository, text)),
    }
}

fn hash(repository: &Repository, text: &str) -> Option<String> {
    repository.ask(&["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")])
}

/// The fork point with the default branch, or else with the branch that this one follows.
fn merge_base(repository: &Repository) -> Result<Commit> {
    let own = repository.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let default = repository.ask(&["rev-parse", "--abbrev-ref", "origin/HEAD"]);
    let upstream = repository.ask(&["rev-parse", "--abbrev-ref", "HEAD@{upstream}"]);
    // A branch that was pushed follows its own copy, which it never forks from.
    let other = upstream
        .filter(|upstream| own.as_ref().is_none_or(|own| !upstream.ends_with(&format!("/{own}"))));
    let names = ["origin/main", "origin/master", "main", "master"].map(str::to_owned);
    let mut candidates = default.into_iter().chain(other).chain(names);
    let taken =
        candidates.find(|name| Some(name) != own.as_ref() && hash(repository, name).is_some());
    let Some(branch) = taken else {
        return Err(Failure::usage(format!(
            "no default branch is known that this one could have left (origin/HEAD, an upstream, \
             origin/main, origin/master, main, master); name the revision, as in `--base \
             origin/main`{}",
            to_fetch(repository, "main")
        )));
    };
    match repository.ask(&["merge-base", &branch, "HEAD"]) {
        Some(hash) => Ok(Commit { hash, name: format!("{MERGE_BASE} with {branch}") }),
        None => Err(Failure::usage(format!(
            "HEAD and {branch} have no commit in common here{}",
            match repository.is_shallow() {
                true => "; this clone is shallow: `git fetch --unshallow` gets the rest",
                false => "",
            }
        ))),
    }
}

fn unknown(repository: &Repository, text: &str) -> Failure {
    let references = ["refs/heads", "refs/remotes", "refs/tags"];
    let all = repository
        .ask(&[&["for-each-ref", "--format=%(refname:short)"], &references[..]].concat())
        .unwrap_or_default();
    let near = did_you_mean(text, all.lines()).map(|near| format!(": {near}")).unwrap_or_default();
    let branch = text.strip_prefix("origin/").unwrap_or(text);
    Failure::usage(format!(
        "no revision, folder or archive is called `{text}`{near}{}",
        to_fetch(repository, branch)
    ))
}

/// How to get `branch`, if it is one.
fn to_fetch(repository: &Repository, branch: &str) -> String {
    match repository.is_shallow() {
        true => format!(
            "\nthis clone is shallow: `git fetch --depth=1 origin \
             {branch}:refs/remotes/origin/{branch}` gets the tip of a branch, and \
             actions/checkout gets all of them with fetch-depth: 0"
        ),
        false => "\n`git fetch` updates from the remote".to_owned(),
    }
}
