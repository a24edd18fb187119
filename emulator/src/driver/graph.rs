//! Work of streams: done at once, or kept in a graph until that is launched.

use super::code::Code;
use super::current::{on_stream, with_context, with_healthy};
use super::graph_state::{Node, ordered};
use super::pointers::{Handle, Handles, HostFunction, Out, Target, call_host};
use super::state::{Driver, Work};
use std::ffi::{c_uint, c_ulonglong};
use std::sync::Arc;

/// The legacy default stream's handles.
const LEGACY: [Handle; 2] = [Handle(0), Handle(1)];

/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: c_uint = 1;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE_ON_LAUNCH: c_ulonglong = 1;

/// `CU_STREAM_CAPTURE_STATUS_ACTIVE`.
const ACTIVE: c_uint = 1;

impl Driver {
    /// Does `work` on a stream, or keeps it for the graph that captures the stream.
    pub fn submit(
        &mut self,
        (stream, number): (Handle, u64),
        work: impl Fn(&mut Driver, u64) -> Result<(), Code> + Send + Sync + 'static,
    ) -> Result<(), Code> {
        if !self.graphs.captures(stream) {
            self.check_legacy(stream)?;
        }
        self.perform((stream, number), &Work::Device(Arc::new(work)))
    }

    /// Does work with the memory that the host shares, or keeps it for a graph.
    fn perform(&mut self, (stream, number): (Handle, u64), work: &Work) -> Result<(), Code> {
        if let Some(&(graph, _)) = self.graphs.captures.get(&stream) {
            return self.append(graph, work.clone());
        }
        self.managed.give(&mut self.device.memory);
        let outcome = match work {
            Work::Device(work) => work(self, number),
            &Work::Allocate { address, bytes } => {
                self.device.memory.allocate_at(address, bytes).ok_or(Code::OUT_OF_MEMORY)
            }
            Work::Host(..) | Work::All(_) => Ok(()),
        };
        self.device.end_move(number);
        self.order.work(number);
        self.managed.take(&self.device.memory);
        outcome
    }

    /// The legacy default stream waits for others, and a stream that is captured never ends.
    fn check_legacy(&self, stream: Handle) -> Result<(), Code> {
        let is_blocking = |captured: &Handle| {
            self.streams.get(captured).is_some_and(|(.., flags)| flags & NON_BLOCKING == 0)
        };
        if LEGACY.contains(&stream) && self.graphs.captures.keys().any(is_blocking) {
            return Err(Code::STREAM_CAPTURE_IMPLICIT);
        }
        Ok(())
    }

    /// A graph that allocates memory cannot be copied: its addresses are those of one graph.
    pub fn check_copyable(&mut self, graph: Handle) -> Result<(), Code> {
        let allocates = |node: &Node<Work>| matches!(node.work, Work::Allocate { .. });
        if self.graphs.nodes(graph)?.iter().any(allocates) {
            self.note("invalid_argument", "a graph that allocates memory is copied into another");
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(())
    }

    /// Frees the allocations of an executable graph at its last launch, if it was instantiated so.
    ///
    /// # Errors
    /// The memory is still allocated.
    fn begin_launch(&mut self, executable: Handle, all: &[Work]) -> Result<(), Code> {
        for work in all {
            let &Work::Allocate { address, bytes } = work else { continue };
            if self.device.memory.find(address).is_none() {
                continue;
            }
            if !self.graphs.auto_free.contains(&executable) {
                let why = format!(
                    "a graph is launched again before its {bytes} bytes at {address:#x} are freed: \
                     free them, or instantiate it with the flag AUTO_FREE_ON_LAUNCH"
                );
                self.note("invalid_argument", &why);
                return Err(Code::INVALID_VALUE);
            }
            self.device.memory.free(address).map_err(|_| Code::INVALID_VALUE)?;
        }
        Ok(())
    }

    /// Adds a node to a capture.
    pub fn append(&mut self, graph: Handle, work: Work) -> Result<(), Code> {
        let handle = self.handle();
        self.graphs.append(graph, handle, work)
    }
}

/// Work on a stream: done now, or kept for the graph that captures the stream.
pub fn enqueue(
    stream: Handle,
    work: impl Fn(&mut Driver, u64) -> Result<(), Code> + Send + Sync + 'static,
) -> Code {
    on_stream(stream, |driver, number| driver.submit((stream, number), work))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: Handle, _mode: c_uint) -> Code {
    on_stream(stream, |driver, _| {
        if LEGACY.contains(&stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if driver.graphs.captures(stream) {
            return Err(Code::ILLEGAL_STATE);
        }
        let graph = driver.handle();
        driver.graphs.graphs.insert(graph, Vec::new());
        driver.graphs.captures.insert(stream, (graph, true));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) -> Code {
    on_stream(stream, |driver, _| {
        let graphs = &mut driver.graphs;
        let &(captured, _) = graphs
            .captures
            .get(&stream)
            .filter(|(_, began)| *began)
            .ok_or(Code::STREAM_CAPTURE_UNMATCHED)?;
        graphs.captures.retain(|_, (graph, _)| *graph != captured);
        graphs.forks.retain(|_, graph| *graph != captured);
        graph.set(captured)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamIsCapturing(stream: Handle, status: Out<c_uint>) -> Code {
    on_stream(stream, |driver, _| {
        status.set(if driver.graphs.captures(stream) { ACTIVE } else { 0 })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuThreadExchangeStreamCaptureMode(_mode: Out<c_uint>) -> Code {
    // Every mode allows all actions of this driver in a capture.
    with_context(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphCreate(graph: Out<Handle>, _flags: c_uint) -> Code {
    with_context(|driver| {
        let handle = driver.handle();
        driver.graphs.graphs.insert(handle, Vec::new());
        graph.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphClone(clone: Out<Handle>, graph: Handle) -> Code {
    with_context(|driver| {
        let handle = driver.handle();
        driver.check_copyable(graph)?;
        let nodes = driver.graphs.nodes(graph)?.clone();
        driver.graphs.graphs.insert(handle, nodes);
        clone.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: Handle) -> Code {
    with_context(|driver| driver.graphs.graphs.remove(&graph).map(drop).ok_or(Code::INVALID_VALUE))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphGetNodes(graph: Handle, nodes: Handles, count: Out<usize>) -> Code {
    with_context(|driver| {
        let all: Vec<Handle> = driver.graphs.nodes(graph)?.iter().map(|node| node.handle).collect();
        nodes.set_if_wanted(&all, count)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphAddDependencies(
    graph: Handle,
    from: Handles,
    to: Handles,
    count: usize,
) -> Code {
    with_context(|driver| {
        let (from, to) = (from.get(count)?, to.get(count)?);
        let nodes = driver.graphs.nodes(graph)?;
        for (first, second) in from.iter().zip(to) {
            let found = nodes.iter_mut().find(|node| node.handle == *second);
            found.ok_or(Code::INVALID_VALUE)?.after.push(*first);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphInstantiateWithFlags(
    executable: Out<Handle>,
    graph: Handle,
    flags: c_ulonglong,
) -> Code {
    with_context(|driver| {
        let nodes = ordered(driver.graphs.nodes(graph)?)?;
        let handle = driver.handle();
        driver.graphs.executables.insert(handle, nodes);
        if flags & AUTO_FREE_ON_LAUNCH != 0 {
            driver.graphs.auto_free.insert(handle);
        }
        executable.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(executable: Handle) -> Code {
    with_context(|driver| {
        driver.graphs.auto_free.remove(&executable);
        driver.graphs.executables.remove(&executable).map(drop).ok_or(Code::INVALID_VALUE)
    })
}

/// Takes over the parameters of a graph of the same shape.
#[unsafe(no_mangle)]
extern "C" fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Target) -> Code {
    with_context(|driver| {
        let new = ordered(driver.graphs.nodes(graph)?)?;
        let old = driver.graphs.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?;
        let fits = old.len() == new.len();
        // `CUgraphExecUpdateResultInfo`: the result, padding, and two nodes.
        let word = if fits { 0 } else { TOPOLOGY_CHANGED };
        let info = result.bytes(24)?;
        info.fill(0);
        info[..4].copy_from_slice(&word.to_le_bytes());
        if !fits {
            return Err(Code::GRAPH_EXEC_UPDATE_FAILURE);
        }
        for (old, new) in old.iter_mut().zip(new) {
            old.work = new.work;
        }
        Ok(())
    })
}

/// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`.
const TOPOLOGY_CHANGED: u32 = 2;

#[unsafe(no_mangle)]
extern "C" fn cuGraphUpload(executable: Handle, stream: Handle) -> Code {
    on_stream(stream, |driver, _| {
        driver.graphs.executables.get(&executable).map(drop).ok_or(Code::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: Handle, stream: Handle) -> Code {
    let mut work = Vec::new();
    let ready = with_healthy(|driver| {
        let nodes = driver.graphs.executables.get(&executable).ok_or(Code::INVALID_VALUE)?;
        work = nodes.iter().map(|node| node.work.clone()).collect();
        driver.check_legacy(stream)?;
        driver.begin_launch(executable, &work)
    });
    if ready != Code::SUCCESS { ready } else { run(stream, &work).into() }
}

/// Does work on a stream, without the driver's lock while a function of the host runs.
fn run(stream: Handle, all: &[Work]) -> Result<(), Code> {
    all.iter().try_for_each(|work| match work {
        Work::Host(function, argument) => launch_host(stream, *function, *argument),
        Work::All(inner) => run(stream, inner),
        Work::Device(_) | Work::Allocate { .. } => {
            result(on_stream(stream, |driver, number| driver.perform((stream, number), work)))
        }
    })
}

fn result(code: Code) -> Result<(), Code> {
    if code == Code::SUCCESS { Ok(()) } else { Err(code) }
}

/// Calls a function of the host, or keeps the call for the graph that captures the stream.
pub fn launch_host(
    stream: Handle,
    function: Option<HostFunction>,
    argument: u64,
) -> Result<(), Code> {
    let mut is_kept = false;
    result(on_stream(stream, |driver, _| match driver.graphs.captures.get(&stream) {
        Some(&(graph, _)) => {
            is_kept = true;
            driver.append(graph, Work::Host(function, argument))
        }
        None => Ok(()),
    }))?;
    if is_kept { Ok(()) } else { call_host(function, Target::from_address(argument)) }
}
