//! Counters over the time of launches, for sections that sample some.
//!
//! Input: a measured run. Output: the same with the samples of each configuration, each from a
//! separate process, or the reason why there are none. No other result changes.

use gpuprof_model::over_time::{CountersOverTime, SampledCounter};
use gpuprof_model::protocol::OverTimeRequest;
use gpuprof_system::interrupt::Interrupt;

use super::collector::each_finished;
use super::decided::Prepared;
use super::results::Collected;

/// Why the emulated driver has none.
const EMULATED: &str = "the emulated driver has no time over which it could count";

/// Adds the samples to what was `found` of both revisions, if a section asks for some.
pub(super) fn add(prepared: &Prepared, found: &mut Collected, interrupt: &Interrupt) {
    let checked = &prepared.plan.both.checked;
    if !checked.iter().flat_map(|it| &it.sections).any(|section| !section.sampled.is_empty()) {
        return;
    }
    let emulated = prepared.plan.devices.emulated;
    each_finished(prepared, found, interrupt, |subject, checked, row| {
        let sampled = checked.sections.iter().flat_map(|section| &section.sampled);
        let counters: Vec<SampledCounter> = sampled.cloned().collect();
        let over_time = match emulated {
            true => Err(EMULATED.to_owned()),
            false => subject
                .ask(|request, cupti| {
                    let counters = counters.clone();
                    request.over_time = Some(OverTimeRequest { cupti, counters });
                })
                .and_then(|result| {
                    result.over_time.ok_or_else(|| "the process sampled nothing".to_owned())
                }),
        };
        row.over_time = Some(over_time.unwrap_or_else(CountersOverTime::missing));
    });
}
