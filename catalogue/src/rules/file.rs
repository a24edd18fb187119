//! A file of rules: one rule, or a family of rules that differ in a few words.
//!
//! Input: TOML. Output: checked rules of `analysis`. A table `[each.KEY]` makes a rule for each
//! KEY, in which `$key` is the key and `$word` the table's value for the word.

use std::collections::BTreeMap;

use gpuprof_analysis::advice::FACTS;
use gpuprof_analysis::advice::rule::{Estimate, EstimateScope, Expectation, Input, Rule, Unit};
use gpuprof_analysis::advice::series::FINDINGS;
use gpuprof_analysis::advice::template::Template;
use gpuprof_model::ExitCode;
use gpuprof_model::ParseError;
use gpuprof_model::advice::Certainty;
use gpuprof_model::language::Language;
use gpuprof_model::metric::{Catalogue, Condition, Formula};
use gpuprof_model::suggest::did_you_mean;
use serde::Deserialize;
use toml::Spanned;

use gpuprof_system::error::{Failure, Result};

/// A file as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: Spanned<String>,
    name: String,
    when: Spanned<String>,
    unless: Option<Spanned<String>>,
    message: Spanned<String>,
    remedy: Option<Spanned<String>>,
    #[serde(default)]
    remedy_in: BTreeMap<Spanned<String>, Spanned<String>>,
    certainty: Certainty,
    #[serde(default)]
    relieves: Vec<Spanned<String>>,
    tried_by: Option<Spanned<String>>,
    #[serde(default)]
    instead_of: Vec<String>,
    inputs: BTreeMap<String, Spanned<Metrics>>,
    #[serde(default, rename = "let")]
    lets: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    estimate: Vec<WrittenEstimate>,
    #[serde(default)]
    each: BTreeMap<String, BTreeMap<String, String>>,
}

/// One metric, or several, of which the first available one is meant.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Metrics {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEstimate {
    of: WrittenOf,
    percent: Spanned<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenOf {
    Time,
    Use,
}

/// The rules of the file `path`.
///
/// # Errors
/// What is wrong, with its line (exit code 96).
pub(super) fn parse(text: &str, path: &str, known: &Catalogue) -> Result<Vec<Rule>> {
    let written: Written = toml::from_str(text).map_err(|e| {
        let help = "cargo gpuprof rules block-size shows a whole rule; the book's page on advice \
                    describes the keys";
        wrong(format!("{path} is not a valid rule\n{}\nhelp: {help}", e.to_string().trim_end()))
    })?;
    let one = |words: Vec<(String, String)>| {
        let reader = Reader { written: &written, text, path, known, words };
        reader.rule()
    };
    if written.each.is_empty() {
        return one(Vec::new()).map(|rule| vec![rule]);
    }
    written.each.iter().map(|(key, words)| one(words_of(key, words))).collect()
}

/// Substitutions, the longest word first: `$units` is not `$unit` and an `s`.
fn words_of(key: &str, words: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let own = words.iter().map(|(word, text)| (format!("${word}"), text.clone()));
    let mut all: Vec<_> = own.chain([("$key".to_owned(), key.to_owned())]).collect();
    all.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    all
}

/// Reads one rule of a family.
struct Reader<'f> {
    written: &'f Written,
    text: &'f str,
    path: &'f str,
    known: &'f Catalogue,
    words: Vec<(String, String)>,
}

impl Reader<'_> {
    fn rule(&self) -> Result<Rule> {
        let Written { id, when, unless, message, remedy, tried_by, .. } = self.written;
        let written_in = format!("{}:{}", self.path, self.line(id));
        let rule = Rule {
            id: self.id()?,
            name: self.filled(&self.written.name),
            written_in,
            inputs: self.inputs()?,
            lets: self.lets()?,
            when: self.parsed(when, Condition::parse)?,
            unless: unless.as_ref().map(|u| self.parsed(u, Condition::parse)).transpose()?,
            message: self.parsed(message, Template::parse)?,
            remedy: remedy.as_ref().map(|r| self.parsed(r, Template::parse)).transpose()?,
            remedy_in: self.remedy_in()?,
            estimates: self.estimates()?,
            certainty: self.written.certainty,
            relieves: self.relieves()?,
            tried_by: tried_by.as_ref().map(|tried| self.tried(tried)).transpose()?,
            instead_of: self.written.instead_of.iter().map(|id| self.filled(id)).collect(),
        };
        self.check_names(&rule)?;
        Ok(rule)
    }

    fn id(&self) -> Result<String> {
        let id = self.filled(self.written.id.get_ref());
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let message = if id.is_empty() || !id.chars().all(named) {
            "an `id` has letters, digits, `-` and `_`"
        } else if is_finding(&id) {
            "this is what a series is said by itself; choose another `id`"
        } else {
            return Ok(id);
        };
        Err(self.wrong(&self.written.id, &format!("`{id}`: {message}")))
    }

    fn inputs(&self) -> Result<Vec<Input>> {
        let input = |(name, metrics): (&String, &Spanned<Metrics>)| {
            let all = match metrics.get_ref() {
                Metrics::One(metric) => std::slice::from_ref(metric),
                Metrics::Several(all) => all.as_slice(),
            };
            if all.is_empty() {
                return Err(self.wrong(metrics, &format!("`{name}` needs a metric")));
            }
            let all: Vec<String> = all.iter().map(|metric| self.filled(metric)).collect();
            let is_fact = |metric: &str| FACTS.iter().any(|(fact, _)| *fact == metric);
            let unknown = all.iter().map(String::as_str).filter(|metric| !is_fact(metric));
            match self.known.all_unknown(unknown) {
                Some(message) => Err(self.wrong(metrics, &message)),
                None => Ok(Input { name: name.clone(), metrics: all }),
            }
        };
        self.written.inputs.iter().map(input).collect()
    }

    /// The names that the rule defines, each after the names that it uses.
    fn lets(&self) -> Result<Vec<(String, Formula)>> {
        let mut left: Vec<(&String, &Spanned<String>, Formula)> = Vec::new();
        for (name, text) in &self.written.lets {
            if self.written.inputs.contains_key(name) {
                let message = format!("`{name}` is an input already; choose another name");
                return Err(self.wrong(text, &message));
            }
            left.push((name, text, self.parsed(text, Formula::parse)?));
        }
        let mut placed: Vec<(String, Formula)> = Vec::new();
        while !left.is_empty() {
            let open = |name: &str| left.iter().any(|(other, ..)| *other == name);
            let next = left.iter().position(|(_, _, f)| !f.names().into_iter().any(open));
            let Some(next) = next else {
                let (name, text, _) = &left[0];
                let message = format!("`{name}` depends on itself; break the circle");
                return Err(self.wrong(text, &message));
            };
            let (name, _, formula) = left.remove(next);
            placed.push((name.clone(), formula));
        }
        Ok(placed)
    }

    /// What is said for each language; nothing where a member of a family has no words for it.
    fn remedy_in(&self) -> Result<Vec<(Language, Template)>> {
        let mut all = Vec::new();
        for (key, written) in &self.written.remedy_in {
            let known = Language::ALL.iter().find(|(_, name)| name == key.get_ref());
            let Some((language, _)) = known else {
                let names = Language::ALL.map(|(_, name)| name);
                let near = did_you_mean(key.get_ref(), names)
                    .unwrap_or_else(|| format!("the languages are {}", names.join(", ")));
                let message = format!("no language is named `{}`: {near}", key.get_ref());
                return Err(self.wrong(key, &message));
            };
            // `$word` alone, and this member of the family has no such word.
            let text = self.filled(written.get_ref());
            if !text.starts_with('$') || text.contains(' ') {
                all.push((*language, self.parsed(written, Template::parse)?));
            }
        }
        all.sort_by_key(|(language, _)| *language);
        Ok(all)
    }

    fn estimates(&self) -> Result<Vec<Estimate>> {
        let estimate = |written: &WrittenEstimate| {
            let of = match written.of {
                WrittenOf::Time => EstimateScope::Time,
                WrittenOf::Use => EstimateScope::Use,
            };
            Ok(Estimate { of, percent: self.parsed(&written.percent, Formula::parse)? })
        };
        self.written.estimate.iter().map(estimate).collect()
    }

    fn relieves(&self) -> Result<Vec<Unit>> {
        let unit = |written: &Spanned<String>| {
            let found = Unit::ALL.iter().find(|(_, name, _)| name == written.get_ref());
            let message =
                || format!("no unit is named `{}`: sm, l1, l2 or dram", written.get_ref());
            found.map(|(unit, ..)| *unit).ok_or_else(|| self.wrong(written, &message()))
        };
        self.written.relieves.iter().map(unit).collect()
    }

    fn tried(&self, written: &Spanned<String>) -> Result<Expectation> {
        let text = self.filled(written.get_ref());
        let higher = match text.split_once(' ').map(|(_, way)| way.trim()) {
            Some("higher") => true,
            Some("lower") => false,
            _ => {
                let message = "`tried_by` is a name and the way it goes where the advice was \
                               followed, such as \"blocks higher\" or \"conflicts lower\"";
                return Err(self.wrong(written, message));
            }
        };
        let name = text.split_once(' ').map_or("", |(name, _)| name).to_owned();
        Ok(Expectation { name, higher })
    }

    /// Refuses a name that is neither an input nor defined.
    fn check_names(&self, rule: &Rule) -> Result<()> {
        let inputs = rule.inputs.iter().map(|input| &*input.name);
        let all: Vec<&str> = inputs.chain(rule.lets.iter().map(|(name, _)| &**name)).collect();
        let check = |written: &Spanned<String>, names: Vec<&str>| {
            let unknown = names.into_iter().find(|name| !all.contains(name));
            let Some(name) = unknown else { return Ok(()) };
            let near = did_you_mean(name, all.iter().copied())
                .unwrap_or_else(|| "add it to [inputs], or define it in [let]".to_owned());
            Err(self.wrong(written, &format!("`{name}` is not a name of this rule: {near}")))
        };
        let Written { when, unless, message, remedy, tried_by, .. } = self.written;
        check(when, rule.when.names())?;
        if let (Some(written), Some(unless)) = (unless, &rule.unless) {
            check(written, unless.names())?;
        }
        check(message, rule.message.names().collect())?;
        if let (Some(written), Some(remedy)) = (remedy, &rule.remedy) {
            check(written, remedy.names().collect())?;
        }
        for written in self.written.remedy_in.values() {
            check(written, self.parsed(written, Template::parse)?.names().collect())?;
        }
        if let (Some(written), Some(tried)) = (tried_by, &rule.tried_by) {
            check(written, vec![&tried.name])?;
        }
        for (name, formula) in &rule.lets {
            check(&self.written.lets[name], formula.names())?;
        }
        for (written, estimate) in self.written.estimate.iter().zip(&rule.estimates) {
            check(&written.percent, estimate.percent.names())?;
        }
        Ok(())
    }

    /// The result of `parse` for a text with the words of the family in it.
    fn parsed<T>(
        &self,
        written: &Spanned<String>,
        parse: impl Fn(&str) -> std::result::Result<T, ParseError>,
    ) -> Result<T> {
        let text = self.filled(written.get_ref());
        let place = format!("{}:{}", self.path, self.line(written));
        parse(&text).map_err(|error| wrong(error.render(&place, &text)))
    }

    fn filled(&self, text: &str) -> String {
        self.words.iter().fold(text.to_owned(), |text, (word, with)| text.replace(word, with))
    }

    fn line<T>(&self, written: &Spanned<T>) -> usize {
        let before = self.text.get(..written.span().start).unwrap_or_default();
        before.bytes().filter(|&byte| byte == b'\n').count() + 1
    }

    fn wrong<T>(&self, written: &Spanned<T>, message: &str) -> Failure {
        wrong(format!("{}:{}: {message}", self.path, self.line(written)))
    }
}

/// Whether a finding of a whole series, and no rule, is called `id`.
fn is_finding(id: &str) -> bool {
    FINDINGS.iter().any(|(finding, _)| *finding == id)
}

pub(super) fn wrong(message: String) -> Failure {
    Failure::new(ExitCode::Configuration, message)
}
