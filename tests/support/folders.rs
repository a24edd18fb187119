//! The repository, and the build folder of this test run.

use std::env;
use std::path::{Path, PathBuf};

/// The repository's root.
pub fn repository_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

/// The target folder of this test run: cargo puts test executables into `TARGET/PROFILE/deps`.
pub fn target_folder() -> PathBuf {
    let executable = env::current_exe().expect("the test knows its executable");
    let target = executable
        .ancestors()
        .find(|folder| folder.ends_with("deps"))
        .and_then(|f| f.ancestors().nth(2));
    target.expect("tests are built into a target folder").to_owned()
}
