//! Export files: opened before anything runs, so that a bad path costs no measurement.

use std::io::{self, Write};

use camino::Utf8PathBuf;
use gpuprof_model::run::Run;

use crate::error::{Failure, Result};
use crate::options::OutputOptions;
use crate::report::{Csv, Json, Markdown, Report};
use crate::store::{check_writable, write_whole};

/// The path that means standard output.
const STANDARD_OUTPUT: &str = "-";

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
            if path != STANDARD_OUTPUT {
                check_writable(path)?;
            }
            exports.push((path.clone(), report));
        }
        Ok(Self(exports))
    }

    /// Writes every file; all are tried, the first failure is told.
    ///
    /// # Errors
    /// A file that could not be written (exit code 110).
    pub(super) fn write_files(&self, run: &Run) -> Result<()> {
        let mut outcome = Ok(());
        for (path, report) in self.0.iter().filter(|(path, _)| path != STANDARD_OUTPUT) {
            let mut bytes = Vec::new();
            let written = report.write(run, &mut bytes).and_then(|()| write_whole(path, &bytes));
            outcome = outcome.and(written.map_err(|e| Failure::output(path.as_std_path(), &e)));
        }
        outcome
    }

    /// Writes the formats that go to standard output.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_streams(&self, run: &Run, mut out: &mut impl Write) -> io::Result<()> {
        let mut streams = self.0.iter().filter(|(path, _)| path == STANDARD_OUTPUT);
        streams.try_for_each(|(_, report)| report.write(run, &mut out))
    }
}
