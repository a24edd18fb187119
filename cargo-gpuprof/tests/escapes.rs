//! Runs with hostile text in every name, path, reason and condition, in every format: what is
//! written has the structure that it has with ordinary text, and nothing in it acts.
//!
//! A property per destination. A run of the corpus gives the structure; some of its texts are
//! replaced, each wherever it occurs, so that what was the same stays the same.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use camino::Utf8Path;
use gpuprof_analysis::gate::conclusion;
use gpuprof_analysis::view::View;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::text::steers;
use gpuprof_report::{
    Bmf, Csv, GithubActionBenchmark, GithubAnnotations, Html, Json, JsonLines, Junit, Markdown,
    Report, Table,
};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use serde_json::Value;

/// A run with judgements, changes and failures.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let path =
        Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/run-1-gpu-with-baseline.json");
    let text = fs::read_to_string(path).expect("the corpus is there");
    // A user-defined metric, of which only the name is known.
    let text = text.replace("flop_rate", "own_metric");
    let mut run: Run = serde_json::from_str(&text).expect("it is a run");
    // A pipeline with its launches.
    let launches = &mut run.series[0].configurations[0].launches;
    let first = launches[0].clone();
    launches.push(LaunchRecord { kernel: "the second kernel".into(), ..first });
    // Runs of today have one.
    run.conclusion = conclusion::stored_or_new(&run).map(Cow::into_owned);
    serde_json::to_value(run).expect("runs are plain data")
});

/// The texts that may be any: a run with another one in their place is still a run. Our own metrics
/// are not among them, since reports show more next to some of them.
static FREE_TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all = Vec::new();
    texts(&DOCUMENT, &mut all);
    all.sort();
    all.dedup();
    let probe = |text: &String| replaced(&[(text.clone(), "a probe".to_owned())].into()).is_some();
    let own = Catalogue::built_in();
    all.retain(|text| !text.is_empty() && own.find(text).is_none());
    all.retain(probe);
    all
});

/// The run with ordinary texts, for the structure.
static ORDINARY: LazyLock<Run> = LazyLock::new(|| replaced(&BTreeMap::new()).expect("it is a run"));

fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, all)),
        Value::Object(values) => values.values().for_each(|value| texts(value, all)),
        _ => {}
    }
}

/// The run with other texts.
fn replaced(by: &BTreeMap<String, String>) -> Option<Run> {
    fn walk(value: &mut Value, by: &BTreeMap<String, String>) {
        match value {
            Value::String(text) => {
                if let Some(new) = by.get(text) {
                    *text = new.clone();
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| walk(value, by)),
            Value::Object(values) => {
                for (key, mut value) in std::mem::take(values) {
                    walk(&mut value, by);
                    // The names of metrics are keys, and texts where columns name them.
                    values.insert(by.get(&key).cloned().unwrap_or(key), value);
                }
            }
            _ => {}
        }
    }
    let mut value = DOCUMENT.clone();
    walk(&mut value, by);
    serde_json::from_value(value).ok()
}

/// As [`ORDINARY`], with changes that belong to no row where those of `run` do not: they have no
/// place in the main table.
fn ordinary_for(run: &Run) -> Run {
    let mut like = ORDINARY.clone();
    for (series, ours) in like.series.iter_mut().zip(&run.series) {
        let key = |row: &ConfigurationResult| row.configuration.to_string();
        for (change, our) in series.changes.iter_mut().zip(&ours.changes) {
            if !ours.configurations.iter().any(|row| key(row) == our.configuration) {
                change.configuration = format!("another {}", change.configuration);
            }
        }
    }
    like
}

fn written(report: &dyn Report, run: &Run) -> String {
    let mut out = Vec::new();
    report.write(run, &mut out).expect("memory can be written");
    String::from_utf8(out).expect("reports are text")
}

/// Texts that act somewhere, one a line.
const PIECES: &str = r#"
::error::x
##[error]
ESC[2J
ESC[31m
ESC[8m
]]>
<!--
<script>
&
"
'
%
%0A
,
;
:
=1+1
+1
-1
@SUM(A1)
=
＝1
^
|
`
```
*
**
_
~~
[a](http://b)
![a](b)
https://a.b/c
www.a.b
@everyone
#1
GH-1
a@b.c
:+1:
$x$
<b@c.d>
\
# h
- l
1. l
    code
---
> q
word
é
"#;

/// Characters that act by themselves.
const CHARACTERS: &str =
    "\r\n\t \u{0}\u{7f}\u{9b}\u{202e}\u{2066}\u{2028}\u{fffe}\u{ffff}\u{10ffff}";

/// Text with pieces that act in some destination, and with any others.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = PIECES.lines().filter(|piece| !piece.is_empty());
    let pieces = pieces.map(|piece| piece.replace("ESC", "\u{1b}"));
    let all = pieces.chain(CHARACTERS.chars().map(String::from)).collect::<Vec<_>>();
    let parts = prop::collection::vec(prop::sample::select(all), 1..6);
    prop_oneof![4 => parts.prop_map(|parts| parts.concat()), 1 => any::<String>()]
}

/// Hostile texts by the texts that they replace.
fn hostile_texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    let texts = &*FREE_TEXTS;
    let chosen = prop::collection::vec((0..texts.len(), hostile()), 1..8);
    chosen.prop_map(|chosen| {
        let by = chosen.into_iter().enumerate();
        // The number keeps two texts two, and no text empty.
        let by = by.map(|(number, (at, text))| (texts[at].clone(), format!("{text}z{number}")));
        by.collect()
    })
}

/// Text that steers a terminal or is a command of a CI runner.
fn acting(text: &str) -> Option<String> {
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}')
    };
    let command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    let line = text.lines().find(command).map(ToOwned::to_owned);
    line.or_else(|| text.chars().find(|&c| steers(c)).map(|c| format!("{c:?}")))
}

/// Text that hides all that follows it: a style that is never ours.
const HIDDEN: &str = "\u{1b}[8m";

/// `text` without the colours that a table may use.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        match part[end..].strip_prefix('m') {
            Some(rest) => out.push_str(rest),
            None => out.push_str(&format!("\u{1b}[{part}")),
        }
    }
    out
}

/// The elements of an XML document with the names of their attributes.
fn elements(xml: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut all = Vec::new();
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e} in {xml}")) {
            quick_xml::events::Event::Eof => return all,
            quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                let names = tag.attributes().map(|attribute| {
                    let attribute = attribute.unwrap_or_else(|e| panic!("{e} in {xml}"));
                    String::from_utf8_lossy(attribute.key.as_ref()).into_owned()
                });
                let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
                all.push([vec![name], names.collect()].concat().join(" "));
            }
            _ => {}
        }
    }
}

/// The structure of a page: what is not text.
fn structure(markdown: &str) -> Vec<String> {
    let told = |event: Event<'_>| match event {
        Event::Text(_) | Event::SoftBreak => None,
        Event::InlineHtml(tag) if &*tag == "<br>" => None,
        other => Some(format!("{other:?}")),
    };
    Parser::new_ext(markdown, Options::all()).filter_map(told).collect()
}

/// The tags of an HTML page with the names of their attributes, but for `open`, which marks the
/// unfolded parts. The contents of its style and script are ours.
fn tags(html: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), html);
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        // Each quoted value is left out, and what is left are names.
        let names: Vec<&str> = tag.split('"').step_by(2).map(str::trim).collect();
        let name = names[0].split(' ').next().unwrap_or_default();
        rest = match name {
            "style" | "script" => after.split_once(&format!("</{name}")).expect("it ends").1,
            _ => after,
        };
        let closed = names.into_iter().map(|name| name.trim_start_matches("open "));
        all.push(closed.collect::<Vec<_>>().join(" "));
    }
    all
}

/// Text that GitHub turns into a link, unlike parsers of Markdown.
fn links(markdown: &str) -> Option<&str> {
    let word = |c: char| c.is_ascii_alphanumeric();
    let after = |mark: &str| {
        let ends = markdown.match_indices(mark).map(move |(at, _)| at + mark.len());
        ends.filter(|&end| markdown[end..].starts_with(word)).map(|end| &markdown[end..]).next()
    };
    after("@").or_else(|| after("://")).or_else(|| after("www.")).or_else(|| after("\\#"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_table_contains_no_terminal_or_ci_commands(by in hostile_texts(), colour: bool) {
        let run = replaced(&by).expect("any text will do");
        let table = Table { colour, width: Some(80) };
        let text = written(&table, &run);
        prop_assert!(!text.contains(HIDDEN), "{text:?}");
        let text = if colour { without_colours(&text) } else { text };
        prop_assert_eq!(acting(&text), None, "{}", text);
    }

    #[test]
    fn annotations_contain_only_our_commands(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        let text = written(&GithubAnnotations::default(), &run);
        let before = written(&GithubAnnotations::default(), &ORDINARY);
        prop_assert_eq!(text.lines().count(), before.lines().count(), "{}", text);
        for line in text.lines() {
            prop_assert!(!line.replace('\t', "").chars().any(char::is_control), "{line:?}");
            let (level, rest) = line[2..].split_once(' ').expect("a level comes first");
            prop_assert!(["error", "warning", "notice"].contains(&level), "{line}");
            let (properties, _) = rest.split_once("::").expect("a message comes last");
            for property in properties.split(',') {
                let (key, value) = property.split_once('=').expect("it is a property");
                prop_assert!(["file", "line", "title"].contains(&key), "{line}");
                prop_assert!(!value.contains(':'), "{line}");
            }
        }
    }

    #[test]
    fn junit_stays_well_formed_with_the_same_elements(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        let text = written(&Junit::default(), &run);
        let allowed = |c: char| {
            matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        };
        prop_assert_eq!(text.chars().find(|&c| !allowed(c)), None);
        prop_assert_eq!(elements(&text), elements(&written(&Junit::default(), &ORDINARY)));
    }

    #[test]
    fn csv_cells_are_never_formulas(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        let text = written(&Csv, &run);
        prop_assert_eq!(acting(&text), None, "{}", text);
        let records = |text: &str| -> Vec<csv::StringRecord> {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
            reader.records().map(|record| record.expect("records are of one length")).collect()
        };
        let before = records(&written(&Csv, &ORDINARY));
        let after = records(&text);
        prop_assert_eq!(after.len(), before.len());
        for cell in after.iter().flatten() {
            let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
            prop_assert!(!formula || cell.parse::<f64>().is_ok(), "{cell:?}");
        }
    }

    #[test]
    fn markdown_keeps_its_structure_and_has_no_links(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        let text = written(&Markdown::default(), &run);
        prop_assert_eq!(acting(&text), None, "{}", text);
        prop_assert_eq!(links(&text), None, "{}", text);
        prop_assert_eq!(structure(&text), structure(&written(&Markdown::default(), &ordinary_for(&run))), "{}", text);
    }

    #[test]
    fn html_contains_only_our_elements_and_attributes(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        let (text, before) = (written(&Html::default(), &run), written(&Html::default(), &ORDINARY));
        prop_assert_eq!(text.chars().find(|&c| steers(c) && c != '\n' && c != '\t'), None, "{}", text);
        // A text that names a row links to it, and no longer where it is another one.
        let (tags, ours) = (tags(&text), tags(&before));
        prop_assert_eq!(tags.iter().find(|tag| !ours.contains(tag)), None, "{}", text);
    }

    #[test]
    fn json_stays_valid(by in hostile_texts()) {
        let run = replaced(&by).expect("any text will do");
        for report in [&Json as &dyn Report, &Bmf, &GithubActionBenchmark] {
            let text = written(report, &run);
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
            prop_assert_eq!(acting(&text), None, "{}", text);
        }
        for line in written(&JsonLines { exit_code: None }, &run).lines() {
            prop_assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
            prop_assert_eq!(acting(line), None, "{}", line);
        }
    }
}

#[test]
fn hidden_text_in_a_threshold_is_escaped() {
    let mut run = ORDINARY.clone();
    let threshold = format!("on \"x{HIDDEN}H\" ptx_instructions <= 3");
    let kept =
        serde_json::from_value(Value::String(threshold)).expect("older documents hold it so");
    run.series[0].not_applicable = vec![kept];
    for colour in [false, true] {
        let (view, mut out) = (View { all: true, ..View::default() }, Vec::new());
        let table = Table { colour, width: None };
        table.write_as(&view, &run, &mut out).expect("memory can be written");
        let text = String::from_utf8(out).expect("reports are text");
        let told = "not for this device: on \"xH\" ptx_instructions <= 3";
        assert!(text.contains(told) && !text.contains(HIDDEN), "{text:?}");
        assert_eq!(text.contains('\u{1b}'), colour, "{text:?}");
    }
}

#[test]
fn texts_of_every_kind_are_replaced() {
    let texts = &*FREE_TEXTS;
    for known in ["saxpy", "kernels", "examples/saxpy/src/lib.rs", "own_metric", "n"] {
        assert!(texts.iter().any(|text| text == known), "{known} is not among {texts:?}");
    }
}
