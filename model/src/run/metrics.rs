//! The metrics of a configuration, by name.
//!
//! Input: names with results. Output: lookups by name, and all of them in the order of their names.
//! Half of the metrics of a row have no value, for the same reasons as in every other row: a row
//! refers to a table of those, and rows that have been through one
//! [`SharedRows`](super::SharedRows) refer to the same table. They share the list of names with
//! values in the same way.

use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::metric_result::MetricResult;
use crate::metric::Direction;

/// A metric and its name.
pub(super) type Entry = (Arc<str>, MetricResult);

/// The direction of a metric and whether a file set it, if it is to be given to results.
pub(super) type KnownDirection = Option<(Direction, bool)>;

/// The names of rows' own metrics.
type Names = Arc<Vec<Arc<str>>>;

/// A table that rows may refer to together.
type Table = Arc<Vec<Entry>>;

/// Directions by name, looked up once for rows that have the same list of names or the same table.
pub(super) struct Directions<F> {
    by_name: F,
    // The lists and tables are kept alive, so that no other one can get their address.
    names: HashMap<*const Vec<Arc<str>>, (Names, Vec<KnownDirection>)>,
    tables: HashMap<*const Vec<Entry>, (Table, Table)>,
}

impl<F: Fn(&str) -> KnownDirection> Directions<F> {
    /// Those that `by_name` has.
    pub(super) fn new(by_name: F) -> Self {
        Self { by_name, names: HashMap::new(), tables: HashMap::new() }
    }

    /// What is known of each of `names`.
    fn of_names(&mut self, names: &Names) -> &[KnownDirection] {
        let known = || names.iter().map(|name| (self.by_name)(name)).collect();
        &self.names.entry(Arc::as_ptr(names)).or_insert_with(|| (names.clone(), known())).1
    }

    /// `table` with directions as known; the same one where it has them already.
    fn of_table(&mut self, table: &Table) -> Table {
        let made = || {
            let mut made = table.as_ref().clone();
            made.iter_mut().for_each(|(name, result)| turned(result, (self.by_name)(name)));
            if made == **table { table.clone() } else { Arc::new(made) }
        };
        let entry = self.tables.entry(Arc::as_ptr(table));
        entry.or_insert_with(|| (table.clone(), made())).1.clone()
    }
}

/// Gives `result` the `known` direction; only another file's direction replaces one that a file
/// set.
fn turned(result: &mut MetricResult, known: KnownDirection) {
    if let Some((direction, set)) = known.filter(|(_, set)| *set || !result.direction_set) {
        (result.direction, result.direction_set) = (direction, set);
    }
}

/// Metrics by name.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// The names of `own`, in their order.
    names: Arc<Vec<Arc<str>>>,
    /// Those that are the row's own: whatever has a value is among them.
    own: Vec<MetricResult>,
    /// Those without a value, by name; none of them is in `names`.
    absent: Arc<Vec<Entry>>,
}

impl Metrics {
    /// The metric `name`.
    pub fn get(&self, name: &str) -> Option<&MetricResult> {
        match self.place(name) {
            Ok(at) => Some(&self.own[at]),
            Err(_) => self.absent_place(name).map(|at| &self.absent[at].1),
        }
    }

    /// The metric `name`, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut MetricResult> {
        let at = match self.place(name) {
            Ok(at) => at,
            Err(at) => {
                let absent = self.absent_place(name)?;
                let (name, result) = Arc::make_mut(&mut self.absent).remove(absent);
                Arc::make_mut(&mut self.names).insert(at, name);
                self.own.insert(at, result);
                at
            }
        };
        Some(&mut self.own[at])
    }

    /// Whether `name` belongs to its own metrics; all metrics with a value do.
    pub fn is_own(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// The identity of its list of own metrics: rows that have been through one
    /// [`SharedRows`](super::SharedRows) and have equal lists have the same.
    pub fn list(&self) -> *const () {
        Arc::as_ptr(&self.names).cast()
    }

    /// Whether there is a metric `name`.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Puts `result` in the place of what is called `name`, if anything is.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, result: MetricResult) {
        self.extend([(name, result)]);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.own.len() + self.absent.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all of them out.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes out those for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &MetricResult) -> bool) {
        if !self.own().all(|(name, result)| keep(name, result)) {
            let own = self.take_own().into_iter();
            self.set_own(own.filter(|(name, result)| keep(name, result)).collect());
        }
        if !self.absent.iter().all(|(name, result)| keep(name, result)) {
            Arc::make_mut(&mut self.absent).retain(|(name, result)| keep(name, result));
        }
    }

    /// Removes the metrics without a value.
    pub fn forget_absent(&mut self) {
        self.retain(|_, result| result.value.is_ok());
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> Iter<'_> {
        Iter { names: &self.names, own: &self.own, absent: &self.absent }
    }

    /// Gives each the direction that `known` has for it; whether its table is another one now.
    pub(super) fn turn(&mut self, known: &mut Directions<impl Fn(&str) -> KnownDirection>) -> bool {
        for (result, &known) in self.own.iter_mut().zip(known.of_names(&self.names)) {
            turned(result, known);
        }
        let table = known.of_table(&self.absent);
        let is_another = !Arc::ptr_eq(&table, &self.absent);
        self.absent = table;
        is_another
    }

    /// Of these, which are in the order of their names.
    ///
    /// # Errors
    /// A name that is in both.
    pub(super) fn from_sorted(own: Vec<Entry>, absent: Arc<Vec<Entry>>) -> Result<Self, Arc<str>> {
        let mut metrics = Self { absent, ..Self::default() };
        metrics.set_own(own);
        let names = metrics.iter().map(|(name, _)| name);
        match names.clone().zip(names.skip(1)).find(|(name, next)| name == next) {
            Some((name, _)) => Err(name.into()),
            None => Ok(metrics),
        }
    }

    /// Those that are its own, with their names.
    pub(super) fn own(&self) -> impl Iterator<Item = (&Arc<str>, &MetricResult)> {
        self.names.iter().zip(&self.own)
    }

    /// The table of those without a value.
    pub(super) fn absent(&self) -> &Arc<Vec<Entry>> {
        &self.absent
    }

    /// Its own names and the table of the others, to replace them by those of another row.
    pub(super) fn shared_mut(&mut self) -> (&mut Arc<Vec<Arc<str>>>, &mut Arc<Vec<Entry>>) {
        (&mut self.names, &mut self.absent)
    }

    /// Makes metrics the row's own if they have a value or a reason that differs; all others are in
    /// its table.
    pub(super) fn divide(&mut self) {
        if self.own.iter().any(MetricResult::is_absent) {
            let (absent, own) =
                self.take_own().into_iter().partition(|(_, result)| result.is_absent());
            self.set_own(own);
            let table = Arc::make_mut(&mut self.absent);
            table.extend::<Vec<_>>(absent);
            table.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        self.own.shrink_to_fit();
    }

    fn take_own(&mut self) -> Vec<Entry> {
        let names = Arc::unwrap_or_clone(std::mem::take(&mut self.names));
        names.into_iter().zip(std::mem::take(&mut self.own)).collect()
    }

    fn set_own(&mut self, own: Vec<Entry>) {
        let (names, own) = own.into_iter().unzip();
        (self.names, self.own) = (Arc::new(names), own);
    }

    /// The index of `name` among its own, or the index at which to insert it.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.names.binary_search_by(|other| (**other).cmp(name))
    }

    fn absent_place(&self, name: &str) -> Option<usize> {
        self.absent.binary_search_by(|(other, _)| (**other).cmp(name)).ok()
    }
}

/// The metrics of a row in the order of their names.
#[derive(Debug, Clone)]
pub struct Iter<'m> {
    names: &'m [Arc<str>],
    own: &'m [MetricResult],
    absent: &'m [Entry],
}

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m str, &'m MetricResult);

    fn next(&mut self) -> Option<Self::Item> {
        if let (Some((name, names)), Some((result, own))) =
            (self.names.split_first(), self.own.split_first())
            && self.absent.first().is_none_or(|(absent, _)| name < absent)
        {
            (self.names, self.own) = (names, own);
            return Some((name, result));
        }
        let ((name, result), absent) = self.absent.split_first()?;
        self.absent = absent;
        Some((name, result))
    }
}

impl<'m> IntoIterator for &'m Metrics {
    type Item = (&'m str, &'m MetricResult);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}

impl IntoIterator for Metrics {
    type Item = (Arc<str>, MetricResult);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    /// All of them: the row's own, then those without a value.
    fn into_iter(mut self) -> Self::IntoIter {
        let mut all = self.take_own();
        all.extend(Arc::unwrap_or_clone(self.absent));
        all.into_iter()
    }
}

impl Index<&str> for Metrics {
    type Output = MetricResult;

    fn index(&self, name: &str) -> &MetricResult {
        self.get(name).unwrap_or_else(|| panic!("the row has no metric `{name}`"))
    }
}

impl PartialEq for Metrics {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<N: Into<Arc<str>>> Extend<(N, MetricResult)> for Metrics {
    /// Of several with one name the last stays.
    fn extend<I: IntoIterator<Item = (N, MetricResult)>>(&mut self, more: I) {
        let mut own = self.take_own();
        own.extend(Arc::unwrap_or_clone(std::mem::take(&mut self.absent)));
        own.extend(more.into_iter().map(|(name, result)| (name.into(), result)));
        own.sort_by(|(a, _), (b, _)| a.cmp(b));
        // A later entry replaces an earlier one.
        own.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        self.set_own(own);
        self.divide();
    }
}

impl<N: Into<Arc<str>>> FromIterator<(N, MetricResult)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (N, MetricResult)>>(all: I) -> Self {
        let mut metrics = Self::default();
        metrics.extend(all);
        metrics
    }
}

impl<N: Into<Arc<str>>, const COUNT: usize> From<[(N, MetricResult); COUNT]> for Metrics {
    fn from(all: [(N, MetricResult); COUNT]) -> Self {
        all.into_iter().collect()
    }
}

impl Serialize for Metrics {
    /// Each with all that is known of it, so that the row can stand alone.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}
