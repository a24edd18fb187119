//! The submodules of a checkout, from the clones that the user has of them.
//!
//! A worktree has separate submodules, which git would fetch again. Here each is a clone that
//! shares the objects of the clone, so no network is needed and the user's files stay
//! unchanged. Submodules without a clone stay empty with a note: not every build needs them.

use camino::Utf8Path;

use super::Repository;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// Fills the submodules of `checkout` from the clones of `user`, and their submodules.
///
/// # Errors
/// A clone lacks the commit that the checkout names, or cannot be copied (exit code 2).
pub(super) fn check_out(user: &Repository, checkout: &Repository) -> Result<()> {
    let config = ["config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let Some(named) = checkout.ask(&config) else { return Ok(()) };
    for line in named.lines() {
        let Some((key, path)) = line.split_once(' ') else { continue };
        let name = key.trim_start_matches("submodule.").trim_end_matches(".path");
        // One that is in the file alone is none.
        let Some(commit) = checkout.ask(&["rev-parse", "--verify", &format!("HEAD:{path}")]) else {
            continue;
        };
        one(user, checkout, (name, path), &commit)?;
    }
    Ok(())
}

fn one(
    user: &Repository,
    checkout: &Repository,
    (name, path): (&str, &str),
    commit: &str,
) -> Result<()> {
    let in_tree = user.toplevel.join(path);
    let kept = user.common_folder().map(|folder| folder.join("modules").join(name));
    let there = |folder: &Utf8Path| folder.join(".git").exists() || folder.join("HEAD").exists();
    let Some(source) = [Some(in_tree), kept].into_iter().flatten().find(|f| there(f)) else {
        console::say(format_args!(
            "the submodule {path} is not in this clone, so it is empty in the base as \
             well; `git submodule update --init --recursive` gets it"
        ));
        return Ok(());
    };
    let own = Repository { toplevel: checkout.toplevel.join(path) };
    if !own.toplevel.join(".git").exists() {
        let clone = ["clone", "--quiet", "--shared", "--no-checkout"];
        checkout.tell(&[&clone[..], &[source.as_str(), own.toplevel.as_str()]].concat())?;
    }
    if own.ask(&["checkout", "--quiet", "--force", "--detach", commit]).is_none() {
        return Err(Failure::usage(format!(
            "it has the submodule {path} at {commit}, which the clone in {source} lacks; `git -C \
             {path} fetch` gets it"
        )));
    }
    check_out(&Repository { toplevel: source }, &own)
}
