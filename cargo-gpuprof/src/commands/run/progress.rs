//! Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::text::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::Notes;

/// How far the sweep is.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    /// Where there is no terminal.
    plain: Option<Notes>,
    total: usize,
    done: usize,
}

impl Progress {
    pub(super) fn new(total: usize, notes: Notes) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !notes.quiet()).then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {eta} left  {msg}");
            bar.set_style(style.expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { bar, plain: (!terminal).then_some(notes), total, done: 0 }
    }

    pub(super) fn start(&self, key: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(one_line(key));
        }
    }

    /// Tells that a configuration, whose processes had the device for `held`, came to `result`.
    pub(super) fn end(&mut self, key: &str, result: &ConfigurationResult, held: Duration) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if let Some(notes) = self.plain {
            let (word, seconds) = (result.status.word(), held.as_secs_f64());
            let on = result.device.as_ref().map(|uuid| format!("  on {uuid}")).unwrap_or_default();
            let Self { done, total, .. } = self;
            notes.plain(format_args!("[{done}/{total}] {key}{on}  {word} in {seconds:.2} s"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
