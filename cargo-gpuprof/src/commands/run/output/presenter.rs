//! Standard output of a run: its events and its table, unless the measuring command shows something
//! else.

use std::io::{self, Write};

use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;

use crate::commands::StandardOutput;
use crate::commands::settings::Settings;
use crate::options::MessageFormat;
use gpuprof_report::Report;
use gpuprof_report::json_lines::Event;
use gpuprof_system::error::Result;

/// A command's output for its run.
pub trait Presenter {
    /// Whether JSON lines report events, if they were requested.
    fn tells_events(&self) -> bool;

    /// Takes `run` once it is measured.
    ///
    /// # Errors
    /// The run does not suffice for the command.
    fn accept(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }

    /// Shows `run`, which ended with `outcome`, to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    fn show(
        &mut self,
        run: &Run,
        outcome: RunOutcome,
        how: (&Settings, &View),
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

/// The run itself: a table, or the last of the JSON lines.
pub struct Table(pub StandardOutput);

impl Presenter for Table {
    fn tells_events(&self) -> bool {
        true
    }

    fn show(
        &mut self,
        run: &Run,
        outcome: RunOutcome,
        (settings, view): (&Settings, &View),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match settings.message_format.value {
            MessageFormat::Json => Event::run_finished(run, Some(outcome.exit_code)).write(out),
            MessageFormat::Human => {
                let screen = self.0.screen(settings.color.value);
                screen.table().write_as(view, run, out)
            }
        }
    }
}
