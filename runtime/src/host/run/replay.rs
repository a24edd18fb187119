//! Counter passes of a series function: each pass calls the function again.
//!
//! Input: a function that sets up and launches, and the request for counters. Output: the
//! declarations of its last call, with the counters of all passes of this process. A warm-up
//! launches for a while and writes to buffers that only the function knows, so its inputs are spent
//! afterwards. Therefore every pass measures the first launch of a new call, in every replay mode
//! and also on the emulated driver. The function must do the same in every call; a visible
//! difference is an error.

use std::mem;

use gpuprof_model::measurement::{HardwareValue, LaunchRecord};
use gpuprof_model::metric::is_patched;
use gpuprof_model::protocol::{CounterRequest, MeasureRequest};

use crate::host::collect::cupti::{Collection, SlotContent};
use crate::host::collect::parts::{Counts, Mark};
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::{Launch, LaunchShape};
use crate::host::run::Run;
use crate::host::run::purpose::Purpose;
use crate::host::run::refused_launches::{self, SeriesFunction};
use crate::host::session::Session;

/// Calls `function` to warm up, and then once for every counter pass of this process.
///
/// # Errors
/// Those of the function or of CUPTI, or calls that differ from each other.
pub(crate) fn count<'a>(
    session: &'a Session,
    request: &'a MeasureRequest,
    counters: &'a CounterRequest,
    function: SeriesFunction,
) -> Result<Run<'a>> {
    let kernel = &request.kernel;
    let called = |purpose| {
        let mut run = Run::new(session, request, purpose);
        refused_launches::call(function, &mut run)?;
        let launch = run.launch_config()?;
        Ok::<_, Error>((run, launch))
    };
    let (warm_up, first) = called(Purpose::WarmUp)?;
    warm_up.check_measured(kernel)?;
    let content =
        SlotContent::of_function(request.range, warm_up.observed_launches(), &warm_up.marks)?;
    let mut collection = Box::new(Collection::open(session, counters, &request.sampling, content)?);
    loop {
        let passes = collection.passes();
        let (mut run, launch) = called(Purpose::CounterPass(collection))?;
        // The next call continues the collection; the run keeps what it recorded.
        collection = match mem::replace(&mut run.purpose, Purpose::WarmUp) {
            Purpose::CounterPass(collection) if collection.passes() > passes => collection,
            _ => return Err(differs(kernel, "measured", "did not")),
        };
        if launch != first {
            return Err(differs(kernel, &text(&first), &text(&launch)));
        }
        if let SlotContent::Closure { .. } = content
            && run.marks != warm_up.marks
        {
            return Err(differs(kernel, &marked(&warm_up.marks), &marked(&run.marks)));
        }
        if !collection.goes_on() {
            let (pass, counted) = collection.finish(&[0])?;
            let mut counted = counted.into_iter().next().unwrap_or_default();
            withhold_patched(&mut counted, warm_up.observed_launches().unwrap_or_default());
            run.take_observed(warm_up);
            run.take_counts(pass, &counted, content);
            return Ok(run);
        }
    }
}

/// Takes the counters that CUPTI patches into kernels from a closure that launches a graph: they
/// read 0 there (H200, CUPTI 13.0), as the graph holds the kernels without the patches.
fn withhold_patched(counted: &mut [Counts], seen: &[LaunchRecord]) {
    if seen.iter().all(|launch| launch.graph.is_none()) {
        return;
    }
    let reason = "CUPTI patches this counter into kernels, and the kernels of a graph are launched \
                  without the patches";
    let values = counted.iter_mut().flat_map(|counted| &mut counted.hardware);
    for (_, value) in values.filter(|(name, _)| is_patched(name)) {
        *value = HardwareValue::Unavailable(reason.to_owned());
    }
}

fn differs(kernel: &str, first: &str, later: &str) -> Error {
    Error::failed(format!(
        "`{kernel}` {first} in one call and {later} in a later one; a series function is called \
         again for every counter pass and must do the same every time"
    ))
}

/// `had the ranges a, a/b`.
fn marked(marks: &[Mark]) -> String {
    let paths: Vec<&str> = marks.iter().map(|mark| mark.path.as_str()).collect();
    format!("had the ranges {}", paths.join(", "))
}

/// `launched grid 2x1x1 block 64x1x1 shared 0`.
fn text(launch: &Launch) -> String {
    let extent = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let Some(LaunchShape { grid, block, shared }) = launch.shape else {
        return "set no grid and block".to_owned();
    };
    let cluster = launch.cluster().map(|(x, y, z)| format!(" cluster {}", extent([x, y, z])));
    let (grid, block) = (extent(grid), extent(block));
    format!("launched grid {grid} block {block} shared {shared}{}", cluster.unwrap_or_default())
}
