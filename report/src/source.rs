//! Counts next to the source: `report --source`, and the line that a violated threshold names.
//!
//! Input: a run with counts by line. Output: the lines that cost most with the source around them,
//! or the lines around one place with its PTX; the same as JSON for editors. Of each series it
//! shows the configuration that violates a threshold with a costly line, else the best.

mod configuration;
mod json;
mod lines;
mod place;
mod screen;

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;
use gpuprof_system::{json_text, printable_output};

use crate::paint::Paint;

pub(crate) use configuration::{Chosen, Why, chosen};
pub(crate) use lines::{Executed, Line, and_more, collected, inlined_at, lines, machine, on_line};
pub use place::FileLine;

/// Whether `run` has code with counts near `place`.
#[must_use]
pub fn has_code_near(run: &Run, view: &View, place: &FileLine) -> bool {
    !screen::screen(run, view, Some(place), (None, Paint(false))).is_empty()
}

/// Writes the source of `run` with its counts, or what is around `place`. Lines fit the `width` of
/// the terminal; without one, they fit 100 columns unless `view` shows all.
///
/// # Errors
/// `out` could not be written.
pub fn write_source(
    run: &Run,
    view: &View,
    place: Option<&FileLine>,
    (width, colour): (Option<u16>, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = screen::screen(run, view, place, (width, Paint(colour)));
    let all = if lines.is_empty() { "no configuration".to_owned() } else { lines.join("\n") };
    let write = |out: &mut dyn Write| writeln!(out, "{all}");
    match colour {
        true => printable_output::shown_in_colour(out, write),
        false => printable_output::show_plain(out, write),
    }
}

/// The same as JSON: all lines with counts, or those of `place` alone.
///
/// # Errors
/// `out` could not be written.
pub fn write_source_json(
    run: &Run,
    view: &View,
    place: Option<&FileLine>,
    out: &mut dyn Write,
) -> io::Result<()> {
    json_text::indented(out, &json::document(run, view, place))
}

#[cfg(test)]
mod tests;
