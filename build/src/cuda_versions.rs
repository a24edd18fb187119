//! The CUDA versions that a failed build selected for cudarc, which allows one.
//!
//! Input: the options of the build. Output: a hint with the feature of each version, if there are
//! several. The hundreds of compile errors name none of them.

use cargo_metadata::{Metadata, MetadataCommand, PackageId};

use super::cargo;
use crate::options::BuildOptions;

/// The hint that follows the error of the build; empty if there is nothing to say.
pub fn hint(build: &BuildOptions) -> String {
    let mut command = MetadataCommand::new();
    command.cargo_path(cargo());
    command.other_options([build.cargo.manifest_args(), build.feature_args()].concat());
    if let Some(folder) = &build.cargo.folder {
        command.current_dir(folder);
    }
    let versions = command.exec().map(|metadata| versions(&metadata)).unwrap_or_default();
    if versions.len() < 2 {
        return String::new();
    }
    format!(
        ". cudarc is built for one CUDA version, and this build selects {}: give gpuprof \
         `default-features = false` and the feature of your version",
        versions.join(" and ")
    )
}

/// The features of cudarc that select a version, such as `cuda-13000`.
fn versions(metadata: &Metadata) -> Vec<String> {
    let is_cudarc =
        |id: &PackageId| metadata.packages.iter().any(|it| it.id == *id && it.name == "cudarc");
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let cudarc = nodes.filter(|node| is_cudarc(&node.id));
    let features = cudarc.flat_map(|node| &node.features).map(|feature| feature.to_string());
    let is_version = |name: &String| {
        let number = name.strip_prefix("cuda-");
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    features.filter(is_version).collect()
}
