//! Slices of a plan as one run.
//!
//! Input: folders with slices. Output: the run as one process would have measured it, judged over
//! all of them; and the part of the plan that they lack. Slices that do not belong together are
//! refused.

mod absent;
mod agree;
mod chosen;
mod judged;
mod merged_run;
mod parts;
mod spans;

use camino::Utf8PathBuf;
use gpuprof_model::run::SharedRows;

pub use absent::Absent;
pub use chosen::Prefer;
use gpuprof_system::error::{Failure, Result};
pub use merged_run::Union;

use crate::store::manifest::Outline;
use crate::store::slices::{self, StoredSlice};

/// Slices of one plan, each of them once.
#[derive(Debug)]
pub struct Slices {
    /// The plan.
    plan: Outline,
    all: Vec<StoredSlice>,
    /// Of each slice that was measured twice: which measurement counts.
    twice: Vec<String>,
}

impl Slices {
    /// The slices in `folders`; of a slice that was measured twice, the measurement that `prefer`
    /// takes.
    ///
    /// # Errors
    /// No slices, or slices that do not belong together (exit code 2); invalid files (exit code
    /// 96).
    pub fn find(folders: &[Utf8PathBuf], prefer: Prefer) -> Result<Self> {
        Self::choose(slices::all(folders, &mut SharedRows::default())?, prefer)
    }

    fn choose(all: Vec<StoredSlice>, prefer: Prefer) -> Result<Self> {
        agree::check(&all)?;
        agree::journals(&all)?;
        let (all, twice) = chosen::chosen(all, prefer);
        agree::disjoint(&all)?;
        let Some(first) = all.first() else { return Err(Failure::usage("no slice to merge")) };
        Ok(Self { plan: first.manifest.plan.clone(), all, twice })
    }

    /// The part of the plan that they lack.
    pub fn absent(&self) -> Absent {
        Absent::find(&self.plan, &self.all)
    }

    /// Whether one of them was to be judged strictly.
    pub fn is_strict(&self) -> bool {
        self.all.iter().any(|slice| slice.manifest.provenance.strict)
    }

    /// Notes on measurements and lines that do not count, and on missing parts of the plan.
    pub fn notes(&self) -> Vec<String> {
        let lost = self.all.iter().filter_map(lost_lines);
        self.twice.iter().cloned().chain(lost).chain(self.absent().lines(&self.plan)).collect()
    }
}

/// Lines of a second process in the journal of a slice do not count, and are reported.
fn lost_lines(slice: &StoredSlice) -> Option<String> {
    let (dropped, folder) = (slice.found.dropped, &slice.folder);
    (dropped > 0).then(|| {
        format!(
            "{folder}: two processes measured this slice at once; {dropped} lines of the one that \
             began earlier do not count"
        )
    })
}

#[cfg(test)]
mod tests;
