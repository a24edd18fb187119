//! The devices, each by itself: its settings, whether another gpuprof has it, and a trial session
//! on it.
//!
//! Input: the visible devices. Output: the checks of each. A process that queries one of several
//! sees only that one, like a process that measures on it. The device is locked during its trial,
//! and one that another gpuprof has locked gets no trial: a second session would be refused or
//! disturb the other.

use gpuprof_model::measurement::DeviceRecord;

use super::check::{Check, State};
use super::gpu;
use crate::options::DoctorOptions;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::device::lock::{self, Owner, Try};
use gpuprof_engine::device::{VISIBLE_ENV, shared_profiler};
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

/// Examines the devices that are asked for, of those `shown`; all of them where nothing is.
/// `has_cupti` says whether a trial makes sense.
///
/// # Errors
/// Devices that are not there (exit code 2); processes of our own that cannot be started.
pub(super) fn examined(
    options: &DoctorOptions,
    mut shown: Vec<DeviceRecord>,
    has_cupti: bool,
) -> Result<Vec<Examined>> {
    let cupti = options.cupti_path.as_deref();
    let chosen = match &options.devices {
        None => (0..shown.len()).collect(),
        Some(asked) => {
            if std::env::var_os(VISIBLE_ENV).is_none() {
                shown = asked.with_hidden(shown, |instance| {
                    Ok(match cupti::ask_on(Some(instance), cupti, Question::Driver)? {
                        Answer::Driver(found) => found,
                        _ => Vec::new(),
                    })
                })?;
            }
            asked.find(&shown)?
        }
    };
    let alone = shown.len() == 1 && options.devices.is_none();
    let examine = |at: usize| {
        let device = shown[at].clone();
        let visible = (!alone).then_some(&*device.uuid);
        let ask = |question| cupti::ask_on(visible, cupti, question);
        let (library, uuid) = (options.nvml_path.clone(), device.uuid.clone());
        let settings = gpu::settings(ask(Question::Nvml { library, uuid })?, &device.uuid);
        let counters = match has_cupti {
            true => held(&device, || ask(Question::Trial).map(tried))?,
            false => {
                Check::new(State::Fail, COUNTERS, "not tested: CUPTI does not work (see above)")
            }
        };
        let used = options.devices.is_some() || at == 0;
        Ok(Examined { at, device, used, settings, counters })
    };
    chosen.into_iter().map(examine).collect()
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
