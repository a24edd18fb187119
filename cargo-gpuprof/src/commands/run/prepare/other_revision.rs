//! The other revision of a run (`--base`): its resolution and its harnesses.
//!
//! Input: the name on the command line or in the configuration file. Output: the harnesses of that
//! revision, built separately: cargo's output is below `gpuprof/base` of the target folder.
//! Everything else of a run (settings, thresholds, selection, libraries) is this revision's. The
//! user's tree does not change.

use camino::Utf8Path;
use gpuprof_model::ExitCode;

use crate::commands::run::prepare::request::Request;
use crate::commands::settings::Settings;
use crate::commands::{Opened, Source, Wanted};
use crate::options::{BuildOptions, ConfigFile, GivenValue};
use gpuprof_build::revision::{self, Checkout, Meaning};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::scratch::Scratch;

/// The other revision.
#[derive(Debug)]
pub(in crate::commands) struct Base {
    /// As it was asked for.
    pub(in crate::commands) name: String,
    /// Its commit; that of a folder with `-dirty` where that has changes.
    pub(in crate::commands) revision: Option<String>,
    /// Its harnesses and kernels.
    pub(in crate::commands) source: Source,
    /// The folder of an unpacked archive, as long as it is needed.
    _unpacked: Option<Scratch>,
    /// Its checkout, which no other run changes meanwhile.
    _checkout: Option<Checkout>,
}

/// The revision that `--base` names. Both are none if no other revision is asked for.
#[derive(Debug, Default)]
pub(in crate::commands) struct OtherRevision {
    /// A revision with harnesses.
    pub(in crate::commands) built: Option<Base>,
    /// The name of a revision without a harness, as before the change that adds gpuprof, and what
    /// it lacks.
    pub(in crate::commands) without_harness: Option<(String, String)>,
}

impl OtherRevision {
    /// Opens the other revision that is asked for, if any is.
    ///
    /// # Errors
    /// It cannot be had or does not build; the message says that it is this side.
    pub(in crate::commands) fn open(
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
    pub(in crate::commands) fn blamed(&self, failure: Failure) -> Failure {
        blamed(&self.name, failure)
    }
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

/// Refuses a revision of the command line that means nothing, before anything is built.
///
/// # Errors
/// It does (exit code 2).
pub(in crate::commands) fn check(request: &Request) -> Result<()> {
    let Some(GivenValue { value: name, .. }) = &request.given.base else { return Ok(()) };
    Meaning::resolve(name, request.folder()).map(|_| ()).map_err(|failure| blamed(name, failure))
}

fn of_name(name: &str, build: &BuildOptions, head: &Source) -> Result<Base> {
    let root = &head.root();
    let here = revision::Head { root, target_directory: &head.target_directory, build };
    let tree = match Meaning::resolve(name, root)? {
        Meaning::Commit(commit, repository) => {
            here.check_out(commit, &repository, head.git_revision())?
        }
        Meaning::Folder(repository) => here.tree_in_folder(name, repository)?,
        Meaning::Archive => return of_archive(Utf8Path::new(name), build),
    };
    let source = Source::other_revision(BuildOptions { cargo: tree.cargo, ..build.clone() })?;
    let revision = tree.commit.or_else(|| source.git_revision());
    Ok(Base { name: tree.name, revision, source, _unpacked: None, _checkout: tree.checkout })
}

fn of_archive(file: &Utf8Path, build: &BuildOptions) -> Result<Base> {
    // The build options of this revision do not apply to an archive of the other one.
    let (archive, configuration) = (Some(file.to_owned()), ConfigFile::None);
    let opened = Opened::new(&Wanted { archive, configuration, ..Wanted::default() })?;
    let (folder, source) = opened.build(build.clone())?;
    let (name, revision) = (file.to_string(), source.git_revision());
    Ok(Base { name, revision, source, _unpacked: Some(folder), _checkout: None })
}
