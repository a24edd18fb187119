//! `--dry-run`: what a run would start, and about how long it would take.

use super::Checked;
use super::counters::CounterSetup;
use crate::cli::Isolate;
use crate::repeats::{NOISE_PERCENT, Repeats};

/// Seconds of a counter process on a GPU (H200, `docs/measurements.md`), about: a context and the profiler; and of each
/// configuration in it: the start of its session.
const COUNTER_SECONDS: (f64, f64) = (0.5, 0.25);

/// Seconds of a process that takes time, about: a context; and of each configuration in it: warm-up and samples.
const TIMED_SECONDS: (f64, f64) = (0.15, 0.2);

/// Metrics named as costly, at most.
const NAMED: usize = 5;

/// Configurations, passes, processes, and the time they take.
pub(super) fn text(
    checked: &[Checked],
    repeat: Repeats,
    emulated: bool,
    isolate: Isolate,
    setup: &CounterSetup,
) -> String {
    let mut text = String::new();
    let (counted, steps) = match setup {
        CounterSetup::Planned(planned) => (planned.counters.passes(), planned.counters.steps()),
        CounterSetup::NotNeeded | CounterSetup::Unavailable(..) => (0, 0),
    };
    let (mut units, mut configurations) = (0, 0);
    for Checked { planned, .. } in checked {
        let count = planned.configurations.len();
        configurations += count;
        units += match isolate {
            Isolate::Configuration => count,
            Isolate::Kernel => count.min(1),
        };
        let passes = if counted == 0 {
            format!("{repeat} {}", if repeat.most == 1 { "pass" } else { "passes" })
        } else {
            format!("({repeat} timed + {counted} counter passes)")
        };
        text.push_str(&format!("{}: {count} configurations × {passes}\n", planned.series.id));
        for point in &planned.configurations {
            text.push_str(&format!("    {point}\n"));
        }
    }
    text.push_str(&counters(setup));
    let processes = |repeat: u32| units * (repeat as usize + steps);
    let (least, most) = (processes(repeat.least), processes(repeat.most));
    let processes = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let backend = if emulated { "the emulated driver" } else { "a GPU" };
    text.push_str(&format!(
        "{processes} processes on {backend}; nothing was started (--dry-run)\n"
    ));
    if repeat.least < repeat.most {
        text.push_str(&format!(
            "a configuration is timed {} times, and {} times where those differ by more than {NOISE_PERCENT}% (standard deviation)\n",
            repeat.least, repeat.most
        ));
    }
    if !emulated {
        text.push_str(&format!("{}\n", estimate(units, configurations, repeat.least, steps)));
    }
    text
}

/// What is known of the counters: those that cannot be had, and those that cost passes.
fn counters(setup: &CounterSetup) -> String {
    let planned = match setup {
        CounterSetup::NotNeeded => return String::new(),
        CounterSetup::Unavailable(metrics, reason) => {
            return format!("{} counters are unavailable: {reason}\n", metrics.len());
        }
        CounterSetup::Planned(planned) => planned,
    };
    let mut text = String::new();
    for (name, reason) in &planned.left_out {
        text.push_str(&format!("left out: {name}: {reason}\n"));
    }
    let dearest = planned.cost.iter().flat_map(|cost| cost.dearest());
    for metric in dearest.take(NAMED) {
        let passes = planned.counters.passes();
        let saved = (passes as usize).saturating_sub(metric.without);
        let word = if saved == 1 { "pass" } else { "passes" };
        text.push_str(&format!("{} costs {saved} {word} of {passes}\n", metric.name));
    }
    text
}

fn estimate(units: usize, configurations: usize, repeat: u32, steps: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    let seconds = {
        let each =
            |(process, one): (f64, f64)| units as f64 * process + configurations as f64 * one;
        f64::from(repeat) * each(TIMED_SECONDS) + steps as f64 * each(COUNTER_SECONDS)
    };
    let time = if seconds < 120.0 {
        format!("{} s", seconds.ceil())
    } else {
        format!("{} min", (seconds / 60.0).ceil())
    };
    format!("about {time}: an estimate, by what small kernels take on an H200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_says_that_it_is_one() {
        assert_eq!(
            estimate(5, 5, 3, 9),
            "about 39 s: an estimate, by what small kernels take on an H200"
        );
        assert!(estimate(100, 100, 3, 9).starts_with("about 13 min: "));
        assert!(estimate(1, 5, 1, 9).starts_with("about 17 s: "));
    }
}
