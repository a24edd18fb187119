//! The devices of a run: found, chosen, held, and asked for their counters.
//!
//! Input: the settings of the command line and the configuration, and a harness to ask. Output: the
//! devices to measure on, none of them if the emulated driver answers. By default it is the first
//! one, in an unchanged environment. The processes of a selected device see no other device.

use std::collections::BTreeSet;
use std::fs;

use camino::Utf8PathBuf;
use gpuprof_model::machine::Chip;
use gpuprof_model::measurement::{DeviceName, DeviceRecord};
use gpuprof_model::protocol::DriverProbe;
use gpuprof_model::series::SeriesId;

use crate::commands::backend::is_emulated;
use crate::commands::devices;
use crate::commands::settings::Settings;
use gpuprof_build::harnesses::Harness;
use gpuprof_engine::device::{Hold, HoldRequest, of_one_model};
use gpuprof_engine::discover;
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::schedule::device_assignment::Assignment;
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The devices of a run.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct Devices {
    /// In the order of their UUIDs; none for the emulated driver.
    pub(in crate::commands) records: Vec<DeviceRecord>,
    /// Whether the emulated driver answers.
    pub(in crate::commands) emulated: bool,
    /// The chips that it is, if they were asked for.
    pub(in crate::commands) chips: Vec<Chip>,
    /// Whether they were asked for.
    asked: bool,
}

impl Devices {
    /// Finds the devices; `probe` is how a harness is asked.
    ///
    /// # Errors
    /// No GPU where one is wanted (exit code 107); devices that are not there or do not fit
    /// together, and any that are named where the emulated driver answers (exit code 2, or 96 for
    /// the configuration file).
    pub(in crate::commands) fn find(
        settings: &Settings,
        probe: &HarnessProcess<'_>,
        harness: &Harness,
    ) -> Result<Self> {
        let mut shown = Vec::new();
        let emulated = is_emulated(settings.backend.value, || {
            let found = discover::probe(probe, harness)?;
            if let DriverProbe::Devices(devices) = &found {
                shown.clone_from(devices);
            }
            Ok(found)
        })?;
        let chips = devices::chips(settings, emulated)?;
        let named = devices::named(settings, emulated, &mut shown, |instance| {
            let process = HarnessProcess { device: Some(instance), ..*probe };
            Ok(match discover::probe(&process, harness)? {
                DriverProbe::Devices(found) => found,
                _ => Vec::new(),
            })
        })?;
        let asked = named.is_some();
        let used = named.unwrap_or_else(|| (0..shown.len().min(1)).collect());
        let records = of_one_model(used.into_iter().map(|at| shown[at].clone()).collect())
            .map_err(|failure| devices::placed(&settings.devices, failure))?;
        Ok(Self { records, emulated, chips, asked })
    }

    /// How many pipelines there are: one a device or emulated chip, and one for the emulated driver
    /// without a chip.
    pub(in crate::commands) fn count(&self) -> usize {
        self.records.len().max(self.chips.len()).max(1)
    }

    /// The architecture of the emulated chip `at`.
    pub(in crate::commands) fn architecture(&self, at: usize) -> String {
        self.chips.get(at).copied().unwrap_or_default().architecture()
    }

    /// The architectures of the emulated chips.
    pub(in crate::commands) fn architectures(&self) -> BTreeSet<String> {
        (0..self.count()).map(|at| self.architecture(at)).collect()
    }

    /// The chips of a run on several; none on one or on GPUs.
    pub(in crate::commands) fn several_chips(&self) -> &[Chip] {
        if self.chips.len() > 1 { &self.chips } else { &[] }
    }

    /// The names of the series `id` on several chips; its own on one or on GPUs.
    pub(in crate::commands) fn names_of(&self, id: &SeriesId) -> Vec<SeriesId> {
        match self.several_chips() {
            [] => vec![id.clone()],
            chips => {
                chips.iter().map(|&chip| SeriesId { chip: Some(chip), ..id.clone() }).collect()
            }
        }
    }

    /// Assigns series with these `counts` of configurations to the devices; a device that is left
    /// with nothing to do is let go. Of several emulated chips, each series has one: they take
    /// turns.
    pub(in crate::commands) fn assign(&mut self, counts: &[usize], notes: Notes) -> Assignment {
        if let several @ [_, ..] = self.several_chips() {
            return Assignment::in_turns(counts, several.len());
        }
        let assignment = Assignment::new(counts, self.records.len());
        let busy =
            assignment.loads().iter().filter(|(_, configurations)| *configurations > 0).count();
        let (all, busy) = (self.records.len(), busy.max(1));
        if busy < all {
            notes.say(format_args!(
                "{busy} of {all} devices are used: there are too few configurations for the others"
            ));
            self.records.truncate(busy);
            return Assignment::new(counts, busy);
        }
        assignment
    }

    /// The name of the only device that the processes of device `at` see; none if they see all.
    pub(in crate::commands) fn visible(&self, at: usize) -> Option<&str> {
        self.records.get(at).filter(|_| self.asked).map(|device| &*device.uuid)
    }

    /// Their names, if there are several.
    pub(in crate::commands) fn names(&self) -> Vec<DeviceName> {
        let name = |d: &DeviceRecord| DeviceName { uuid: d.uuid.clone(), name: d.name.clone() };
        match self.records.len() {
            0 | 1 => Vec::new(),
            _ => self.records.iter().map(name).collect(),
        }
    }

    /// `reason`, with its device `at`, if there are several.
    pub(in crate::commands) fn blamed(&self, at: usize, reason: &str) -> String {
        match self.records.get(at).filter(|_| self.records.len() > 1) {
            Some(device) => format!("{}: {reason}", device.uuid),
            None => reason.to_owned(),
        }
    }

    /// Takes all of them. Every run takes them in the order of their UUIDs, so that no two wait for
    /// each other.
    ///
    /// # Errors
    /// As [`Hold::take`].
    pub(in crate::commands) fn hold(
        &self,
        terms: &HoldRequest<'_>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Hold>> {
        self.records.iter().map(|device| Hold::take(&device.uuid, terms, interrupt)).collect()
    }

    /// The folder for what is prepared for device `at`, in `passes`; several have one each.
    ///
    /// # Errors
    /// It cannot be made (exit code 110).
    pub(in crate::commands) fn folder(
        &self,
        at: usize,
        passes: &camino::Utf8Path,
    ) -> Result<Utf8PathBuf> {
        if self.records.len() < 2 {
            return Ok(passes.to_owned());
        }
        let folder = passes.join(format!("device-{at}"));
        fs::create_dir_all(&folder).map_err(Failure::writing(&folder))?;
        Ok(folder)
    }
}
