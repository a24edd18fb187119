//! The features that a bench target requires and a build lacks.
//!
//! Input: a package, one of its targets and the options of the build. Output: the missing ones, as
//! cargo finds them: default features, and the features that others activate, count.

use std::collections::BTreeSet;

use cargo_metadata::{Package, Target};

use crate::options::BuildOptions;

/// The features in `required-features` of `target` that `build` does not activate.
pub(super) fn missing<'t>(
    package: &Package,
    target: &'t Target,
    build: &BuildOptions,
) -> Vec<&'t str> {
    if build.all_features {
        return Vec::new();
    }
    let active = active(package, build);
    let required = target.required_features.iter().map(String::as_str);
    // Cargo judges the features of dependencies.
    required.filter(|name| !name.contains('/') && !active.contains(*name)).collect()
}

/// The features of `package` that `build` activates.
fn active(package: &Package, build: &BuildOptions) -> BTreeSet<String> {
    let given = build.features.iter().flat_map(|text| text.split([' ', ',']));
    let own = |name: &str| match name.split_once('/') {
        Some((of, feature)) => (of == package.name.as_str()).then(|| feature.to_owned()),
        None => Some(name.to_owned()),
    };
    let mut open: Vec<String> = given.filter_map(own).collect();
    open.extend(build.default_features.then(|| "default".to_owned()));
    let mut active = BTreeSet::new();
    while let Some(feature) = open.pop() {
        let activates = package.features.get(&feature).into_iter().flatten();
        open.extend(activates.filter(|name| !active.contains(*name)).cloned());
        active.insert(feature);
    }
    active
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{BENCH, CargoRequest};

    fn options(features: &[&str]) -> BuildOptions {
        BuildOptions {
            in_each_bench: false,
            cargo: CargoRequest::default(),
            profile: BENCH.to_owned(),
            features: features.iter().map(|&text| text.to_owned()).collect(),
            all_features: false,
            default_features: true,
            kernel_arch: String::new(),
            quiet: false,
            colour: false,
        }
    }

    fn missing_with(build: &BuildOptions) -> Vec<String> {
        let package = serde_json::json!({
            "name": "shop", "version": "0.1.0", "id": "shop", "dependencies": [],
            "manifest_path": "/shop/Cargo.toml", "edition": "2024",
            "features": { "default": ["std"], "std": [], "gpu": ["fast"], "fast": [], "slow": [] },
            "targets": [{
                "name": "kernels", "kind": ["bench"], "crate_types": ["bin"],
                "src_path": "/shop/benches/kernels.rs",
                "required-features": ["std", "gpu", "fast", "cudarc/driver"],
            }],
        });
        let package: Package = serde_json::from_value(package).unwrap();
        missing(&package, &package.targets[0], build).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn default_and_implied_features_count_as_enabled() {
        assert_eq!(missing_with(&options(&[])), ["gpu", "fast"]);
        assert_eq!(missing_with(&options(&["slow,gpu"])), [""; 0]);
        assert_eq!(missing_with(&options(&["shop/fast other/gpu"])), ["gpu"]);
        let without = BuildOptions { default_features: false, ..options(&["gpu"]) };
        assert_eq!(missing_with(&without), ["std"]);
        let all = BuildOptions { all_features: true, ..options(&[]) };
        assert_eq!(missing_with(&all), [""; 0]);
    }
}
