//! Counts by line on a GPU, for `--section SourceCounters`.
//!
//! Input: a measured run. Output: the same with the counts of each line of code: those of the
//! machine code, from two processes for each configuration, as CUPTI has one collector in a
//! process. A configuration without them says why; nothing else of it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpuprof_build::disassembly::{Cubins, Known, by_line};
use gpuprof_build::harnesses::Harness;
use gpuprof_engine::emulator::emulator_folder;
use gpuprof_engine::execute::{Ended, Subject, listings};
use gpuprof_model::code::{Counter, Listing, costly_lines};
use gpuprof_model::measurement::{MachineCounts, MachineFunction, MachineModule, SourceCollection};
use gpuprof_model::protocol::{KernelCode, RequestBody, SourceCollector};
use gpuprof_model::run::ConfigurationResult;
use gpuprof_system::interrupt::Interrupt;

use crate::commands::run::counters::collector::{each_finished, library};
use crate::commands::run::measure::results::Collected;
use crate::commands::run::prepare::prepared::Prepared;

/// The section that asks for them.
const SECTION: &str = "SourceCounters";

/// How long the emulated driver may take to list code.
const LISTING: Duration = Duration::from_secs(30);

/// Adds the counts to what was `found` of both revisions, if they were asked for.
pub(in crate::commands) fn add(prepared: &Prepared, found: &mut Collected, interrupt: &Interrupt) {
    let plan = &prepared.plan;
    let mut sections = plan.inputs.settings.sections.value.iter();
    let wanted = sections.any(|name| name.eq_ignore_ascii_case(SECTION));
    if !wanted || plan.devices.emulated {
        return;
    }
    let mut known = KnownCode::new(prepared, interrupt);
    let cupti = library(prepared);
    each_finished(prepared, found, interrupt, |subject, row| {
        count(subject, &cupti, row, &mut known);
    });
}

/// Adds the counts of `subject` to its `row`.
fn count(
    subject: &Subject<'_>,
    cupti: &Result<PathBuf, String>,
    row: &mut ConfigurationResult,
    known: &mut KnownCode<'_>,
) {
    let mut collection = SourceCollection::default();
    let mut one = |collector, what: &str| {
        let found = subject
            .collect(collector, cupti)
            .and_then(|result| result.machine.ok_or_else(|| "the process found none".to_owned()));
        found.unwrap_or_else(|reason| {
            collection.missing.push(format!("{what}: {reason}"));
            MachineCounts::default()
        })
    };
    let counts = one(SourceCollector::Counts, "counts of instructions");
    let samples = one(SourceCollector::Samples, "samples of warps");
    let executed = |it: &MachineFunction| counts.functions.iter().any(|of| of.name == it.name);
    let all_counted = counts.functions.is_empty();
    // Sampling repeats the range, and sees the copies that restore inputs.
    let sampled = samples.functions.into_iter().filter(|it| all_counted || executed(it));
    let sampled: Vec<MachineFunction> = sampled.collect();
    collection.ranges = samples.ranges;
    collection.dropped = samples.dropped;
    collection.samples = total(&sampled, Counter::Samples);
    if collection.samples == 0 && collection.missing.is_empty() {
        collection.missing.push(format!(
            "samples of warps: the GPU took none in {} ranges; a longer kernel has some",
            samples.ranges
        ));
    }
    let functions: Vec<MachineFunction> = counts.functions.iter().cloned().chain(sampled).collect();
    let known = known.of(subject.harness, &functions);
    row.code = by_line(&functions, &known);
    let illegible: BTreeSet<&String> =
        known.iter().filter_map(|it| it.cubin.illegible.as_ref()).collect();
    let missing = illegible.into_iter().map(|why| format!("text of machine code: {why}"));
    collection.missing.extend(missing);
    row.costly = costly_lines(&row.code);
    row.source = Some(collection);
}

/// The sum of a counter.
fn total(functions: &[MachineFunction], counter: Counter) -> u64 {
    let instructions = functions.iter().flat_map(|it| &it.instructions);
    instructions.filter_map(|it| it.counts.get(&counter)).sum()
}

/// The lines of kernels, each listed once, and their cubins.
struct KnownCode<'a> {
    prepared: &'a Prepared,
    interrupt: &'a Interrupt,
    listings: BTreeMap<(PathBuf, String), Option<Arc<Listing>>>,
    cubins: Cubins,
}

impl<'a> KnownCode<'a> {
    fn new(prepared: &'a Prepared, interrupt: &'a Interrupt) -> Self {
        Self { prepared, interrupt, listings: BTreeMap::new(), cubins: Cubins::from_environment() }
    }

    /// Those of `functions`, of processes of this `harness`.
    fn of(&mut self, harness: &Harness, functions: &[MachineFunction]) -> Vec<Known> {
        let key = |it: &MachineFunction| Some((it.module.as_ref()?.ptx.clone(), it.name.clone()));
        let mut new: Vec<_> = functions.iter().filter_map(key).collect();
        new.retain(|key| !self.listings.contains_key(key));
        new.sort();
        new.dedup();
        if !new.is_empty() {
            let listed = self.list(harness, &new).unwrap_or_default();
            let listed =
                listed.into_iter().map(|it| it.map(Arc::new)).chain(std::iter::repeat(None));
            self.listings.extend(new.into_iter().zip(listed));
        }
        let (listings, cubins) = (&self.listings, &mut self.cubins);
        let known = |function: &MachineFunction| {
            let Some(MachineModule { cubin, .. }) = &function.module else {
                return Known::default();
            };
            let listing = key(function).and_then(|key| listings.get(&key)?.as_ref());
            let listing = listing.map(|listing| cubins.with_machine(cubin, listing));
            Known { listing, cubin: cubins.cubin(cubin) }
        };
        functions.iter().map(known).collect()
    }

    /// The lines of kernels, by the emulated driver.
    fn list(
        &self,
        harness: &Harness,
        kernels: &[(PathBuf, String)],
    ) -> Option<Vec<Option<Listing>>> {
        let target = &self.prepared.plan.inputs.source.target_directory;
        let folder = emulator_folder(target).ok()?;
        let execution = self.prepared.emulated_execution(&folder, LISTING, self.interrupt);
        let kernel = |(ptx, kernel): &(PathBuf, String)| KernelCode {
            kernel: kernel.clone(),
            ptx: ptx.clone(),
        };
        let body = RequestBody::ListCode(kernels.iter().map(kernel).collect());
        match execution.process.ask(harness, body) {
            Ok(Ended::Replied(bytes)) => Some(listings(&bytes, harness)),
            Ok(_) | Err(_) => None,
        }
    }
}
