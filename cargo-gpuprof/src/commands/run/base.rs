//! The other revision of a run (`--base`): its resolution and its harnesses.
//!
//! Input: the name on the command line or in the configuration file. Output: the harnesses of that
//! revision, built separately: cargo's output is below `gpuprof/base` of the target folder.
//! Everything else of a run (settings, thresholds, selection, libraries) is this revision's. The
//! user's tree does not change.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;

use super::request::Request;
use crate::commands::settings::Settings;
use crate::commands::{Opened, Source, Wanted};
use crate::options::{BuildOptions, CargoRequest, ConfigFile, GivenValue};
use gpuprof_build::revision::{self, Checkout, Commit, Repository};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::scratch::Scratch;

/// The folder, below the target folder, of everything that is made of other revisions.
const FOLDER: &str = "gpuprof/base";

/// The other revision.
#[derive(Debug)]
pub(super) struct Base {
    /// As it was asked for.
    pub(super) name: String,
    /// Its commit; that of a folder with `-dirty` where that has changes.
    pub(super) revision: Option<String>,
    /// Its harnesses and kernels.
    pub(super) source: Source,
    /// The folder of an unpacked archive, as long as it is needed.
    _unpacked: Option<Scratch>,
    /// Its checkout, which no other run changes meanwhile.
    _checkout: Option<Checkout>,
}

/// The revision that `--base` names. Both are none if no other revision is asked for.
#[derive(Debug, Default)]
pub(super) struct OtherRevision {
    /// A revision with harnesses.
    pub(super) built: Option<Base>,
    /// The name of a revision without a harness, as before the change that adds gpuprof, and what
    /// it lacks.
    pub(super) without_harness: Option<(String, String)>,
}

impl OtherRevision {
    /// Opens the other revision that is asked for, if any is.
    ///
    /// # Errors
    /// It cannot be had or does not build; the message says that it is this side.
    pub(super) fn open(
        request: &Request,
        settings: &Settings,
        build: &BuildOptions,
        head: &Source,
    ) -> Result<Self> {
        if let Some(file) = &request.base_archive {
            let base = of_archive(file, build).map_err(|f| blamed(file.as_str(), f))?;
            return Ok(Self { built: Some(base), ..Self::default() });
        }
        // The noise of a machine, and faults, are those of one revision.
        let named = settings.base_of(&head.root()).filter(|_| request.purpose.takes_base());
        let Some(name) = named else { return Ok(Self::default()) };
        match of_name(&name, build, head) {
            Ok(base) => Ok(Self { built: Some(base), ..Self::default() }),
            // A slice cannot leave that to the merge of all.
            Err(failure) if failure.code == ExitCode::NoSeries && request.slice.is_none() => {
                Ok(Self { without_harness: Some((name, failure.message)), ..Self::default() })
            }
            Err(failure) => Err(settings.base.blamed(blamed(&name, failure))),
        }
    }
}

impl Base {
    /// `failure`, as one of this side.
    pub(super) fn blamed(&self, failure: Failure) -> Failure {
        blamed(&self.name, failure)
    }
}

/// A revision as people read it, of `git describe --abbrev=40 --dirty`.
fn describe_revision(revision: &str) -> String {
    match revision.strip_suffix("-dirty") {
        Some(clean) => format!("{} with uncommitted changes", short(clean)),
        None => short(revision).to_owned(),
    }
}

fn short(revision: &str) -> &str {
    let hexadecimal = revision.len() == 40 && revision.chars().all(|c| c.is_ascii_hexdigit());
    if hexadecimal { &revision[..9] } else { revision }
}

/// `failure`, which happened on the side of the other revision called `name`.
fn blamed(name: &str, mut failure: Failure) -> Failure {
    failure.message = match failure.code {
        ExitCode::NoSeries => format!(
            "the base {name} has nothing to compare with: {}\nwithout --base, this revision is \
             measured alone",
            failure.message
        ),
        _ => format!("the base {name}: {}", failure.message),
    };
    failure
}

/// The resolution of the other revision's name.
enum Meant {
    Commit(Commit, Repository),
    Folder(Option<Repository>),
    Archive,
}

impl Meant {
    /// Resolves `name` in `folder` of the workspace: a git revision, unless it is written as a
    /// path, else a file or a folder.
    fn resolve(name: &str, folder: &Utf8Path) -> Result<Self> {
        let path = Utf8Path::new(name);
        let repository = Repository::find(folder);
        let known = match &repository {
            Ok(repository) if !name.starts_with(['.', '/']) => revision::commit(repository, name),
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

/// Refuses a revision of the command line that means nothing, before anything is built.
///
/// # Errors
/// It does (exit code 2).
pub(super) fn check(request: &Request) -> Result<()> {
    let Some(GivenValue { value: name, .. }) = &request.given.base else { return Ok(()) };
    Meant::resolve(name, request.folder()).map(|_| ()).map_err(|failure| blamed(name, failure))
}

fn of_name(name: &str, build: &BuildOptions, head: &Source) -> Result<Base> {
    match Meant::resolve(name, &head.root())? {
        Meant::Commit(commit, repository) => of_commit(commit, &repository, build, head),
        Meant::Folder(repository) => of_folder(name, repository, build, head),
        Meant::Archive => of_archive(Utf8Path::new(name), build),
    }
}

/// The revision in a folder that the user has checked out.
fn of_folder(
    name: &str,
    repository: Option<Repository>,
    build: &BuildOptions,
    head: &Source,
) -> Result<Base> {
    let folder = Utf8Path::new(name);
    let (manifest, of_root) = manifest_of_head(build, head)?;
    let below = repository.and_then(|repository| {
        manifest.strip_prefix(&repository.toplevel).map(Utf8Path::to_owned).ok()
    });
    let candidates = below.into_iter().chain(["Cargo.toml".into()]).map(|path| folder.join(path));
    let Some(manifest) = candidates.into_iter().find(|path| path.is_file()) else {
        return Err(Failure::usage(format!("the folder {folder} has no Cargo.toml")));
    };
    let manifest = manifest.canonicalize_utf8().map_err(|e| unreadable(&manifest, &e))?;
    // cargo does not distinguish two folders, so each needs its own target folder.
    let own = manifest.parent().unwrap_or(folder).as_str().trim_start_matches('/').to_owned();
    let target = absolute(&head.target_directory)?.join(FOLDER).join("folders").join(own);
    let place = Place {
        folder: manifest.parent().map(Into::into),
        manifest,
        config_files: Vec::new(),
        of_root,
        target: target.join("target"),
    };
    let base = built(name.to_owned(), place, None, build)?;
    Ok(Base { revision: base.source.git_revision(), ..base })
}

/// A revision that is checked out next to the user's.
fn of_commit(
    commit: Commit,
    repository: &Repository,
    build: &BuildOptions,
    head: &Source,
) -> Result<Base> {
    let own = head.git_revision().map_or_else(|| "unknown".to_owned(), |r| describe_revision(&r));
    let (name, hash) = (&commit.name, short(&commit.hash));
    Notes::new(build.quiet).say(format_args!("base: {name}, {hash}; head: {own}"));
    let folder = absolute(&head.target_directory)?.join(FOLDER);
    let checkout = Checkout::take(repository, &commit.hash, &folder)?;
    let (manifest, of_root) = manifest_of_head(build, head)?;
    let there = |path: &Utf8Path| {
        let below = path.strip_prefix(&repository.toplevel);
        below.map(|below| checkout.toplevel.join(below)).ok()
    };
    let Some(manifest) = there(&manifest).filter(|path| path.is_file()) else {
        return Err(Failure::new(ExitCode::NoSeries, format!("it has no {manifest}")));
    };
    checkout.link_neighbours(&manifest, &head.root())?;
    if let Some(own) = there(&head.root()) {
        lock_alike(&head.root(), &own)?;
    }
    say_toolchain(repository, &checkout, Notes::new(build.quiet));
    let here = present_folder().and_then(|folder| there(&folder));
    let place = Place {
        // Cargo reads the configuration of every folder that it is started in, and the checkout
        // lies in the user's tree.
        folder: Some(repository.toplevel.parent().unwrap_or(&repository.toplevel).to_owned()),
        config_files: config_files(&checkout.toplevel, here.as_deref().or(manifest.parent())),
        manifest,
        of_root,
        target: checkout.target.clone(),
    };
    let base = built(commit.name, place, Some(checkout), build)?;
    // Cargo may have put a lock file into it.
    Ok(Base { revision: Some(commit.hash), ..base })
}

/// The folders of another revision's build.
struct Place {
    manifest: Utf8PathBuf,
    /// Whether it is the manifest of all, and none of a package that was chosen.
    of_root: bool,
    folder: Option<Utf8PathBuf>,
    config_files: Vec<Utf8PathBuf>,
    /// cargo's target folder.
    target: Utf8PathBuf,
}

fn built(
    name: String,
    place: Place,
    checkout: Option<Checkout>,
    build: &BuildOptions,
) -> Result<Base> {
    let everything = place.of_root && build.cargo.package.is_empty();
    let cargo = CargoRequest {
        folder: place.folder,
        config_files: place.config_files,
        manifest_path: Some(place.manifest),
        workspace: build.cargo.workspace || everything,
        target_dir: Some(place.target),
        ..build.cargo.clone()
    };
    let source = Source::other_revision(BuildOptions { cargo, ..build.clone() })?;
    Ok(Base { name, revision: None, source, _unpacked: None, _checkout: checkout })
}

/// The manifest that selects the measured packages of this revision, and whether that is the
/// workspace's because no package was chosen.
fn manifest_of_head(build: &BuildOptions, head: &Source) -> Result<(Utf8PathBuf, bool)> {
    let given = build.cargo.manifest_path.clone();
    let here = || present_folder().map(|f| f.join("Cargo.toml")).filter(|path| path.is_file());
    let (manifest, of_root) = match given.or_else(here) {
        Some(manifest) => (manifest, false),
        None => (head.root().join("Cargo.toml"), true),
    };
    let manifest = manifest.canonicalize_utf8().map_err(|e| unreadable(&manifest, &e))?;
    Ok((manifest, of_root))
}

fn present_folder() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}

fn absolute(path: &Utf8Path) -> Result<Utf8PathBuf> {
    camino::absolute_utf8(path).map_err(|e| Failure::output(path.as_std_path(), &e))
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
    copied.map(|_| ()).map_err(|e| Failure::output(theirs.as_std_path(), &e))
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

fn of_archive(file: &Utf8Path, build: &BuildOptions) -> Result<Base> {
    // The build options of this revision do not apply to an archive of the other one.
    let (archive, configuration) = (Some(file.to_owned()), ConfigFile::None);
    let opened = Opened::new(&Wanted { archive, configuration, ..Wanted::default() })?;
    let (folder, source) = opened.build(build.clone())?;
    let (name, revision) = (file.to_string(), source.git_revision());
    Ok(Base { name, revision, source, _unpacked: Some(folder), _checkout: None })
}
