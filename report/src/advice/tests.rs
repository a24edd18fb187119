use gpuprof_analysis::fixture::{measured, run, series};
use gpuprof_analysis::view::View;
use gpuprof_model::advice::{Advice, Certainty, Gain, SeriesAdvice};
use gpuprof_model::comparison::Interval;
use gpuprof_model::run::Run;

use crate::{Html, Json, Markdown, Report, Table};

fn piece(rule: &str, message: &str, gain: Option<Gain>) -> Advice {
    let of_series = rule == "measured-gain";
    Advice {
        rule: rule.into(),
        name: rule.into(),
        message: message.into(),
        remedy: (!of_series).then(|| "Do it | otherwise.".into()),
        gain,
        certainty: Certainty::Likely,
        configurations: vec!["block=64".into()],
        metrics: vec!["duration".into()],
    }
}

fn advised() -> Run {
    let rows = vec![measured(64, &[("duration", 2e4)]), measured(256, &[("duration", 1e4)])];
    let series = series(rows);
    let interval = Some(Interval { low: 1.95, high: 2.01, level: 0.95 });
    let pieces = vec![
        piece(
            "measured-gain",
            "block=256 is 1.98× as fast as block=64, measured (1.95–2.01×, 10 processes each)",
            Some(Gain::Measured { factor: 1.98, interval }),
        ),
        piece("uncoalesced-st", "many <sectors> wasted", Some(Gain::Time { percent: 32.4 })),
        piece("issue-slots", "few slots are used", Some(Gain::Use { percent: 61.0 })),
        piece("bottleneck-dram", "DRAM limits", None),
    ];
    let id = series.id.clone();
    let mut run = run("1", vec![series]);
    run.advice = vec![SeriesAdvice { series: id, device: None, pieces }];
    run
}

fn text(report: &dyn Report, run: &Run) -> String {
    let mut out = Vec::new();
    report.write_as(&View::default(), run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_terminal_shows_three_pieces_of_advice_before_the_verdicts() {
    let shown = text(&Table { colour: false, width: Some(80) }, &advised());
    let from = shown.find(" advice\n").unwrap();
    insta::assert_snapshot!(&shown[from..]);
    assert!(shown.lines().skip_while(|line| *line != " advice").all(|l| l.chars().count() <= 80));
}

#[test]
fn markdown_folds_and_escapes_all_advice() {
    let shown = text(&Markdown::default(), &advised());
    let from = shown.find("<details><summary>Advice").unwrap();
    let end = from + shown[from..].find("</details>").unwrap();
    insta::assert_snapshot!(&shown[from..end]);
}

#[test]
fn page_and_document_hold_all_advice() {
    let page = text(&Html::default(), &advised());
    assert!(page.contains("<h3>Advice</h3>") && page.contains("<summary>1 more</summary>"));
    assert!(page.contains("many &lt;sectors&gt; wasted at block=64 (likely). Do it"), "{page}");
    let document = text(&Json, &advised());
    let again: Run = serde_json::from_str(&document).unwrap();
    assert_eq!(again.advice, advised().advice);
    let none = text(&Table::default(), &Run { advice: Vec::new(), ..advised() });
    assert!(!none.contains("advice"));
}
