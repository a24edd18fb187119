//! `main` of a harness: answers the runner's request, or libtest's command line.

pub(crate) mod counter_passes;
pub(crate) mod listing;
pub(crate) mod pass_output;
pub(crate) mod shared_process;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use gpuprof_model::code::Listing;
use gpuprof_model::measurement::{PassOutcome, PassResult, Unverified};
use gpuprof_model::notice::Notice;
use gpuprof_model::protocol::{
    KernelCode, MeasureRequest, REQUEST_ENV, ReplyBody, Request, RequestBody, UNWRITTEN,
};
use gpuprof_model::series::entry_point;

use super::collect::launch_facts::{Assembly, ReportedFunction};
use super::collect::{emulator, plan, source_counters};
use super::declaration;
use super::error::{Error, Result};
use super::kernel_run::{KernelRun, Package};
use super::registry::{self, Body, HarnessTarget, SeriesEntry};
use super::run::Run;
use super::session::{self, EntryName, ModuleName, Session};
use crate::host::error::outcome::{caught, caught_with, outcome, remember_panics};
use crate::host::run::purpose::Purpose;
use crate::host::run::refused_launches;
use crate::host::run::replay;
use crate::host::runner::line::Handover;
use crate::host::runner::measure_lock::MeasureLock;
use crate::host::runner::parent_death;
use crate::host::runner::reply;
use listing::Options;
use pass_output::PassOutput;
use shared_process::SharedProcess;

/// The exit code of libtest for a harness that failed its task.
const FAILED: u8 = 101;

/// The body of [`crate::main!`].
pub fn harness_main(target: &HarnessTarget) -> ExitCode {
    // Nothing reads it here: the runner searches the executable for it.
    std::hint::black_box(target.marker);
    let outcome = match std::env::var_os(REQUEST_ENV) {
        Some(path) => parent_death::tie_to_runner().and_then(|()| {
            let handover = Rc::new(Handover::from_stdin()?);
            reply::serve(Path::new(&path), &handover, |request| answer(request, target, &handover))
        }),
        None => Options::parse(std::env::args().skip(1))
            .map_err(io::Error::other)
            .and_then(|options| listing::answer(&options, target, &mut io::stdout().lock())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // It may be on the disk that is full, where `eprintln!` would panic.
            let _ = writeln!(io::stderr(), "gpuprof: {error}");
            ExitCode::from(if reply::is_unwritten(&error) { UNWRITTEN } else { FAILED })
        }
    }
}

fn answer(request: Request, target: &HarnessTarget, handover: &Rc<Handover>) -> io::Result<()> {
    let body = match request.body {
        RequestBody::Describe => ReplyBody::Described(registry::describe(target)),
        RequestBody::Probe => ReplyBody::Probed(session::probe()),
        RequestBody::PlanCounters(request) => ReplyBody::CountersPlanned(plan::plan(&request)),
        RequestBody::ListCode(kernels) => ReplyBody::CodeListed(list(&kernels)),
        RequestBody::Measure(ref requests) => return measure_all(&request, requests, handover),
    };
    reply::write(&request.reply_path, body, handover)
}

/// The lines of each kernel, by the emulated driver.
fn list(kernels: &[KernelCode]) -> Vec<Option<Listing>> {
    let emulated = emulator::is_loaded();
    let one = |KernelCode { kernel, ptx }: &KernelCode| {
        let ptx = std::fs::read_to_string(ptx).ok().filter(|_| emulated)?;
        emulator::listing(&ptx, kernel)
    };
    kernels.iter().map(one).collect()
}

/// Measures `first`, and then the passes of `request`, in one session with the device: contexts and
/// profilers cost more than passes do. It ends with the last reply: the runner hands the device on
/// while this process leaves it.
fn measure_all(
    request: &Request,
    first: &[MeasureRequest],
    handover: &Rc<Handover>,
) -> io::Result<()> {
    remember_panics();
    let Request { quiet, then, .. } = request;
    let emulated = first.iter().any(|request| request.emulated);
    let turn = request.waits.then(|| handover.clone());
    let session = caught(|| {
        let lock = MeasureLock::open(quiet.as_deref(), handover.clone())?;
        Session::open(emulated, turn, lock)
    })
    .map_err(Error::into_outcome);
    let mut outcomes = match &session {
        Ok(session) => measure_each(session, first),
        Err(outcome) => vec![outcome.clone()],
    };
    let mut reply_path = &request.reply_path;
    if let Some(then) = then {
        let all_well =
            outcomes.len() == first.len() && outcomes.iter().all(PassOutcome::lets_others_go_on);
        reply::write(reply_path, ReplyBody::Measured(outcomes), handover)?;
        outcomes = match &session {
            Ok(session) if all_well => measure_each(session, &then.measure),
            _ => Vec::new(),
        };
        reply_path = &then.reply_path;
    }
    let reply = || reply::write(reply_path, ReplyBody::Measured(outcomes), handover);
    match session {
        Ok(session) => session.close(reply),
        Err(_) => reply(),
    }
}

/// One outcome per request, up to the first that failed or was not reached for lack of memory.
fn measure_each(session: &Session, requests: &[MeasureRequest]) -> Vec<PassOutcome> {
    let mut outcomes = Vec::new();
    let mut rest = requests;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(counter_passes::batch_length(rest));
        let process = SharedProcess::new(session, outcomes.len(), requests.len());
        let found = measure(&process, now);
        let all_reached = found.len() == now.len();
        let goes_on = found.iter().all(PassOutcome::lets_others_go_on);
        outcomes.extend(found);
        if !(goes_on && all_reached) {
            break;
        }
        rest = later;
    }
    outcomes
}

/// The outcomes of `requests` that are handled in one step: one, or several that share an image.
fn measure(process: &SharedProcess<'_>, requests: &[MeasureRequest]) -> Vec<PassOutcome> {
    let Some(request) = requests.first() else { return Vec::new() };
    let session = process.session;
    let entry = match entry(&request.kernel) {
        Ok(entry) => entry,
        Err(error) => return vec![outcome(Err(error))],
    };
    let counters = request.counters.as_ref().filter(|_| !request.emulated);
    let open = caught(|| match counters {
        // CUPTI patches what is loaded after it has begun.
        Some(counters) => session.profiler(&counters.cupti).map(drop),
        None if request.source.is_some() => source_counters::prepare(session, request),
        None => {
            if !request.emulated {
                // The timing reports missing watches.
                let _ = session.watch(request.sampling.nvml.as_deref());
            }
            Ok(())
        }
    });
    if let Err(error) = open {
        return vec![outcome(Err(error))];
    }
    match (entry.body, counters) {
        (Body::Kernel { .. } | Body::Declared { .. }, Some(counters)) => {
            counter_passes::count(process, counters, requests, |request| {
                set_up(session, &entry, request)
            })
        }
        _ => {
            let one = |(position, request)| {
                process.begin(position);
                let printed = prints(request).then(PassOutput::begin);
                let measured = || process.keep_state(|| measure_one(session, &entry, request));
                let explain = |panic| session.add_reason(panic);
                let outcome = outcome(caught_with(explain, measured));
                let outcome = match printed {
                    Some(printed) => printed.attach_to(outcome),
                    None => outcome,
                };
                declaration::as_written(outcome, request)
            };
            requests.iter().enumerate().map(one).collect()
        }
    }
}

/// Whether a kernel of the request's modules may print. Output of host code alone is not
/// shown.
fn prints(request: &MeasureRequest) -> bool {
    // Machine code calls it by the same name.
    let calls = |module: Vec<u8>| String::from_utf8_lossy(&module).contains("vprintf");
    let may = |path| std::fs::read(path).is_ok_and(calls);
    request.modules.values().any(may)
}

fn entry(kernel: &str) -> Result<SeriesEntry> {
    let entries = registry::entries().map_err(Error::failed)?;
    entries
        .into_iter()
        .find(|(name, _)| name == kernel)
        .map(|(_, entry)| *entry)
        .ok_or_else(|| Error::failed(format!("the harness has no series `{kernel}`")))
}

/// A kernel with its launch and arguments, measured unless its counters are wanted.
fn set_up<'s>(
    session: &'s Session,
    entry: &SeriesEntry,
    request: &'s MeasureRequest,
) -> Result<KernelRun<'s>> {
    let (module, name, place, set_up) = match entry.body {
        Body::Kernel { symbol, place, constants, run, .. } => {
            let name = entry_point(symbol, constants, &request.configuration);
            (ModuleName::Package(entry.source_package), name, place, run)
        }
        Body::Declared { run, .. } => {
            let instance =
                request.declared.as_ref().ok_or_else(|| declaration::not_compiled(entry.kernel))?;
            (ModuleName::Declared(&instance.module), instance.symbol.clone(), "", run)
        }
        Body::Series(_) => {
            return Err(Error::failed(format!("`{}` is not a kernel", entry.kernel)));
        }
    };
    let (loaded, ptx) = session.load_module(request, module)?;
    let kernel = session.load_kernel(request, loaded, EntryName { module, name: &name, place })?;
    let package = Package { name: entry.source_package, folder: Path::new(entry.source_folder) };
    let mut run = Run::new(session, request, Purpose::requested(session, request));
    let assembly = Some(Assembly::new(request, module.key(), &kernel.symbol, &ptx));
    run.reported = Some(ReportedFunction { function: kernel.function.clone(), assembly });
    let mut kernel = KernelRun::new(run, package, kernel, ptx);
    session.quiet.notify(Notice::MakesInputs);
    set_up(&mut kernel)?;
    Ok(kernel)
}

fn measure_one(
    session: &Session,
    entry: &SeriesEntry,
    request: &MeasureRequest,
) -> Result<PassResult> {
    let run = match entry.body {
        Body::Kernel { .. } | Body::Declared { .. } => set_up(session, entry, request)?.into_run(),
        Body::Series(function) => {
            session.take_turn();
            let mut run = match &request.counters {
                Some(counters) if !request.emulated => {
                    replay::count(session, request, counters, function)?
                }
                _ => {
                    let mut run = Run::new(session, request, Purpose::requested(session, request));
                    // Unless it calls `Run::verify`.
                    run.result.unverified = Some(Unverified::NoReference);
                    refused_launches::call(function, &mut run)?;
                    run
                }
            };
            run.record_configured()?;
            run
        }
    };
    run.finish(entry.kernel)
}
