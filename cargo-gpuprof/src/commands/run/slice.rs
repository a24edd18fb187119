//! A slice of a plan: which it is, and what is said of it.
//!
//! Input: the options, and the plan that [`slice_steps`](super::slice_steps) divided. Output: the parts of
//! the slice's manifest that are known before anything is prepared, and refusals of what is for
//! whole runs.

use std::collections::{HashMap, HashSet};

use camino::Utf8Path;
use gpuprof_model::Configuration;
use gpuprof_model::run::{Provenance, SliceRecord};

use super::request::Request;
use crate::commands::divide::Own;
use crate::options::Partition;
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::store::RunFolder;
use gpuprof_engine::store::journal::Start;
use gpuprof_engine::store::manifest::{Manifest, Outline};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sha256::sha256_of;

/// A slice of a plan.
#[derive(Debug)]
pub(super) struct Slice {
    /// Which.
    pub(super) partition: Partition,
    /// The whole plan.
    pub(super) outline: Outline,
    /// The part that is measured here.
    pub(super) own: Vec<Own>,
    /// The whole plan's series with declared kernels: a module has the instances of all slices, so
    /// that its code is the same in each.
    pub(super) declared: Vec<PlannedSeries>,
    /// The configurations of the whole plan by series, if another revision is measured too.
    pub(super) whole: HashMap<String, HashSet<Configuration>>,
}

/// Refuses options that contradict each other.
///
/// # Errors
/// They do (exit code 2).
pub(super) fn check(request: &Request) -> Result<()> {
    let refused = |text: &str| Err(Failure::usage(text));
    if request.slice.is_none() {
        return match request.resumes_or_begins {
            true => refused(
                "--resume=auto needs --slices DIR: only in a folder of its own can a run tell what \
                 it began from what others did; elsewhere --resume takes the id of a run",
            ),
            false => Ok(()),
        };
    }
    if request.save_baseline.is_some() {
        return refused(
            "--save-baseline belongs to `cargo gpuprof merge`: a slice is no whole run",
        );
    }
    if request.given.baseline.is_some() {
        return refused(
            "--baseline (GPUPROF_BASELINE) belongs to `cargo gpuprof merge`: a slice decides \
             nothing",
        );
    }
    if request.resume.is_some() && !request.resumes_or_begins {
        return refused(
            "a slice is resumed with --resume=auto: its folder follows from --slices and \
             --partition",
        );
    }
    Ok(())
}

impl Slice {
    /// The record of the slice in its run, which `start` began in `folder`.
    pub(super) fn record(&self, folder: &RunFolder, start: &Start) -> SliceRecord {
        SliceRecord {
            slice: self.partition.slice.get(),
            of: self.partition.of.get(),
            run: folder.id.clone(),
            host: start.host.clone(),
            scheduler: start.scheduler.clone(),
            measured: Vec::new(),
        }
    }

    /// That the slice in `folder` is measured, and what is to be done with it.
    pub(super) fn measured(&self, folder: &Utf8Path) -> String {
        let Partition { slice, of, .. } = self.partition;
        let plan = folder.parent().unwrap_or(folder);
        format!(
            "slice {slice} of {of} is measured in {folder}; its thresholds are provisional: `cargo \
             gpuprof merge {plan}` judges all slices together"
        )
    }

    /// What is known of the slice before it is prepared.
    pub(super) fn manifest(&self, folder: &RunFolder, start: Start, request: &Request) -> Manifest {
        Manifest {
            schema_version: Manifest::VERSION,
            run: folder.id.clone(),
            plan: self.outline.clone(),
            plan_hash: self.outline.hash(),
            slice: self.partition.slice.get(),
            own: Vec::new(),
            made: None,
            provenance: Provenance::default(),
            base: None,
            devices: Vec::new(),
            notes: Vec::new(),
            archive: request.wanted.archive.as_deref().and_then(sha256_of),
            start,
        }
    }
}
