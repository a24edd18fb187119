//! `report --source`: the counts of a stored run next to its source.

use std::io::{self, Write};
use std::path::Path;

use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;
use gpuprof_report::{Format, Place, Screen, write_source, write_source_json};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole_by;

use crate::options::ReportOptions;

/// Writes the source of `run` with its counts, or what is around `place`.
///
/// # Errors
/// Another format than a table or JSON; a run without such counts, or without that place; output
/// that cannot be written.
pub(super) fn report(
    run: &Run,
    place: Option<&Place>,
    (options, view, screen): (&ReportOptions, &View, Screen),
    out: &mut impl Write,
) -> Result<()> {
    let json = match options.format {
        Format::Table => false,
        Format::Json => true,
        other => {
            return Err(Failure::usage(format!(
                "--source writes a table or JSON, and not --format {other}"
            )));
        }
    };
    if !run.series.iter().any(|series| series.configurations.iter().any(|it| !it.code.is_empty())) {
        return Err(Failure::usage(format!(
            "the run {} has no counts by line: the emulated driver counts them, so measure with \
             --backend emulator",
            run.id
        )));
    }
    let mut found = true;
    let mut write = |out: &mut dyn Write| -> io::Result<()> {
        if json {
            return write_source_json(run, view, place, out);
        }
        found = write_source(run, view, (place, screen.colour), out)?;
        Ok(())
    };
    match &options.output {
        None => write(out).map_err(|e| Failure::output(Path::new("standard output"), &e))?,
        Some(path) => write_whole_by(path, |file| write(file))
            .map_err(|e| Failure::output(path.as_std_path(), &e))?,
    }
    match (found, place) {
        (false, Some(Place { file, line })) => Err(Failure::usage(format!(
            "no code of the run {} is near {file}:{line}; --source alone shows its lines",
            run.id
        ))),
        _ => Ok(()),
    }
}
