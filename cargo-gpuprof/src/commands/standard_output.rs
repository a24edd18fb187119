//! The terminal that standard output may be.

use std::io::{self, IsTerminal};

use crate::options::{Color, MessageFormat};
use gpuprof_report::Screen;

/// The properties of standard output, before colour is decided.
#[derive(Debug, Clone, Copy)]
pub struct StandardOutput {
    width: Option<u16>,
}

impl StandardOutput {
    /// That of standard output.
    pub fn of_process() -> Self {
        let size = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        Self { width: size.map(|(width, _)| width.0) }
    }

    /// Its columns, if it is a terminal and the format is for people.
    pub fn width_of(self, format: MessageFormat) -> Option<u16> {
        self.width.filter(|_| format == MessageFormat::Human)
    }

    /// How it is written to where `color` says when to colour.
    pub fn screen(self, color: Color) -> Screen {
        Screen { colour: color.shows_on(&io::stdout()), width: self.width }
    }
}
