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

use crate::host::arguments::arena::Arena;
use crate::host::collect::cupti::{Collection, Member, SlotContent};
use crate::host::error::Result;
use crate::host::error::outcome::{caught, outcome};
use crate::host::harness::shared_process::SharedProcess;
use crate::host::kernel_run::KernelRun;

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
    process: &SharedProcess<'s>,
    counters: &CounterRequest,
    requests: &'s [MeasureRequest],
    set_up: impl Fn(&'s MeasureRequest) -> Result<KernelRun<'s>>,
) -> Vec<PassOutcome> {
    let mut outcomes: Vec<Option<PassOutcome>> = Vec::new();
    let mut kernels = Vec::new();
    let most = process.session.context.total_mem().map_or(0, |bytes| bytes as u64 / PART_OF_MEMORY);
    let mut held = 0;
    for request in requests {
        if held > most {
            break;
        }
        let position = outcomes.len();
        process.begin(position);
        match caught(|| process.keep_state(|| set_up(request))) {
            Ok(kernel) => {
                held += kernel.held_bytes();
                kernels.push(Counted { position, kernel, process });
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
    process.begin_all();
    let at: Vec<usize> = kernels.iter().map(|kernel| kernel.position).collect();
    if let Err(error) = caught(|| collect(process, counters, kernels, &mut outcomes)) {
        // If the configuration at fault is unknown, it shows when each has a separate process.
        let failed = outcome(Err(error.of_several(at.len())));
        let of = |at| match process.position() {
            Some(position) if position != at => PassOutcome::Lost,
            _ => failed.clone(),
        };
        at.into_iter().for_each(|at| outcomes[at] = Some(of(at)));
    }
    outcomes.into_iter().map_while(|outcome| outcome).collect()
}

/// Fills in the `outcomes` of the `kernels`, which are given with their positions there.
fn collect<'s>(
    process: &SharedProcess<'s>,
    counters: &'s CounterRequest,
    mut kernels: Vec<Counted<'_, 's>>,
    outcomes: &mut [Option<PassOutcome>],
) -> Result<()> {
    let session = process.session;
    let mut warm = Vec::new();
    if kernels.iter().any(|counted| counted.kernel.shares_memory()) {
        let largest = kernels.iter_mut().map(|counted| counted.kernel.placed_bytes()).max();
        let arena = Arena::new(session, largest.unwrap_or_default())?;
        kernels.iter_mut().for_each(|counted| counted.kernel.place(&arena));
    }
    if !kernels.is_empty() {
        session.take_turn();
    }
    for mut counted in kernels {
        process.begin(counted.position);
        match counted.kernel.warm_up() {
            Ok(()) => warm.push(counted),
            Err(error) if error.is_refusal() => {
                outcomes[counted.position] = Some(outcome(Err(error)));
            }
            Err(error) => return Err(error),
        }
    }
    process.begin_all();
    let Some(sampling) = warm.first().map(|counted| counted.kernel.sampling()) else {
        return Ok(());
    };
    let mut collection = Collection::open(session, counters, sampling, SlotContent::Launch)?;
    while collection.goes_on() {
        let mut members: Vec<&mut dyn Member> = Vec::new();
        for counted in &mut warm {
            members.push(counted);
        }
        collection.pass(&mut members)?;
    }
    let slots: Vec<u32> = warm.iter().map(Counted::slot).collect();
    let (pass, counted) = collection.finish(&slots)?;
    for (Counted { position, kernel, .. }, counted) in warm.into_iter().zip(counted) {
        outcomes[position] = Some(outcome(kernel.counted(pass.clone(), &counted)));
    }
    Ok(())
}

/// A configuration that is counted among others.
struct Counted<'p, 's> {
    /// Its position among the requests.
    position: usize,
    kernel: KernelRun<'s>,
    process: &'p SharedProcess<'s>,
}

impl Member for Counted<'_, '_> {
    fn slot(&self) -> u32 {
        self.kernel.slot()
    }

    fn restore(&mut self) -> Result<()> {
        self.process.begin(self.position);
        self.kernel.restore()
    }

    fn launch(&mut self) -> Result<()> {
        self.kernel.launch()?;
        // An error of the launch is its own.
        self.process.session.stream.synchronize()?;
        self.process.begin_all();
        Ok(())
    }
}
