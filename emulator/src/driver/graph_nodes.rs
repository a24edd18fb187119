//! Nodes that a program adds to a graph by itself.

use super::code::Code;
use super::current::with_context;
use super::exported::exported;
use super::function::{Kind, kernel_work};
use super::graph_memory;
use super::memcpy_areas::Area3D;
use super::memory::fill_rows;
use super::pointers::{Extra, Handle, Handles, HostFunction, Out, Params, Structure, Target};
use super::state::{Driver, Work};
use crate::device::LaunchConfig;
use std::ffi::c_int;
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS`, as far as both of its versions have it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelNode {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    params: Params,
    extra: Extra,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FillNode {
    address: u64,
    pitch: usize,
    value: u32,
    element_bytes: u32,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HostNode {
    function: Option<HostFunction>,
    argument: u64,
}

/// The bytes of `CUDA_MEM_ALLOC_NODE_PARAMS`, and where it has the size and the address. Pools have
/// no memory here, so the other fields change nothing.
const NODE_BYTES: usize = 120;
const SIZE: usize = 104;
const ADDRESS: usize = 112;

/// Adds the node that `work` makes.
fn add(
    node: Out<Handle>,
    graph: Handle,
    (after, count): (Handles, usize),
    work: impl FnOnce(&mut Driver) -> Result<Work, Code>,
) -> Code {
    with_context(|driver| {
        let work = work(driver)?;
        let handle = driver.handle();
        driver.graphs.add(graph, handle, work, after.get(count)?)?;
        node.set(handle)
    })
}

fn kernel(driver: &mut Driver, node: Structure<KernelNode>) -> Result<Work, Code> {
    let KernelNode { function, grid, block, shared_bytes, params, extra } = node.get()?;
    let config = LaunchConfig { grid, block, shared_bytes };
    let work = kernel_work(driver, function, (config, Kind::Ordinary), params, extra)?;
    Ok(Work::Device(Arc::new(work)))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    executable: Handle,
    node: Handle,
    kernel_node: Structure<KernelNode>,
) -> Code {
    with_context(|driver| {
        let work = kernel(driver, kernel_node)?;
        driver.graphs.replace(executable, node, work)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphAddMemsetNode(
    node: Out<Handle>,
    graph: Handle,
    after: Handles,
    count: usize,
    fill: Structure<FillNode>,
    _context: Handle,
) -> Code {
    add(node, graph, (after, count), |_| {
        let FillNode { address, pitch, value, element_bytes, width, height } = fill.get()?;
        let bytes = usize::try_from(element_bytes).ok().filter(|it| matches!(it, 1 | 2 | 4));
        let pattern = value.to_le_bytes()[..bytes.ok_or(Code::INVALID_VALUE)?].to_vec();
        Ok(Work::Device(Arc::new(move |driver, _| {
            fill_rows(driver, (address, pitch), &pattern, (width, height))
        })))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphAddMemAllocNode(
    node: Out<Handle>,
    graph: Handle,
    after: Handles,
    count: usize,
    parameters: Target,
) -> Code {
    add(node, graph, (after, count), |driver| {
        let fields = parameters.bytes(NODE_BYTES)?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&fields[SIZE..ADDRESS]);
        let (work, address) = graph_memory::allocation(driver, usize::from_ne_bytes(bytes))?;
        fields[ADDRESS..].copy_from_slice(&address.to_ne_bytes());
        Ok(work)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGraphMemTrim(_device: c_int) -> Code {
    // Graphs keep no memory that is not in use.
    with_context(|_| Ok(()))
}

exported! {
    fn cuGraphAddKernelNode_v2(
        node: Out<Handle>, graph: Handle, after: Handles, count: usize,
        kernel_node: Structure<KernelNode>
    ) = add(node, graph, (after, count), |driver| kernel(driver, kernel_node));
    fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: Handles, count: usize) =
        add(node, graph, (after, count), |_| Ok(Work::All(Vec::new())));
    fn cuGraphAddMemFreeNode(
        node: Out<Handle>, graph: Handle, after: Handles, count: usize, address: u64
    ) = add(node, graph, (after, count), |driver| graph_memory::release(driver, address));
    fn cuGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, after: Handles, count: usize, area: Structure<Area3D>,
        _context: Handle
    ) = add(node, graph, (after, count), |_| {
        let rows = area.get()?.rows()?;
        Ok(Work::Device(Arc::new(move |driver, _| rows.copy(driver))))
    });
    fn cuGraphAddHostNode(
        node: Out<Handle>, graph: Handle, after: Handles, count: usize, host: Structure<HostNode>
    ) = add(node, graph, (after, count), |_| {
        let HostNode { function, argument } = host.get()?;
        Ok(Work::Host(function, argument))
    });
    fn cuGraphAddChildGraphNode(
        node: Out<Handle>, graph: Handle, after: Handles, count: usize, child: Handle
    ) = add(node, graph, (after, count), |driver| {
        driver.check_copyable(child)?;
        Ok(Work::All(driver.graphs.work(child)?))
    });
}
