//! Kernels that NVIDIA's Rust compiler put into a harness.
//!
//! Input: the requested instances, and the harnesses. Output: for each instance a module, cut out
//! of the device code of its crate, and its entry there. So one kernel that the emulated driver
//! refuses does not affect the others. The device code of a crate is a whole program, so code of
//! several crates need not be linked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gpuprof_model::ExitCode;
use gpuprof_model::declared::DeclaredSource;
use gpuprof_model::suggest::did_you_mean;

use super::built::{Built, written};
use super::compile::Tools;
use super::grouped_messages::InstanceMessage;
use super::instances::RequestedInstance;
use super::signature;
use crate::cuda_cpp::{self, Diagnostic, Entry};
use crate::harnesses::Harness;
use crate::oxide::{self, Bundle};
use gpuprof_model::declared::DeclaredInstance as Instance;
use gpuprof_system::error::{Failure, Result};

/// How many names a message lists.
const NAMED: usize = 10;

/// Device code of a harness, with its entry points.
struct Code {
    bundle: Bundle,
    points: Vec<Entry>,
}

/// Adds the instances `asked` to `built`, and what is wrong with one of them to `wrong`.
///
/// # Errors
/// A harness that cannot be read (exit code 101), a folder that cannot be written (110).
pub(super) fn add(
    asked: Vec<RequestedInstance<'_>>,
    tools: &Tools<'_>,
    (built, wrong): (&mut Built, &mut Vec<InstanceMessage>),
) -> Result<()> {
    let mut of_harness: BTreeMap<(String, String), Vec<RequestedInstance<'_>>> = BTreeMap::new();
    for asked in asked {
        let id = &asked.series.id;
        of_harness.entry((id.package.clone(), id.target.clone())).or_default().push(asked);
    }
    for ((package, target), asked) in of_harness {
        let own = |harness: &&Harness| harness.package == package && harness.target == target;
        let Some(harness) = tools.harnesses.iter().find(own) else { continue };
        let code = read(harness)?;
        for asked in &asked {
            let (bundle, point) = match point(asked, &code, harness) {
                Ok(found) => found,
                Err(diagnostics) => {
                    wrong.extend(
                        diagnostics.into_iter().map(|it| InstanceMessage::attribute(asked, it)),
                    );
                    continue;
                }
            };
            let module = match asked.key.as_str() {
                "" => asked.series.id.to_string(),
                key => format!("{}/{key}", asked.series.id),
            };
            let symbols = BTreeSet::from([point.name.as_str()]);
            let text = cuda_cpp::cut(bundle.ptx().unwrap_or_default(), &symbols);
            built
                .entries
                .insert(asked, Instance::Ready(asked.entry(&module, point, BTreeMap::new())));
            built.modules.insert(module, written(tools.folder, &text)?);
            built.compilers.insert(compiler(harness, bundle));
        }
    }
    Ok(())
}

/// The device code of `harness`.
fn read(harness: &Harness) -> Result<Vec<Code>> {
    let path = &harness.executable;
    let failed = |why: String| {
        let message = format!("cannot read the device code in {path}: {why}");
        Failure::new(ExitCode::BuildFailed, message)
    };
    let bytes = fs::read(path).map_err(|e| failed(e.to_string()))?;
    let bundles = oxide::bundles(&bytes).map_err(failed)?;
    let code = |bundle: Bundle| {
        let points = cuda_cpp::every_entry(bundle.ptx().unwrap_or_default());
        Code { bundle, points }
    };
    Ok(bundles.into_iter().map(code).collect())
}

/// The bundle that holds `asked`, and its entry point there.
///
/// # Errors
/// None does, or it takes other parameters.
fn point<'c>(
    asked: &RequestedInstance<'_>,
    code: &'c [Code],
    harness: &Harness,
) -> Result<(&'c Bundle, &'c Entry), Vec<Diagnostic>> {
    let symbol = match &asked.declared.source {
        DeclaredSource::Embedded(names) => names.get(&asked.name),
        _ => None,
    };
    let symbol = symbol.map_or(asked.name.as_str(), String::as_str);
    let found = code.iter().find_map(|code| {
        Some((&code.bundle, code.points.iter().find(|point| point.name == symbol)?))
    });
    let wrong = |message| vec![signature::error_at(message, asked.place())];
    let (bundle, point) = found.ok_or_else(|| wrong(missing(symbol, code, harness)))?;
    let differs = differing(asked, point);
    differs.map_or(Ok((bundle, point)), |message| Err(wrong(message)))
}

/// That `symbol` is in no bundle, and what is.
fn missing(symbol: &str, code: &[Code], harness: &Harness) -> String {
    let names = || code.iter().flat_map(|code| &code.points).map(|point| point.name.as_str());
    let others = code.iter().find_map(|code| {
        Some((&code.bundle.name, code.bundle.other().filter(|_| code.bundle.ptx().is_none())?))
    });
    let known = match (others, names().count()) {
        (Some((package, what)), _) => format!(
            "that of `{package}` is {what}, and gpuprof launches PTX. cuda-oxide writes NVVM IR \
             where a kernel of the crate calls a function of libdevice (sin, exp, pow, …); from its \
             change #410 on it links libdevice and writes PTX"
        ),
        (None, 0) => "it holds none that a kernel could be in".to_owned(),
        (None, count) => did_you_mean(symbol, names()).unwrap_or_else(|| {
            let more = count.saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("it has {}{more}", names().take(NAMED).collect::<Vec<_>>().join(", "))
        }),
    };
    let (package, target) = (&harness.package, &harness.target);
    format!("the device code in {package}::{target} has no entry point `{symbol}`: {known}")
}

/// That the parameters of `point` are others than the signature of `asked` makes.
fn differing(asked: &RequestedInstance<'_>, point: &Entry) -> Option<String> {
    // Parameters without a size are not passed.
    let declared = asked.parameters.iter().filter(|parameter| parameter.bytes > 0);
    let sizes = declared.clone().map(|parameter| u64::from(parameter.bytes));
    if sizes.eq(point.parameters.iter().map(|parameter| parameter.size)) {
        return None;
    }
    let declared: Vec<String> = declared
        .map(|parameter| format!("{}: {} ({})", parameter.name, parameter.rust, parameter.bytes))
        .collect();
    let taken: Vec<String> =
        point.parameters.iter().map(|parameter| parameter.size.to_string()).collect();
    Some(format!(
        "`{}` takes other parameters than its signature makes. By the signature, with bytes: {}; in \
         its PTX: {}",
        asked.name,
        declared.join(", "),
        taken.join(", ")
    ))
}

/// Who compiled `bundle`, and how.
fn compiler(harness: &Harness, bundle: &Bundle) -> String {
    let (backend, rustc) = match &harness.oxide {
        Some(made) => (made.backend.as_str(), made.rustc.as_str()),
        None => ("of an unknown version", "rustc of an unknown version"),
    };
    let contraction = if bundle.contracts { "contracted" } else { "not contracted" };
    format!("cuda-oxide {backend} ({rustc}; {}, {contraction})", bundle.target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oxide::Payload;

    fn code(name: &str, payload: Payload) -> Code {
        let bundle = Bundle {
            name: name.into(),
            target: "sm_80".into(),
            contracts: true,
            payloads: vec![payload],
        };
        let points = cuda_cpp::every_entry(bundle.ptx().unwrap_or_default());
        Code { bundle, points }
    }

    fn harness() -> Harness {
        Harness {
            package: "p".into(),
            target: "t".into(),
            executable: "/x".into(),
            folder: "/".into(),
            library_folders: Vec::new(),
            oxide: None,
            stand_in: None,
        }
    }

    #[test]
    fn a_missing_entry_point_is_reported_with_the_existing_ones() {
        let ptx = |text: &str| code("k", Payload::Ptx(text.into()));
        let message = |code: &[Code]| missing("scale", code, &harness());
        assert_eq!(
            message(&[ptx(".visible .entry scal(\n)\n{\nret;\n}\n")]),
            "the device code in p::t has no entry point `scale`: did you mean `scal`?"
        );
        assert!(message(&[]).ends_with("it holds none that a kernel could be in"));
        let other =
            message(&[ptx(".visible .entry scal()\n{\n}\n"), code("m", Payload::Other("NVVM IR"))]);
        assert!(other.contains("that of `m` is NVVM IR, and gpuprof launches PTX"), "{other}");
    }
}
