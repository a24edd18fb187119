//! `--export-svg`: a folder with a file for each chart.
//!
//! Input: the folder, then a run and a view. Output: the files, each written whole. Other files of
//! the folder stay.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;

use gpuprof_engine::store::check_writable;
use gpuprof_report::chart_files;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole_by;

/// A folder that can be written.
#[derive(Debug)]
pub(super) struct ChartFolder(Utf8PathBuf);

impl ChartFolder {
    /// Makes `path` where it is not there, in a folder that is.
    ///
    /// # Errors
    /// It cannot be made, or no file in it (exit code 110).
    pub(super) fn open(path: &Utf8Path) -> Result<Self> {
        if !path.exists() {
            fs::create_dir(path).map_err(Failure::writing(path))?;
        }
        check_writable(&path.join("gpuprof.svg"))?;
        Ok(Self(path.to_owned()))
    }

    /// Writes the charts of `run` as `view` has it.
    ///
    /// # Errors
    /// A file that could not be written (exit code 110).
    pub(super) fn write(&self, run: &Run, view: &View) -> Result<()> {
        for chart in chart_files(run, view) {
            let path = self.0.join(&chart.name);
            write_whole_by(&path, |file| file.write_all(chart.text.as_bytes()))
                .map_err(Failure::writing(&path))?;
        }
        Ok(())
    }
}
