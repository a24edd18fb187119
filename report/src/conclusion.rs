//! The conclusion of a run for people, in every format: a sentence, its basis, and four lists of a
//! few lines.
//!
//! Input: a run. Output: texts, which a format lays out and escapes. What is shown of a long list
//! was cut by the analysis; the run document holds all of it.

pub(super) mod screen;

use std::borrow::Cow;

use gpuprof_analysis::gate::conclusion::{self, Cut, ListedFinding, cut};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_model::code::CostlyLine;
use gpuprof_model::comparison::Interval;
use gpuprof_model::conclusion::{Conclusion, Ending, Finding};
use gpuprof_model::each_once::each_once;
use gpuprof_model::run::Run;
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Verdict, Weight};
use gpuprof_model::{ExitCode, Quantity};

use super::estimates;
use super::note::Note;
use super::notes;

/// The most reasons for failures in a list.
const REASONS: usize = 3;

/// The most lines of the source that cost more or less than before.
const LINES: usize = 3;

/// The conclusion of a run in texts.
pub(super) struct ConclusionText {
    /// All of it in one sentence.
    pub sentence: String,
    /// How much it weighs.
    pub weight: Weight,
    /// The basis of the sentence.
    pub notes: Vec<String>,
    /// Unfinished, failed, warned, improved and undecided entries; empty lists are left out.
    pub lists: Vec<List>,
}

/// One of the lists.
pub(super) struct List {
    /// Its title.
    pub title: &'static str,
    /// Its columns; none where its lines are sentences.
    pub columns: Vec<Column>,
    /// The same, a line each, without the columns.
    pub lines: Vec<String>,
    /// What is not listed.
    pub rest: Vec<String>,
}

/// A column of a list.
pub(super) struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Whether it holds numbers.
    pub numeric: bool,
    /// A cell a line.
    pub cells: Vec<String>,
}

/// The conclusion of `run`; none if nothing was to be judged.
pub(super) fn write_conclusion(run: &Run) -> Option<ConclusionText> {
    let found = conclusion::stored_or_new(run)?;
    let Conclusion { failed, improved, undecided, .. } = &*found;
    let names = Names(run);
    // If nothing was judged for one reason, the sentence has it.
    let is_in_sentence = found.ending == Ending::NothingJudged && cut(undecided).shown.len() == 1;
    let (warned, failed): (Vec<Finding>, Vec<Finding>) =
        failed.iter().cloned().partition(|found| found.severity == Severity::Warn);
    let lists = [
        unfinished_list(run),
        changed("failed", &failed, &names),
        changed("warned", &warned, &names),
        changed("improved", improved, &names),
        undecided_list(undecided, &names).filter(|_| !is_in_sentence),
    ];
    Some(ConclusionText {
        sentence: found.sentence.clone(),
        weight: found.weight(),
        notes: notes(run, &found),
        lists: lists.into_iter().flatten().collect(),
    })
}

/// The conclusion of a `run` that ended with `outcome`: a sentence on its exit code is part of it,
/// unless thresholds decided the code.
pub(super) fn conclude_ended(run: &Run, outcome: Option<RunOutcome>) -> Option<ConclusionText> {
    let text = write_conclusion(run);
    let Some(sentence) = outcome.and_then(|outcome| exit_sentence(outcome, text.as_ref())) else {
        return text;
    };
    let (notes, lists) = text.map(|text| (text.notes, text.lists)).unwrap_or_default();
    Some(ConclusionText { sentence, weight: Weight::Bad, notes, lists })
}

/// Why the process does not end with exit code 0: the sentence of `conclusion`, and the meaning of
/// a code that it does not explain, which comes first if the conclusion is good. None if it does.
pub(super) fn exit_sentence(
    outcome: RunOutcome,
    conclusion: Option<&ConclusionText>,
) -> Option<String> {
    let code = outcome.exit_code;
    let ended = || format!("The run ended with exit code {}: {}.", code.code(), code.meaning());
    let good = |text: &ConclusionText| matches!(text.weight, Weight::Fine | Weight::Warning);
    match (code, conclusion) {
        (ExitCode::Success, _) => None,
        (_, None) => Some(ended()),
        (_, Some(text)) if good(text) => Some(format!("{} {}", ended(), text.sentence)),
        (ExitCode::ThresholdFailed | ExitCode::NotJudged, Some(text)) => {
            Some(text.sentence.clone())
        }
        (_, Some(text)) => Some(format!("{} {}", text.sentence, ended())),
    }
}

impl ConclusionText {
    /// All of it, a line each, for formats without a layout.
    pub(super) fn lines(&self) -> Vec<String> {
        let list = |list: &List| -> Vec<String> {
            let line = |line: &String| format!("{}: {line}", list.title);
            list.lines.iter().chain(&list.rest).map(line).collect()
        };
        let notes = self.notes.iter().cloned();
        std::iter::once(self.sentence.clone())
            .chain(notes)
            .chain(self.lists.iter().flat_map(list))
            .collect()
    }
}

/// The basis of the sentence of `conclusion`, that of `run`.
fn notes(run: &Run, conclusion: &Conclusion) -> Vec<String> {
    let base = run.comparison.as_ref().and_then(|comparison| comparison.run.as_ref());
    let of_two = base.is_some_and(|base| *base == Run::base_id(&run.id));
    let mut notes = Vec::new();
    if let Some(share) = conclusion.false_alarms {
        let share = 100.0 * share;
        notes.push(format!("If nothing had changed, at most {share} % of such runs would fail."));
    }
    if let Some(processes) = conclusion.cost.processes.filter(|p| p.least < p.most) {
        let (least, most) = (processes.least, processes.most);
        let side = if of_two { " a side" } else { "" };
        notes.push(format!("A configuration took {least} to {most} processes{side}."));
    }
    notes.extend(estimates::sentence(run));
    notes.extend(costlier_lines(run));
    if let Some(reason) = &conclusion.sensitivity_unknown {
        notes.push(format!("Which slowdown would have been caught is not known: {reason}."));
    }
    notes
}

/// The lines of the source that cost more or less than in the baseline, the first ones.
fn costlier_lines(run: &Run) -> Vec<String> {
    let changes = run.comparison.iter().flat_map(|comparison| &comparison.code);
    let costs = each_once(changes.flat_map(|change| &change.costs));
    let sentence = |cost: &&String| {
        let (first, rest) = cost.split_at(cost.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}.", first.to_uppercase())
    };
    let more = costs.len().saturating_sub(LINES);
    let rest = (more > 0).then(|| format!("{more} more in `cargo gpuprof report --code-diff`."));
    costs.iter().take(LINES).map(sentence).chain(rest).collect()
}

/// The first reasons why configurations failed: nothing else says what to do next.
pub(super) fn unfinished_list(run: &Run) -> Option<List> {
    let names = Names(run);
    let reasons: Vec<String> = run
        .series
        .iter()
        .flat_map(|series| {
            let name = names.shorten(&series.id.to_string()).into_owned();
            let reason = move |note: Note| format!("{name} at {}: {}", note.subject, note.text);
            let notes = notes::unfinished(&series.configurations).into_iter();
            notes.filter(|note| note.weight == Weight::Bad).map(reason)
        })
        .collect();
    let more = reasons.len().saturating_sub(REASONS);
    let rest = (more > 0).then(|| match more {
        1 => "one more reason is in the notes of its series".to_owned(),
        more => format!("{more} more reasons are in the notes of each series"),
    });
    (!reasons.is_empty()).then(|| List {
        title: "did not finish",
        columns: Vec::new(),
        lines: reasons.into_iter().take(REASONS).collect(),
        rest: rest.into_iter().collect(),
    })
}

/// How series are called.
struct Names<'r>(&'r Run);

impl Names<'_> {
    /// The kernel of the series `id` and its chip, if they are unique; otherwise the whole id.
    fn shorten<'i>(&'i self, id: &'i str) -> Cow<'i, str> {
        let all = || self.0.series.iter().map(|series| &series.id);
        let Some(known) = all().find(|known| known.to_string() == id) else {
            return Cow::Borrowed(id);
        };
        let name = known.name();
        match all().filter(|other| other.name() == name).count() {
            1 => Cow::Owned(name),
            _ => Cow::Borrowed(id),
        }
    }

    /// The sign in front of the values of `finding`.
    fn sign(&self, finding: &Finding) -> &'static str {
        let series = self.0.series.iter().find(|series| series.id.to_string() == finding.series);
        let metric = finding.metric.as_deref().unwrap_or_default();
        series.map_or("", |series| estimates::sign(metric, &series.configurations))
    }

    /// The costly line of the metric of `finding`, if its threshold names one.
    fn costly_line(&self, finding: &Finding) -> Option<&CostlyLine> {
        let mut series = self.0.series.iter().filter(|it| it.id.to_string() == finding.series);
        let mut judged = series.next()?.judgements.iter().filter(|judgement| {
            judgement.threshold.metric() == finding.metric.as_deref()
                && judgement.configuration == finding.configuration
        });
        judged.find_map(|judgement| judgement.costly.as_ref())
    }

    /// The series and the configuration of `finding`, as far as it has them.
    fn place(&self, finding: &Finding) -> String {
        let series = self.shorten(&finding.series);
        match finding.configuration.as_deref() {
            None | Some("") => series.into_owned(),
            Some(key) if series.is_empty() => key.to_owned(),
            Some(key) => format!("{series} at {key}"),
        }
    }
}

/// A list of changes.
fn changed(title: &'static str, all: &[Finding], names: &Names<'_>) -> Option<List> {
    let Cut { shown, rest } = cut(all);
    if shown.is_empty() {
        return None;
    }
    let column = |title, numeric, cell: &dyn Fn(&Finding) -> String| {
        let mut cells = Vec::new();
        for ListedFinding { finding, more } in &shown {
            cells.push(cell(finding));
            if *more > 0 {
                cells.push(String::new());
            }
        }
        Column { title, numeric, cells }
    };
    let quantity = |found: &Finding, value: Option<Quantity>| {
        value.map(|v| format!("{}{v}", names.sign(found)))
    };
    let mut configurations =
        column("configuration", false, &|found| found.configuration.clone().unwrap_or_default());
    let mut at = 0;
    for ListedFinding { more, .. } in &shown {
        at += 1;
        if *more > 0 {
            configurations.cells[at] = format!("and {more} more");
            at += 1;
        }
    }
    let limit = |found: &Finding| {
        found.limit.filter(|_| found.verdict == Verdict::Fail).map(|limit| limit.to_string())
    };
    let line_of = |found: &Finding| names.costly_line(found).map(|costly| costly.line.clone());
    let columns = [
        column("series", false, &|found| names.shorten(&found.series).into_owned()),
        configurations,
        column("metric", false, &|found| asked(found).unwrap_or_default().to_owned()),
        column("base", true, &|found| quantity(found, found.baseline).unwrap_or_default()),
        column("head", true, &|found| quantity(found, found.value).unwrap_or_default()),
        column("change", true, &|found| found.percent.map(percent).unwrap_or_default()),
        column("95 % interval", true, &|found| found.interval.map(interval).unwrap_or_default()),
        column("in cycles", true, &|found| found.cycles_percent.map(percent).unwrap_or_default()),
        column("limit", true, &|found| limit(found).unwrap_or_default()),
        column("line", false, &|found| line_of(found).unwrap_or_default()),
        column("why", false, &|found| found.reason.clone().unwrap_or_default()),
    ];
    let shows = |column: &Column| column.cells.iter().any(|cell| !cell.is_empty());
    let columns = columns.into_iter().filter(shows).collect();
    let lines = shown.iter().map(|shown| line(shown, names)).collect();
    Some(List { title, columns, lines, rest: not_listed(rest) })
}

/// The subject of `finding`: its metric, or its threshold if that is of another version of the tool
/// and names no known metric.
fn asked(finding: &Finding) -> Option<&str> {
    finding.metric.as_deref().or(finding.threshold.as_deref())
}

/// A change on one line: `duration of scale at block=64: 10 µs → 11 µs, +10.0 % (+9.1 … +11.2 %)`.
fn line(ListedFinding { finding, more }: &ListedFinding<'_>, names: &Names<'_>) -> String {
    let place = names.place(finding);
    let mut text = match asked(finding) {
        Some(metric) => format!("{metric} of {place}"),
        None => place,
    };
    let limit = finding.limit.filter(|_| finding.verdict == Verdict::Fail);
    let limit = limit.map(|limit| format!("limit {limit}"));
    let sign = names.sign(finding);
    match (finding.baseline, finding.value) {
        (Some(before), Some(after)) => text.push_str(&format!(": {sign}{before} → {sign}{after}")),
        (None, Some(after)) => text.push_str(&format!(": {sign}{after}")),
        _ => {}
    }
    let change = finding.percent.map(|change| match finding.interval {
        Some(found) => format!("{} ({})", percent(change), interval(found)),
        None => percent(change),
    });
    let cycles = finding.cycles_percent.map(|change| format!("{} in cycles", percent(change)));
    let more = (*more > 0).then(|| format!("and {}", more_configurations(*more)));
    let costly = names.costly_line(finding).map(|CostlyLine { line, before, .. }| match before {
        None => format!("most by {line}"),
        Some(_) => format!("changed most at {line}"),
    });
    let parts = [change, cycles, limit, costly, finding.reason.clone(), more];
    for part in parts.into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&part);
    }
    text
}

fn more_configurations(more: usize) -> String {
    match more {
        1 => "1 more configuration".to_owned(),
        _ => format!("{more} more configurations"),
    }
}

/// Undecided entries, with the remedy.
fn undecided_list(all: &[Finding], names: &Names<'_>) -> Option<List> {
    let Cut { shown, rest } = cut(all);
    if shown.is_empty() {
        return None;
    }
    let line = |ListedFinding { finding, more }: &ListedFinding<'_>| {
        let subject = match asked(finding) {
            Some(asked) => format!("{asked} of {}", names.place(finding)),
            None => names.place(finding),
        };
        let alike = match (more, finding.value) {
            (0, _) => String::new(),
            (_, Some(_)) => format!(" (and {})", more_configurations(*more)),
            (_, None) => format!(" (and {more} more)"),
        };
        let why = finding.reason.as_deref().unwrap_or("no reason is known");
        format!("{subject}{alike}: {why}")
    };
    let lines = shown.iter().map(line).collect();
    let rest = not_listed(rest).into_iter().chain(would_decide(all)).collect();
    Some(List { title: "undecided", columns: Vec::new(), lines, rest })
}

/// The number of rounds that would decide those of `all` that rounds can decide, if there are
/// several.
fn would_decide(all: &[Finding]) -> Option<String> {
    let open = all.iter().filter(|found| found.value.is_some()).count();
    let rounds: Vec<u32> = all.iter().filter_map(|found| found.rounds).collect();
    let most = rounds.iter().max().filter(|_| open > 1)?;
    let which = match rounds.len() {
        some if some == open => "all of them".to_owned(),
        some => format!("{some} of {open}"),
    };
    Some(format!("--max-repeat {most} would decide {which}"))
}

fn not_listed(rest: usize) -> Vec<String> {
    let text = (rest > 0).then(|| format!("{rest} more are not listed; the JSON report holds all"));
    text.into_iter().collect()
}

/// `+5.02 %`, `-50.0 %`.
fn percent(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:+.2} %") } else { format!("{value:+.1} %") }
}

/// `+4.81 … +5.30 %`.
fn interval(Interval { low, high, .. }: Interval) -> String {
    let number = |value: f64| percent(value).trim_end_matches(" %").to_owned();
    format!("{} … {} %", number(low), number(high))
}

/// A sign before the sentence, for formats without colour.
pub(super) fn sign(weight: Weight) -> char {
    match weight {
        Weight::Fine => '✅',
        Weight::Bad => '❌',
        Weight::Warning | Weight::Doubtful => '⚠',
    }
}
