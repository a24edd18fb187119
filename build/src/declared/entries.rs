//! Every instance of the declared kernels of a run: its entry, or the reason why there is none.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpuprof_model::declared::{
    DeclaredEntry, DeclaredInstance as Instance, KnownLaunch, LaunchableInstance,
};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{AxisValue, Configuration};
use serde::{Deserialize, Serialize};

use super::instances::{self, RequestedInstance};

/// Instances by series and by the values of their constants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entries(BTreeMap<String, BTreeMap<String, Instance>>);

impl Entries {
    /// Adds the result of `asked`.
    pub(super) fn insert(&mut self, asked: &RequestedInstance<'_>, instance: Instance) {
        let of_series = self.0.entry(asked.series.id.to_string()).or_default();
        of_series.insert(asked.key.clone(), instance);
    }

    /// Whether no kernel is declared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The instance that `configuration` of `series` launches.
    pub fn get(
        &self,
        series: &SeriesDescription,
        configuration: &Configuration,
    ) -> Option<&Instance> {
        let key = instances::key(series, configuration);
        self.0.get(&series.id.to_string())?.get(&key)
    }

    /// Why `configuration` of `series` cannot be launched (on the emulated driver if it is
    /// `emulated`), if that is known without a process.
    pub fn refusal(
        &self,
        series: &SeriesDescription,
        configuration: &Configuration,
        emulated: bool,
    ) -> Option<String> {
        match self.get(series, configuration)? {
            Instance::Refused(reason) => Some(reason.clone()),
            Instance::Ready(entry) => {
                let on_gpu = entry.needs_gpu().filter(|_| emulated);
                on_gpu.or_else(|| entry.refusal(&launch(configuration)))
            }
        }
    }

    /// The instances of the kernels `series`, for a function that may launch any of them.
    pub fn launchable(&self, series: &[SeriesDescription]) -> Vec<LaunchableInstance> {
        let of_series = |series: &SeriesDescription| {
            let instances = self.0.get(&series.id.to_string()).into_iter().flatten();
            let declared = series.declared.as_ref();
            let path = declared.map(|declared| declared.path.clone()).unwrap_or_default();
            instances.map(move |(key, instance)| LaunchableInstance {
                path: path.clone(),
                key: key.clone(),
                instance: instance.clone(),
            })
        };
        series.iter().flat_map(of_series).collect()
    }

    /// The modules that hold the instances.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.ready().map(|entry| entry.module.as_str())
    }

    /// The entries of machine code.
    pub fn machine_code(&self) -> impl Iterator<Item = &str> {
        let machine_code = self.ready().filter(|entry| entry.machine_code.is_some());
        machine_code.map(|entry| entry.module.as_str())
    }

    /// `text` with the kernels called as their declarations do: `scan<4, float>` for
    /// `_Z4scanILi4EfEvjPKfPf`.
    pub fn as_written(&self, text: &str) -> String {
        let mangled = self.ready().filter(|entry| entry.symbol != entry.shown);
        let mut mangled: Vec<&DeclaredEntry> = mangled.collect();
        // One may begin with another.
        mangled.sort_by_key(|entry| Reverse(entry.symbol.len()));
        mangled.iter().fold(text.to_owned(), |text, it| text.replace(&it.symbol, &it.shown))
    }

    fn ready(&self) -> impl Iterator<Item = &DeclaredEntry> {
        self.0.values().flat_map(BTreeMap::values).filter_map(|instance| match instance {
            Instance::Ready(entry) => Some(entry),
            Instance::Refused(_) => None,
        })
    }

    /// Adds the entries of `other`.
    pub fn extend(&mut self, other: Self) {
        for (series, instances) in other.0 {
            self.0.entry(series).or_default().extend(instances);
        }
    }
}

/// The launch that the axes of `configuration` describe.
fn launch(configuration: &Configuration) -> KnownLaunch {
    let extents = |axis| match configuration.get(axis)? {
        AxisValue::Int(n) => Some([u32::try_from(*n).ok()?, 1, 1]),
        AxisValue::Dims(extents) => Some(*extents),
        AxisValue::Word(_) => None,
    };
    let shared = match configuration.get("shared") {
        Some(AxisValue::Int(bytes)) => Some(*bytes),
        _ => None,
    };
    KnownLaunch {
        grid: extents("grid"),
        block: extents("block"),
        shared,
        cluster: extents("cluster"),
        capability: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_replaced_by_declared_names() {
        let entry = |symbol: &str, shown: &str| {
            let entry = serde_json::json!({ "module": "m", "symbol": symbol, "shown": shown });
            serde_json::json!({ "ready": entry })
        };
        let entries = serde_json::json!({ "series": {
            "a": entry("_Z4scanPf", "scan"),
            "b": entry("_Z4scanPfS_", "scan2"),
            "c": entry("plain", "plain"),
        } });
        let entries: Entries = serde_json::from_value(entries).unwrap();
        assert_eq!(
            entries.as_written("kernel '_Z4scanPfS_', '_Z4scanPf', 'plain'"),
            "kernel 'scan2', 'scan', 'plain'"
        );
    }
}
