//! The table under a view: the same report, with the rows, columns and comparisons that were asked for.

use std::io::{self, Write};

use gpuprof_model::run::Run;

use super::{Report, Table};
use crate::compare::view::View;

/// The report for people, as a view has it.
#[derive(Debug, Clone, Copy)]
pub struct Viewing<'v> {
    /// Colour and width.
    pub table: Table,
    /// Rows, columns and comparisons.
    pub view: &'v View,
}

impl Report for Viewing<'_> {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        for series in &run.series {
            self.table.series_as(self.view, series, run.provenance.device.as_ref(), out)?;
            writeln!(out)?;
        }
        self.table.end(run, out)
    }
}
