//! `--open`: the page of a run in the browser.
//!
//! Input: a run and a file. Output: the file, in the program that opens such files here. Which that
//! is, is the system's to say (`xdg-open` and its like).

use camino::Utf8Path;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::view::View;
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use gpuprof_report::{Html, Report};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole_by;

/// Writes the page of `run`, which ended with `outcome`, to `path` and opens it.
///
/// # Errors
/// It cannot be written (exit code 110), or nothing here opens it (exit code 107).
pub(super) fn show(
    run: &Run,
    outcome: Option<RunOutcome>,
    view: &View,
    path: &Utf8Path,
) -> Result<()> {
    write_whole_by(path, |file| Html { outcome }.write_as(view, run, file))
        .map_err(Failure::writing(path))?;
    console::say(format_args!("opening {path}"));
    open::that_detached(path).map_err(|e| {
        Failure::new(
            ExitCode::NotPossible,
            format!("no program here opens {path}: {e}; open it in a browser"),
        )
    })
}
