use super::*;
use crate::fixture::{failed, point, row, series};

fn at(block: u64, n: u64, duration: f64) -> ConfigurationResult {
    ConfigurationResult { configuration: point(block, n), ..row(0, "duration", Ok(duration)) }
}

/// Four blocks, two sizes; `duration` is the only metric.
fn saxpy() -> SeriesResult {
    let rows = [
        (64, 1, 40.0),
        (64, 2, 80.0),
        (128, 1, 20.0),
        (128, 2, 30.0),
        (256, 1, 25.0),
        (256, 2, 60.0),
    ];
    let mut rows: Vec<_> = rows.into_iter().map(|(block, n, value)| at(block, n, value)).collect();
    rows.push(ConfigurationResult { configuration: point(512, 1), ..failed(512) });
    series(rows)
}

fn keys(viewed: &SeriesView<'_>) -> Vec<String> {
    viewed
        .shown
        .iter()
        .map(|&row| viewed.series.configurations[row].configuration.to_string())
        .collect()
}

fn filter(text: &str) -> View {
    View { filter: Some(Expression::parse(text).unwrap()), ..View::default() }
}

#[test]
fn without_options_every_row_is_shown_in_series_order() {
    let series = saxpy();
    let viewed = View::default().apply(&series);
    assert_eq!((viewed.shown.len(), viewed.remarks.len()), (7, 0));
    assert!(matches!(viewed.series, Cow::Borrowed(_)));
}

#[test]
fn a_filter_narrows_the_compared_rows_with_a_remark() {
    let series = saxpy();
    let viewed = filter("block >= 128 && n == 2").apply(&series);
    assert_eq!(keys(&viewed), ["block=128,n=2", "block=256,n=2"]);
    assert_eq!(viewed.remarks, ["--filter keeps 2 of 7 rows"]);
    assert_eq!(best::best(&viewed.series.configurations, "duration"), Some(0));
    assert_eq!(viewed.series.axes[0].values.len(), 2);
}

#[test]
fn a_filter_over_an_unknown_axis_hides_nothing() {
    let series = saxpy();
    let viewed = filter("tile == 8").apply(&series);
    assert_eq!(viewed.shown.len(), 7);
    assert_eq!(viewed.remarks, ["--filter does not apply: no axis is named `tile`"]);
    let viewed = filter("block / (n - 1) > 1").apply(&series);
    assert_eq!(viewed.shown.len(), 7);
    assert_eq!(viewed.remarks[0], "--filter: division by zero at block=64,n=1");
}

#[test]
fn rows_are_sorted_by_metrics_and_axes_with_those_that_have_none_last() {
    let series = saxpy();
    let sorted = |text: &str| {
        keys(&View { sort: Some(Sort::parse(text).unwrap()), ..View::default() }.apply(&series))
    };
    let by_duration = sorted("duration");
    assert_eq!(
        (by_duration[0].as_str(), by_duration[6].as_str()),
        ("block=128,n=1", "block=512,n=1")
    );
    let slowest = sorted("duration desc");
    assert_eq!((slowest[0].as_str(), slowest[6].as_str()), ("block=64,n=2", "block=512,n=1"));
    assert_eq!(sorted("n")[..2], ["block=64,n=1", "block=128,n=1"]);
    assert_eq!(sorted("block desc")[0], "block=512,n=1");
    assert!(Sort::parse("duration down").is_err() && Sort::parse("").is_err());
}

#[test]
fn top_shows_the_best_rows_and_counts_all() {
    let series = saxpy();
    let viewed = View { top: Some(2), ..View::default() }.apply(&series);
    assert_eq!(keys(&viewed), ["block=128,n=1", "block=256,n=1"]);
    assert_eq!(viewed.remarks, ["--top shows 2 of 7 rows, the best by duration"]);
    let sort = Some(Sort { key: "n".into(), descending: true });
    let viewed = View { top: Some(1), sort, ..View::default() }.apply(&series);
    assert_eq!(viewed.remarks, ["--top shows 1 of 7 rows, sorted by n, largest first"]);
    assert!(View { top: Some(7), ..View::default() }.apply(&series).remarks.is_empty());
}

#[test]
fn each_row_has_the_reference_that_shares_its_other_axes() {
    let series = saxpy();
    let view = View { reference: Some(Reference::parse("block=256").unwrap()), ..View::default() };
    let ratios = view.reference_ratios(&series, "duration").unwrap();
    assert_eq!(
        ratios,
        [Some(1.6), Some(80.0 / 60.0), Some(0.8), Some(0.5), Some(1.0), Some(1.0), None]
    );
    let view =
        View { reference: Some(Reference::parse("block = 256, n=1").unwrap()), ..View::default() };
    assert_eq!(view.reference_ratios(&series, "duration").unwrap()[1], Some(3.2));
    let gone = View { reference: Some(Reference::parse("block=7").unwrap()), ..View::default() };
    assert_eq!(
        gone.apply(&series).remarks,
        ["--reference: no row is block=7; block is 64, 128, 256, 512"]
    );
}

#[test]
fn a_malformed_reference_is_refused_at_its_position() {
    let error = |text: &str| Reference::parse(text).unwrap_err();
    assert_eq!(
        (error("block").message.as_str(), error("block").span),
        ("expected AXIS=VALUE", 0..5)
    );
    assert_eq!(error("block=1,block=2").span, 8..15);
    assert_eq!(error("n=1,block=12q").span, 10..13);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let series = saxpy();
    let check = |view: View| {
        let misfits = view.misfits(&Catalogue::built_in(), &types(&series));
        misfits.iter().map(|(option, why)| format!("{option}: {why}")).collect::<Vec<_>>()
    };
    let best_by = |name: &str| View { best_by: Some(name.into()), ..View::default() };
    assert_eq!(
        check(best_by("duratoin")),
        ["best-by: no metric is named `duratoin`: did you mean `duration`?"]
    );
    let columns = View { columns: vec!["block".into(), "blok".into()], ..View::default() };
    assert!(check(columns)[0].starts_with("columns: no metric is named `blok`"));
    let reference =
        View { reference: Some(Reference::parse("blok=1").unwrap()), ..View::default() };
    assert_eq!(
        check(reference),
        ["reference: no series has an axis `blok`: did you mean `block`?"]
    );
}
