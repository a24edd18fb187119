//! The timeline of one call of a closure: the device's work in order, and the driver calls.
//!
//! Input: a series. Output: a [`Range`] with the work of its first configuration with a timeline,
//! and one with the calls by function. The work of a GPU has times, idle times and overlaps; that
//! of the emulated driver has its order and estimates. Terminal, Markdown and page show the same,
//! the terminal only its title unless everything is shown.

use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::timeline::{
    EstimatedDuration, Neighbourhood, TimeSpan, Timeline, Work, WorkKind,
};

use super::cells::{Column, NO_VALUE, Sheet};
use super::estimates::SIGN;
use super::launches::{Range, dimensions, kernel_name};

/// The most pieces of work that are shown.
const MOST: usize = 100;

/// The tables of the first configuration with a timeline: its work, and its calls.
pub(super) fn tables(series: &SeriesResult) -> Option<(Range, Option<Range>)> {
    let mut rows = series.configurations.iter();
    let (row, timeline) = rows.find_map(|row| Some((row, row.timeline.as_ref()?)))?;
    Some((work(row, timeline), calls(row, timeline)))
}

/// The work of a timeline, in order.
fn work(row: &ConfigurationResult, timeline: &Timeline) -> Range {
    let near = timeline.neighbourhoods();
    let shown = &timeline.work[..timeline.work.len().min(MOST)];
    let column = |title: &str, numeric: bool, cell: &dyn Fn(&Work) -> String| {
        Column::plain(title, numeric, shown.iter().map(cell))
    };
    let span = |of: fn(TimeSpan) -> u64| {
        move |work: &Work| work.time.map_or_else(|| NO_VALUE.to_owned(), |time| text(of(time)))
    };
    let mut columns = Vec::new();
    if let Some(near) = &near {
        let beside = |title: &str, of: fn(&Neighbourhood) -> u64| {
            Column::plain(title, true, near.iter().take(MOST).map(|near| text(of(near))))
        };
        columns.push(column("start", true, &span(|time| time.start_ns)));
        columns.push(column("time", true, &span(TimeSpan::length_ns)));
        columns.push(beside("idle before", |near| near.idle_ns));
        columns.push(beside("overlap", |near| near.overlap_ns));
    } else if shown.iter().any(|work| work.estimate.is_some()) {
        columns.push(column(&format!("{SIGN} time"), true, &|work| estimate(work.estimate)));
    }
    columns.push(column("stream", true, &|work| work.stream.to_string()));
    columns.push(column("work", false, &|work| describe(row, work)));
    let more = (timeline.work.len() - shown.len()) as u64 + timeline.more_work;
    let more = (more > 0).then(|| format!("and {more} more"));
    let sheet = Sheet { axes: columns, metrics: Vec::new() };
    Range { title: title(row, timeline, near.as_deref()), sheet, more }
}

/// `timeline of block=64: 3 pieces of work in 21.4 µs, idle 3.2 µs, overlapping 0 ns`.
fn title(row: &ConfigurationResult, timeline: &Timeline, near: Option<&[Neighbourhood]>) -> String {
    let count = timeline.work.len() as u64 + timeline.more_work;
    let pieces = if count == 1 { "piece" } else { "pieces" };
    let begin = format!("timeline of {}: {count} {pieces} of work", row.configuration);
    let Some(near) = near else { return format!("{begin} in order, without measured times") };
    let sum = |of: fn(&Neighbourhood) -> u64| text(near.iter().map(of).sum());
    let end = timeline.work.iter().filter_map(|work| Some(work.time?.end_ns)).max();
    let shown_part = match timeline.more_work {
        0 => String::new(),
        _ => format!(", of which the first {}", timeline.work.len()),
    };
    format!(
        "{begin}{shown_part} in {}, device idle {}, overlap {}",
        text(end.unwrap_or_default()),
        sum(|near| near.idle_ns),
        sum(|near| near.overlap_ns)
    )
}

/// The calls of a timeline by thread and function; none if it has none.
fn calls(row: &ConfigurationResult, timeline: &Timeline) -> Option<Range> {
    struct Row<'t> {
        thread: u32,
        function: &'t str,
        count: u64,
        nanoseconds: u64,
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for call in &timeline.calls {
        let (thread, function) = (call.thread, call.function.as_str());
        let same = |row: &&mut Row<'_>| (row.thread, row.function) == (thread, function);
        match rows.iter_mut().find(same) {
            Some(row) => {
                row.count += 1;
                row.nanoseconds += call.time.length_ns();
            }
            None => {
                let nanoseconds = call.time.length_ns();
                rows.push(Row { thread, function, count: 1, nanoseconds });
            }
        }
    }
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let column = |title: &str, numeric: bool, cell: &dyn Fn(&Row<'_>) -> String| {
        Column::plain(title, numeric, rows.iter().map(cell))
    };
    let columns = vec![
        column("calls", true, &|row| row.count.to_string()),
        column("function", false, &|row| row.function.to_owned()),
        column("time", true, &|row| text(row.nanoseconds)),
        column("thread", true, &|row| row.thread.to_string()),
    ];
    let shown_part = match timeline.more_calls {
        0 => String::new(),
        _ => format!("the first {} ", timeline.calls.len()),
    };
    (!rows.is_empty()).then(|| Range {
        title: format!("{shown_part}driver calls of {}", row.configuration),
        sheet: Sheet { axes: columns, metrics: Vec::new() },
        more: (more > 0).then(|| format!("and {more} more functions")),
    })
}

/// `scan 16 x 64`, `copy 4 KiB, host to device`, `copy 4 KiB, device 0 to device 1`,
/// `fill 4 KiB on device 1`.
pub(super) fn describe(row: &ConfigurationResult, work: &Work) -> String {
    let amount = |bytes: u64| Quantity::new(bytes as f64, Unit::Bytes);
    let description = match &work.kind {
        WorkKind::Launch(at) => row.launches.get(*at).map_or_else(
            || format!("launch {}", at + 1),
            |launch| {
                let (grid, block) = (dimensions(launch.grid), dimensions(launch.block));
                let outside = if launch.outside { " (outside of the range)" } else { "" };
                format!("{} grid {grid} block {block}{outside}", kernel_name(launch))
            },
        ),
        WorkKind::Copy { from, to, bytes } => {
            format!("copy {}, {} to {}", amount(*bytes), from.word(), to.word())
        }
        WorkKind::PeerCopy { from_device, to_device, bytes } => {
            return format!("copy {}, device {from_device} to device {to_device}", amount(*bytes));
        }
        WorkKind::Fill { bytes } => format!("fill {}", amount(*bytes)),
    };
    match work.device {
        Some(device) => format!("{description} on device {device}"),
        None => description,
    }
}

fn estimate(estimate: Option<EstimatedDuration>) -> String {
    estimate.map_or_else(
        || NO_VALUE.to_owned(),
        |EstimatedDuration { low_ns, high_ns }| {
            format!("{}–{}", Quantity::from(low_ns), Quantity::from(high_ns))
        },
    )
}

fn text(nanoseconds: u64) -> String {
    Quantity::new(nanoseconds as f64, Unit::Nanoseconds).to_string()
}
