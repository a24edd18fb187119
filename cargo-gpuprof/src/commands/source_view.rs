//! `report --source` and `report --code-diff`: the code of a stored run.

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;
use gpuprof_report::{
    FileLine, Format, Screen, code_changes, has_code_near, write_code_diff, write_source,
    write_source_json,
};
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
    place: Option<&FileLine>,
    options: &ReportOptions,
    view: &View,
    screen: Screen,
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
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let mut code = rows.flat_map(|row| &row.code).peekable();
    if code.peek().is_none() {
        return Err(Failure::usage(format!(
            "the run {} has no counts by line: measure with --backend emulator, or on a GPU with \
             --section SourceCounters",
            run.id
        )));
    }
    if code.all(|code| code.listing.files.is_empty()) {
        return Err(Failure::usage(format!(
            "no code of the run {} has lines of source: nvcc writes them into PTX with -lineinfo; \
             on a GPU, those of a library's kernels are not known",
            run.id
        )));
    }
    if let Some(place @ FileLine { file, line }) = place
        && !has_code_near(run, view, place)
    {
        return Err(Failure::usage(format!(
            "no code of the run {} is near {file}:{line}; --source alone shows its lines",
            run.id
        )));
    }
    let write = |out: &mut dyn Write| match json {
        true => write_source_json(run, view, place, out),
        false => write_source(run, view, place, (screen.width, screen.colour), out),
    };
    write_to(options, write, out)
}

/// Writes the code that changed between `run` and its baseline.
///
/// # Errors
/// Another format than a table; a run without a baseline; output that cannot be written.
pub(super) fn code_diff(
    run: &Run,
    options: &ReportOptions,
    screen: Screen,
    out: &mut impl Write,
) -> Result<()> {
    if options.format != Format::Table {
        return Err(Failure::usage(format!(
            "--code-diff writes a table, and not --format {}; --format json has it in \
             `comparison.code`",
            options.format
        )));
    }
    if run.comparison.is_none() {
        return Err(Failure::usage(format!(
            "the run {} has nothing to compare its code with: measure with --base or --baseline",
            run.id
        )));
    }
    if code_changes(run).is_empty() {
        let none = "no kernel with counts by line has other code than in the baseline";
        return write_to(options, |out| writeln!(out, "{none}"), out);
    }
    write_to(options, |out| write_code_diff(run, (screen.width, screen.colour), out), out)
}

/// Writes to the file of `options`, or else to `out`.
///
/// # Errors
/// It cannot be written.
pub(super) fn write_to(
    options: &ReportOptions,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    out: &mut impl Write,
) -> Result<()> {
    match &options.output {
        None => write(out).map_err(Failure::standard_output),
        Some(path) => write_whole_by(path, write).map_err(Failure::writing(path)),
    }
}
