//! JSON: the whole run document, as it is stored.
//!
//! Input: a run. Output: its serde form, indented, with every sample and a newline at the end;
//! `schema_version` says how to read it.

use std::io::{self, Write};

use gpuprof_model::run::Run;

use gpuprof_analysis::view::View;

use super::Report;
use gpuprof_system::json_text;

/// The run document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Json;

impl Report for Json {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        json_text::indented(out, run)
    }
}
