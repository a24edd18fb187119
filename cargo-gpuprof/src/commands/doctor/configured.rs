//! The settings of `doctor`: those of a run in the same place.
//!
//! Input: the command line, and the configuration file of the archive or of the nearest folder that
//! has one. Output: the settings, and the libraries that they name. No cargo is needed.

use std::env;

use camino::Utf8PathBuf;
use gpuprof_model::ExitCode;

use crate::commands::metrics::settled_root;
use crate::commands::settings::{Layers, Settings};
use crate::commands::{Opened, Wanted, stored};
use crate::options::DoctorOptions;
use gpuprof_system::error::Result;

/// The settings, and the libraries that they name.
pub(super) struct Configured {
    pub(super) settings: Settings,
    /// CUPTI's library or its folder, if one is named.
    pub(super) cupti: Option<Utf8PathBuf>,
    /// NVML's library, if one is named.
    pub(super) nvml: Option<Utf8PathBuf>,
}

impl Configured {
    /// Reads the configuration file that `options` select. With the archive that they name, or the
    /// reason why it cannot be unpacked.
    ///
    /// # Errors
    /// An invalid file, or an unknown preset (exit code 96).
    pub(super) fn new(options: &DoctorOptions) -> Result<(Self, Option<Result<Opened>>)> {
        let file = &options.configuration;
        let here = env::current_dir().ok().and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
        let mut root = here.map_or_else(|| ".".into(), |here| settled_root(&here).to_owned());
        let archive = options.archive_file.clone().map(|path| {
            let (archive, configuration) = (Some(path), file.file());
            Opened::new(&Wanted { archive, configuration, ..Wanted::default() })
        });
        let layers = match &archive {
            None => stored::layers(&root, file)?.0,
            Some(Ok(opened)) => {
                root = opened.root().to_owned();
                Layers::new(&opened.config, file.preset.as_deref())?
            }
            Some(Err(failure)) if failure.code == ExitCode::Configuration => {
                return Err(failure.clone());
            }
            Some(Err(_)) => Layers::default(),
        };
        let settings = Settings::new(options.given.clone(), &layers);
        let (cupti, nvml) = (settings.cupti_path(&root), settings.nvml_path(&root));
        Ok((Self { settings, cupti, nvml }, archive))
    }
}
