//! Graphs and captures.

use crate::driver::driver;
use crate::error::Error;
use crate::macros::{on_stream, runtime};
use crate::pointers::{Address, Handle, In, Out};
use crate::registry::kernel;
use crate::structures::{Copy3D, DriverCopy, DriverKernelNode, FillNode, HostNode, KernelNode};
use std::ffi::{c_int, c_uint, c_ulonglong};

fn kernel_node(node: In<KernelNode>) -> Result<DriverKernelNode, Error> {
    let KernelNode { stub, grid, block, shared, arguments, extra } = node.get()?;
    let (function, others) = (kernel(stub)?, [Handle::NULL; 2]);
    Ok(DriverKernelNode { function, grid, block, shared, arguments, extra, others })
}

fn instantiate(executable: Out<Handle>, graph: Handle, flags: c_ulonglong) -> Result<(), Error> {
    driver()?.cuGraphInstantiateWithFlags(executable, graph, flags)
}

fn add_copy(
    node: Out<Handle>,
    graph: Handle,
    (after, count): (Address, usize),
    copy: &DriverCopy,
) -> Result<(), Error> {
    driver()?.cuGraphAddMemcpyNode(node, graph, after, count, In::new(copy), Handle::NULL)
}

runtime! {
    fn cudaGraphCreate(graph: Out<Handle>, flags: c_uint) { driver()?.cuGraphCreate(graph, flags) }
    fn cudaGraphClone(clone: Out<Handle>, graph: Handle) { driver()?.cuGraphClone(clone, graph) }
    fn cudaGraphDestroy(graph: Handle) { driver()?.cuGraphDestroy(graph) }
    fn cudaGraphGetNodes(graph: Handle, nodes: Address, count: Out<usize>) {
        driver()?.cuGraphGetNodes(graph, nodes, count)
    }
    fn cudaGraphInstantiate | cudaGraphInstantiateWithFlags(
        executable: Out<Handle>, graph: Handle, flags: c_ulonglong,
    ) { instantiate(executable, graph, flags) }
    fn cudaGraphExecDestroy(executable: Handle) { driver()?.cuGraphExecDestroy(executable) }
    fn cudaGraphExecUpdate(executable: Handle, graph: Handle, result: Address) {
        driver()?.cuGraphExecUpdate_v2(executable, graph, result)
    }
    fn cudaGraphAddKernelNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, launch: In<KernelNode>,
    ) {
        let launch = kernel_node(launch)?;
        driver()?.cuGraphAddKernelNode_v2(node, graph, after, count, In::new(&launch))
    }
    fn cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, launch: In<KernelNode>) {
        let launch = kernel_node(launch)?;
        driver()?.cuGraphExecKernelNodeSetParams_v2(executable, node, In::new(&launch))
    }
    fn cudaGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, copy: In<Copy3D>,
    ) { add_copy(node, graph, (after, count), &copy.get()?.for_driver()?) }
    fn cudaGraphAddMemcpyNode1D(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, to: Address, from: Address,
        bytes: usize, _kind: c_int,
    ) { add_copy(node, graph, (after, count), &DriverCopy::linear(to, from, bytes)) }
    fn cudaGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, fill: In<FillNode>,
    ) { driver()?.cuGraphAddMemsetNode(node, graph, after, count, fill, Handle::NULL) }
    fn cudaGraphAddHostNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, host: In<HostNode>,
    ) { driver()?.cuGraphAddHostNode(node, graph, after, count, host) }
    fn cudaGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: Address, count: usize) {
        driver()?.cuGraphAddEmptyNode(node, graph, after, count)
    }
    fn cudaGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, parameters: Address,
    ) { driver()?.cuGraphAddMemAllocNode(node, graph, after, count, parameters) }
    fn cudaGraphAddMemFreeNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, address: Address,
    ) { driver()?.cuGraphAddMemFreeNode(node, graph, after, count, address) }
    fn cudaDeviceGraphMemTrim(device: c_int) { driver()?.cuDeviceGraphMemTrim(device) }
    fn cudaGraphAddChildGraphNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, child: Handle,
    ) { driver()?.cuGraphAddChildGraphNode(node, graph, after, count, child) }
    fn cudaThreadExchangeStreamCaptureMode(mode: Out<c_uint>) {
        driver()?.cuThreadExchangeStreamCaptureMode(mode)
    }
}

#[cfg(cudart_12)]
runtime! {
    fn cudaGraphAddDependencies(graph: Handle, from: Address, to: Address, count: usize) {
        driver()?.cuGraphAddDependencies(graph, from, to, count)
    }
}

#[cfg(not(cudart_12))]
runtime! {
    fn cudaGraphAddDependencies(
        graph: Handle, from: Address, to: Address, _edges: Address, count: usize,
    ) { driver()?.cuGraphAddDependencies(graph, from, to, count) }
}

on_stream! {
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(
        stream: Handle, mode: c_uint,
    ) on stream { driver()?.cuStreamBeginCapture_v2(stream, mode) }
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz(
        stream: Handle, graph: Out<Handle>,
    ) on stream { driver()?.cuStreamEndCapture(stream, graph) }
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz(executable: Handle, stream: Handle) on stream {
        driver()?.cuGraphLaunch(executable, stream)
    }
    fn cudaGraphUpload | cudaGraphUpload_ptsz(executable: Handle, stream: Handle) on stream {
        driver()?.cuGraphUpload(executable, stream)
    }
}
