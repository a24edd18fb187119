//! A slice that is measured: its place on disk, its record and its manifest.

use std::collections::{HashMap, HashSet};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::Configuration;
use gpuprof_model::run::{Provenance, SliceRecord};

use super::{Division, Own};
use crate::plan::{Checked, PlannedSeries, Whole};
use crate::schedule::partition::Partition;
use crate::store::RunFolder;
use crate::store::journal::Start;
use crate::store::manifest::{Manifest, Outline, OwnSeries};
use gpuprof_system::sha256::sha256_of;

/// A slice of a plan.
#[derive(Debug)]
pub struct Slice {
    /// The slice.
    pub partition: Partition,
    /// The whole plan.
    pub outline: Outline,
    /// The part that is measured here.
    own: Vec<Own>,
    /// The whole plan's series with declared kernels: a module has the instances of all slices, so
    /// that its code is the same in each.
    pub declared: Vec<PlannedSeries>,
    /// The configurations of the whole plan by series, if another revision is measured too.
    pub whole: Whole,
    /// The archive that is measured, if it is one.
    archive: Option<Utf8PathBuf>,
}

impl Slice {
    /// The slice of `division`, by which the plan of the series `checked` is divided; `outline` is
    /// that of the plan, and `archive` what is measured, if it is one.
    pub fn new(
        division: &Division,
        checked: &[Checked],
        outline: Outline,
        archive: Option<Utf8PathBuf>,
    ) -> Self {
        let is_declared = |planned: &&PlannedSeries| {
            planned.series.declared.is_some() || !planned.series.declared_launches.is_empty()
        };
        let planned = checked.iter().map(|checked| &checked.planned);
        let all = |planned: &PlannedSeries| {
            let all: HashSet<Configuration> = planned.configurations.iter().cloned().collect();
            (planned.series.id.to_string(), all)
        };
        let whole = match outline.base {
            Some(_) => planned.clone().map(all).collect(),
            None => HashMap::new(),
        };
        Self {
            partition: division.partition,
            outline,
            own: division.own.clone(),
            declared: planned.filter(is_declared).cloned().collect(),
            whole,
            archive,
        }
    }

    /// Its folder, below that of the slices of several plans.
    pub fn folder(&self, slices: &Utf8Path) -> Utf8PathBuf {
        self.outline.folder(slices, self.partition.slice.get())
    }

    /// The record of the slice in its run, which `start` began in `folder`.
    pub fn record(&self, folder: &RunFolder, start: &Start) -> SliceRecord {
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
    pub fn describe_measured(&self, folder: &Utf8Path) -> String {
        let Partition { slice, of, .. } = self.partition;
        let plan = folder.parent().unwrap_or(folder);
        format!(
            "slice {slice} of {of} is measured in {folder}; its thresholds are provisional: `cargo \
             gpuprof merge {plan}` judges all slices together"
        )
    }

    /// The slice's notes on `checked`, the series that are measured here.
    pub fn own_series(&self, checked: &[Checked]) -> Vec<OwnSeries> {
        let own = |(own, checked): (&Own, &Checked)| OwnSeries {
            position: own.series,
            description: checked.planned.series.clone(),
            columns: checked.columns.clone(),
            sections: checked.sections.clone(),
            thresholds: checked.thresholds.iter().map(Into::into).collect(),
            positions: own.configurations.clone(),
            configurations: checked.planned.configurations.clone(),
        };
        self.own.iter().zip(checked).map(own).collect()
    }

    /// What is known of the slice before it is prepared.
    pub fn manifest(&self, folder: &RunFolder, start: Start) -> Manifest {
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
            archive: self.archive.as_deref().and_then(sha256_of),
            start,
        }
    }
}
