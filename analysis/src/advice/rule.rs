//! A rule of advice: data, read from a file and checked there.
//!
//! Input: parsed formulas and conditions. Output: a value that knows which metrics it reads. A rule
//! names its inputs, may define further names by formulas over them, and speaks where its condition
//! holds.

use std::collections::BTreeSet;

use gpuprof_model::advice::Certainty;
use gpuprof_model::language::Language;
use gpuprof_model::metric::{Condition, Formula};

use super::template::Template;

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its identifier, such as `bank-conflicts-ld`.
    pub id: String,
    /// Its subject, in a few words.
    pub name: String,
    /// The file that it is written in.
    pub written_in: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// Names by formulas over inputs and earlier names.
    pub lets: Vec<(String, Formula)>,
    /// The condition under which it applies.
    pub when: Condition,
    /// A condition under which it does not apply, if the run can evaluate it.
    pub unless: Option<Condition>,
    /// Its message.
    pub message: Template,
    /// The proposed change.
    pub remedy: Option<Template>,
    /// Texts after the remedy, for the constructs of a language.
    pub remedy_in: Vec<(Language, Template)>,
    /// The gain from following it: the first one with values for all inputs.
    pub estimates: Vec<Estimate>,
    /// How sure it is.
    pub certainty: Certainty,
    /// The units that the remedy takes work off; the distance of the other units from their peaks
    /// limits the gain.
    pub relieves: Vec<Unit>,
    /// How to recognise a neighbour that follows the advice.
    pub tried_by: Option<Expectation>,
    /// Rules that say less than this one.
    pub instead_of: Vec<String>,
}

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name in the rule.
    pub name: String,
    /// Metrics, at least one; the first with a value counts.
    pub metrics: Vec<String>,
}

/// An estimate in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The whole of which it is a share.
    pub of: EstimateScope,
    /// The formula.
    pub percent: Formula,
}

/// The whole of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimateScope {
    /// The time of the launch (global).
    Time,
    /// The actual or possible work of one unit (local).
    Use,
}

/// A unit of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The multiprocessors' pipelines.
    Sm,
    /// The L1 cache and shared memory.
    L1,
    /// The L2 cache.
    L2,
    /// The device's memory.
    Dram,
}

impl Unit {
    /// Each with its name and how near it is to its peak.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Sm, "sm", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        (Self::L1, "l1", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
        (Self::L2, "l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
        (Self::Dram, "dram", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ];
}

/// A value that is higher, or lower, if the advice was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// An input or a name that the rule defines.
    pub name: String,
    /// Whether it is higher there.
    pub higher: bool,
}

impl Rule {
    /// The inputs without which the rule can say nothing: those of its condition and its texts.
    pub fn required(&self) -> BTreeSet<&str> {
        let of_languages = self.remedy_in.iter().map(|(_, text)| text);
        let texts = std::iter::once(&self.message).chain(&self.remedy).chain(of_languages);
        let mut open: Vec<&str> = self.when.names();
        open.extend(texts.flat_map(Template::names));
        let mut all = BTreeSet::new();
        while let Some(name) = open.pop() {
            if all.insert(name)
                && let Some((_, formula)) = self.lets.iter().find(|(own, _)| own == name)
            {
                open.extend(formula.names());
            }
        }
        all.retain(|name| self.inputs.iter().any(|input| input.name == *name));
        all
    }

    /// The remedies for a kernel in `language`; for an unknown one, those in Rust and in CUDA C++.
    pub fn remedies(&self, language: Option<Language>) -> impl Iterator<Item = &Template> {
        let meant = move |own: Language| match language {
            Some(language) => own == language,
            None => matches!(own, Language::Rust | Language::Cuda),
        };
        let of_languages = self.remedy_in.iter().filter(move |(own, _)| meant(*own));
        self.remedy.iter().chain(of_languages.map(|(_, text)| text))
    }

    /// The metrics that it reads, all alternatives of each.
    pub fn metrics(&self) -> impl Iterator<Item = &[String]> {
        self.inputs.iter().map(|input| input.metrics.as_slice())
    }
}
