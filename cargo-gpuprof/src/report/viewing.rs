//! A report under a view: the same report, with the rows, columns and comparisons that were asked
//! for.

use std::io::{self, Write};

use gpuprof_model::exit_code::ExitCode;
use gpuprof_model::run::Run;

use super::{Csv, JsonLines, Markdown, Report, Table};
use gpuprof_analysis::view::View;

/// How standard output is shown.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Whether to colour.
    pub colour: bool,
    /// Columns of the terminal, where it is one.
    pub width: Option<u16>,
}

impl Screen {
    /// The table for people that fits it.
    pub fn table(self) -> Table {
        Table { colour: self.colour, width: self.width }
    }
}

/// The formats that can be looked at in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// For people, in this colour and width.
    Table(Table),
    /// A page.
    Markdown,
    /// Tidy CSV.
    Csv,
    /// One JSON object a line, the last with this exit code.
    JsonLines(Option<ExitCode>),
}

/// A report as a view has it.
#[derive(Debug, Clone, Copy)]
pub struct Viewing<'v> {
    /// The format.
    pub shape: Shape,
    /// Rows, columns and comparisons.
    pub view: &'v View,
}

impl Report for Viewing<'_> {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        match self.shape {
            Shape::Table(table) => table.write_as(self.view, run, out),
            Shape::Markdown => Markdown.write_as(self.view, run, out),
            Shape::Csv => Csv.write_as(self.view, run, out),
            Shape::JsonLines(exit_code) => JsonLines { exit_code }.write_as(self.view, run, out),
        }
    }
}
