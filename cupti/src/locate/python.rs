//! The site-packages of the active Python, in which pip installs CUPTI.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Prints every folder of packages, one a line. `-I` is not given: the user's own folder counts.
const SCRIPT: &str = "import site, sysconfig
paths = [sysconfig.get_path('platlib'), sysconfig.get_path('purelib')]
paths += getattr(site, 'getsitepackages', list)()
paths += [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
print('\\n'.join(dict.fromkeys(paths)))";

/// Folders of NVIDIA's wheels: CUDA 13's, then CUDA 12's.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_cupti/lib"];

/// The folders that may hold CUPTI.
pub(super) fn folders() -> Vec<PathBuf> {
    site_packages()
        .iter()
        .flat_map(|packages| IN_PACKAGES.map(|folder| packages.join(folder)))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The folders of packages of `python3`, or of `python` where there is no `python3`.
#[must_use]
pub fn site_packages() -> Vec<PathBuf> {
    ["python3", "python"].into_iter().find_map(packages).unwrap_or_default()
}

fn packages(python: &str) -> Option<Vec<PathBuf>> {
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().map(PathBuf::from).collect())
}
