//! The source of harnesses and kernels: a workspace that is built, or an archive that is unpacked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::protocol::SeriesDescription;

use super::settings::{Setting, Settings};
use crate::config::Config;
use crate::options::{BuildOptions, CargoOptions, CargoRequest, ConfigFile};
use gpuprof_build::archive::{self, Unpacked};
use gpuprof_build::built_kernels::{KernelTarget, Kernels, Workspace};
use gpuprof_build::declared::Needed;
use gpuprof_build::harnesses::{self, Harness, HostBuild};
use gpuprof_build::revision;
use gpuprof_catalogue::chips::is_installed;
use gpuprof_catalogue::rules;
use gpuprof_catalogue::sections::{self, Sections};
use gpuprof_engine::execute::{self, HarnessProcess};
use gpuprof_engine::store::own_folder::{self, OwnFolder, keep_for_archives};
use gpuprof_engine::{discover, store};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::own_file::OwnFile;
use gpuprof_system::scratch::Scratch;

/// Harnesses, and everything needed to get their kernels.
#[derive(Debug)]
pub struct Source {
    /// The harnesses.
    pub harnesses: Vec<Harness>,
    /// The folder of everything that gpuprof builds.
    pub target_directory: Utf8PathBuf,
    /// The folder of the workspace's runs and baselines.
    pub stored: Utf8PathBuf,
    /// The settings.
    pub config: Config,
    /// Our sections over the metrics that are known with the settings.
    sections: Sections,
    place: Place,
    /// How the harnesses of a workspace are built.
    build: BuildOptions,
    /// The features of each library in the harnesses of a workspace, by package.
    features: BTreeMap<String, Vec<String>>,
    /// When their build began.
    begun: SystemTime,
}

/// Which harnesses are wanted: those of an archive, or else those of the workspace that cargo's
/// options name.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The archive.
    pub archive: Option<Utf8PathBuf>,
    /// The folder to unpack to, instead of a temporary one.
    pub extract_to: Option<Utf8PathBuf>,
    /// The workspace, and the parts of it to build.
    pub cargo: CargoRequest,
    /// The first option of the command line that says what to build.
    pub build_option: Option<&'static str>,
    /// Which configuration file is read.
    pub configuration: ConfigFile,
}

impl From<&CargoOptions> for Wanted {
    fn from(options: &CargoOptions) -> Self {
        Self { cargo: options.into(), build_option: options.of_a_build(), ..Self::default() }
    }
}

/// A workspace that was found, or an archive that was unpacked, with its configuration. Nothing is
/// built yet: settings may say how.
#[derive(Debug)]
pub struct Opened {
    /// The settings.
    pub config: Config,
    /// Our sections over the metrics that are known with the settings.
    pub sections: Sections,
    place: Place,
    /// The folder of an unpacked archive, as long as it is needed.
    folder: Scratch,
}

#[derive(Debug)]
enum Place {
    Workspace(Box<Metadata>),
    Archive(Box<Unpacked>),
}

impl Place {
    /// The workspace root; the present folder for an archive.
    fn root(&self) -> &Utf8Path {
        match self {
            Self::Workspace(metadata) => &metadata.workspace_root,
            Self::Archive(_) => Utf8Path::new("."),
        }
    }
}

impl Opened {
    /// Finds or unpacks what is `wanted`, and reads its configuration.
    ///
    /// # Errors
    /// Metadata; a damaged archive, or build options next to one; the configuration file.
    pub fn new(wanted: &Wanted) -> Result<Self> {
        if let (Some(file), Some(option)) = (&wanted.archive, wanted.build_option) {
            return Err(Failure::usage(format!(
                "{option} selects what to build, but {file} is already built: remove it; a filter such \
                 as `package::` chooses among the series of an archive"
            )));
        }
        let folder = Scratch::new()?;
        // Definitions in the configuration file may use those of our sections.
        let ours = Sections::built_in()?;
        let known = ours.catalogue();
        let load = |root: &Utf8Path| Config::chosen(root, &wanted.configuration, known);
        let (place, (config, catalogue)) = match &wanted.archive {
            None => {
                let metadata = harnesses::metadata(&wanted.cargo)?;
                let loaded = load(&metadata.workspace_root)?;
                (Place::Workspace(Box::new(metadata)), loaded)
            }
            Some(file) => {
                let temporary = folder.path();
                let explicit = wanted.configuration != ConfigFile::Usual;
                let config = if explicit { Some(load(Utf8Path::new("."))?) } else { None };
                let unpacked = archive::unpack(
                    file,
                    wanted.extract_to.as_deref().unwrap_or(temporary),
                    &archive::Limits::default(),
                )?;
                let loaded = config.map_or_else(|| of_archive(&unpacked, known), Ok)?;
                (Place::Archive(Box::new(unpacked)), loaded)
            }
        };
        Ok(Self { config, sections: ours.over(catalogue), place, folder })
    }

    /// The workspace root; the present folder for an archive.
    pub fn root(&self) -> &Utf8Path {
        self.place.root()
    }

    /// The folder of the runs and baselines of the workspace that `options` build. Prints files
    /// that were moved there.
    pub fn stored(&self, options: &BuildOptions) -> Utf8PathBuf {
        match &self.place {
            Place::Workspace(metadata) => {
                let target_directory = harnesses::target_directory(metadata, &options.cargo);
                own_folder(metadata, &target_directory, Notes::new(options.quiet))
            }
            Place::Archive(_) => {
                options.cargo.target_dir.clone().unwrap_or_else(|| "target".into())
            }
        }
    }

    /// The harnesses, built as `options` say where they are not unpacked; and the folder in which
    /// those of an archive lie, as long as it is held.
    ///
    /// # Errors
    /// The build; a target folder that cannot be written.
    pub fn build(self, options: BuildOptions) -> Result<(Scratch, Source)> {
        let begun = SystemTime::now();
        let stored = self.stored(&options);
        let Self { config, sections, place, folder } = self;
        let (built, target_directory) = match &place {
            Place::Workspace(metadata) => {
                let target_directory = harnesses::target_directory(metadata, &options.cargo);
                store::writable(&target_directory)?;
                (harnesses::build(metadata, &options)?, target_directory)
            }
            Place::Archive(unpacked) => {
                keep_for_archives(&stored)?;
                let (harnesses, features) = (unpacked.harnesses(), BTreeMap::new());
                (HostBuild { harnesses, features }, stored.clone())
            }
        };
        let HostBuild { mut harnesses, features } = built;
        execute::stand_in(&mut harnesses, &target_directory)?;
        let build = options;
        let source = Source {
            harnesses,
            target_directory,
            stored,
            config,
            sections,
            place,
            build,
            features,
            begun,
        };
        Ok((folder, source))
    }
}

/// The folder of the runs and baselines of a workspace with this target folder. Prints files that
/// were moved there.
pub fn own_folder(metadata: &Metadata, target: &Utf8Path, notes: Notes) -> Utf8PathBuf {
    let packages = metadata.workspace_packages();
    let packages: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let workspace = own_folder::Workspace { root: &metadata.workspace_root, packages: &packages };
    let OwnFolder { path, moved } = workspace.own_folder(target);
    moved.into_iter().for_each(|moved| notes.say(moved));
    path
}

/// The configuration file of an archive, if it has one.
fn of_archive(unpacked: &Unpacked, known: &Catalogue) -> Result<(Config, Catalogue)> {
    let Some(text) = &unpacked.manifest.config else {
        return Ok((Config::default(), known.clone()));
    };
    let config = Config::parse(text, crate::config::DEFAULT_PATH.into())?;
    let catalogue = config.define(known)?;
    Ok((config, catalogue))
}

impl Source {
    /// The series of every harness, by its position, asked by `process`: those of a library once,
    /// unless the command line names the benches.
    ///
    /// # Errors
    /// A harness that cannot be asked (exit code 104).
    pub fn series(
        &self,
        process: &HarnessProcess<'_>,
    ) -> Result<BTreeMap<usize, Vec<SeriesDescription>>> {
        let in_each = self.build.in_each_bench && self.is_workspace();
        discover::series(process, &self.harnesses, in_each)
    }

    /// The same, of harnesses that are this workspace's.
    ///
    /// # Errors
    /// A harness that cannot be asked, or that another project built (exit code 104).
    pub fn describe(
        &self,
        process: &HarnessProcess<'_>,
    ) -> Result<BTreeMap<usize, Vec<SeriesDescription>>> {
        let described = self.series(process)?;
        // An archive was built in another folder.
        if self.is_workspace() {
            discover::refuse_foreign(&self.harnesses, &described)?;
        }
        Ok(described)
    }

    /// Builds the harnesses of another revision of a workspace, as far as it has the targets of
    /// `build`. Settings are those of this revision.
    ///
    /// # Errors
    /// Metadata or build; it has nothing of it.
    pub fn other_revision(build: BuildOptions) -> Result<Self> {
        let begun = SystemTime::now();
        let metadata = harnesses::metadata(&build.cargo)?;
        let cargo = harnesses::as_far_as_known(&metadata, build.cargo)?;
        let target_directory = harnesses::target_directory(&metadata, &cargo);
        store::writable(&target_directory)?;
        let build = BuildOptions { cargo, ..build };
        let HostBuild { mut harnesses, features } = harnesses::build(&metadata, &build)?;
        execute::stand_in(&mut harnesses, &target_directory)?;
        Ok(Self {
            harnesses,
            stored: target_directory.clone(),
            target_directory,
            config: Config::default(),
            sections: Sections::built_in()?,
            place: Place::Workspace(Box::new(metadata)),
            build,
            features,
            begun,
        })
    }

    /// The PTX of `packages` and the instances of `wanted`, built where there is something to
    /// build.
    ///
    /// # Errors
    /// No toolchain, a failed build, or an archive without the package or the instance.
    pub fn kernels(
        &self,
        packages: &BTreeSet<String>,
        wanted: &[Needed<'_>],
        target: KernelTarget<'_>,
    ) -> Result<Kernels> {
        match &self.place {
            Place::Workspace(metadata) => {
                let workspace = Workspace {
                    metadata,
                    target_directory: &self.target_directory,
                    cargo: &self.build,
                    features: &self.features,
                    harnesses: &self.harnesses,
                    harnesses_begun: self.begun,
                };
                Kernels::build(packages, wanted, &workspace, target)
            }
            Place::Archive(unpacked) => Kernels::of_archive(unpacked, packages, wanted),
        }
    }

    fn is_workspace(&self) -> bool {
        matches!(self.place, Place::Workspace(_))
    }

    /// The workspace root; the present folder for an archive.
    pub fn root(&self) -> Utf8PathBuf {
        self.place.root().to_owned()
    }

    /// The folder of the source; none of an archive.
    pub fn folder(&self) -> Option<Utf8PathBuf> {
        self.is_workspace().then(|| self.root())
    }

    /// Our sections and those of the workspace; for an archive those that it contains, with those
    /// in the present folder replacing their namesakes.
    ///
    /// # Errors
    /// A file that is wrong (exit code 96).
    pub fn sections(&self) -> Result<Sections> {
        let mut files = sections::own(&self.root())?;
        if let Place::Archive(unpacked) = &self.place {
            files = OwnFile::joined(files, &unpacked.manifest.sections);
        }
        self.sections.clone().with(&files, |name| is_installed(None, name))
    }

    /// The user's own rules of advice, in the folder that `setting` names or in the usual one of
    /// the workspace; for an archive, unless the command line names a folder, those that it
    /// contains, with those in that folder replacing their namesakes.
    ///
    /// # Errors
    /// A folder or a file that cannot be read (exit code 96).
    pub fn rules(&self, setting: &Setting<Option<Utf8PathBuf>>) -> Result<Vec<OwnFile>> {
        let root = self.root();
        let folder = Settings::export(setting, &root);
        let Place::Archive(unpacked) = &self.place else {
            return rules::own(&root, folder.as_deref());
        };
        if setting.on_command_line() {
            return rules::own(&root, folder.as_deref());
        }
        // The folder that a configuration file names need not be here.
        let here = folder.filter(|folder| folder.is_dir());
        Ok(OwnFile::joined(rules::own(&root, here.as_deref())?, &unpacked.manifest.rules))
    }

    /// Packages of the workspace with harnesses that were not selected.
    pub fn other_packages(&self) -> BTreeSet<String> {
        let Place::Workspace(metadata) = &self.place else { return BTreeSet::new() };
        let built = |name: &str| self.harnesses.iter().any(|h| h.package == name);
        let names = metadata.workspace_packages().into_iter().map(|p| p.name.to_string());
        names.filter(|name| !built(name)).collect()
    }

    /// The bench targets that were selected; all if it is empty.
    pub fn bench_targets(&self) -> &[String] {
        if self.is_workspace() { &self.build.cargo.bench } else { &[] }
    }

    /// The git revision of the source, with `-dirty` where it has changes or sources that git does
    /// not track.
    pub fn git_revision(&self) -> Option<String> {
        match &self.place {
            Place::Workspace(metadata) => revision::describe(&metadata.workspace_root),
            Place::Archive(unpacked) => unpacked.manifest.git_revision.clone(),
        }
    }
}
