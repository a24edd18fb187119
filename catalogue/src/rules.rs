//! Rules of advice: ours, which the binary carries, and those of a workspace.
//!
//! Input: the TOML files of `rules/` and of a user's folder, and the known metrics. Output: checked
//! rules. A user's rule replaces ours of the same identifier. An error names the file, the line and
//! the remedy.

mod file;

use camino::Utf8Path;
use gpuprof_analysis::advice::rule::Rule;
use gpuprof_model::metric::{Catalogue, Origin};
use gpuprof_model::run::Run;

use crate::chips::Chips;
use file::wrong;
use gpuprof_system::error::Result;
use gpuprof_system::own_file::OwnFile;

/// The folder of a workspace's rules, below its root.
pub const FOLDER: &str = ".config/gpuprof/rules";

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!($name, ".toml"), include_str!(concat!("../rules/", $name, ".toml")))),*]
    };
}

const BUILT_IN: &[(&str, &str)] = built_in![
    "bank-conflicts",
    "block-size",
    "bottleneck",
    "cache-access-pattern",
    "divergence",
    "divergent-branches",
    "fp64-busy",
    "fp64-slow",
    "fused-multiply-add",
    "issue-slots",
    "l2-compression",
    "latency",
    "local-memory",
    "narrow-shared",
    "occupancy-achieved",
    "occupancy-theoretical",
    "pipelines",
    "small-grid",
    "stalls",
    "tail-effect",
    "uncoalesced-global",
    "workload-imbalance",
];

/// Ours and those of the folder `asked`, or else of the usual one of the workspace at `root`.
///
/// # Errors
/// A folder that was asked for and is not there, or a rule that is wrong (exit code 96).
pub fn load(root: &Utf8Path, asked: Option<&Utf8Path>, known: &Catalogue) -> Result<Vec<Rule>> {
    all(&own(root, asked)?, known)
}

/// Our rules and, unless the folder `asked` or else the usual one of the workspace at `root` has
/// rules, those with which `run` was made: its workspace may be elsewhere.
///
/// # Errors
/// As of [`load`].
pub fn of_run(
    run: &Run,
    (root, asked): (&Utf8Path, Option<&Utf8Path>),
    known: &Catalogue,
) -> Result<Vec<Rule>> {
    let mut files = own(root, asked)?;
    if files.is_empty() {
        files = run.provenance.rules.iter().cloned().map(Into::into).collect();
    }
    all(&files, known)
}

/// Ours and those of `files`.
///
/// # Errors
/// A rule that is wrong (exit code 96).
pub fn all(files: &[OwnFile], known: &Catalogue) -> Result<Vec<Rule>> {
    let mut rules = built_in(known)?;
    let mut own: Vec<Rule> = Vec::new();
    for OwnFile { path, text } in files {
        for rule in file::parse(text, path.as_str(), known)? {
            if let Some(other) = own.iter().find(|other| other.id == rule.id) {
                let message = format!("a rule `{}` is in {} as well", rule.id, other.written_in);
                return Err(wrong(format!("{path}: {message}; choose another `id`")));
            }
            own.push(rule);
        }
    }
    for rule in own {
        match rules.iter_mut().find(|ours| ours.id == rule.id) {
            Some(ours) => *ours = rule,
            None => rules.push(rule),
        }
    }
    Ok(rules)
}

/// Ours.
///
/// # Errors
/// None: a test reads them all.
pub fn built_in(known: &Catalogue) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for (name, text) in BUILT_IN {
        rules.extend(file::parse(text, name, known)?);
    }
    Ok(rules)
}

/// The files of the folder `asked`, or else of the usual one of the workspace at `root`, by name
/// and as the workspace knows them; none where the usual one is not there.
///
/// # Errors
/// A folder that was asked for and is not there, or a file that cannot be read (exit code 96).
pub fn own(root: &Utf8Path, asked: Option<&Utf8Path>) -> Result<Vec<OwnFile>> {
    if let Some((folder, Err(error))) = asked.map(|folder| (folder, folder.read_dir_utf8())) {
        let help = "--rules and the key `rules` name a folder of .toml files";
        return Err(wrong(format!("cannot read {folder}: {error}\nhelp: {help}")));
    }
    let folder = asked.map_or_else(|| root.join(FOLDER), Utf8Path::to_owned);
    Ok(OwnFile::below(root, OwnFile::all_in(&folder)?))
}

/// The metrics that `rules` read on `chip`: of each input the first alternative that the chip has.
pub fn metrics(rules: &[Rule], chip: Option<&str>) -> Vec<String> {
    let chips = Chips::shipped();
    let catalogue = Catalogue::built_in();
    let has = |name: &&String| {
        let counter = catalogue.find(name).filter(|m| m.origin == Origin::Hardware(m.name.clone()));
        counter.is_none_or(|counter| chips.validate(&counter.name, chip).is_ok())
    };
    let mut all: Vec<String> = Vec::new();
    for alternatives in rules.iter().flat_map(Rule::metrics) {
        let Some(metric) = alternatives.iter().find(has) else { continue };
        if catalogue_knows(&catalogue, metric) && !all.contains(metric) {
            all.push(metric.clone());
        }
    }
    all
}

/// Whether `metric` is one, and none of the facts that only rules may name.
fn catalogue_knows(catalogue: &Catalogue, metric: &str) -> bool {
    let fact = gpuprof_analysis::advice::FACTS.iter().any(|(fact, _)| *fact == metric);
    !fact && (catalogue.find(metric).is_some() || !metric.starts_with("ptx__"))
}

#[cfg(test)]
mod tests;
