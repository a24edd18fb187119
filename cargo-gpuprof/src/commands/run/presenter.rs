//! What standard output holds of a run: its events and its table, unless the command that measures
//! has something else to show.

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use crate::commands::StandardOutput;
use crate::commands::settings::Settings;
use crate::options::MessageFormat;
use gpuprof_report::Report;
use gpuprof_report::json_lines::Event;

/// What a command shows of the run that it made.
pub trait Presenter {
    /// Whether JSON lines tell what happens meanwhile, where those are asked for.
    fn tells_events(&self) -> bool;

    /// Shows `run`, which ended with `code`, to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    fn show(
        &mut self,
        run: &Run,
        code: ExitCode,
        how: (&Settings, &View),
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

/// The run itself: a table, or the last of the JSON lines.
pub(super) struct Table(pub(super) StandardOutput);

impl Presenter for Table {
    fn tells_events(&self) -> bool {
        true
    }

    fn show(
        &mut self,
        run: &Run,
        code: ExitCode,
        (settings, view): (&Settings, &View),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match settings.message_format.value {
            MessageFormat::Json => Event::run_finished(run, Some(code)).write(out),
            MessageFormat::Human => {
                let screen = self.0.screen(settings.color.value);
                screen.table().write_as(view, run, out)
            }
        }
    }
}
