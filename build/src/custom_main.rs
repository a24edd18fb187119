//! Whether a bench target that defines its own `main` says so in the manifest.
//!
//! Input: a package and one of its targets. Output: the lines to add where `gpuprof::main!(…)` is
//! in a target that libtest would give another `main`: cargo builds it, and it lists nothing.

use std::fs;

use cargo_metadata::Package;
use gpuprof_model::ExitCode;
use toml::{Table, Value};

use gpuprof_system::error::{Failure, Result};

/// Refuses a harness without `harness = false`.
///
/// # Errors
/// Such a target (exit code 104).
pub(super) fn check(package: &Package, bench: &str) -> Result<()> {
    let of_bench = |target: &&cargo_metadata::Target| target.is_bench() && target.name == bench;
    let source = package.targets.iter().find(of_bench).map(|target| &target.src_path);
    let text = source.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let calls_main = |line: &str| line.trim_start().contains("::main!(") && !is_comment(line);
    let manifest = fs::read_to_string(&package.manifest_path).unwrap_or_default();
    if !text.lines().any(calls_main) || has_own_main(&manifest, bench) {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::DiscoveryFailed,
        format!(
            "the bench target `{bench}` of package `{}` holds gpuprof::main!(…), and cargo gives it the main of \
             libtest. Write in {}:\n\n  [[bench]]\n  name = \"{bench}\"\n  harness = false",
            package.name, package.manifest_path
        ),
    ))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Whether the manifest has `harness = false` for the target. cargo reports a manifest that cannot
/// be read.
fn has_own_main(manifest: &str, bench: &str) -> bool {
    let Ok(table) = manifest.parse::<Table>() else { return true };
    let benches = table.get("bench").and_then(Value::as_array);
    let named = |target: &&Value| target.get("name").and_then(Value::as_str) == Some(bench);
    let target = benches.and_then(|benches| benches.iter().find(named));
    target.and_then(|target| target.get("harness")) == Some(&Value::Boolean(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_main_is_detected_by_harness_false_of_the_same_target() {
        let manifest = "[[bench]]\nname = \"a\"\nharness = false\n[[bench]]\nname = \"b\"\n\
                        [[bench]]\nname = \"c\"\nharness = true\n";
        let own = ["a", "b", "c", "d"].map(|bench| has_own_main(manifest, bench));
        assert_eq!(own, [true, false, false, false]);
        assert!(!has_own_main("[package]", "a") && has_own_main("not [ toml", "a"));
    }
}
