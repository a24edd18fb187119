//! The site-packages of the active Python, in which pip installs NVIDIA's wheels.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Prints every folder of packages, one a line. `-I` is not given: the user's own folder counts.
const SCRIPT: &str = "import site, sysconfig
paths = [sysconfig.get_path('platlib'), sysconfig.get_path('purelib')]
paths += getattr(site, 'getsitepackages', list)()
paths += [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
print('\\n'.join(dict.fromkeys(paths)))";

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
