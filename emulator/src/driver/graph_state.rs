//! Graphs, and what is being captured.
//!
//! A graph is a list of nodes, each after those that it depends on. A capture has them in the order
//! of the calls.

use super::code::Code;
use super::pointers::Handle;
use std::collections::{HashMap, HashSet};

/// A step of a graph.
#[derive(Debug, Clone)]
pub struct Node<W> {
    pub handle: Handle,
    pub work: W,
    /// The nodes that it depends on.
    pub after: Vec<Handle>,
}

/// All graphs, and what is being captured.
#[derive(Debug)]
pub struct Graphs<W> {
    /// Graphs under construction.
    pub graphs: HashMap<Handle, Vec<Node<W>>>,
    /// Nodes in an order in which they can run.
    pub executables: HashMap<Handle, Vec<Node<W>>>,
    /// The executable graphs that free their earlier allocations at a launch.
    pub auto_free: HashSet<Handle>,
    /// The memory that graphs allocate: addresses and sizes.
    pub memory: HashMap<u64, usize>,
    /// The graph of each stream that is being captured, and whether its capture began there.
    pub captures: HashMap<Handle, (Handle, bool)>,
    /// The graph of each event that was recorded in a capture.
    pub forks: HashMap<Handle, Handle>,
}

impl<W> Default for Graphs<W> {
    fn default() -> Self {
        Self {
            graphs: HashMap::new(),
            executables: HashMap::new(),
            auto_free: HashSet::new(),
            memory: HashMap::new(),
            captures: HashMap::new(),
            forks: HashMap::new(),
        }
    }
}

impl<W: Clone> Graphs<W> {
    /// Whether a stream is being captured.
    pub fn captures(&self, stream: Handle) -> bool {
        self.captures.contains_key(&stream)
    }

    /// Records an event in the capture of its stream; whether there is one.
    pub fn fork(&mut self, event: Handle, stream: Handle) -> bool {
        let graph = self.captures.get(&stream).map(|(graph, _)| *graph);
        match graph {
            Some(graph) => self.forks.insert(event, graph),
            None => self.forks.remove(&event),
        };
        graph.is_some()
    }

    /// Lets a stream wait for an event: that of a capture takes the stream into it. Whether it is
    /// one of a capture.
    pub fn join(&mut self, stream: Handle, event: Handle) -> bool {
        let graph = self.forks.get(&event);
        if let Some(graph) = graph {
            self.captures.entry(stream).or_insert((*graph, false));
        }
        graph.is_some()
    }

    /// The nodes of a graph.
    pub fn nodes(&mut self, graph: Handle) -> Result<&mut Vec<Node<W>>, Code> {
        self.graphs.get_mut(&graph).ok_or(Code::INVALID_VALUE)
    }

    /// Adds a node to a graph.
    pub fn add(
        &mut self,
        graph: Handle,
        handle: Handle,
        work: W,
        after: &[Handle],
    ) -> Result<(), Code> {
        let nodes = self.nodes(graph)?;
        if !after.iter().all(|wanted| nodes.iter().any(|node| node.handle == *wanted)) {
            return Err(Code::INVALID_VALUE);
        }
        nodes.push(Node { handle, work, after: after.to_vec() });
        Ok(())
    }

    /// Adds a node after the last one.
    pub fn append(&mut self, graph: Handle, handle: Handle, work: W) -> Result<(), Code> {
        let last = self.nodes(graph)?.last().map(|node| node.handle);
        self.add(graph, handle, work, last.as_slice())
    }

    /// The work of a graph, in an order in which it can run.
    pub fn work(&self, graph: Handle) -> Result<Vec<W>, Code> {
        let nodes = ordered(self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?)?;
        Ok(nodes.into_iter().map(|node| node.work).collect())
    }

    /// Replaces the work of a node of an executable graph.
    pub fn replace(&mut self, executable: Handle, node: Handle, work: W) -> Result<(), Code> {
        let nodes = self.executables.get_mut(&executable).ok_or(Code::INVALID_VALUE)?;
        let node = nodes.iter_mut().find(|it| it.handle == node).ok_or(Code::INVALID_VALUE)?;
        node.work = work;
        Ok(())
    }
}

/// The nodes with each after those that it depends on, and otherwise in their order.
pub fn ordered<W: Clone>(nodes: &[Node<W>]) -> Result<Vec<Node<W>>, Code> {
    let (mut done, mut order) = (HashSet::new(), Vec::with_capacity(nodes.len()));
    while order.len() < nodes.len() {
        let before = order.len();
        for node in nodes {
            if !done.contains(&node.handle) && node.after.iter().all(|it| done.contains(it)) {
                done.insert(node.handle);
                order.push(node.clone());
            }
        }
        if order.len() == before {
            return Err(Code::INVALID_VALUE);
        }
    }
    Ok(order)
}
