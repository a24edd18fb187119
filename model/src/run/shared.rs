//! The common data of the rows of a run, kept once.
//!
//! Input: rows, as they are made or read. Output: the same rows; rows that lack the same metrics
//! for the same reasons refer to one table, and rows with values of the same metrics to one list of
//! names. A row costs only the memory of its values.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

use super::metrics::{Entry, Metrics};
use crate::code::{CountedCode, Listing};

/// The common data of rows.
#[derive(Debug, Default)]
pub struct SharedRows {
    names: HashSet<Arc<str>>,
    /// The names of rows' own metrics.
    lists: HashSet<Arc<Vec<Arc<str>>>>,
    /// Tables of absent metrics by the hash of their names and reasons.
    absent: HashMap<u64, Vec<Arc<Vec<Entry>>>>,
    /// The code of kernels.
    listings: HashSet<Arc<Listing>>,
    hashes: RandomState,
    /// The list and the table of the last look-up, each with its replacement: rows of one document
    /// have the same ones.
    last_list: Option<[Arc<Vec<Arc<str>>>; 2]>,
    last_table: Option<[Arc<Vec<Entry>>; 2]>,
}

impl SharedRows {
    /// Makes the `metrics` and the `code` of a row refer to the data of earlier rows.
    pub fn keep_once(&mut self, metrics: &mut Metrics, code: &mut [CountedCode]) {
        for code in code {
            code.listing = once(&mut self.listings, &code.listing);
        }
        metrics.divide();
        let (names, absent) = metrics.shared_mut();
        if !same_again(self.last_list.as_ref(), names) {
            let before = Arc::clone(names);
            self.keep_names_once(names);
            self.last_list = Some([before, Arc::clone(names)]);
        }
        if !same_again(self.last_table.as_ref(), absent) {
            let before = Arc::clone(absent);
            self.keep_table_once(absent);
            self.last_table = Some([before, Arc::clone(absent)]);
        }
    }

    fn keep_names_once(&mut self, list: &mut Arc<Vec<Arc<str>>>) {
        if let Some(known) = self.lists.get(list) {
            *list = Arc::clone(known);
            return;
        }
        for name in Arc::make_mut(list) {
            *name = once(&mut self.names, name);
        }
        self.lists.insert(Arc::clone(list));
    }

    /// The one copy of `name`.
    pub(super) fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        once(&mut self.names, &name.into())
    }

    fn keep_table_once(&mut self, table: &mut Arc<Vec<Entry>>) {
        let mut hash = self.hashes.build_hasher();
        for (name, result) in table.iter() {
            name.hash(&mut hash);
            result.value.as_ref().err().hash(&mut hash);
        }
        let alike = self.absent.entry(hash.finish()).or_default();
        if let Some(known) = alike.iter().find(|known| known == &&*table) {
            *table = Arc::clone(known);
            return;
        }
        for (name, _) in Arc::make_mut(table) {
            *name = once(&mut self.names, name);
        }
        alike.push(Arc::clone(table));
    }
}

/// Whether `now` is the last looked-up value; if so, replaces it.
fn same_again<T>(last: Option<&[Arc<T>; 2]>, now: &mut Arc<T>) -> bool {
    match last {
        Some([before, known]) if Arc::ptr_eq(before, now) => {
            *now = Arc::clone(known);
            true
        }
        _ => false,
    }
}

/// The copy of `value` that `known` has, or now has.
fn once<T: Eq + Hash + ?Sized>(known: &mut HashSet<Arc<T>>, value: &Arc<T>) -> Arc<T> {
    if let Some(known) = known.get(value) {
        return Arc::clone(known);
    }
    known.insert(Arc::clone(value));
    Arc::clone(value)
}
