//! Progress on standard error: a bar with the time left on a terminal, elsewhere plain lines, at
//! most twenty and those of failures.

use std::io::IsTerminal;
use std::time::Duration;

use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_model::text::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use gpuprof_system::console::Notes;

/// The most lines of plain progress, and the most of those for failures alone: the report names
/// them all.
const MOST_LINES: usize = 20;

/// How far the sweep is.
pub(in crate::commands) struct Progress {
    bar: Option<ProgressBar>,
    /// Without a terminal.
    plain: Option<Notes>,
    total: usize,
    done: usize,
    /// How many lines were there for a failure alone.
    failures: usize,
}

impl Progress {
    /// Of `total` configurations; a bar needs a terminal on which nothing else writes (`shared`).
    pub(in crate::commands) fn new(total: usize, shared: bool, notes: Notes) -> Self {
        let terminal = std::io::stderr().is_terminal() && !shared;
        let bar = (terminal && !notes.quiet()).then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {eta} left  {msg}");
            bar.set_style(style.expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { bar, plain: (!terminal).then_some(notes), total, done: 0, failures: 0 }
    }

    pub(in crate::commands) fn start(&self, key: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(one_line(key));
        }
    }

    /// Reports that a configuration, with its processes on the device for `held`, ended with
    /// `result`.
    pub(in crate::commands) fn end(
        &mut self,
        key: &str,
        result: &ConfigurationResult,
        held: Duration,
    ) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if let Some(notes) = self.plain
            && self.is_told(&result.status)
        {
            let (word, seconds) = (result.status.word(), held.as_secs_f64());
            let on = result.device.as_ref().map(|uuid| format!("  on {uuid}")).unwrap_or_default();
            let Self { done, total, .. } = self;
            notes.plain(format_args!("[{done}/{total}] {key}{on}  {word} in {seconds:.2} s"));
        }
    }

    /// Whether the configuration with `status` has a line: all of a short sweep; of a long one
    /// every twentieth, and the first failures.
    fn is_told(&mut self, status: &Status) -> bool {
        let Self { done, total, .. } = *self;
        let parts = total.min(MOST_LINES);
        if done * parts / total > (done - 1) * parts / total {
            return true;
        }
        let failed = status.is_failure();
        self.failures += usize::from(failed);
        failed && self.failures <= MOST_LINES
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions that have a line, of a sweep in which `failed` fail.
    fn list_lines(total: usize, failed: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut progress = Progress { bar: None, plain: None, total, done: 0, failures: 0 };
        let mut told = Vec::new();
        for at in 1..=total {
            progress.done = at;
            let reason = || "it did".to_owned();
            let status =
                if failed(at) { Status::Failed { reason: reason() } } else { Status::Finished };
            told.extend(progress.is_told(&status).then_some(at));
        }
        told
    }

    #[test]
    fn a_long_sweep_prints_twenty_lines_and_its_first_failures() {
        assert_eq!(list_lines(3, |_| false), [1, 2, 3]);
        assert_eq!(list_lines(20, |_| false), (1..=20).collect::<Vec<_>>());
        let lines = list_lines(300, |_| false);
        assert_eq!((lines.len(), lines[0], lines[19]), (20, 15, 300));
        assert_eq!(list_lines(21, |_| false).len(), 20);
        assert!(list_lines(300, |at| at == 31).contains(&31));
        assert_eq!(list_lines(100_000, |_| true).len(), 40);
    }
}
