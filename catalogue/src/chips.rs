//! The counters of every chip, as CUPTI listed them when this version was made.
//!
//! Input: a chip's name and a metric's. Output: the kind of metric, the GPU unit that counts it,
//! its unit of measure, and its submetrics; or an error with the nearest names. Nothing needs to be
//! installed. CUPTI, if available, adds descriptions, passes, and chips and names that are newer
//! than `data/chips.zst`.

mod breakdown;
mod passes;
mod text;

use std::collections::BTreeSet;
use std::fmt;

use camino::Utf8Path;
use gpuprof_model::failure::{MetricRefusal, RefusedMetric};
use gpuprof_model::suggest::did_you_mean;

pub use breakdown::{BREAKDOWN, expanded, label};
use gpuprof_engine::cupti::{self, Answer, Described, Question};
use gpuprof_system::error::Result as Outcome;
pub use passes::recorded_passes;
use text::{Nature, Recorded};

/// The recording of `cupti/examples/chips.rs`.
const RECORDED: &[u8] = include_bytes!("../data/chips.zst");

/// The chips and their metrics.
#[derive(Debug, Clone)]
pub struct Chips(Recorded);

/// A metric of a chip.
#[derive(Debug, Clone, Copy)]
pub struct ChipMetric<'c> {
    name: &'c str,
    nature: &'c Nature,
    submetrics: &'c [String],
}

impl ChipMetric<'_> {
    /// The metric without a description, which only CUPTI has: its text is NVIDIA's.
    pub fn described(&self) -> Described {
        Described {
            name: self.name.to_owned(),
            kind: self.nature.kind.to_owned(),
            description: String::new(),
            hw_unit: self.nature.hw_unit.clone(),
            dim_unit: self.nature.dim_unit.clone(),
        }
    }

    /// The submetrics, each with its dot.
    pub fn submetrics(&self) -> &[String] {
        self.submetrics
    }
}

/// A name that is not a metric of a chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMetric {
    /// The chip without this metric; none if no known chip has it.
    chip: Option<String>,
    /// The name without submetrics.
    pub base: String,
    /// The unknown submetric and the known ones; none if the metric itself does not exist.
    submetric: Option<(String, Vec<String>)>,
}

impl NoMetric {
    /// Whether the metric itself does not exist.
    pub fn is_unknown(&self) -> bool {
        self.submetric.is_none()
    }

    /// The same as a kind, without the words.
    pub fn refused(&self) -> RefusedMetric {
        let kind = match self.submetric {
            None => MetricRefusal::UnknownMetric,
            Some(_) => MetricRefusal::WrongRollup,
        };
        RefusedMetric { base: self.base.clone(), kind }
    }
}

impl fmt::Display for NoMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chip, base, submetric } = self;
        match submetric {
            None => match chip {
                Some(chip) => write!(f, "{chip} has no metric `{base}`"),
                None => write!(f, "no chip has a metric `{base}`"),
            },
            Some((has, could)) if has.is_empty() => {
                write!(f, "`{base}` needs a roll-up; it has {}", could.join(" "))
            }
            Some((has, could)) => {
                write!(f, "`{base}` has no submetric `{has}`; it has {}", could.join(" "))
            }
        }
    }
}

impl Chips {
    /// The chips that were recorded for this version.
    ///
    /// # Panics
    /// Never with the file that ships: a test reads all of it.
    pub fn shipped() -> Self {
        let text = zstd::decode_all(RECORDED).expect("data/chips.zst is whole");
        let text = String::from_utf8(text).expect("data/chips.zst is text");
        Self(text::parse(&text).unwrap_or_else(|line| panic!("data/chips.zst: {line}")))
    }

    /// The version of the CUPTI that listed them.
    pub fn cupti(&self) -> &str {
        &self.0.cupti
    }

    /// The chips, the oldest first.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// The metrics of `chip` by name; none where it is not among the chips.
    pub fn metrics(&self, chip: &str) -> Option<impl Iterator<Item = ChipMetric<'_>>> {
        let at = self.place(chip)?;
        Some(self.0.metrics.keys().filter_map(move |name| self.find_on(name, Some(at))))
    }

    /// The metric that `name` is of, with or without a submetric. Without a `chip`, of any.
    ///
    /// # Errors
    /// The chip has no such metric, or the metric no such submetric; a name without a submetric has
    /// none to be wrong.
    pub fn find<'c>(&'c self, name: &str, chip: Option<&str>) -> Result<ChipMetric<'c>, NoMetric> {
        let at = chip.and_then(|chip| self.place(chip));
        let chip = chip.map(str::to_uppercase);
        // Names have dots themselves (`CTC.TriageCompute.ctc__rx_bytes`): the longest one wins.
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        let found = ends.filter_map(|end| Some((end, self.find_on(&name[..end], at)?))).next_back();
        let Some((end, metric)) = found else {
            let base = name.split('.').next().unwrap_or(name).to_owned();
            return Err(NoMetric { chip, base, submetric: None });
        };
        let rest = &name[end..];
        if rest.is_empty() || metric.submetrics.iter().any(|it| it == rest) {
            return Ok(metric);
        }
        let submetric = Some((rest.to_owned(), metric.submetrics.to_vec()));
        Err(NoMetric { chip, base: metric.name.to_owned(), submetric })
    }

    /// Whether `name` can be collected: a metric with a submetric that it has. Without a `chip`, on
    /// any; on a chip that is newer than all this, nothing is refused.
    ///
    /// # Errors
    /// As [`Chips::find`], and a metric without a submetric.
    pub fn validate(&self, name: &str, chip: Option<&str>) -> Result<(), NoMetric> {
        if chip.is_some_and(|chip| self.place(chip).is_none()) {
            return Ok(());
        }
        let metric = self.find(name, chip)?;
        if metric.name.len() < name.len() {
            return Ok(());
        }
        let submetric = Some((String::new(), metric.submetrics.to_vec()));
        Err(NoMetric { chip: None, base: name.to_owned(), submetric })
    }

    /// "did you mean …?" among the metrics of `chip`, or of all; none where nothing is near.
    pub fn nearest(&self, name: &str, chip: Option<&str>) -> Option<String> {
        let at = chip.and_then(|chip| self.place(chip));
        let base = name.split('.').next().unwrap_or(name);
        did_you_mean(
            base,
            self.0.metrics.keys().map(String::as_str).filter(|n| self.find_on(n, at).is_some()),
        )
    }

    /// Whether `chip` is one of them.
    pub fn knows(&self, chip: &str) -> bool {
        self.place(chip).is_some()
    }

    fn place(&self, chip: &str) -> Option<usize> {
        self.0.names.iter().position(|name| name.eq_ignore_ascii_case(chip))
    }

    /// The metric called `name` on a chip, or on any.
    fn find_on(&self, name: &str, chip: Option<usize>) -> Option<ChipMetric<'_>> {
        let (name, natures) = self.0.metrics.get_key_value(name)?;
        let mut natures = natures.iter().map(|&at| &self.0.natures[at]);
        let nature = natures.find(|nature| chip.is_none_or(|chip| nature.on.contains(&chip)))?;
        Some(ChipMetric { name, nature, submetrics: &self.0.submetrics[nature.submetrics] })
    }
}

/// The chips of this version, and the chips that an available CUPTI adds.
///
/// # Errors
/// As [`cupti::ask`].
pub fn known(cupti: Option<&Utf8Path>) -> Outcome<Vec<String>> {
    let mut known = Chips::shipped().0.names;
    if let Answer::Chips(mut more) = cupti::ask(cupti, Question::Chips)? {
        more.retain(|chip| !known.contains(chip));
        known.append(&mut more);
    }
    Ok(known)
}

/// Whether an available CUPTI has the metric of `counter` on any chip.
pub fn is_installed(cupti: Option<&Utf8Path>, counter: &str) -> bool {
    let base = counter.split('.').next().unwrap_or(counter);
    let has = |chip: &String| {
        let asked = cupti::ask(cupti, Question::Catalogue { chip: chip.clone() });
        matches!(asked, Ok(Answer::Catalogue(all)) if all.iter().any(|it| it.name == base))
    };
    match cupti::ask(cupti, Question::Chips) {
        Ok(Answer::Chips(chips)) => chips.iter().any(has),
        Ok(_) | Err(_) => false,
    }
}

/// "did you mean …?", by the catalogue of `chip` from CUPTI or this version; none if no name is
/// near.
///
/// # Errors
/// As [`cupti::ask`].
pub fn nearest(cupti: Option<&Utf8Path>, chip: &str, name: &str) -> Outcome<Option<String>> {
    let Answer::Catalogue(metrics) =
        cupti::ask(cupti, Question::Catalogue { chip: chip.to_owned() })?
    else {
        let chips = Chips::shipped();
        return Ok(chips.nearest(name, Some(chip)).filter(|_| chips.knows(chip)));
    };
    let base = name.split('.').next().unwrap_or(name);
    let names: BTreeSet<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    Ok(did_you_mean(base, names))
}

#[cfg(test)]
mod tests {
    use gpuprof_model::metric::{Catalogue, groups, legacy};

    use super::*;

    #[test]
    fn every_chip_has_exactly_its_metrics() {
        let chips = Chips::shipped();
        let count = |chip: &str| chips.metrics(chip).unwrap().count();
        // As cupti/tests/catalogue.rs counts them.
        for (chip, metrics) in [
            ("GH100", 3389 + 205 + 56),
            ("GA100", 2876 + 160 + 26),
            ("AD102", 2799 + 175 + 27),
            ("GB100", 3773 + 220 + 72),
        ] {
            assert_eq!(count(chip), metrics, "{chip}");
        }
        assert!(chips.names().iter().all(|chip| count(chip) > 1000), "{:?}", chips.names());
        assert!(chips.metrics("GX999").is_none());
        let fp16 = "sm__inst_executed_pipe_fma_type_fp16.sum";
        assert!(chips.validate(fp16, Some("gh100")).is_ok());
        assert!(chips.validate(fp16, Some("GA100")).is_err());
        assert!(chips.validate(fp16, None).is_ok());
    }

    #[test]
    fn a_metric_has_a_kind_units_and_submetrics() {
        let chips = Chips::shipped();
        let metric = chips.find("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", Some("GH100"));
        let metric = metric.unwrap();
        let Described { kind, hw_unit, dim_unit, .. } = metric.described();
        assert_eq!((&*kind, &*hw_unit, &*dim_unit), ("counter", "l1tex", "l2_sector"));
        assert_eq!(metric.submetrics().len(), 44);
        let ratio = chips.find("lts__t_sector_hit_rate", Some("GH100")).unwrap();
        assert_eq!(ratio.submetrics(), [".max_rate", ".pct", ".ratio"]);
        assert!(chips.validate("CTC.TriageCompute.ctc__rx_bytes.sum", Some("GH100")).is_ok());
    }

    #[test]
    fn an_unknown_metric_is_refused_with_the_reason_and_the_nearest_name() {
        let chips = Chips::shipped();
        let said = |name: &str, chip| chips.validate(name, chip).unwrap_err().to_string();
        let chip = Some("GH100");
        assert_eq!(said("dram__thruput.avg", chip), "GH100 has no metric `dram__thruput`");
        assert_eq!(said("dram__thruput.avg", None), "no chip has a metric `dram__thruput`");
        assert_eq!(
            chips.nearest("dram__thruput.avg", chip).unwrap(),
            "did you mean `dram__throughput`?"
        );
        let has = "it has .max_rate .pct .ratio";
        let rate = "lts__t_sector_hit_rate";
        assert_eq!(said(rate, chip), format!("`{rate}` needs a roll-up; {has}"));
        let wrong = format!("{rate}.sum");
        assert_eq!(said(&wrong, None), format!("`{rate}` has no submetric `.sum`; {has}"));
        assert!(chips.validate("new__counter.sum", Some("GX999")).is_ok());
    }

    /// Counters that whole families of chips lack, by the prefixes of their names.
    fn lacks(chip: &str, counter: &str) -> bool {
        let begins = |all: &[&str]| all.iter().any(|begins| counter.starts_with(begins));
        let of = |chips: &[&str]| chips.iter().any(|begins| chip.starts_with(begins));
        match () {
            () if of(&["TU11", "GA10B", "AD", "GB10B", "GB20"])
                && begins(&["nvlrx_", "nvltx_"]) =>
            {
                true
            }
            // Without memory of their own.
            () if of(&["GA10B", "GB10B", "GB20B"]) => {
                begins(&["dram_", "gpu__dram", "pcie__"]) || imc(chip, counter)
            }
            () if of(&["GB"]) => {
                begins(&["lts__t_sectors_aperture_sysmem_op"]) || imc(chip, counter)
            }
            () if of(&["GV"]) => begins(&["sm__pipe_tensor_op_imma"]),
            () => false,
        }
    }

    fn imc(chip: &str, counter: &str) -> bool {
        chip.starts_with("GB") && counter.starts_with("smsp__warp_issue_stalled_imc_miss")
    }

    #[test]
    fn every_chip_counts_the_metrics_of_old_names_except_those_that_its_family_lacks() {
        let chips = Chips::shipped();
        let mut compared = 0;
        for chip in chips.names() {
            let catalogue = Catalogue::built_in().on_chip(chip);
            let metrics = legacy().filter_map(|metric| catalogue.find(&metric.name));
            for metric in metrics {
                for counter in catalogue.hardware_names(&metric) {
                    compared += 1;
                    if let Err(problem) = chips.validate(&counter, Some(chip)) {
                        assert!(lacks(chip, &counter), "{}: {problem}", metric.name);
                    }
                }
            }
        }
        assert!(compared > 29 * 300, "{compared}");
    }

    #[test]
    fn the_metrics_of_a_group_are_counted_from_ampere_on() {
        let chips = Chips::shipped();
        for chip in ["GA100", "GA102", "AD102", "GH100", "GB202"] {
            let catalogue = Catalogue::built_in().on_chip(chip);
            for name in groups().flat_map(|(_, metrics)| metrics) {
                let metric = catalogue.find(name).unwrap();
                for counter in catalogue.hardware_names(&metric) {
                    let problem = chips.validate(&counter, Some(chip)).err();
                    let lacks = lacks(chip, &counter);
                    assert!(problem.is_none() || lacks, "{name}: {problem:?}");
                }
            }
        }
    }
}
