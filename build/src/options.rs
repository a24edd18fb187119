//! How harnesses and kernels are built.

use camino::Utf8PathBuf;

/// The profile of harnesses where nothing says otherwise.
pub const BENCH: &str = "bench";

/// Which packages and targets of which workspace to build, and how to call cargo.
#[derive(Debug, Clone, Default)]
pub struct CargoRequest {
    /// The packages; none for that of the present folder, or all.
    pub package: Vec<String>,
    /// Whether all packages are built.
    pub workspace: bool,
    /// The packages to leave out.
    pub exclude: Vec<String>,
    /// The bench targets; none for all.
    pub bench: Vec<String>,
    /// The number of parallel jobs.
    pub jobs: Option<String>,
    /// The folder for all generated files.
    pub target_dir: Option<Utf8PathBuf>,
    /// The path of Cargo.toml.
    pub manifest_path: Option<Utf8PathBuf>,
    /// Whether Cargo.lock must remain unchanged.
    pub locked: bool,
    /// Whether cargo may not access the network.
    pub offline: bool,
    /// Both.
    pub frozen: bool,
    /// Whether commands are printed.
    pub verbose: bool,
    /// The folder that cargo is started in, instead of the present one.
    pub folder: Option<Utf8PathBuf>,
    /// Configuration files of cargo's that are not found from there.
    pub config_files: Vec<Utf8PathBuf>,
}

impl CargoRequest {
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

/// The request to cargo, and the settings of a build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// The packages and targets.
    pub cargo: CargoRequest,
    /// Whether the command line names the bench targets: then each lists the series of a library
    /// that several of them link.
    pub in_each_bench: bool,
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
    /// Whether rustc's messages on kernels are coloured.
    pub colour: bool,
}

impl BuildOptions {
    /// Whether cargo prints only errors: by our option, or by its setting.
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

    /// The message format in which rustc's text is as it would have been on the terminal.
    pub fn message_format(&self) -> &'static str {
        if self.colour { "json-diagnostic-rendered-ansi" } else { "json" }
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
