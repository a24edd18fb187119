//! One section as its TOML file has it.
//!
//! Input: the text of a file, and the known metrics. Output: a [`Section`], the catalogue with its
//! definitions, and its columns by the names of a chip.

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Definition, Direction, Formula, Origin, cycle_among};
use gpuprof_model::over_time::SampledCounter;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{SectionColumn, SectionColumns, SectionTable};
use serde::Deserialize;

use crate::chips::{Chips, label};
use crate::definitions::{check_counters, define, direct, is_counter, on_itself, place};
use crate::set::Set;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::own_file::OwnFile;

/// One section.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its name, which is the file's.
    #[serde(skip)]
    pub id: String,
    /// Its heading.
    pub title: String,
    /// The sets it belongs to.
    #[serde(default)]
    pub sets: Vec<Set>,
    /// A metric that must be above zero somewhere for the section to be shown.
    pub needs: Option<String>,
    /// Metrics that others are made of, without columns of their own.
    #[serde(default)]
    definitions: Vec<SectionDefinition>,
    /// Its metrics, in order.
    #[serde(default)]
    pub metrics: Vec<SectionMetric>,
    /// The counters that it samples over the time of a launch, the most important first: a chip
    /// samples as many as fit into one pass.
    #[serde(default)]
    sampled: Vec<SampledMetric>,
    /// Tables of one configuration each; of a cell that the chip has no metric for, nothing is
    /// left.
    #[serde(default)]
    tables: Vec<SectionTable>,
}

/// A metric by a formula, for other metrics to use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SectionDefinition {
    name: String,
    formula: String,
    /// Formulas by prefixes of the names of chips.
    #[serde(default)]
    formulas: BTreeMap<String, String>,
    unit: Unit,
    direction: Direction,
}

impl SectionDefinition {
    /// Its name and its formula on `chip`.
    fn formula_on(&self, chip: &str) -> (&str, &str) {
        (&self.name, of_chip(&self.formulas, chip).unwrap_or(&self.formula))
    }
}

/// A counter that is sampled over the time of a launch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampledMetric {
    label: String,
    name: String,
}

/// One metric of a section.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SectionMetric {
    /// The title of its column.
    pub label: String,
    /// Any name that `--metrics` takes; empty where only the chips named below have it.
    pub name: String,
    /// Names by prefixes of the names of chips, the longest prefix first; empty if they have none.
    #[serde(default)]
    pub chips: BTreeMap<String, String>,
    /// Metrics by labels: the column shows the label of the largest, and has a value if `name` has
    /// one.
    #[serde(default)]
    pub largest_of: BTreeMap<String, String>,
    /// Whether `name` is a throughput with constituents that replace `largest_of` on the chip.
    #[serde(default)]
    pub breakdown: bool,
    /// The formula of a new metric.
    pub formula: Option<String>,
    /// And its unit.
    pub unit: Option<Unit>,
    /// And which way is better; alone, it sets the direction of a metric that is known.
    pub direction: Option<Direction>,
}

impl SectionMetric {
    /// Its name on `chip`, if that has it.
    pub fn name_on(&self, chip: Option<&str>) -> Option<&str> {
        let name = chip.and_then(|chip| of_chip(&self.chips, chip)).unwrap_or(&self.name);
        (!name.is_empty()).then_some(name)
    }

    /// Metrics by labels, of which the column shows the largest one's label.
    fn largest_on(&self, name: &str, chip: Option<&str>) -> BTreeMap<String, String> {
        if !self.breakdown {
            return self.largest_of.clone();
        }
        let constituents = Chips::shipped().breakdown(name, chip).unwrap_or_default();
        constituents.into_iter().map(|counter| (label(&counter), counter)).collect()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.chips.values().chain(self.largest_of.values()).map(String::as_str);
        let all = all.chain([self.name.as_str()]);
        all.filter(|name| !name.is_empty())
    }
}

/// The value in `by_beginning` for `chip`: that of the longest beginning of its name.
fn of_chip<'m>(by_beginning: &'m BTreeMap<String, String>, chip: &str) -> Option<&'m str> {
    // As --chip, whatever the case.
    let begins = |beginning: &str| {
        chip.get(..beginning.len()).is_some_and(|part| part.eq_ignore_ascii_case(beginning))
    };
    let own = by_beginning.iter().filter(|(beginning, _)| begins(beginning));
    own.max_by_key(|(beginning, _)| beginning.len()).map(|(_, own)| own.as_str())
}

impl Section {
    /// Reads the section `id` of the file `path`. [`Self::define`] checks its definitions.
    ///
    /// # Errors
    /// A file that is not a section (exit code 96).
    pub(super) fn parse(id: &str, text: &str, path: &str) -> Result<Self> {
        let mut section: Self = toml::from_str(text).map_err(|e| {
            wrong(format!("{path} is not a valid section\n{}", e.to_string().trim_end()))
        })?;
        id.clone_into(&mut section.id);
        Ok(section)
    }

    /// `catalogue` and the metrics that the section, written in `path`, defines.
    ///
    /// # Errors
    /// A definition that is refused, on any chip, or a column that no metric has (exit code 96).
    pub(super) fn define(
        &self,
        catalogue: &Catalogue,
        (path, text): (&str, &str),
    ) -> Result<Catalogue> {
        let definitions = self.all_definitions(path)?;
        let catalogue = define(catalogue, &definitions, path)?;
        let directed = self.metrics.iter().filter(|metric| metric.formula.is_none());
        let directions = directed.flat_map(|metric| {
            metric.direction.into_iter().flat_map(|d| metric.names().map(move |name| (name, d)))
        });
        let catalogue = direct(&catalogue, directions, path)?;
        self.check_chips(&catalogue, &definitions, path)?;
        self.check_tables(path)?;
        let unknown: BTreeSet<&str> =
            self.named().filter(|name| catalogue.find(name).is_none()).collect();
        let message =
            |name: &&str| format!("{}: {}", place((path, text), name), catalogue.unknown(name));
        let messages: Vec<String> = unknown.iter().map(message).collect();
        if messages.is_empty() { Ok(catalogue) } else { Err(wrong(messages.join("\n"))) }
    }

    /// Checks the counters that the section, written in `file`, names in its columns, formulas and
    /// tables, or samples. `knows` is asked about counters that no recorded chip has.
    ///
    /// # Errors
    /// A counter that no chip has (exit code 96).
    pub(super) fn check_counters(
        &self,
        file: &OwnFile,
        knows: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let hidden = self.definitions.iter().flat_map(|d| d.formulas.values().chain([&d.formula]));
        let formulas = hidden.chain(self.metrics.iter().filter_map(|m| m.formula.as_ref()));
        let formulas: Vec<Formula> =
            formulas.filter_map(|text| Formula::parse(text).ok()).collect();
        let named = self.named().chain(formulas.iter().flat_map(Formula::names));
        let sampled = self.sampled.iter().map(|it| it.name.as_str());
        let counters = named.filter(|name| is_counter(name)).chain(sampled);
        check_counters(counters, (file.path.as_str(), &file.text), knows)
    }

    /// The metrics that it shows or samples, in columns and in tables.
    fn named(&self) -> impl Iterator<Item = &str> {
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        let cells = cells.map(String::as_str).filter(|name| !name.is_empty());
        let sampled = self.sampled.iter().map(|it| it.name.as_str());
        let columns = self.metrics.iter().flat_map(SectionMetric::names);
        columns.chain(cells).chain(sampled).chain(self.needs.as_deref())
    }

    /// Checks that every row of its tables has a cell for each column.
    fn check_tables(&self, path: &str) -> Result<()> {
        for table in &self.tables {
            let wanted = table.columns.len();
            if let Some(row) = table.rows.iter().find(|row| row.cells.len() != wanted) {
                return Err(wrong(format!(
                    "{path}: table `{}`: row `{}` has {} cells for {wanted} columns; write \"\" where there \
                     is no metric",
                    table.title,
                    row.label,
                    row.cells.len()
                )));
            }
        }
        Ok(())
    }

    /// Its definitions, with columns and without.
    fn all_definitions(&self, path: &str) -> Result<Vec<Definition>> {
        let definition = |name: &str, formula: &str, unit, direction| Definition {
            name: name.to_owned(),
            formula: formula.to_owned(),
            unit,
            direction,
            description: None,
        };
        let hidden = self.definitions.iter();
        let mut all: Vec<Definition> =
            hidden.map(|d| definition(&d.name, &d.formula, d.unit, d.direction)).collect();
        for metric in &self.metrics {
            match (&metric.formula, metric.unit, metric.direction) {
                (Some(formula), Some(unit), Some(direction)) => {
                    all.push(definition(&metric.name, formula, unit, direction));
                }
                (None, None, _) => {}
                _ => {
                    return Err(wrong(format!(
                        "{path}: `{}` needs all of formula, unit and direction, a direction, or none",
                        metric.name
                    )));
                }
            }
        }
        Ok(all)
    }

    /// Checks the formulas of single chips; `definitions` are those of all others.
    fn check_chips(
        &self,
        catalogue: &Catalogue,
        definitions: &[Definition],
        path: &str,
    ) -> Result<()> {
        for text in self.definitions.iter().flat_map(|d| d.formulas.values()) {
            let formula = Formula::parse(text).map_err(|e| wrong(e.render(path, text)))?;
            if let Some(message) = catalogue.all_unknown(formula.names()) {
                return Err(wrong(format!("{path}: {message}")));
            }
        }
        for beginning in self.definitions.iter().flat_map(|d| d.formulas.keys()) {
            let on_chip = self.definitions.iter().map(|d| d.formula_on(beginning));
            let written = definitions.iter().map(|d| (d.name.as_str(), d.formula.as_str()));
            // Of a name that comes twice the last one counts.
            let all: Vec<_> = written.chain(on_chip).collect();
            if let Some(way) = cycle_among(&all) {
                let message = on_itself(&way);
                return Err(wrong(format!(
                    "{path}: metric `{}` on {beginning}…: {message}",
                    way[0]
                )));
            }
        }
        Ok(())
    }

    /// The metrics it defines, each with its formula on `chip`.
    pub(super) fn formulas(&self, chip: &str) -> Vec<(&str, &str)> {
        let with_own = self.definitions.iter().filter(|d| !d.formulas.is_empty());
        with_own.map(|d| d.formula_on(chip)).collect()
    }

    /// Nsight Compute does not mind the case either.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name)
    }

    /// Its columns by the names of `chip`.
    pub fn columns(&self, chip: Option<&str>) -> SectionColumns {
        let column = |metric: &SectionMetric| {
            let name = metric.name_on(chip)?.to_owned();
            let largest_of = metric.largest_on(&name, chip);
            Some(SectionColumn { label: metric.label.clone(), name, largest_of })
        };
        SectionColumns {
            id: self.id.clone(),
            title: self.title.clone(),
            needs: self.needs.clone(),
            columns: self.metrics.iter().filter_map(column).collect(),
            tables: self.tables_on(chip),
            sampled: self.sampled_counters(),
        }
    }

    /// The counters that it samples, with their units.
    fn sampled_counters(&self) -> Vec<SampledCounter> {
        if self.sampled.is_empty() {
            return Vec::new();
        }
        let catalogue = Catalogue::built_in();
        let counter = |SampledMetric { label, name }: &SampledMetric| {
            let unit = catalogue.find(name).map_or(Unit::Count, |metric| metric.unit);
            SampledCounter { name: name.clone(), label: label.clone(), unit }
        };
        self.sampled.iter().map(counter).collect()
    }

    /// Its tables with the metrics that `chip` counts, as far as this version knows it.
    fn tables_on(&self, chip: Option<&str>) -> Vec<SectionTable> {
        if self.tables.is_empty() {
            return Vec::new();
        }
        let chips = Chips::shipped();
        let catalogue = Catalogue::built_in();
        let has = |name: &str| {
            let counter =
                catalogue.find(name).filter(|m| m.origin == Origin::Hardware(m.name.clone()));
            counter.is_none() || chips.validate(name, chip).is_ok()
        };
        // A cell is a counter, or defined here over counters.
        let counted = |cell: &String| match self.definitions.iter().find(|d| d.name == *cell) {
            Some(defined) => {
                let text = chip.map_or(&*defined.formula, |chip| defined.formula_on(chip).1);
                Formula::parse(text).is_ok_and(|formula| formula.names().into_iter().all(has))
            }
            None => has(cell),
        };
        let mut tables = self.tables.clone();
        let cells = tables.iter_mut().flat_map(|table| &mut table.rows);
        for cell in cells.flat_map(|row| &mut row.cells).filter(|cell| !counted(cell)) {
            cell.clear();
        }
        tables
    }
}

fn wrong(message: String) -> Failure {
    Failure::new(ExitCode::Configuration, message)
}
