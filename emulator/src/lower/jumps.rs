//! Labels, and the branches to them.
//!
//! A label belongs to its `{ … }`, as a register does: two scopes can each have a label of one
//! name, and a branch sees the labels of the scopes around it.

use super::builder::Lowered;
use crate::ptx::PtxError;
use std::collections::HashMap;

/// The jumps of the function being lowered, to targets that are not known yet.
#[derive(Default)]
pub struct Jumps<'a> {
    scopes: Vec<LabelScope<'a>>,
    open: Vec<usize>,
    branches: Vec<Jump<'a>>,
    tables: Vec<Jump<'a>>,
}

/// The labels of one `{ … }`.
#[derive(Default)]
struct LabelScope<'a> {
    outer: Option<usize>,
    labels: HashMap<&'a str, u32>,
    lists: HashMap<&'a str, &'a [&'a str]>,
}

/// A use of a label or of a list.
struct Jump<'a> {
    /// The instruction, or the number of the table.
    at: usize,
    name: &'a str,
    line: u32,
    scope: usize,
}

impl<'a> Jumps<'a> {
    /// Enters a `{ … }`.
    pub fn open(&mut self) {
        let outer = self.open.last().copied();
        self.open.push(self.scopes.len());
        self.scopes.push(LabelScope { outer, ..LabelScope::default() });
    }

    /// Leaves it.
    pub fn close(&mut self) {
        self.open.pop();
    }

    fn current(&self) -> usize {
        *self.open.last().expect("a function has a scope")
    }

    /// Declares a label before the instruction `at`.
    pub fn label(&mut self, name: &'a str, at: usize) {
        let scope = self.current();
        self.scopes[scope].labels.insert(name, at as u32);
    }

    /// Declares a list of branch targets.
    pub fn list(&mut self, name: &'a str, labels: &'a [&'a str]) {
        let scope = self.current();
        self.scopes[scope].lists.insert(name, labels);
    }

    /// The instruction `at` branches to a label.
    pub fn branch(&mut self, at: usize, name: &'a str, line: u32) {
        self.branches.push(Jump { at, name, line, scope: self.current() });
    }

    /// The table `at` has the targets of a list.
    pub fn table(&mut self, at: usize, name: &'a str, line: u32) {
        self.tables.push(Jump { at, name, line, scope: self.current() });
    }

    /// Whether a label stands before the instruction `at`.
    pub fn leads_to(&self, at: usize) -> bool {
        self.scopes
            .iter()
            .flat_map(|scope| scope.labels.values())
            .any(|label| *label as usize == at)
    }

    /// Each branch, with its target.
    pub fn branches(&self) -> impl Iterator<Item = Lowered<(usize, u32)>> {
        let target = |jump: &Jump<'a>| self.target(jump.name, jump.scope, jump.line);
        self.branches.iter().map(move |jump| Ok((jump.at, target(jump)?)))
    }

    /// Each table, with its targets.
    pub fn tables(&self) -> impl Iterator<Item = Lowered<(usize, Vec<u32>)>> {
        self.tables.iter().map(|&Jump { at, name, line, scope }| {
            let mut found = self.around(scope).filter_map(|scope| {
                self.scopes[scope].lists.get(name).map(|labels| (scope, *labels))
            });
            let Some((scope, labels)) = found.next() else {
                let text = format!("unknown '.branchtargets' list '{name}'");
                return Err(PtxError::invalid(line, text));
            };
            let targets = labels.iter().map(|label| self.target(label, scope, line));
            Ok((at, targets.collect::<Lowered<_>>()?))
        })
    }

    fn target(&self, label: &str, scope: usize, line: u32) -> Lowered<u32> {
        let find = |scope: usize| self.scopes[scope].labels.get(label).copied();
        self.around(scope).find_map(find).ok_or_else(|| {
            let text = if (0..self.scopes.len()).any(|scope| find(scope).is_some()) {
                format!("label '{label}' is in a scope that the branch is outside of")
            } else {
                format!("unknown label '{label}'")
            };
            PtxError::invalid(line, text)
        })
    }

    /// A scope and the scopes around it, the innermost first.
    fn around(&self, scope: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(scope), |&scope| self.scopes[scope].outer)
    }
}
