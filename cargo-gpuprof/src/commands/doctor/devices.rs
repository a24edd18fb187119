//! The devices, each by itself: its settings, whether another gpuprof has it, and a trial session
//! on it.
//!
//! Input: the visible devices and the settings. Output: the checks of each. A process that queries
//! one of several sees only that one, like a process that measures on it. The device is locked
//! during its trial. A device that another gpuprof has locked gets no trial: a second session would
//! be refused or disturb the other.

use gpuprof_model::measurement::DeviceRecord;

use super::check::{Check, State};
use super::configured::Configured;
use super::gpu;
use crate::commands::devices;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::device::lock::{self, Owner, Try};
use gpuprof_engine::device::shared_profiler;
use gpuprof_system::error::Result;

/// The name of the trial's line.
const COUNTERS: &str = "counters";

/// A device and what was found of it.
#[derive(Debug)]
pub(super) struct Examined {
    /// Its position among the visible devices.
    pub(super) at: usize,
    pub(super) device: DeviceRecord,
    /// Whether a run with the same `--devices` measures on it.
    pub(super) used: bool,
    /// Its settings.
    pub(super) settings: Vec<Check>,
    /// How a trial session on it ended.
    pub(super) counters: Check,
}

impl Examined {
    /// Its checks, in the order in which they are shown.
    pub(super) fn checks(&self) -> impl Iterator<Item = &Check> {
        self.settings.iter().chain([&self.counters])
    }

    /// The line over its checks.
    pub(super) fn heading(&self) -> String {
        let (major, minor) = self.device.compute_capability;
        let DeviceRecord { name, uuid, .. } = &self.device;
        format!("device {}: {name} (sm_{major}{minor}), {uuid}", self.at)
    }
}

/// The devices that the driver shows, and the devices that the settings name.
pub(super) struct Devices {
    shown: Vec<DeviceRecord>,
    named: Option<Vec<usize>>,
}

impl Devices {
    /// Those of the `driver`, on which a run measures if it is `expected` to answer one.
    ///
    /// # Errors
    /// Devices that a run would refuse (exit code 2, or 96 for the configuration file); processes
    /// of our own that cannot be started.
    pub(super) fn find(driver: &Answer, expected: bool, configured: &Configured) -> Result<Self> {
        let mut shown = match driver {
            Answer::Driver(shown) => shown.clone(),
            _ if expected => return Ok(Self { shown: Vec::new(), named: None }),
            _ => Vec::new(),
        };
        let cupti = configured.cupti.as_deref();
        let named = devices::named(&configured.settings, !expected, &mut shown, |instance| {
            Ok(match cupti::ask_on(Some(instance), cupti, Question::Driver)? {
                Answer::Driver(found) => found,
                _ => Vec::new(),
            })
        })?;
        Ok(Self { shown, named })
    }

    /// Examines the devices that are named; all of them if none is. `has_cupti` says whether a
    /// trial makes sense.
    ///
    /// # Errors
    /// Processes of our own that cannot be started.
    pub(super) fn examine(self, by: &Configured, has_cupti: bool) -> Result<Vec<Examined>> {
        let Self { shown, named } = self;
        let alone = shown.len() == 1 && named.is_none();
        let examine = |at: usize| {
            let device = shown[at].clone();
            let visible = (!alone).then_some(&*device.uuid);
            let ask = |question| cupti::ask_on(visible, by.cupti.as_deref(), question);
            let (library, uuid) = (by.nvml.clone(), device.uuid.clone());
            let settings = gpu::settings(ask(Question::Nvml { library, uuid })?, &device.uuid);
            let counters = match has_cupti {
                true => held(&device, || ask(Question::Trial).map(tried))?,
                false => {
                    Check::new(State::Fail, COUNTERS, "not tested: CUPTI does not work (see above)")
                }
            };
            let used = named.is_some() || at == 0;
            Ok(Examined { at, device, used, settings, counters })
        };
        let examined = named.clone().unwrap_or_else(|| (0..shown.len()).collect());
        examined.into_iter().map(examine).collect()
    }
}

/// The `trial` of a device that is ours meanwhile, with its profiler.
fn held(device: &DeviceRecord, trial: impl FnOnce() -> Result<Check>) -> Result<Check> {
    let own = lock::path(&lock::folder(), &device.uuid);
    let locks = [
        (Some(own), "is measuring on this device"),
        (shared_profiler::path(device), "is using the profiler, which GPUs before Hopper share"),
    ];
    let mut held = Vec::new();
    for (path, does) in locks {
        let Some(path) = path else { continue };
        match lock::try_lock(&path, &Owner::this_process()) {
            Ok(Try::Held(lock)) => held.push(lock),
            Ok(Try::Busy(owner)) => {
                let owner = owner.map_or_else(String::new, |owner| format!(" ({owner})"));
                let found = format!(
                    "not tested: another gpuprof {does}{owner}; run doctor again when it has \
                     finished"
                );
                return Ok(Check::new(State::Warn, COUNTERS, found));
            }
            Err(e) => {
                return Ok(Check::new(State::Fail, COUNTERS, lock::unusable(&path, &e).message));
            }
        }
    }
    trial()
}

fn tried(answer: Answer) -> Check {
    match answer {
        Answer::Trial { chip } => {
            Check::new(State::Ok, COUNTERS, format!("a session was opened on {chip}"))
        }
        answer => Check::new(State::Fail, COUNTERS, answer.refusal().reason),
    }
}
