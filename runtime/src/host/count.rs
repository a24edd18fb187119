//! Counter passes of kernels: configurations that share a counter data image are collected in one
//! CUPTI session.
//!
//! Input: the requests of a process that name the same image. Output: an outcome for each, in their
//! order. Starting a session takes a fifth of a second and a pass a millisecond, so every
//! configuration is set up and warm before the session starts, and its inputs stay until it has
//! ended: on the device in one place for all of them (`arena.rs`), on the host for each. The memory
//! for that is bounded: a configuration that does not fit is left for another process, which then
//! uses the image alone.

use std::path::Path;

use gpuprof_model::measurement::PassOutcome;
use gpuprof_model::protocol::{CounterRequest, MeasureRequest};

use super::arena::Arena;
use super::collect::cupti::{Collection, Member};
use super::error::Result;
use super::kernel_run::KernelRun;
use super::outcome::{caught, outcome};
use super::session::Session;

/// Which part of the device's memory buffers may fill before a further configuration is set up; the
/// host holds as much.
const PART_OF_MEMORY: u64 = 64;

/// How many of `requests`, from the first on, are collected together.
pub(crate) fn batch_length(requests: &[MeasureRequest]) -> usize {
    let Some(first) = requests.first().and_then(image) else { return requests.len().min(1) };
    requests.iter().take_while(|request| image(request) == Some(first)).count()
}

fn image(request: &MeasureRequest) -> Option<&Path> {
    Some(&request.counters.as_ref()?.image)
}

/// Collects the counters of `requests`, which have the same `counters` except for their slots.
/// `set_up` makes a kernel ready. Output: an outcome per request, up to the first that was not
/// reached or whose outcome ends the process.
pub(crate) fn count<'s>(
    session: &'s Session,
    counters: &CounterRequest,
    requests: &'s [MeasureRequest],
    set_up: impl Fn(&'s MeasureRequest) -> Result<KernelRun<'s>>,
) -> Vec<PassOutcome> {
    let mut outcomes: Vec<Option<PassOutcome>> = Vec::new();
    let mut kernels = Vec::new();
    let most = session.context.total_mem().map_or(0, |bytes| bytes as u64 / PART_OF_MEMORY);
    let mut held = 0;
    for request in requests {
        if held > most {
            break;
        }
        match caught(|| set_up(request)) {
            Ok(kernel) => {
                held += kernel.held_bytes();
                kernels.push((outcomes.len(), kernel));
                outcomes.push(None);
            }
            Err(error) => {
                let refused = error.is_refusal();
                outcomes.push(Some(outcome(Err(error))));
                if !refused {
                    break;
                }
            }
        }
    }
    let at: Vec<usize> = kernels.iter().map(|&(at, _)| at).collect();
    match caught(|| collect(session, counters, kernels, &mut outcomes)) {
        Ok(()) => {}
        // The cause shows when each has a separate process.
        Err(error) => {
            let of_all = outcome(Err(error.of_several(at.len())));
            at.into_iter().for_each(|at| outcomes[at] = Some(of_all.clone()));
        }
    }
    outcomes.into_iter().map_while(|outcome| outcome).collect()
}

/// Fills in the `outcomes` of the `kernels`, which are given with their positions there.
fn collect(
    session: &Session,
    counters: &CounterRequest,
    mut kernels: Vec<(usize, KernelRun<'_>)>,
    outcomes: &mut [Option<PassOutcome>],
) -> Result<()> {
    let mut warm = Vec::new();
    if kernels.iter().any(|(_, kernel)| kernel.shares_memory()) {
        let largest = kernels.iter_mut().map(|(_, kernel)| kernel.placed_bytes()).max();
        let arena = Arena::new(session, largest.unwrap_or_default())?;
        kernels.iter_mut().for_each(|(_, kernel)| kernel.place(&arena));
    }
    if !kernels.is_empty() {
        session.take_turn();
    }
    for (at, mut kernel) in kernels {
        match kernel.warm_up() {
            Ok(()) => warm.push((at, kernel)),
            Err(error) if error.is_refusal() => outcomes[at] = Some(outcome(Err(error))),
            Err(error) => return Err(error),
        }
    }
    let Some(sampling) = warm.first().map(|(_, kernel)| kernel.sampling()) else { return Ok(()) };
    let mut collection = Collection::open(session, counters, sampling, Some(1))?;
    while collection.goes_on() {
        let mut members: Vec<&mut dyn Member> = Vec::new();
        for (_, kernel) in &mut warm {
            members.push(kernel);
        }
        collection.pass(&mut members)?;
    }
    let slots: Vec<u32> = warm.iter().map(|(_, kernel)| kernel.slot()).collect();
    let (pass, hardware) = collection.finish(&slots)?;
    for ((at, kernel), hardware) in warm.into_iter().zip(hardware) {
        outcomes[at] = Some(outcome(kernel.counted(pass.clone(), hardware)));
    }
    Ok(())
}
