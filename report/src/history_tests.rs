use gpuprof_analysis::fixture;
use gpuprof_analysis::history::timelines;
use gpuprof_model::history::{Entry, Value};
use gpuprof_model::quantity::Unit;
use insta::assert_snapshot;

use super::*;

/// `saxpy` on a GPU over 24 commits, the one with blocks of 64 slower from the twelfth on, when
/// the driver changed as well.
fn entries() -> Vec<Entry> {
    let noise = |at: u32| f64::from(at * 7 % 5) * 20.0;
    let value = |value| Value { value, interval: None, processes: 7 };
    let of = |at: u32| Entry {
        run: format!("run-{at:02}"),
        started: format!("2026-10-{:02}T08:00:30Z", at + 1),
        revision: Some(Revision {
            commit: format!("{at:02x}").repeat(20),
            date: Some(format!("2026-10-{:02}T08:00:00Z", at + 1)),
            dirty: at == 23,
        }),
        driver: if at < 12 { 13_000 } else { 13_010 },
        toolchain: None,
        values: [
            ("block=128".to_owned(), value(9_000.0 + noise(at))),
            ("block=64".to_owned(), value(if at < 12 { 10_000.0 } else { 10_800.0 } + noise(at))),
        ]
        .into(),
        ..fixture::history_entry(at, 0.0)
    };
    (0..24).map(of).collect()
}

fn counted() -> Entry {
    let mut entry = entries().remove(0);
    entry.metric = "registers".into();
    entry.unit = Unit::Count;
    entry.class = Class::Exact;
    entry.values.retain(|configuration, _| configuration == "block=64");
    entry.values.values_mut().for_each(|value| value.value = 16.0);
    entry
}

#[test]
fn a_page_has_a_line_per_configuration_and_marks_each_change() {
    let page = crate::history_page(&found(&entries()));
    assert!(page.contains("1 change was found in 2 timelines."), "{page}");
    assert_eq!(page.matches(r#"<g class="line c"#).count(), 2);
    assert_eq!(page.matches(r#"class="tied""#).count(), 1);
    assert!(page.contains(r#"<td class="bad">worse</td>"#) && page.contains("0c0c0c0c0c0c"));
    // Of each configuration a row, which its marks lead to.
    for row in ["s0r0", "s0r1"] {
        assert!(page.contains(&format!("<tr id=\"{row}\"")), "{row}");
        assert_eq!(page.matches(&format!("href=\"#{row}\"")).count(), 24, "{row}");
    }
    let drawn = page.split("<script>").next().unwrap();
    assert!(!drawn.contains("NaN") && !page.contains("http://"), "{drawn}");
}

#[test]
fn a_page_escapes_hostile_texts() {
    let mut hostile = entries();
    for entry in &mut hostile {
        entry.series = "</script><img src=x>".into();
        entry.conditions.device = "<img src=y>".into();
    }
    let page = crate::history_page(&found(&hostile));
    assert!(!page.contains("<img"), "{page}");
    assert_eq!(page.matches("</script>").count(), 1);
}

fn found(entries: &[Entry]) -> Vec<Timeline> {
    timelines(entries, |_, _| true, usize::MAX)
}

#[test]
fn a_table_has_bars_and_the_revision_of_a_change() {
    let all = [entries(), vec![counted()]].concat();
    assert_snapshot!(table(&found(&all), false, false));
}

#[test]
fn every_revision_is_listed_on_request() {
    let mut few = entries().split_off(20);
    let changed = |at: usize, value: f64| {
        let mut entry = counted();
        (entry.run, entry.revision) = (few[at].run.clone(), few[at].revision.clone());
        entry.values.values_mut().for_each(|kept| kept.value = value);
        entry
    };
    few = [(0, 16.0), (1, 16.0), (2, 24.0), (3, 20.0)].map(|(at, v)| changed(at, v)).to_vec();
    assert_snapshot!(table(&found(&few), true, false));
}

#[test]
fn timelines_with_one_heading_are_distinguished_and_ended_ones_dated() {
    let mut mixed = entries();
    mixed[23].class = Class::Exact;
    mixed[22].values.remove("block=64");
    let text = table(&found(&mixed), false, false);
    assert!(text.contains("duration on NVIDIA H200 (noisy, cuda backend, measured)"), "{text}");
    assert!(text.contains("duration on NVIDIA H200 (exact, cuda backend, measured)"), "{text}");
    assert!(text.contains("22, none since 2026-10-22"), "{text}");
}

#[test]
fn csv_and_json_hold_every_point() {
    let timelines = found(&entries());
    let text = csv(&timelines).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 48);
    assert_snapshot!([lines[0], lines[1], lines[37], lines[48]].join("\n"));
    let bad = [BadLine { line: 3, reason: "it is no entry".into() }];
    let document: serde_json::Value = serde_json::from_str(&json(&timelines, &bad)).unwrap();
    assert_eq!(document["timelines"][1]["changes"][0]["at"], 12);
    let commit = &document["timelines"][1]["changes"][0]["revision"]["commit"];
    assert_eq!(commit, "0c".repeat(20).as_str());
    assert_eq!(document["bad_lines"][0]["line"], 3);
}

#[test]
fn names_in_a_history_are_escaped_for_terminals_and_spreadsheets() {
    let mut entry = counted();
    entry.series = "=cmd\u{1b}[2J".into();
    entry.revision.as_mut().unwrap().commit = "\u{1b}]0;x\u{7}a".into();
    let timelines = found(&[entry]);
    assert!(!table(&timelines, true, false).contains('\u{1b}'));
    let text = csv(&timelines).unwrap();
    assert!(text.contains("\n'=cmd") && !text.contains('\u{1b}'), "{text}");
}
