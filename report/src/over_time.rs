//! Counters over the time of launches: a table of each configuration that has samples.
//!
//! Input: a series. Output: a [`Range`] for each configuration, with a row for each counter: its
//! extremes, its mean, and a bar for each sample or for each run of them, from zero to the largest.
//! Why a configuration has none is a note. Terminal, Markdown and page show the same, the
//! terminal only the first table unless everything is shown; the Chrome trace has every value.

use gpuprof_model::over_time::CountersOverTime;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::verdict::Weight;

use super::axes::bars_from_zero;
use super::cells::{Column, NO_VALUE, Sheet};
use super::launches::{Range, Room, of_several};
use super::note::{Note, keys};
use super::number::Scale;

/// The tables of the configurations with samples.
pub(super) fn tables(series: &SeriesResult, room: Room) -> Vec<Range> {
    let tables = sampled(series)
        .filter(|(_, over_time)| over_time.missing.is_none())
        .map(|(row, over_time)| table(row, over_time));
    of_several(tables.collect(), room, "counters over time")
}

/// Why configurations have no samples, each reason once.
pub(super) fn list_notes(series: &SeriesResult) -> Vec<Note> {
    let mut reasons: Vec<(&str, Vec<&ConfigurationResult>)> = Vec::new();
    for (row, over_time) in sampled(series) {
        let Some(reason) = &over_time.missing else { continue };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, rows)) => rows.push(row),
            None => reasons.push((reason, vec![row])),
        }
    }
    let all = series.configurations.iter();
    let finished = all.filter(|row| row.status == Status::Finished).count();
    let note = |(reason, rows): (&str, Vec<&ConfigurationResult>)| Note {
        label: NO_VALUE,
        subject: match rows.len() == finished {
            true => "counters over time".to_owned(),
            false => format!("counters over time at {}", keys(&rows)),
        },
        text: reason.to_owned(),
        weight: Weight::Fine,
    };
    reasons.into_iter().map(note).collect()
}

fn sampled(
    series: &SeriesResult,
) -> impl Iterator<Item = (&ConfigurationResult, &CountersOverTime)> {
    series.configurations.iter().filter_map(|row| Some((row, row.over_time.as_ref()?)))
}

fn table(row: &ConfigurationResult, over_time: &CountersOverTime) -> Range {
    struct Row {
        counter: String,
        values: Vec<f64>,
        bars: String,
        scale: Scale,
    }
    let rows = over_time.counters.iter().enumerate().map(|(at, counter)| {
        let values: Vec<f64> = over_time.values(at).flatten().collect();
        let scale = Scale::choose(counter.unit, &[mean(&values).unwrap_or_default()]);
        // A sample without a value keeps its place.
        let bars: Vec<f64> = over_time.values(at).map(Option::unwrap_or_default).collect();
        let bars = bars_from_zero(&bars);
        Row { counter: scale.titled(&counter.label), values, bars, scale }
    });
    let rows: Vec<Row> = rows.collect();
    let number = |title: &str, of: fn(&[f64]) -> Option<f64>| {
        let text = |row: &Row| of(&row.values).map(|value| row.scale.text(value));
        Column::plain(
            title,
            true,
            rows.iter().map(|row| text(row).unwrap_or_else(|| NO_VALUE.to_owned())),
        )
    };
    let columns = vec![
        Column::plain("counter", false, rows.iter().map(|row| row.counter.clone())),
        number("least", |values| values.iter().copied().reduce(f64::min)),
        number("mean", mean),
        number("most", |values| values.iter().copied().reduce(f64::max)),
        Column::plain("over time", false, rows.iter().map(|row| row.bars.clone())),
    ];
    let sheet = Sheet { axes: columns, metrics: Vec::new() };
    Range { title: title(row, over_time), sheet, more: None }
}

fn title(row: &ConfigurationResult, over_time: &CountersOverTime) -> String {
    let count = over_time.samples.len();
    let switches = over_time.samples.iter().filter(|sample| sample.context_switch).count();
    let interval = over_time.interval_ns as f64 / 1e3;
    let title = format!(
        "counters over the time of {}: {count} samples of {interval} µs",
        row.configuration
    );
    match switches {
        0 => title,
        _ => format!("{title}, the GPU switched contexts in {switches} of them"),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use gpuprof_analysis::view::View;
    use gpuprof_model::over_time::{CounterSample, SampledCounter};
    use gpuprof_model::quantity::Unit;
    use gpuprof_model::run::Run;
    use gpuprof_model::timeline::TimeSpan;
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{emulator_run, written};
    use crate::{Html, Markdown, Report, Table};

    /// A run. Its first configuration has 12 samples, and the GPU switched contexts in one of them;
    /// the second has none.
    pub(crate) fn sampled_run() -> Run {
        let mut run = emulator_run();
        let counter = |name: &str, label: &str, unit| SampledCounter {
            name: name.into(),
            label: label.into(),
            unit,
        };
        let counters = vec![
            counter(
                "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                "SMs active",
                Unit::Percent,
            ),
            counter("dram__bytes_read.sum.per_second", "read from DRAM", Unit::BytesPerSecond),
        ];
        let sample = |at: u64| CounterSample {
            time: TimeSpan { start_ns: 1_000 * at, end_ns: 1_000 * at + 1_000 },
            values: vec![Some(100.0 - at as f64), (at != 3).then_some(2e12 * at as f64 / 11.0)],
            context_switch: at == 3,
        };
        let samples = (0..12).map(sample).collect();
        let rows = &mut run.series[0].configurations;
        rows[0].over_time =
            Some(CountersOverTime { interval_ns: 1_000, counters, samples, missing: None });
        rows[1].over_time = Some(CountersOverTime::missing("the call is too short".into()));
        run
    }

    #[test]
    fn the_table_has_extremes_means_bars_and_reasons_for_missing_samples() {
        let run = sampled_run();
        let text = written(&Table::default(), &run);
        let from = text.find("\n counters over the time").expect("a table");
        let lines: Vec<&str> = text[from..].lines().skip(1).take(5).collect();
        assert_snapshot!(lines.join("\n"), @"
         counters over the time of block=64,n=1048576: 12 samples of 1 µs, the GPU switched contexts in 1 of them
         counter                least   mean    most  over time
        ───────────────────────────────────────────────────────────
         SMs active [%]         89.00  94.50  100.00  ████████▇▇▇▇
         read from DRAM [TB/s]  0.000  1.041   2.000  ▁▂▂▁▄▄▅▅▆▇▇█
        ");
        let reason = "counters over time at block=64,n=16777216: the call is too short";
        assert!(text.contains(reason), "{text}");
        let all = View { all: true, ..View::default() };
        for report in [&Markdown::default() as &dyn Report, &Html::default()] {
            let mut out = Vec::new();
            report.write_as(&all, &run, &mut out).expect("written");
            let text = String::from_utf8(out).expect("text");
            assert!(text.contains("counters over the time of"), "{text}");
            assert!(text.contains("the call is too short"), "{text}");
        }
    }
}
