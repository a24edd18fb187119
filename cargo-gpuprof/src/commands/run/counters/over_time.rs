//! Counters over the time of launches, for sections that sample some.
//!
//! Input: a measured run. Output: the same with the samples of each configuration, each from a
//! separate process, or the reason why there are none. No other result changes.

use gpuprof_model::over_time::{CountersOverTime, SampledCounter};
use gpuprof_model::protocol::OverTimeRequest;
use gpuprof_model::run::Status;
use gpuprof_system::interrupt::Interrupt;

use crate::commands::run::counters::collector::{each_finished, library};
use crate::commands::run::measure::results::Collected;
use crate::commands::run::prepare::prepared::Prepared;

/// Why the emulated driver has none.
const EMULATED: &str = "the emulated driver has no time over which it could count";

/// Adds the samples to what was `found` of both revisions, if a section asks for some.
pub(in crate::commands) fn add(prepared: &Prepared, found: &mut Collected, interrupt: &Interrupt) {
    let plan = &prepared.plan;
    // All series have the same sections, and every chip the same sampled counters in them.
    let sections = plan.both.checked.first().map_or(&[][..], |checked| &checked.sections);
    let sampled = sections.iter().flat_map(|section| &section.sampled);
    let counters: Vec<SampledCounter> = sampled.cloned().collect();
    if counters.is_empty() {
        return;
    }
    if plan.devices.emulated {
        let series = found.revisions(&plan.both).flat_map(|(run, _)| &mut run.series);
        for row in series.flat_map(|series| &mut series.configurations) {
            let finished = row.status == Status::Finished;
            row.over_time = finished.then(|| CountersOverTime::missing(EMULATED.to_owned()));
        }
        return;
    }
    let cupti = library(prepared);
    each_finished(prepared, found, interrupt, |subject, row| {
        let asked = cupti.clone().and_then(|cupti| {
            let request = OverTimeRequest { cupti, counters: counters.clone() };
            subject.ask(|asked| asked.over_time = Some(request.clone()))
        });
        let sampled = asked.and_then(|result| {
            result.over_time.ok_or_else(|| "the process sampled nothing".to_owned())
        });
        row.over_time = Some(sampled.unwrap_or_else(CountersOverTime::missing));
    });
}
