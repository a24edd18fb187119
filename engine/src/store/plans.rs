//! Counter plans of earlier runs: CUPTI's passes for a list of counters on a device.
//!
//! Input: everything the plan depends on. Output: the plan with its config images, if an earlier
//! run kept it. Asking CUPTI takes a second or more; a plan stays valid until the device, its
//! driver, CUPTI or the list changes. An unreadable plan, or one of a changed CUPTI, counts as
//! absent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::protocol::{CounterPlan, VERSION};
use gpuprof_system::sha256::sha256;
use gpuprof_system::whole::write_whole;
use serde::{Deserialize, Serialize};

/// Variables that locate CUPTI, in addition to the command line.
const PLACES: [&str; 4] = ["GPUPROF_CUPTI", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"];

/// The most plans to keep; the least recently used go first.
const MOST: usize = 64;

/// The file of a plan in its folder.
const FILE: &str = "plan.json";

/// The plans in a target folder.
#[derive(Debug, Clone)]
pub struct Plans {
    folder: Utf8PathBuf,
}

/// The inputs of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Depends<'a> {
    /// Name, UUID and driver of the device.
    pub device: (&'a str, &'a str, u32),
    /// `--cupti-path`.
    pub cupti: Option<&'a Utf8Path>,
    /// The counters.
    pub metrics: &'a [String],
}

impl Depends<'_> {
    /// The name of the plan.
    pub fn key(&self) -> String {
        let places = PLACES.map(|name| std::env::var_os(name).unwrap_or_default());
        let all =
            (VERSION, env!("CARGO_PKG_VERSION"), self.device, self.cupti, places, self.metrics);
        sha256(format!("{all:?}").as_bytes())
    }
}

#[derive(Serialize, Deserialize)]
struct StoredPlan {
    plan: CounterPlan,
    /// Bytes and modification time of the library, in nanoseconds since 1970.
    cupti: (u64, u128),
}

impl Plans {
    /// The plans in `target_directory`.
    pub fn new(target_directory: &Utf8Path) -> Self {
        Self { folder: target_directory.join("gpuprof/plans") }
    }

    /// The plan called `key`; its config images are copied into `folder`.
    pub fn find(&self, key: &str, folder: &Utf8Path) -> Option<CounterPlan> {
        let place = self.folder.join(key);
        let StoredPlan { mut plan, cupti } =
            serde_json::from_slice(&fs::read(place.join(FILE)).ok()?).ok()?;
        if stamp(&plan.cupti)? != cupti {
            return None;
        }
        for group in &mut plan.groups {
            let name = group.config_image.file_name()?.to_owned();
            let copy = folder.as_std_path().join(&name);
            fs::copy(place.as_std_path().join(&name), &copy).ok()?;
            group.config_image = copy;
        }
        // The folder's time is the plan's last use; a new entry updates it.
        let _ = fs::remove_file(place.join("used"));
        let _ = fs::write(place.join("used"), "");
        Some(plan)
    }

    /// Keeps `plan` and its config images. If that cannot be written, the plan is not kept.
    pub fn keep(&self, key: &str, plan: &CounterPlan) {
        let written = || -> Option<()> {
            let place = self.folder.join(key);
            fs::create_dir_all(&place).ok()?;
            for group in &plan.groups {
                let image = fs::read(&group.config_image).ok()?;
                let name = Path::new(group.config_image.file_name()?).to_str()?;
                write_whole(&place.join(name), &image).ok()?;
            }
            let kept = StoredPlan { plan: plan.clone(), cupti: stamp(&plan.cupti)? };
            // Last: a plan without its images must not be found.
            write_whole(&place.join(FILE), &serde_json::to_vec(&kept).ok()?).ok()
        };
        if written().is_none() {
            self.forget(key);
        }
        self.prune();
    }

    /// Drops the plan called `key`.
    pub fn forget(&self, key: &str) {
        let _ = fs::remove_dir_all(self.folder.join(key));
    }

    fn prune(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut plans: Vec<_> =
            entries.filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path()))).collect();
        plans.sort();
        let over = plans.len().saturating_sub(MOST);
        plans.iter().take(over).for_each(|(_, path)| drop(fs::remove_dir_all(path)));
    }
}

fn stamp(library: &PathBuf) -> Option<(u64, u128)> {
    let metadata = fs::metadata(library).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.len(), modified.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::protocol::CounterGroup;

    /// A library, a plan with its image next to it, and the plans of a target folder.
    fn kept(folder: &Utf8Path) -> (CounterPlan, Plans) {
        fs::write(folder.join("libcupti.so"), "library").unwrap();
        fs::write(folder.join("counters-0.config"), "image").unwrap();
        let group = CounterGroup {
            metrics: vec!["a.sum".into()],
            config_image: folder.join("counters-0.config").into(),
            passes: 3,
        };
        let plan = CounterPlan {
            cupti: folder.join("libcupti.so").into(),
            cupti_version: "13.0".into(),
            chip: "GH100".into(),
            groups: vec![group],
            withheld: Vec::new(),
        };
        (plan, Plans::new(&folder.join("target")))
    }

    fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        (folder, path)
    }

    #[test]
    fn a_stored_plan_is_restored_with_its_images() {
        let (_keep, folder) = folder();
        let (plan, plans) = kept(&folder);
        let run = folder.join("run");
        fs::create_dir(&run).unwrap();
        assert_eq!(plans.find("k", &run), None);
        plans.keep("k", &plan);
        let mut found = plans.find("k", &run).unwrap();
        assert_eq!(found.groups[0].config_image, run.join("counters-0.config").as_std_path());
        assert_eq!(fs::read(&found.groups[0].config_image).unwrap(), b"image");
        found.groups.clone_from(&plan.groups);
        assert_eq!(found, plan);
        plans.forget("k");
        assert_eq!(plans.find("k", &run), None);
    }

    #[test]
    fn a_plan_of_another_cupti_or_without_its_image_is_ignored() {
        let (_keep, folder) = folder();
        let (plan, plans) = kept(&folder);
        plans.keep("k", &plan);
        fs::write(folder.join("libcupti.so"), "newer library").unwrap();
        assert_eq!(plans.find("k", &folder), None);
        plans.keep("k", &plan);
        assert!(plans.find("k", &folder).is_some());
        fs::remove_file(folder.join("target/gpuprof/plans/k/counters-0.config")).unwrap();
        assert_eq!(plans.find("k", &folder.join("target")), None);
        fs::remove_file(folder.join("counters-0.config")).unwrap();
        plans.keep("l", &plan);
        assert_eq!(plans.find("l", &folder), None, "what cannot be kept whole is not kept");
    }

    #[test]
    fn the_key_holds_everything_a_plan_depends_on() {
        let (a, b) = (vec!["a.sum".to_owned()], vec!["b.sum".to_owned()]);
        let depends = Depends { device: ("H200", "GPU-1", 13000), cupti: None, metrics: &a };
        let others = [
            Depends { device: ("H200", "GPU-2", 13000), ..depends },
            Depends { device: ("H200", "GPU-1", 13010), ..depends },
            Depends { cupti: Some(Utf8Path::new("/x")), ..depends },
            Depends { metrics: &b, ..depends },
        ];
        assert_eq!(depends.key(), depends.key());
        assert!(others.iter().all(|other| other.key() != depends.key()));
    }

    #[test]
    fn the_number_of_stored_plans_is_bounded() {
        let (_keep, folder) = folder();
        let (plan, plans) = kept(&folder);
        (0..MOST + 3).for_each(|n| plans.keep(&format!("k{n}"), &plan));
        assert_eq!(fs::read_dir(folder.join("target/gpuprof/plans")).unwrap().count(), MOST);
    }
}
