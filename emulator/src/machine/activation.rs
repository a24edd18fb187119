//! The state that a call leaves to its return.

use super::undefined::Taint;
use crate::lower::inst::{File, Slot};

/// The state of a caller that the return restores.
#[derive(Debug, Default)]
pub struct Activation {
    pub(super) callee: u32,
    pub(super) call: u32,
    /// The lanes that were called.
    pub(super) lanes: u32,
    /// Their registers of the function before, one after the other.
    pub(super) words: Vec<u32>,
    pub(super) doubles: Vec<u64>,
    pub(super) predicates: Vec<u32>,
    pub(super) undefined: Vec<((File, Slot), Taint)>,
    /// The ends of their stacks before.
    pub(super) stack_ends: [u32; 32],
}

/// Lanes that begin a function.
#[derive(Debug)]
pub struct Entry {
    /// Its first instruction.
    pub target: u32,
    /// The lanes.
    pub lanes: u32,
    /// The work of their return.
    pub activation: Box<Activation>,
}
