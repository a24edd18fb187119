//! How harnesses and kernels are built: the options that cargo users know, and the kernel
//! toolchain.

use camino::Utf8PathBuf;
use clap::Args;

/// The profile of harnesses where nothing says otherwise.
pub const BENCH: &str = "bench";

/// Which packages and targets to build, and how.
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
    /// Same as the default: the bench profile is optimised, and kernels always are
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
    /// The folder that cargo is started in, instead of the present one; set for other revisions
    #[arg(skip)]
    pub folder: Option<Utf8PathBuf>,
    /// Configuration files of cargo's that are not found from there; set for other revisions
    #[arg(skip)]
    pub config_files: Vec<Utf8PathBuf>,
    /// Print the commands of cargo and rustc
    #[arg(short, long, help_heading = "Compilation")]
    pub verbose: bool,
    /// Run without accessing the network
    #[arg(long, help_heading = "Manifest")]
    pub offline: bool,
    /// Equivalent to --locked and --offline
    #[arg(long, help_heading = "Manifest")]
    pub frozen: bool,
}

/// Where the workspace and its target folder are.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceOptions {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", global = true, help_heading = "Manifest")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Directory for all generated files
    #[arg(long, value_name = "DIR", global = true, help_heading = "Manifest")]
    pub target_dir: Option<Utf8PathBuf>,
}

impl From<&PlaceOptions> for CargoOptions {
    fn from(place: &PlaceOptions) -> Self {
        let PlaceOptions { manifest_path, target_dir } = place.clone();
        Self { manifest_path, target_dir, ..Self::default() }
    }
}

impl CargoOptions {
    /// Of all options, where the workspace and its target folder are.
    pub fn place(&self) -> PlaceOptions {
        let Self { manifest_path, target_dir, .. } = self.clone();
        PlaceOptions { manifest_path, target_dir }
    }

    /// The profile that was asked for.
    pub fn profile(&self) -> Option<String> {
        self.profile.clone().or_else(|| self.release.then(|| BENCH.to_owned()))
    }

    /// The features that were asked for.
    pub fn features(&self) -> Option<Vec<String>> {
        (!self.features.is_empty()).then(|| self.features.clone())
    }

    /// That all features were asked for, where they were.
    pub fn all_features(&self) -> Option<bool> {
        self.all_features.then_some(true)
    }

    /// That no default features were asked for, where that is so.
    pub fn default_features(&self) -> Option<bool> {
        self.no_default_features.then_some(false)
    }

    /// The options of manifest, lock file and configuration, for every cargo command.
    pub fn manifest_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        for (set, flag) in
            [(self.locked, "--locked"), (self.offline, "--offline"), (self.frozen, "--frozen")]
        {
            if set {
                args.push(flag.to_owned());
            }
        }
        if let Some(path) = &self.manifest_path {
            args.extend(["--manifest-path".to_owned(), path.to_string()]);
        }
        for file in &self.config_files {
            args.extend(["--config".to_owned(), file.to_string()]);
        }
        args
    }
}

impl CargoOptions {
    /// The first option that was given and says how to build, or what: an archive is built.
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

/// How to build: cargo's options, with those that are settings as all layers have them.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// The command line's: the settings among them count no more.
    pub cargo: CargoOptions,
    /// The profile of the harness.
    pub profile: String,
    /// The features to activate.
    pub features: Vec<String>,
    /// Whether all features are activated.
    pub all_features: bool,
    /// Whether the default features are.
    pub default_features: bool,
    /// The GPU architecture that kernels are compiled for.
    pub kernel_arch: String,
    /// Whether cargo prints no messages.
    pub quiet: bool,
}

impl BuildOptions {
    /// Whether cargo is to print nothing of its own accord: by our option, or by its setting.
    pub fn silent(&self) -> bool {
        let set = std::env::var_os("CARGO_TERM_QUIET").is_some_and(|value| value == "true");
        self.quiet || (set && !self.cargo.verbose)
    }

    /// The option that says how much cargo prints.
    pub fn verbosity(&self) -> Option<&'static str> {
        match (self.quiet, self.cargo.verbose) {
            (true, _) => Some("--quiet"),
            (false, true) => Some("--verbose"),
            (false, false) => None,
        }
    }

    /// The options of features.
    pub fn feature_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        for features in &self.features {
            args.extend(["--features".to_owned(), features.clone()]);
        }
        if self.all_features {
            args.push("--all-features".to_owned());
        }
        if !self.default_features {
            args.push("--no-default-features".to_owned());
        }
        args
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
