//! Notes on noise: the two levels of variance, trend, drift, autocorrelation, and outliers by name.
//!
//! Input: a series with timed configurations. Output: notes on `duration`; none without times.
//! Unremarkable noise is left out.

use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Statistics, Status};
use gpuprof_model::verdict::Weight;

use super::key;
use super::note::Note;
use gpuprof_analysis::compared_pair::MINIMUM_PERCENT;
use gpuprof_analysis::stats::median::median;
use gpuprof_analysis::stats::sequence;
use gpuprof_analysis::stats::trend;

/// A drift under this many percent is left out.
const DRIFT_PERCENT: f64 = 1.0;

/// An autocorrelation under this is left out.
const AUTOCORRELATION: f64 = 0.5;

/// The most configurations of each kind in a note.
const NAMED: usize = 4;

/// The notes of `series`.
pub(super) fn list_notes(series: &SeriesResult) -> Vec<Note> {
    let statistics = |row: &ConfigurationResult| -> Option<Statistics> {
        let finished = row.status == Status::Finished;
        row.metrics.get("duration").filter(|_| finished)?.statistics.as_deref().copied()
    };
    let rows: Vec<(&ConfigurationResult, Statistics)> =
        series.configurations.iter().filter_map(|row| Some((row, statistics(row)?))).collect();
    let mut notes: Vec<Note> = levels(&rows).into_iter().chain(trend(&rows)).collect();
    let notes_on = |label, tell: &dyn Fn(&ConfigurationResult, &Statistics) -> Option<String>| {
        let notes = rows.iter().filter_map(|(row, s)| {
            Some(Note { label, subject: key(row), text: tell(row, s)?, weight: Weight::Fine })
        });
        notes.take(NAMED).collect::<Vec<_>>()
    };
    notes.extend(notes_on("drift", &|_, s| {
        let drift = s.drift_percent.filter(|drift| drift.abs() >= DRIFT_PERCENT)?;
        Some(format!("{drift:+.1}% from the first half of a process to the second"))
    }));
    notes.extend(notes_on("lag 1", &|_, s| {
        let lag = s.autocorrelation.filter(|lag| *lag >= AUTOCORRELATION)?;
        Some(format!(
            "neighbouring samples are correlated ({lag:.2}): they carry less information than \
             their number suggests"
        ))
    }));
    notes.extend(notes_on("outliers", &|row, s| outliers(row, s)));
    notes
}

fn levels(rows: &[(&ConfigurationResult, Statistics)]) -> Option<Note> {
    let most = |of: fn(&Statistics) -> Option<f64>| {
        rows.iter().filter_map(|(_, s)| of(s)).max_by(f64::total_cmp)
    };
    let (within, between) = (most(|s| s.within_percent)?, most(|s| s.between_percent)?);
    let text =
        format!("up to {within:.2}% within a process, up to {between:.2}% between processes");
    Some(Note { label: "noise", subject: "duration".into(), text, weight: Weight::Fine })
}

/// A machine that drifted while the processes of the series ran.
fn trend(rows: &[(&ConfigurationResult, Statistics)]) -> Option<Note> {
    let medians = |row: &ConfigurationResult| -> Vec<f64> {
        row.metrics
            .get("duration")
            .into_iter()
            .flat_map(|m| &m.processes)
            .map(|p| p.median)
            .collect()
    };
    let processes: Vec<Vec<f64>> = rows.iter().map(|(row, _)| medians(row)).collect();
    let found = trend::trend(&processes)?;
    if found.p_value > trend::LEVEL || found.percent.abs() < MINIMUM_PERCENT {
        return None;
    }
    let p =
        if found.p_value < 0.001 { "p < 0.001".into() } else { format!("p {:.3}", found.p_value) };
    let over = match found.configurations {
        1 => "one configuration".to_owned(),
        n => format!("{n} configurations"),
    };
    let text = format!(
        "{:+.1}% from the first process to the last of {over} ({p}): the machine drifted, and a \
         baseline from another time can differ by as much",
        found.percent
    );
    Some(Note { label: "trend", subject: "duration".into(), text, weight: Weight::Fine })
}

fn outliers(row: &ConfigurationResult, statistics: &Statistics) -> Option<String> {
    if statistics.outliers == 0 {
        return None;
    }
    let mut farthest: Option<(f64, f64, usize, usize)> = None;
    for (process, timing) in row.timings.iter().enumerate() {
        let center = median(&timing.samples_ns)?;
        for sample in sequence::outliers(&timing.samples_ns) {
            let value = timing.samples_ns[sample];
            let distance = (value - center).abs();
            if farthest.is_none_or(|(so_far, ..)| distance > so_far) {
                farthest = Some((distance, value, process + 1, sample + 1));
            }
        }
    }
    // A baseline keeps no samples, and then only their number is known.
    let place = farthest.map_or_else(String::new, |(_, value, process, sample)| {
        let value = Quantity::new(value, Unit::Nanoseconds);
        format!(", the farthest {value} (sample {sample} of process {process})")
    });
    Some(format!("{} of {} samples{place}", statistics.outliers, statistics.count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_analysis::fixture::finished;
    use gpuprof_analysis::fixture::{emulated, gpu_pass, point, series};

    fn texts(processes: &[Vec<f64>]) -> Vec<String> {
        let passes: Vec<_> = processes.iter().map(|s| gpu_pass(64, 1 << 20, s)).collect();
        let row = finished(point(64, 1 << 20), &passes);
        let text = |note: Note| format!("{} {}: {}", note.label, note.subject, note.text);
        list_notes(&series(vec![row])).into_iter().map(text).collect()
    }

    #[test]
    fn levels_drift_and_outliers_are_reported_with_their_place() {
        let steady = |center: f64| -> Vec<f64> {
            (0..40).map(|i| center + f64::from(i * 17 % 23)).collect()
        };
        let mut spiked = steady(10_100.0);
        spiked[6] = 90_000.0;
        assert_eq!(
            texts(&[steady(10_000.0), spiked, steady(9_900.0)]),
            [
                "noise duration: up to 0.09% within a process, up to 1.01% between processes",
                "outliers block=64,n=1048576: 1 of 120 samples, the farthest 90 µs (sample 7 of process 2)",
            ]
        );
        let rising: Vec<f64> = (0..40).map(|i| 10_000.0 + 20.0 * f64::from(i)).collect();
        assert_eq!(
            texts(&[rising]),
            [
                "drift block=64,n=1048576: +3.8% from the first half of a process to the second",
                "lag 1 block=64,n=1048576: neighbouring samples are correlated (0.93): they carry \
                 less information than their number suggests",
            ]
        );
    }

    #[test]
    fn drift_from_process_to_process_is_reported() {
        let steady = |center: f64| -> Vec<f64> {
            (0..24).map(|i| center + f64::from(i * 17 % 23)).collect()
        };
        let told = |step: f64| {
            texts(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|at| steady(10_000.0 + step * at)))
        };
        assert_eq!(
            told(100.0)[1],
            "trend duration: +4.9% from the first process to the last of one configuration (p \
             0.003): the machine drifted, and a baseline from another time can differ by as much"
        );
        assert_eq!(told(0.0).iter().filter(|note| note.starts_with("trend")).count(), 0);
        assert_eq!(told(4.0).iter().filter(|note| note.starts_with("trend")).count(), 0);
    }

    #[test]
    fn a_series_without_times_has_no_noise_notes() {
        assert_eq!(list_notes(&series(vec![emulated(64, 1 << 20)])), []);
    }
}
