//! Sections: metrics that belong together, with short labels, shown as a table of their own; and
//! sets of sections.
//!
//! Input: the TOML files of `sections/`, which the binary contains, those of a workspace's
//! `.config/gpuprof/sections/`, the requested names and the chip. Output: each section's metrics by
//! the names that the chip has. A workspace's section replaces ours of the same name.

mod file;

use camino::Utf8Path;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::SectionColumns;
use gpuprof_model::suggest::did_you_mean;

use crate::set::Set;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::own_file::OwnFile;

pub use file::{Section, SectionMetric};

/// The folder of a workspace's sections, below its root.
pub const FOLDER: &str = ".config/gpuprof/sections";

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../sections/", $name, ".toml")))),*]
    };
}

/// In the order they are shown.
const BUILT_IN: &[(&str, &str)] = built_in![
    "SpeedOfLight",
    "Roofline",
    "RooflineSingle",
    "RooflineDouble",
    "RooflineHalf",
    "RooflineTensor",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "MemoryChart",
    "MemoryTables",
    "FullMemoryTables",
    "SchedulerStats",
    "WarpStateStats",
    "InstructionStats",
    "LaunchStats",
    "Occupancy",
    "SourceCounters",
    "PmSampling",
    "Nvlink",
    "Nvlink_Topology",
    "Nvlink_Tables",
    "Pcie",
    "UnifiedMemory",
];

/// The chip of a compute capability, as CUPTI calls it; one of its family where several have it.
pub fn chip_of((major, minor): (u32, u32)) -> Option<&'static str> {
    Some(match (major, minor) {
        (7, 0) => "GV100",
        (7, 2) => "GV11B",
        (7, 5) => "TU102",
        (8, 0) => "GA100",
        (8, 6) => "GA102",
        (8, 7) => "GA10B",
        (8, 9) => "AD102",
        (9, 0) => "GH100",
        (10, 0) => "GB100",
        (10, 3) => "GB110",
        // Thor, which older drivers number so.
        (10, 1) | (11, 0) => "GB10B",
        (12, 0) => "GB202",
        (12, 1) => "GB20B",
        _ => return None,
    })
}

/// The files of the workspace at `root` with its own sections, by name.
///
/// # Errors
/// One that cannot be read (exit code 96).
pub fn own(root: &Utf8Path) -> Result<Vec<OwnFile>> {
    OwnFile::all_in(&root.join(FOLDER))
}

/// All sections of a workspace, and the metrics that are known with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sections {
    all: Vec<Section>,
    catalogue: Catalogue,
}

impl Sections {
    /// Ours, over the built-in catalogue.
    ///
    /// # Errors
    /// None: a test reads them all.
    pub fn built_in() -> Result<Self> {
        let mut sections = Self { all: Vec::new(), catalogue: Catalogue::built_in() };
        for (id, text) in BUILT_IN {
            sections.add(id, text, &format!("{id}.toml"))?;
        }
        Ok(sections)
    }

    /// The same sections over `catalogue`, which is based on theirs.
    #[must_use]
    pub fn over(self, catalogue: Catalogue) -> Self {
        Self { catalogue, ..self }
    }

    /// These and those of `files`, which replace namesakes. Their definitions may use those of the
    /// catalogue. `knows` is asked about counters that no recorded chip has: an installed CUPTI may
    /// be newer.
    ///
    /// # Errors
    /// A file that is wrong (exit code 96).
    pub fn with(mut self, files: &[OwnFile], knows: impl Fn(&str) -> bool) -> Result<Self> {
        for file in files {
            let section = self.add(file.id(), &file.text, file.path.as_str())?;
            section.check_counters(file, &knows)?;
        }
        Ok(self)
    }

    fn add(&mut self, id: &str, text: &str, path: &str) -> Result<&Section> {
        let section = Section::parse(id, text, path)?;
        self.catalogue = section.define(&self.catalogue, (path, text))?;
        let at = self.all.iter().position(|other| other.is_called(&section.id));
        let at = at.unwrap_or(self.all.len());
        self.all.splice(at..(at + 1).min(self.all.len()), [section]);
        Ok(&self.all[at])
    }

    /// The metrics, including the sections' definitions, with the formulas of most chips.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The metrics, including the sections' definitions, with the formulas of `chip`.
    ///
    /// # Panics
    /// Never: the formulas were checked when their file was read.
    pub fn catalogue_on(&self, chip: &str) -> Catalogue {
        let formulas: Vec<_> = self.all.iter().flat_map(|section| section.formulas(chip)).collect();
        let catalogue = self.catalogue.with_formulas(&formulas);
        catalogue.expect("checked when the file was read").on_chip(chip)
    }

    /// All of them, in the order they are shown.
    pub fn iter(&self) -> impl Iterator<Item = &Section> {
        self.all.iter()
    }

    /// Those of `sets` and those called `names`, each once, by the names of `chip`.
    ///
    /// # Errors
    /// Every section that is not there (exit code 2).
    pub fn choose(
        &self,
        sets: &[Set],
        names: &[String],
        chip: Option<&str>,
    ) -> Result<Vec<SectionColumns>> {
        let unknown = |name: &&String| self.all.iter().all(|section| !section.is_called(name));
        let message = |name: &String| {
            let near = did_you_mean(name, self.all.iter().map(|s| s.id.as_str()))
                .unwrap_or_else(|| "`cargo gpuprof metrics --list-sections` lists them".into());
            format!("no section is named `{name}`: {near}")
        };
        let wrong: Vec<String> = names.iter().filter(unknown).map(message).collect();
        if !wrong.is_empty() {
            return Err(Failure::usage(wrong.join("\n")));
        }
        let asked = |section: &&Section| {
            sets.iter().any(|set| section.sets.contains(set))
                || names.iter().any(|name| section.is_called(name))
        };
        Ok(self.all.iter().filter(asked).map(|section| section.columns(chip)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use gpuprof_model::ExitCode;
    use gpuprof_model::metric::{Direction, Formula, direction_by_family};

    fn read_sections(files: &[OwnFile]) -> Result<Sections> {
        Sections::built_in()?.with(files, |_| false)
    }

    fn chosen(sets: &[Set], names: &[&str], chip: &str) -> Vec<SectionColumns> {
        let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
        Sections::built_in().unwrap().choose(sets, &names, Some(chip)).unwrap()
    }

    fn ids(columns: &[SectionColumns]) -> Vec<&str> {
        columns.iter().map(|section| section.id.as_str()).collect()
    }

    #[test]
    fn a_section_may_set_the_direction_of_a_known_metric() {
        let file = |text: &str| OwnFile { path: "own.toml".into(), text: text.to_owned() };
        let text = "title = \"Own\"\n[[metrics]]\nlabel = \"grid\"\nname = \"launch__grid_size\"\n\
                    direction = \"lower\"\n";
        let sections = read_sections(&[file(text)]).unwrap();
        let metric = sections.catalogue().find("launch__grid_size").unwrap();
        assert_eq!(metric.direction, Direction::Lower);
        assert_eq!(metric.direction_set.as_deref(), Some("own.toml"));
        let higher = OwnFile { path: "other.toml".into(), text: text.replace("lower", "higher") };
        let error = read_sections(&[file(text), higher]).unwrap_err().message;
        assert_eq!(
            error,
            "other.toml: metric `launch__grid_size`: higher is better here, and lower is better in own.toml; set its \
             direction once"
        );
    }

    #[test]
    fn sets_and_sections_are_joined_in_a_fixed_order() {
        assert_eq!(
            ids(&chosen(&[Set::Basic], &["schedulerstats"], "GH100")),
            ["SpeedOfLight", "SchedulerStats", "LaunchStats", "Occupancy"]
        );
        // All but the links and PmSampling.
        let full = chosen(&[Set::Full], &[], "GH100");
        let links = chosen(&[Set::Nvlink], &[], "GH100");
        assert_eq!(
            ids(&links),
            ["Nvlink", "Nvlink_Topology", "Nvlink_Tables", "Pcie", "UnifiedMemory"]
        );
        assert_eq!(full.len() + links.len() + 1, BUILT_IN.len());
        assert!(chosen(&[], &[], "GH100").is_empty());
    }

    #[test]
    fn every_metric_of_a_section_has_the_direction_of_its_counters_family() {
        let sections = Sections::built_in().unwrap();
        let catalogue = sections.catalogue();
        let columns = sections.iter().flat_map(|section| &section.metrics);
        let mut names: Vec<String> = columns
            .flat_map(|metric| metric.chips.values().chain([&metric.name]))
            .filter(|name| !name.is_empty())
            .cloned()
            .collect();
        let operands = catalogue.defined().filter_map(|metric| metric.formula());
        names.extend(operands.flat_map(|f| f.names()).map(str::to_owned));
        assert!(names.len() > 150, "{}", names.len());
        for name in names {
            // Of an unknown family nothing would ever be starred.
            let family = direction_by_family(&name).unwrap_or_default();
            assert!(!family.contains("no row"), "{name}: {family}");
        }
        // What is defined as a multiple of a counter goes the counter's way.
        for metric in catalogue.defined() {
            let Some(name) = metric.formula().and_then(Formula::multiple_of) else { continue };
            let counter = catalogue.find(name).unwrap();
            assert_eq!(metric.direction, counter.direction, "{} is made of {name}", metric.name);
        }
    }

    #[test]
    fn metric_names_depend_on_the_chip_family() {
        let name = |chip: &str, label: &str| {
            let sections = chosen(&[Set::Full], &[], chip);
            let columns = sections.into_iter().flat_map(|section| section.columns);
            columns.into_iter().find(|column| column.label == label).map(|column| column.name)
        };
        let fma = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active";
        assert_eq!(name("GH100", "FMA").as_deref(), Some(fma));
        assert_ne!(name("GB202", "FMA").as_deref(), Some(fma));
        assert!(name("GH100", "gmma").is_some() && name("GA100", "gmma").is_none());
        assert!(name("GB202", "DRAM reads").is_none());
    }

    #[test]
    fn chip_names_ignore_case() {
        let text = "title = \"Mine\"\n[[metrics]]\nlabel = \"a\"\nname = \"ipc\"\nchips = { gh = \"waves\" }\n";
        let file = OwnFile { path: "Mine.toml".into(), text: text.into() };
        let sections = read_sections(&[file]).unwrap();
        let name = |chip: &str| {
            let mut chosen = sections.choose(&[], &["Mine".into()], Some(chip)).unwrap();
            chosen.remove(0).columns.remove(0).name
        };
        assert_eq!([name("GH100"), name("GA100"), name("G")], ["waves", "ipc", "ipc"]);
    }

    #[test]
    fn an_unknown_section_is_refused_with_the_nearest() {
        let asked = ["Ocupancy", "LaunchStats", "zzz"].map(str::to_owned);
        let failure = Sections::built_in().unwrap().choose(&[], &asked, None);
        assert_eq!(
            failure.unwrap_err().message,
            "no section is named `Ocupancy`: did you mean `Occupancy`?\n\
             no section is named `zzz`: `cargo gpuprof metrics --list-sections` lists them"
        );
    }

    /// A section whose counters some chip has.
    const RIGHT: &str = r#"title = "Own"
[[metrics]]
label = "loads"
name = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
[[definitions]]
name = "read"
formula = "dram__bytes_read.sum / 2"
formulas.GB = "dram__bytes_read.sum / 4"
unit = "B"
direction = "lower"
[[sampled]]
label = "SMs"
name = "sm__cycles_active.avg"
"#;

    #[test]
    fn an_unknown_counter_is_refused_at_its_position() {
        let read = |text: &str, knows: bool| {
            let file = OwnFile { path: "Own.toml".into(), text: text.to_owned() };
            let sections = Sections::built_in().unwrap().with(&[file], |_| knows);
            sections.map(|_| ()).map_err(|failure| failure.message)
        };
        assert_eq!(read(RIGHT, false), Ok(()));
        for (name, wrong, message) in [
            (
                "requests_pipe_lsu",
                "request_pipe_lsu",
                "Own.toml:4: no chip has a metric `l1tex__t_request_pipe_lsu_mem_global_op_ld`: did \
                 you mean `l1tex__t_requests_pipe_lsu_mem_global_op_ld`",
            ),
            (
                "dram__bytes_read.sum / 2",
                "dram__bytes_reed.sum / 2",
                "Own.toml:7: no chip has a metric `dram__bytes_reed`: did you mean `dram__bytes_read`",
            ),
            (
                "dram__bytes_read.sum / 4",
                "dram__bytes_reed.sum / 4",
                "Own.toml:8: no chip has a metric `dram__bytes_reed`: did you mean `dram__bytes_read`",
            ),
            (
                "sm__cycles_active.avg",
                "sm__cycle_active.avg",
                "Own.toml:13: no chip has a metric `sm__cycle_active`: did you mean \
                 `sm__cycles_active`",
            ),
            (
                "sm__cycles_active.avg",
                "sm__cycles_active",
                "Own.toml:13: `sm__cycles_active` needs a roll-up or a submetric",
            ),
        ] {
            let text = RIGHT.replace(name, wrong);
            let refused = read(&text, false).unwrap_err();
            assert!(refused.starts_with(message), "{refused}");
            let known = read(&text, true);
            assert!(known == Ok(()) || wrong == "sm__cycles_active", "CUPTI knows it: {known:?}");
        }
        // Only counters can be sampled.
        let refused = read(&RIGHT.replace("sm__cycles_active.avg", "ipc"), false).unwrap_err();
        assert!(refused.starts_with("Own.toml:13: no chip has a metric `ipc`"), "{refused}");
    }

    #[test]
    fn a_workspace_adds_sections_and_replaces_ours() {
        let root = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(root.path()).unwrap();
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("Mine.toml", "title = \"Mine\"\nmetrics = [{ label = \"a\", name = \"ipc\" }]\n");
        // Nobody minds the case where a section is asked for.
        write(
            "occupancy.toml",
            "title = \"Other\"\nmetrics = [{ label = \"b\", name = \"waves\" }]\n",
        );
        write("notes.txt", "not a section");
        let sections = read_sections(&own(root).unwrap()).unwrap();
        let columns = sections.choose(&[], &["Mine".into(), "Occupancy".into()], None).unwrap();
        assert_eq!(ids(&columns), ["occupancy", "Mine"]);
        assert_eq!(columns[0].columns[0].name, "waves");
        write("Mine.toml", "title = \"Mine\"\nmetrics = [{ label = \"a\", name = \"icp\" }]\n");
        let failure = read_sections(&own(root).unwrap()).unwrap_err();
        assert_eq!(failure.code, ExitCode::Configuration);
        assert!(failure.message.contains("Mine.toml:2: no metric is named `icp`"), "{failure}");
        write(
            "Mine.toml",
            "title = \"Mine\"\nmetrics = [{ label = \"a\", name = \"s_a\" }]\n\
             [[definitions]]\nname = \"s_a\"\nformula = \"bytes\"\nformulas.GH = \"2 * s_b\"\nunit = \"B\"\n\
             direction = \"lower\"\n[[definitions]]\nname = \"s_b\"\nformula = \"1 * s_a\"\nunit = \"B\"\n\
             direction = \"lower\"\n",
        );
        let failure = read_sections(&own(root).unwrap()).unwrap_err();
        assert_eq!(failure.code, ExitCode::Configuration);
        let expected = "Mine.toml: metric `s_a` on GH…: it depends on itself: s_a → s_b → s_a";
        assert!(failure.message.ends_with(expected), "{failure}");
    }
}
