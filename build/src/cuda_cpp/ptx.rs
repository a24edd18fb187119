//! PTX that NVRTC wrote, cut to what is needed and read.
//!
//! Input: a module's text and the requested names. Output: a module of these and all their
//! references, byte for byte, and the launch limits of each entry.
//!
//! A file that was written for its own host code holds many kernels. One of them that the emulated
//! driver refuses would refuse the module.

mod entry;
mod items;

pub use entry::Entry;

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use gpuprof_model::ptx::without_comments;
use items::Item;

/// The module with only the items that `wanted` needs, in their order.
pub fn cut(ptx: &str, wanted: &BTreeSet<&str>) -> String {
    let code = without_comments(ptx);
    let items = items::items(&code);
    let keep = reachable(&items, wanted);
    let (mut kept, mut rest) = (String::new(), ptx);
    for (at, item) in items.iter().enumerate() {
        // The comments are as long as the spaces in their place.
        let (text, after) = rest.split_at(item.text.len());
        if item.name.is_none() || keep.contains(&at) {
            kept.push_str(text);
        }
        rest = after;
    }
    kept
}

/// The numbers of the items named in `wanted`, and of the items that they reference.
fn reachable(items: &[Item<'_>], wanted: &BTreeSet<&str>) -> BTreeSet<usize> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        // A function may be declared before it is defined.
        item.name.iter().for_each(|name| named.entry(name).or_default().push(at));
    }
    let items_named = |name: &str| named.get(name).cloned().unwrap_or_default();
    let mut next: Vec<usize> = wanted.iter().flat_map(|name| items_named(name)).collect();
    let mut keep = BTreeSet::new();
    while let Some(at) = next.pop() {
        if keep.insert(at) {
            next.extend(items[at].words().flat_map(items_named));
        }
    }
    keep
}

/// Every entry of a module, in order, without its use of the module's shared memory.
pub fn every_entry(ptx: &str) -> Vec<Entry> {
    let code = without_comments(ptx);
    let items = items::items(&code);
    let entries = items.iter().filter(|it| it.is_entry());
    entries.filter_map(|it| Some(Entry::parse(it.name?, it.text, iter::empty()))).collect()
}

/// A variable of a module in constant or global memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the PTX.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is in constant memory.
    pub constant: bool,
    /// Whether the module gives its value.
    pub has_value: bool,
}

/// Every variable of a module, in order.
pub fn variables(ptx: &str) -> Vec<Variable> {
    let code = without_comments(ptx);
    items::items(&code).iter().filter_map(variable).collect()
}

fn variable(item: &Item<'_>) -> Option<Variable> {
    let space = match item.kind? {
        "const" => ".const",
        "global" => ".global",
        _ => return None,
    };
    let declared = item.text.split('=').next()?;
    Some(Variable {
        name: item.name?.to_owned(),
        bytes: entry::variable(declared, space)?.size,
        constant: space == ".const",
        has_value: item.text.contains('=') || item.text.contains(".extern"),
    })
}

/// The variables in constant memory without a value in the module that the entry `name` or its
/// callees read.
pub fn constants_without_value(ptx: &str, name: &str) -> Vec<String> {
    let code = without_comments(ptx);
    let items = items::items(&code);
    let needed = reachable(&items, &BTreeSet::from([name]));
    let needed = needed.iter().filter_map(|&at| variable(items.get(at)?));
    let without = needed.filter(|it| it.constant && !it.has_value);
    without.map(|it| it.name).collect()
}

/// The names of all entries.
pub(super) fn entries(ptx: &str) -> Vec<String> {
    let code = without_comments(ptx);
    let entries = items::items(&code).into_iter().filter(Item::is_entry);
    entries.filter_map(|it| it.name.map(Into::into)).collect()
}

/// The properties of the entry `name`; none if there is no such entry.
pub(super) fn entry(ptx: &str, name: &str) -> Option<Entry> {
    let code = without_comments(ptx);
    let items = items::items(&code);
    let entry = items.iter().find(|it| it.is_entry() && it.name == Some(name))?;
    let needed = reachable(&items, &BTreeSet::from([name]));
    let shared = needed.iter().filter_map(|&at| items.get(at)).filter(|it| it.is_shared());
    Some(Entry::parse(name, entry.text, shared.map(|it| it.text)))
}

#[cfg(test)]
#[path = "ptx/tests.rs"]
mod tests;
