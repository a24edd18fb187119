//! `--dry-run`: the processes of a run, and about how long it would take.

use std::io::Write;

use gpuprof_model::ExitCode;
use gpuprof_model::each_once::add_new;

use crate::commands::run::counters::CounterSetup;
use crate::commands::run::counters::missing::Blocked;
use crate::commands::run::prepare::prepared::Plan;
use crate::options::{MessageFormat, Repeats};
use gpuprof_engine::device::shared_profiler;
use gpuprof_engine::plan::{Checked, Side};
use gpuprof_engine::schedule::Counters;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::json_text;
use gpuprof_system::printable_output::show_plain;

/// Seconds of a process that counts on a GPU (H200, `docs/claims.md`), about: a context and
/// the profiler, while the next one prepares; and of each configuration in it: its warm-up and its
/// part of the session.
const COUNTER_SECONDS: (f64, f64) = (0.35, 0.03);

/// Seconds of a process that takes times only, about: a context; and of each configuration that any
/// process times: warm-up and samples.
const TIMED_SECONDS: (f64, f64) = (0.15, 0.07);

/// Metrics named as costly, at most.
const NAMED: usize = 5;

/// Shows the processes of a run, and whether it would be `refused`; its folder is removed.
///
/// # Errors
/// Standard output.
pub(in crate::commands) fn show(
    plan: &Plan,
    refused: Option<&Blocked>,
    out: &mut impl Write,
) -> Result<()> {
    let written = match plan.inputs.settings.message_format.value {
        MessageFormat::Human => {
            let text = text(plan) + &refused.map(self::refused).unwrap_or_default();
            show_plain(out, |out| out.write_all(text.as_bytes()))
        }
        MessageFormat::Json => json(plan, refused, out),
    };
    written.map_err(Failure::standard_output)?;
    plan.inputs.folder.discard();
    Ok(())
}

/// Configurations, passes, processes, and the time they take.
fn text(plan: &Plan) -> String {
    // The devices are of one model: they differ in their permissions, and the run uses those that
    // it has.
    let counted = plan.setups.iter().find(|setup| setup.counters().is_some());
    let setup = counted.or(plan.setups.first());
    let counters = setup.and_then(CounterSetup::counters);
    let passes = counters.map_or(0, Counters::passes);
    let mut text: String =
        plan.both.checked.iter().map(|series| of_series(series, plan.repeat, passes)).collect();
    text.push_str(&setup.map_or_else(String::new, known));
    for (at, other) in plan.setups.iter().enumerate() {
        if let (Some(_), CounterSetup::Unavailable(metrics, denial)) = (counters, other) {
            let reason = plan.devices.blamed(at, &denial.reason);
            text.push_str(&format!("{} counters are unavailable: {reason}\n", metrics.len()));
        }
    }
    text + &processes(plan, counters.map_or(0, Counters::steps))
}

/// A line for each series, and one for the processes.
fn json(plan: &Plan, refused: Option<&Blocked>, out: &mut impl Write) -> std::io::Result<()> {
    let (passes, steps) = counted(plan);
    for Checked { planned, .. } in &plan.both.checked {
        let configurations = planned.configurations.iter().map(ToString::to_string);
        let line = serde_json::json!({
            "reason": "series-planned",
            "series": planned.series.id.to_string(),
            "base": planned.side == Side::Base,
            "configurations": configurations.collect::<Vec<_>>(),
            "timed_passes": { "least": plan.repeat.least, "most": plan.repeat.most },
            "counter_passes": passes,
        });
        json_text::line(out, &line)?;
    }
    let [least, most] = how_many(plan, steps);
    let line = serde_json::json!({
        "reason": "run-planned",
        "emulated": plan.devices.emulated,
        "processes": { "least": least, "most": most },
        "counters_without_value": obstacles(plan),
        "refused": refused.map(|blocked| blocked.thresholds.to_string()),
    });
    json_text::line(out, &line)
}

/// The counters that will have no value, each with the reason.
fn obstacles(plan: &Plan) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    for (at, setup) in plan.setups.iter().enumerate() {
        let obstacle = |(metric, reason): (&str, &str)| {
            let blamed = match setup {
                CounterSetup::Unavailable(..) => plan.devices.blamed(at, reason),
                _ => reason.to_owned(),
            };
            serde_json::json!({ "metric": metric, "reason": blamed })
        };
        add_new(&mut all, setup.without_value().into_iter().map(obstacle));
    }
    all
}

/// The counter passes of a configuration, and the processes that make them.
fn counted(plan: &Plan) -> (u32, usize) {
    let counters = plan.setups.iter().find_map(CounterSetup::counters);
    (counters.map_or(0, Counters::passes), counters.map_or(0, Counters::steps))
}

/// The processes of a run, the fewest and the most.
fn how_many(plan: &Plan, steps: usize) -> [usize; 2] {
    let parts = plan.assignment.parts();
    let each: usize = parts.iter().map(|part| work(part, plan).processes).sum();
    let both = usize::from(!shares_profiler(plan) && steps > 0);
    let Repeats { least, most, .. } = plan.repeat;
    [least, most].map(|repeat| each * (repeat as usize + steps - both))
}

/// Whether one device counts at a time.
fn shares_profiler(plan: &Plan) -> bool {
    plan.devices.records.first().is_some_and(|device| shared_profiler::path(device).is_some())
}

/// The configurations of a series, of which each is counted in `counted` passes.
fn of_series(series: &Checked, repeat: Repeats, counted: u32) -> String {
    let planned = &series.planned;
    let passes = if counted == 0 {
        format!("{repeat} {}", if repeat.most == 1 { "pass" } else { "passes" })
    } else {
        format!("({repeat} timed + {counted} counter passes)")
    };
    let count = planned.configurations.len();
    if count == 0 {
        return format!(
            "{}: no configuration meets its conditions; a run would end with exit code {}\n",
            planned.series.id,
            ExitCode::NoSeries.code()
        );
    }
    let side = match planned.side {
        Side::Head => "",
        Side::Base => " of the base",
    };
    let mut text = format!("{}{side}: {count} configurations × {passes}\n", planned.series.id);
    for point in &planned.configurations {
        text.push_str(&format!("    {point}\n"));
    }
    text
}

/// The processes, their devices and times; counters take `steps` of a configuration.
fn processes(plan: &Plan, steps: usize) -> String {
    let Plan { devices, repeat, .. } = plan;
    let work: Vec<Work> =
        plan.assignment.parts().into_iter().map(|part| work(&part, plan)).collect();
    let counting: usize = work.iter().map(|work| work.processes).sum();
    let shares = shares_profiler(plan);
    let both = usize::from(!shares && steps > 0);
    let [least, most] = how_many(plan, steps);
    let processes = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let backend = match devices.names().len() {
        _ if devices.emulated => "the emulated driver".to_owned(),
        0 => "a GPU".to_owned(),
        count => format!("{count} GPUs at the same time"),
    };
    let mut text = format!("{processes} processes on {backend}; nothing was started (--dry-run)\n");
    text.push_str(&who(plan));
    if both > 0 {
        let take = match counting {
            1 => "takes times first, and then makes",
            _ => "take times first, and then make",
        };
        text.push_str(&format!("{counting} of them {take} a counter pass\n"));
    }
    let in_turn = shares && steps > 0 && devices.records.len() > 1;
    if in_turn {
        text.push_str(
            "GPUs before Hopper share a profiler: counters are collected on one of them at a time\n",
        );
    }
    if repeat.least < repeat.most {
        text.push_str(&format!(
            "each configuration is timed {} times, and up to {} times if those differ\n",
            repeat.least, repeat.most
        ));
    }
    if !devices.emulated {
        let passes = Passes { repeat: repeat.least as usize, steps, both };
        text.push_str(&format!("{}\n", estimate(&work, passes, in_turn)));
    }
    text
}

/// The work of a device with these numbers of configurations, by series.
fn work(part: &[usize], plan: &Plan) -> Work {
    let processes = part.iter().map(|count| count.div_ceil(plan.isolate().most_together())).sum();
    Work { processes, configurations: part.iter().sum() }
}

/// Which of several devices measures how much, and the series that are not measured on one of them
/// alone.
fn who(plan: &Plan) -> String {
    let Plan { both, devices, assignment, .. } = plan;
    let mut text = String::new();
    for (name, (_, configurations)) in devices.names().iter().zip(assignment.loads()) {
        text.push_str(&format!(
            "    {} {}: {configurations} configurations\n",
            name.name, name.uuid
        ));
    }
    for series in assignment.parted() {
        let id = &both.checked[series].planned.series.id;
        text.push_str(&format!(
            "{id} is measured on several GPUs: its configurations are compared only with those on \
             the same GPU\n"
        ));
    }
    text
}

/// The work of a device in each pass.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Processes.
    processes: usize,
    /// Configurations in them.
    configurations: usize,
}

/// The processes of a configuration.
#[derive(Debug, Clone, Copy)]
struct Passes {
    /// That time it.
    repeat: usize,
    /// That count.
    steps: usize,
    /// The processes that do both.
    both: usize,
}

/// That a run would end with `blocked` before it starts anything: the thresholds; the reason stands
/// above.
fn refused(blocked: &Blocked) -> String {
    let (code, thresholds) = (Blocked::CODE.code(), &blocked.thresholds);
    format!(
        "a run would start nothing and end with exit code {code}; these thresholds need hardware counters:\n  {thresholds}\n"
    )
}

/// Unavailable counters, and counters that cost passes.
fn known(setup: &CounterSetup) -> String {
    let planned = match setup {
        CounterSetup::NotNeeded => return String::new(),
        CounterSetup::Unavailable(metrics, denial) => {
            return format!("{} counters are unavailable: {}\n", metrics.len(), denial.reason);
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

/// The devices work at the same time: the one with most to do decides; but for counters that they
/// collect in turn.
fn estimate(devices: &[Work], Passes { repeat, steps, both }: Passes, in_turn: bool) -> String {
    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    let each = |work: &Work, processes: usize, passes: usize, (process, one): (f64, f64)| {
        processes as f64 * process + (work.configurations * passes) as f64 * one
    };
    let timed = |work: &Work| each(work, work.processes * (repeat - both), repeat, TIMED_SECONDS);
    let counted = |work: &Work| each(work, work.processes * steps, steps, COUNTER_SECONDS);
    let most = |seconds: &dyn Fn(&Work) -> f64| devices.iter().map(seconds).fold(0.0, f64::max);
    let seconds = match in_turn {
        true => most(&timed) + devices.iter().map(counted).sum::<f64>(),
        false => most(&|work| timed(work) + counted(work)),
    };
    let time = if seconds < 120.0 {
        format!("{} s", seconds.ceil())
    } else {
        format!("{} min", (seconds / 60.0).ceil())
    };
    format!("about {time}, estimated from small kernels on an H200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_duration_is_labelled_as_an_estimate() {
        let work = |processes, configurations| Work { processes, configurations };
        let passes = |repeat, both| Passes { repeat, steps: 9, both };
        assert_eq!(
            estimate(&[work(5, 5)], passes(3, 1), false),
            "about 20 s, estimated from small kernels on an H200"
        );
        let takes = |devices: &[Work], passes, in_turn, said: &str| {
            let text = estimate(devices, passes, in_turn);
            assert!(text.starts_with(said), "{text}");
        };
        takes(&[work(100, 100)], passes(3, 1), false, "about 7 min, ");
        takes(&[work(1, 5)], passes(1, 1), false, "about 5 s, ");
        // Two devices with half of it each, and the same where one counts at a time.
        takes(&[work(50, 50), work(49, 49)], passes(3, 0), false, "about 4 min, ");
        takes(&[work(50, 50), work(49, 49)], passes(3, 0), true, "about 7 min, ");
    }
}
