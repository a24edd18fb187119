//! Export files: opened before anything runs, so that a bad path costs no measurement.

use std::io::Write;
use std::path::Path;

use camino::Utf8PathBuf;
use gpuprof_model::run::Run;

use crate::cli::OutputOptions;
use crate::error::{Failure, Result};
use crate::report::{Csv, Json, Markdown, Report};
use crate::store::{check_writable, write_whole};

/// Where the formats go.
pub(super) struct Exports(Vec<(Utf8PathBuf, Box<dyn Report>)>);

impl Exports {
    /// Checks that every path can be written.
    ///
    /// # Errors
    /// One that cannot (exit code 110).
    pub(super) fn open(options: &OutputOptions) -> Result<Self> {
        let asked: [(&Option<Utf8PathBuf>, Box<dyn Report>); 3] = [
            (&options.export_csv, Box::new(Csv)),
            (&options.export_json, Box::new(Json)),
            (&options.export_markdown, Box::new(Markdown)),
        ];
        let mut exports = Vec::new();
        for (path, report) in asked {
            let Some(path) = path else { continue };
            if path != "-" {
                check_writable(path)?;
            }
            exports.push((path.clone(), report));
        }
        Ok(Self(exports))
    }

    /// Writes every format; all are tried, the first failure is told.
    ///
    /// # Errors
    /// A file that could not be written (exit code 110).
    pub(super) fn write(&self, run: &Run, out: &mut impl Write) -> Result<()> {
        let mut outcome = Ok(());
        for (path, report) in &self.0 {
            let mut bytes = Vec::new();
            let written = report.write(run, &mut bytes).and_then(|()| match path.as_str() {
                "-" => out.write_all(&bytes),
                _ => write_whole(path, &bytes),
            });
            let failure = written.map_err(|e| Failure::output(Path::new(path.as_str()), &e));
            outcome = outcome.and(failure);
        }
        outcome
    }
}
