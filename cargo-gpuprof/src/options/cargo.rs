//! Options of builds: those of cargo, and the kernel toolchain.

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_build::options::CargoRequest;

/// Packages and targets to build, and build options.
#[derive(Debug, Clone, Default, Args)]
pub struct CargoOptions {
    /// Package with harnesses to build
    #[arg(short, long, value_name = "SPEC", help_heading = "Package selection")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, help_heading = "Package selection")]
    pub workspace: bool,
    /// Package to leave out
    #[arg(long, value_name = "SPEC", requires = "workspace", help_heading = "Package selection")]
    pub exclude: Vec<String>,
    /// Only this bench target
    #[arg(long, value_name = "NAME", help_heading = "Target selection")]
    pub bench: Vec<String>,
    /// Features to activate, separated by spaces or commas
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = "Feature selection")]
    pub features: Vec<String>,
    /// Activate all features
    #[arg(long, help_heading = "Feature selection")]
    pub all_features: bool,
    /// Do not activate the default features
    #[arg(long, help_heading = "Feature selection")]
    pub no_default_features: bool,
    /// Cargo profile of the harness
    #[arg(long, value_name = "NAME", help_heading = "Compilation")]
    pub profile: Option<String>,
    /// No effect: the bench profile is already optimised, and kernels always are
    #[arg(long, conflicts_with = "profile", help_heading = "Compilation")]
    pub release: bool,
    /// Number of parallel build jobs
    #[arg(short, long, value_name = "N", help_heading = "Compilation")]
    pub jobs: Option<String>,
    /// Directory for all generated files
    #[arg(long, value_name = "DIR", help_heading = "Compilation")]
    pub target_dir: Option<Utf8PathBuf>,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = "Manifest")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Assert that Cargo.lock remains unchanged
    #[arg(long, help_heading = "Manifest")]
    pub locked: bool,
    /// Print the commands of cargo and rustc, and the notes on noise
    #[arg(short, long, help_heading = "Compilation")]
    pub verbose: bool,
    /// Run without accessing the network
    #[arg(long, help_heading = "Manifest")]
    pub offline: bool,
    /// Equivalent to --locked and --offline
    #[arg(long, help_heading = "Manifest")]
    pub frozen: bool,
}

/// The workspace and its target folder.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceOptions {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", global = true, help_heading = "Manifest")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Directory for all generated files
    #[arg(long, value_name = "DIR", global = true, help_heading = "Manifest")]
    pub target_dir: Option<Utf8PathBuf>,
}

impl From<&PlaceOptions> for CargoRequest {
    fn from(place: &PlaceOptions) -> Self {
        let PlaceOptions { manifest_path, target_dir } = place.clone();
        Self { manifest_path, target_dir, ..Self::default() }
    }
}

impl From<&CargoOptions> for CargoRequest {
    fn from(options: &CargoOptions) -> Self {
        let CargoOptions { workspace, locked, offline, frozen, verbose, .. } = *options;
        let CargoOptions { package, exclude, jobs, .. } = options.clone();
        let PlaceOptions { target_dir, manifest_path } = options.place();
        Self {
            package,
            workspace,
            exclude,
            jobs,
            target_dir,
            manifest_path,
            locked,
            offline,
            frozen,
            verbose,
            // The settings add the bench targets.
            ..Self::default()
        }
    }
}

impl CargoOptions {
    /// The options for the workspace and its target folder.
    pub fn place(&self) -> PlaceOptions {
        let Self { manifest_path, target_dir, .. } = self.clone();
        PlaceOptions { manifest_path, target_dir }
    }

    /// The first given option that selects or configures a build: an archive is already built.
    pub fn of_a_build(&self) -> Option<&'static str> {
        let given = [
            ("--package", !self.package.is_empty()),
            ("--workspace", self.workspace),
            ("--exclude", !self.exclude.is_empty()),
            ("--bench", !self.bench.is_empty()),
            ("--features", !self.features.is_empty()),
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--profile", self.profile.is_some()),
            ("--release", self.release),
            ("--jobs", self.jobs.is_some()),
            ("--manifest-path", self.manifest_path.is_some()),
            ("--locked", self.locked),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// How kernels are built.
#[derive(Debug, Clone, Default, Args)]
pub struct KernelOptions {
    /// Toolchain for the kernels: a rustup toolchain's name, or the path of a rustc with its
    /// library source
    #[arg(long, value_name = "TOOLCHAIN", env = "GPUPROF_KERNEL_RUSTC", help_heading = "Kernels")]
    pub kernel_toolchain: Option<String>,
    /// GPU architecture the kernels are compiled for
    #[arg(long, value_name = "ARCH", help_heading = "Kernels")]
    pub kernel_arch: Option<String>,
}
