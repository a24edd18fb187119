//! Export files: opened before anything runs, so that a bad path costs no measurement.

use std::fs;
use std::io::Write;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::run::Run;

use crate::cli::OutputOptions;
use crate::error::{Failure, Result};
use crate::report::{Csv, Json, Markdown, Report};
use crate::store::write_whole;

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
                probe(path)?;
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

fn probe(path: &Utf8Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|p| !p.as_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    }
    let existed = path.exists();
    fs::File::options()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| Failure::output(path.as_std_path(), &e))?;
    if !existed {
        // An empty file would look like a result if the run ended here.
        fs::remove_file(path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    }
    Ok(())
}
