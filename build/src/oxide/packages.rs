//! Which packages cuda-oxide compiles.
//!
//! Input: a package and its workspace. Output: whether the package, or a member of the workspace
//! that it depends on, depends on [`HOST`].

use std::collections::BTreeSet;

use cargo_metadata::{Metadata, Package};

use super::HOST;

/// Whether the harnesses of `package` are for cuda-oxide to build.
pub fn is_compiled(package: &Package, metadata: &Metadata) -> bool {
    let members = metadata.workspace_packages();
    let mut seen = BTreeSet::new();
    let mut next = vec![package];
    while let Some(package) = next.pop() {
        if !seen.insert(package.name.as_str()) {
            continue;
        }
        for dependency in &package.dependencies {
            if dependency.name == HOST {
                return true;
            }
            let member = members.iter().find(|member| member.name.as_str() == dependency.name);
            next.extend(member.filter(|_| dependency.path.is_some()));
        }
    }
    false
}
