//! How many processes took times, a side and configuration.

use gpuprof_model::conclusion::Processes;
use gpuprof_model::run::{Run, Status};

use crate::gate::by_key::ByKey;

/// The processes of the configurations that `run` shares with `base`, if both were measured
/// together.
pub(super) fn processes_per_side(run: &Run, base: &Run) -> Option<Processes> {
    let mut counts: Vec<usize> = Vec::new();
    for series in &run.series {
        let Some(theirs) = base.series.iter().find(|theirs| theirs.id == series.id) else {
            continue;
        };
        let there = ByKey::new(&theirs.configurations);
        let shared = series.configurations.iter().filter(|row| there.has(row));
        counts.extend(shared.map(|row| row.timings.len()));
    }
    summarize(&counts)
}

/// The processes of a run that added some after its first look; none if it added none.
pub(super) fn processes_after_looks(run: &Run) -> Option<Processes> {
    let first = run.provenance.first_look?;
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let timed = rows.filter(|row| row.status == Status::Finished).map(|row| row.timings.len());
    summarize(&timed.collect::<Vec<_>>()).filter(|processes| processes.most > first as usize)
}

fn summarize(counts: &[usize]) -> Option<Processes> {
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    #[expect(clippy::cast_precision_loss, reason = "processes are counted")]
    let average = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    (most > 0).then_some(Processes { least, most, average })
}
