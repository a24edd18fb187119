//! NVRTC in a separate process.
//!
//! Input: a [`Request`]. Output: its [`Reply`], or how the process ended without one. The process
//! is this executable with a hidden subcommand. NVRTC that aborts is then a diagnosis, several
//! compile at once, and this process stays without unsafe code.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use gpuprof_nvrtc::{Nvrtc, ProgramSource, Refusal};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::scratch::Scratch;

/// The hidden subcommand that compiles.
pub const SUBCOMMAND: &str = "__nvrtc";

/// What is asked of NVRTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Its library.
    pub(crate) library: PathBuf,
    /// What is compiled.
    pub(crate) job: Job,
    /// The path of the trace that lists the headers, without the suffix that NVRTC adds.
    pub(crate) trace: Option<PathBuf>,
}

/// One compile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The name of the text in messages.
    pub(crate) name: String,
    /// CUDA C++.
    pub(crate) text: String,
    /// Headers in memory: name and text.
    pub(crate) headers: Vec<(String, String)>,
    /// The expressions to instantiate.
    pub(crate) expressions: Vec<String>,
    /// NVRTC's options.
    pub(crate) options: Vec<String>,
}

/// NVRTC's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reply {
    /// Its version: major and minor.
    pub(crate) version: (u32, u32),
    /// The compute capabilities that it compiles for.
    pub(crate) architectures: Vec<u32>,
    /// Its messages.
    pub(crate) log: String,
    /// How it ended.
    pub(crate) ended: Ended,
    /// The headers that it read; none if it does not list them.
    pub(crate) headers: Option<Vec<PathBuf>>,
}

/// How a compile ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ended {
    /// With PTX and the names in it.
    Well {
        /// The PTX.
        ptx: String,
        /// The names of the expressions, in their order.
        names: Vec<String>,
    },
    /// The source has errors.
    WithErrors,
    /// NVRTC refused the options, lacks its builtins, or has an internal error.
    Refused(String),
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum NoReply {
    /// The process cannot be started, or its files not be written.
    Start(io::Error),
    /// It ended by itself.
    Ended(ExitStatus),
    /// The library is not NVRTC: why not.
    Unusable(String),
    /// A signal came.
    Interrupted(u8),
}

/// The child's output.
type Written = Result<Reply, String>;

/// Compiles in a child process that works in `folder`. An interrupt ends it.
///
/// # Errors
/// [`NoReply`].
pub(crate) fn ask(
    executable: &Path,
    folder: &Path,
    interrupt: &Interrupt,
    request: &Request,
) -> Result<Reply, NoReply> {
    let files = Scratch::make().map_err(NoReply::Start)?;
    let (asked, reply) = (files.path().join("request"), files.path().join("reply"));
    let request = Request { trace: Some(files.path().join("trace").into()), ..request.clone() };
    let bytes = serde_json::to_vec(&request).expect("requests are plain data");
    fs::write(&asked, bytes).map_err(NoReply::Start)?;
    let mut child = Command::new(executable)
        .args(["gpuprof", SUBCOMMAND])
        .args([&asked, &reply])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(NoReply::Start)?;
    let id = Pid::from_child(&child);
    let ended = BlockingCall::start(move || child.wait()).map_err(NoReply::Start)?;
    let status = loop {
        if let Some(status) = ended.result() {
            break status.map_err(NoReply::Start)?;
        }
        if let Some(signal) = interrupt.signal() {
            let _ = kill_process(id, Signal::KILL);
            return Err(NoReply::Interrupted(signal));
        }
        interrupt.wait(&[std::os::fd::AsFd::as_fd(&ended)], None).map_err(NoReply::Start)?;
    };
    if let Some(signal) = interrupt.signal() {
        return Err(NoReply::Interrupted(signal));
    }
    let written = fs::read(&reply).ok().filter(|_| status.success());
    let written = written.and_then(|bytes| serde_json::from_slice::<Written>(&bytes).ok());
    written.ok_or(NoReply::Ended(status))?.map_err(NoReply::Unusable)
}

/// Answers the request in the file `request` into the file `reply`.
///
/// # Errors
/// Files that cannot be read or written; the parent sees to the rest.
pub fn run_child(request: &Path, reply: &Path) -> io::Result<()> {
    let request: Request = serde_json::from_slice(&fs::read(request)?)?;
    fs::write(reply, serde_json::to_vec(&answer(&request))?)
}

fn answer(request: &Request) -> Written {
    let nvrtc = Nvrtc::open(&request.library).map_err(|error| error.to_string())?;
    let (job, version) = (&request.job, nvrtc.version());
    let mut options = job.options.clone();
    // From 13.0 on it lists every header there.
    let trace = request.trace.as_ref().filter(|_| version >= (13, 0));
    options.extend(trace.map(|path| format!("--fdevice-time-trace={}", path.display())));
    let source = ProgramSource {
        name: &job.name,
        text: &job.text,
        headers: &job.headers,
        expressions: &job.expressions,
        options: &options,
    };
    let outcome = nvrtc.compile(&source).map_err(|error| error.to_string())?;
    let ended = match outcome.product {
        Ok(product) => Ended::Well { ptx: product.ptx, names: product.names },
        Err(Refusal::Compilation) => Ended::WithErrors,
        Err(refusal) => Ended::Refused(refusal.to_string()),
    };
    let headers = trace.and_then(|path| headers_in(path));
    let architectures = nvrtc.architectures();
    Ok(Reply { version, architectures, log: outcome.log, ended, headers })
}

/// The part of a trace that is read. Its first event is empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    trace_events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Arguments,
}

#[derive(Default, Deserialize)]
struct Arguments {
    detail: Option<String>,
}

/// The headers in the trace. NVRTC adds the suffix `.json`, and writes no trace if the compile
/// fails.
fn headers_in(trace: &Path) -> Option<Vec<PathBuf>> {
    let bytes = fs::read(trace.with_added_extension("json")).ok()?;
    let trace: Trace = serde_json::from_slice(&bytes).ok()?;
    let headers = trace.trace_events.into_iter().filter(|it| it.name == "Processing Header File");
    let mut paths: Vec<PathBuf> =
        headers.filter_map(|event| event.args.detail.map(PathBuf::from)).collect();
    paths.sort();
    paths.dedup();
    Some(paths)
}
