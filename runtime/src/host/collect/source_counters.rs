//! What happens at each machine instruction: counts by patching, or samples of warps.
//!
//! Input: one call of what is measured. Output: the counts of each function's instructions, with
//! the cubin of its module (`cubins.rs`). CUPTI allows one of both collectors in a process, and
//! sampling only where its profiler is not initialised.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gpuprof_cupti::pc_sampling::{PcSampler, PcSamples};
use gpuprof_cupti::sass::{SassCount, SassCounting};
use gpuprof_model::code::Counter;
use gpuprof_model::measurement::{MachineCounts, MachineFunction, MachineInstruction, PassResult};
use gpuprof_model::protocol::{MeasureRequest, Sampling, SourceCollector, SourceRequest};

use super::conflicts;
use super::cubins::cupti;
use super::measured_work::MeasuredWork;
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// The metrics of each counter, which add up to it. CUPTI counts no FP64 operations by instruction.
const METRICS: [(&str, Counter); 17] = [
    ("smsp__sass_inst_executed", Counter::Instructions),
    ("smsp__sass_thread_inst_executed", Counter::ThreadInstructions),
    ("smsp__sass_thread_inst_executed_pred_on", Counter::ThreadInstructionsOn),
    ("smsp__sass_inst_executed_op_global", Counter::Requests),
    ("smsp__sass_inst_executed_op_shared", Counter::Requests),
    ("smsp__sass_inst_executed_op_local", Counter::Requests),
    ("smsp__sass_sectors_mem_global", Counter::Sectors),
    ("smsp__sass_sectors_mem_global_ideal", Counter::IdealSectors),
    ("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", Counter::Wavefronts),
    ("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", Counter::IdealWavefronts),
    ("smsp__sass_inst_executed_op_branch", Counter::Branches),
    ("smsp__sass_branch_targets_threads_divergent", Counter::DivergentBranches),
    ("smsp__sass_inst_executed_op_global_atom", Counter::Atomics),
    ("smsp__sass_inst_executed_op_global_red", Counter::Atomics),
    ("smsp__sass_inst_executed_op_shared_atom", Counter::Atomics),
    ("smsp__sass_inst_executed_op_local_ld", Counter::LocalLoads),
    ("smsp__sass_inst_executed_op_local_st", Counter::LocalStores),
];

/// The beginning of the names of states, and the end of those in which nothing was issued.
const STATE: &str = "smsp__pcsamp_warps_issue_stalled_";
const NOT_ISSUED: &str = "_not_issued";

/// Sampling repeats the range this often at most, for this long after the first time.
const MOST_RANGES: u32 = 100;
const SAMPLED_FOR: Duration = Duration::from_millis(200);

/// Begins with CUPTI, before anything is loaded.
///
/// # Errors
/// CUPTI's.
pub(crate) fn prepare(session: &Session, request: &MeasureRequest) -> Result<()> {
    match &request.source {
        Some(SourceRequest {
            collector: SourceCollector::Counts | SourceCollector::Conflicts,
            cupti,
            ..
        }) => session.profiler(cupti).map(drop),
        Some(SourceRequest { collector: SourceCollector::Samples, .. }) | None => Ok(()),
    }
}

/// Collects the data that is `wanted` into `result` while the work runs: for counts once, for
/// samples several times, each with caches as cold as for times.
///
/// # Errors
/// CUPTI's, and those of the work.
pub(crate) fn collect(
    session: &Session,
    wanted: &SourceRequest,
    sampling: &Sampling,
    work: &mut MeasuredWork<'_>,
    result: &mut PassResult,
) -> Result<()> {
    session.stream.synchronize()?;
    let _quiet = session.quiet.window()?;
    match wanted.collector {
        SourceCollector::Counts => {
            let names = METRICS.map(|(name, _)| name);
            let (counts, _) = count(session, wanted, &names, work)?;
            let functions = of_counts(session, counts);
            result.machine = Some(MachineCounts { functions, ranges: 1, dropped: 0 });
        }
        SourceCollector::Conflicts => {
            let (counts, missing) = count(session, wanted, &conflicts::METRICS, work)?;
            result.hardware.extend(conflicts::count_conflicts(&counts, &missing));
        }
        SourceCollector::Samples => {
            result.machine = Some(sample(session, wanted, sampling, work)?);
        }
    }
    Ok(())
}

/// The counts of the SASS metrics called `names` while the work runs, and the positions of the
/// metrics that the chip does not have.
fn count(
    session: &Session,
    wanted: &SourceRequest,
    names: &[&str],
    work: &mut MeasuredWork<'_>,
) -> Result<(Vec<SassCount>, Vec<usize>)> {
    let profiler = session.profiler(&wanted.cupti)?;
    let counting = SassCounting::begin(profiler.api, &profiler.target, &session.context, names);
    let counting = counting.map_err(Error::cupti)?;
    let missing = counting.missing(names.len());
    work.launch()?;
    session.context.synchronize().map_err(|e| session.explain(e.into()))?;
    Ok((counting.finish().map_err(Error::cupti)?, missing))
}

/// The samples of warps while the work runs several times.
fn sample(
    session: &Session,
    wanted: &SourceRequest,
    sampling: &Sampling,
    work: &mut MeasuredWork<'_>,
) -> Result<MachineCounts> {
    let api = cupti(&wanted.cupti)?;
    // Whatever it needs is made before the sampler begins.
    work.prepare(sampling.cold_cache, || session.flush())?;
    session.stream.synchronize()?;
    let sampler = PcSampler::begin(api, &session.context).map_err(Error::cupti)?;
    let mut range = || {
        work.prepare(sampling.cold_cache, || session.flush())?;
        work.launch()?;
        session.context.synchronize().map_err(|e| session.explain(e.into()))
    };
    // The first launch sets the sampler up, which takes a third of a second.
    range()?;
    let (begun, mut ranges) = (Instant::now(), 1);
    while ranges < MOST_RANGES && begun.elapsed() < SAMPLED_FOR {
        range()?;
        ranges += 1;
    }
    let samples = sampler.finish().map_err(Error::cupti)?;
    let dropped = samples.dropped;
    Ok(MachineCounts { functions: of_samples(session, samples), ranges, dropped })
}

/// The counts of instructions by function, which is named by its cubin too.
type Functions = BTreeMap<(u32, String), BTreeMap<u64, BTreeMap<Counter, u64>>>;

fn of_counts(session: &Session, counts: Vec<SassCount>) -> Vec<MachineFunction> {
    let mut functions = Functions::new();
    for SassCount { cubin, function, offset, metric, value } in counts {
        let instructions = functions.entry((cubin, function)).or_default();
        *instructions.entry(offset).or_default().entry(METRICS[metric].1).or_default() += value;
    }
    placed(session, functions)
}

fn of_samples(session: &Session, samples: PcSamples) -> Vec<MachineFunction> {
    let mut functions = Functions::new();
    for sample in samples.instructions {
        let instructions = functions.entry((sample.cubin, sample.function)).or_default();
        let counts = instructions.entry(sample.offset).or_default();
        for (name, samples) in sample.states {
            let state = name.strip_prefix(STATE).unwrap_or(&name);
            let counters = match state.strip_suffix(NOT_ISSUED) {
                // They are among those of the state.
                Some(_) => vec![Counter::SamplesNotIssued],
                None => vec![Counter::Samples, state_of(state)],
            };
            counters.into_iter().for_each(|it| *counts.entry(it).or_default() += samples);
        }
    }
    placed(session, functions)
}

/// The state with CUPTI's name.
fn state_of(name: &str) -> Counter {
    let known = Counter::STATES.iter().find(|(_, known)| *known == name);
    known.map_or(Counter::OtherState, |(state, _)| *state)
}

/// Those of the functions that have counts, with their modules.
fn placed(session: &Session, functions: Functions) -> Vec<MachineFunction> {
    let cubins = session.cubins.borrow();
    let function = |((crc, name), instructions): ((u32, String), BTreeMap<u64, _>)| {
        let module = cubins.iter().find(|cubin| cubin.crc == crc).map(|it| it.module.clone());
        let instructions = instructions
            .into_iter()
            .map(|(offset, counts)| MachineInstruction { offset, counts })
            .collect();
        MachineFunction { name, module, instructions }
    };
    functions.into_iter().map(function).collect()
}
