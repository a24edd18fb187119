use std::process::Command;

use super::*;
use crate::revision::MERGE_BASE;
use crate::revision::resolve::commit;

/// A repository with two commits, of which `main` is the second.
struct User {
    _folder: tempfile::TempDir,
    repository: Repository,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let user = Self {
            _folder: folder,
            repository: Repository { toplevel: root.join("work/project") },
        };
        fs::create_dir_all(&user.repository.toplevel).unwrap();
        user.git(&["init", "--quiet", "--initial-branch", "main"]);
        user.commit("kernel.rs", "first");
        user.commit("kernel.rs", "second");
        user
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repository.toplevel, arguments)
    }

    fn commit(&self, file: &str, text: &str) -> String {
        self.write(file, text);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", text]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.repository.toplevel.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn folder(&self) -> Utf8PathBuf {
        self.repository.toplevel.join("target/base")
    }

    fn take(&self, text: &str) -> Checkout {
        let commit = commit(&self.repository, text).unwrap();
        Checkout::take(&self.repository, &commit.hash, &self.folder()).unwrap()
    }
}

fn git(folder: &Utf8Path, arguments: &[&str]) -> String {
    let who = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
    let file = ["-c", "protocol.file.allow=always"];
    let output =
        Command::new("git").args(who).args(file).args(arguments).current_dir(folder).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn text(checkout: &Checkout, file: &str) -> String {
    fs::read_to_string(checkout.toplevel.join(file)).unwrap()
}

#[test]
fn checking_out_a_revision_leaves_the_users_tree_unchanged() {
    let user = User::new();
    user.write("kernel.rs", "unfinished");
    user.git(&["add", "kernel.rs"]);
    user.write("kernel.rs", "even less finished");
    let state = || user.git(&["status", "--porcelain=v2", "--branch", "--untracked-files=no"]);
    let before = state();
    let checkout = user.take("HEAD~1");
    assert_eq!(text(&checkout, "kernel.rs"), "first");
    assert_eq!(state(), before);
    assert_eq!(user.git(&["branch", "--list"]), "* main");
}

#[test]
fn a_checkout_is_kept_and_restored_for_the_next_run() {
    let user = User::new();
    let modified = |checkout: &Checkout| {
        fs::metadata(checkout.toplevel.join("kernel.rs")).unwrap().modified().unwrap()
    };
    let first = user.take("HEAD~1");
    let (place, time) = (first.toplevel.clone(), modified(&first));
    drop(first);
    // Another one takes the other checkout's place only where its commit is not there.
    let again = user.take("HEAD~1");
    assert_eq!((&again.toplevel, modified(&again)), (&place, time));
    fs::write(again.toplevel.join("kernel.rs"), "what a build script wrote").unwrap();
    fs::write(again.toplevel.join("left.txt"), "").unwrap();
    drop(again);
    let again = user.take("HEAD");
    assert_eq!((again.toplevel.clone(), text(&again, "kernel.rs")), (place, "second".to_owned()));
    assert!(!again.toplevel.join("left.txt").exists());
}

#[test]
fn concurrent_runs_have_separate_checkouts_and_few_are_kept() {
    let user = User::new();
    let all: Vec<Checkout> = (0..4).map(|_| user.take("HEAD~1")).collect();
    let places: std::collections::BTreeSet<_> = all.iter().map(|c| c.toplevel.clone()).collect();
    assert_eq!(places.len(), 4);
    drop(all);
    let _one = user.take("HEAD");
    let kept = user.git(&["worktree", "list", "--porcelain"]);
    let kept = kept.lines().filter(|line| line.starts_with("worktree ")).count();
    assert_eq!(kept, 1 + 1 + KEPT, "the user's own, the one in use, and those kept");
}

#[test]
fn only_worktrees_removed_by_cargo_clean_are_pruned() {
    let user = User::new();
    let elsewhere = user.repository.toplevel.join("../elsewhere");
    user.git(&["worktree", "add", "--quiet", "--detach", elsewhere.as_str()]);
    fs::remove_dir_all(&elsewhere).unwrap();
    let both = [user.take("HEAD~1"), user.take("HEAD~1")];
    drop(both);
    fs::remove_dir_all(user.folder()).unwrap();
    let one = user.take("HEAD~1");
    assert_eq!(text(&one, "kernel.rs"), "first");
    let list = user.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("/elsewhere"), "{list}");
    assert_eq!(list.lines().filter(|line| line.contains("/checkout-")).count(), 1, "{list}");
}

#[test]
fn submodules_are_cloned_from_the_users_clones() {
    let user = User::new();
    let library = User::new();
    let first = library.git(&["rev-parse", "HEAD~1"]);
    let url = library.repository.toplevel.as_str();
    user.git(&["submodule", "--quiet", "add", url, "library"]);
    git(&user.repository.toplevel.join("library"), &["checkout", "--quiet", &first]);
    user.commit("a", "with the library's first");
    git(&user.repository.toplevel.join("library"), &["checkout", "--quiet", "main"]);
    user.commit("b", "with its second");
    let remembered = user.git(&["config", "--list", "--local"]);
    // Whatever the network would give.
    fs::remove_dir_all(&library.repository.toplevel).unwrap();
    let checkout = user.take("HEAD~1");
    assert_eq!(text(&checkout, "library/kernel.rs"), "first");
    drop(checkout);
    assert_eq!(text(&user.take("HEAD"), "library/kernel.rs"), "second");
    assert_eq!(user.git(&["config", "--list", "--local"]), remembered);
    fs::remove_dir_all(user.repository.toplevel.join("library")).unwrap();
    assert_eq!(text(&user.take("HEAD~1"), "library/kernel.rs"), "first");
}

#[test]
fn relative_paths_outside_the_repository_work_in_a_checkout() {
    let user = User::new();
    let outside = user.repository.toplevel.parent().unwrap();
    let write = |path: &str, text: &str| {
        let path = outside.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("other/Cargo.toml", "[workspace]\nmembers = [\"deep\"]\n");
    write("other/deep/Cargo.toml", "[dependencies]\nthird = { path = \"../../third\" }\n");
    write("third/Cargo.toml", "[package]\nname = \"third\"\n");
    user.commit("sub/Cargo.toml", "[dependencies.deep]\npath = \"../../other/deep\"\n");
    let checkout = user.take("HEAD");
    let sub = checkout.toplevel.join("sub");
    let from_here = |path: &str| sub.join("../..").join(path);
    assert!(!from_here("other/deep/Cargo.toml").exists());
    checkout.link_neighbours(&sub.join("Cargo.toml"), &user.repository.toplevel).unwrap();
    for path in ["other/deep/Cargo.toml", "other/Cargo.toml", "third/Cargo.toml"] {
        assert_eq!(
            fs::read_to_string(from_here(path)).unwrap(),
            fs::read_to_string(outside.join(path)).unwrap()
        );
    }
    // Again, and the links stay.
    checkout.link_neighbours(&sub.join("Cargo.toml"), &user.repository.toplevel).unwrap();
}

#[test]
fn an_unknown_revision_is_refused_with_the_nearest_names() {
    let user = User::new();
    let unknown = commit(&user.repository, "mian").unwrap_err();
    assert_eq!(
        unknown.message,
        "no revision, folder or archive is called `mian`: did you mean `main`?\n\
         `git fetch` updates from the remote"
    );
    let shallow = user.repository.toplevel.join("../shallow");
    let url = format!("file://{}", user.repository.toplevel);
    user.git(&["clone", "--quiet", "--depth", "1", &url, shallow.as_str()]);
    let shallow = Repository::find(&shallow).unwrap();
    let unknown = commit(&shallow, "origin/release").unwrap_err();
    assert!(unknown.message.contains("git fetch --depth=1 origin release:"), "{unknown:?}");
}

#[test]
fn the_merge_base_is_with_the_default_branch_and_names_it() {
    let user = User::new();
    let fork = user.git(&["rev-parse", "HEAD"]);
    user.git(&["switch", "--quiet", "--create", "feature"]);
    user.commit("kernel.rs", "mine");
    user.git(&["switch", "--quiet", "main"]);
    user.commit("other.rs", "theirs");
    user.git(&["switch", "--quiet", "feature"]);
    let base = commit(&user.repository, MERGE_BASE).unwrap();
    assert_eq!((base.hash.as_str(), base.name.as_str()), (fork.as_str(), "merge-base with main"));
    user.git(&["switch", "--quiet", "main"]);
    user.git(&["branch", "--quiet", "-D", "feature"]);
    let none = commit(&user.repository, MERGE_BASE).unwrap_err();
    assert!(none.message.starts_with("no default branch is known"), "{}", none.message);
}

#[test]
fn a_folder_outside_a_repository_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap();
    let refused = Repository::find(path).unwrap_err();
    assert!(refused.message.starts_with(&format!("{path} is in no git repository")), "{refused:?}");
}
