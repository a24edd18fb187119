//! The duration of a sample by the device's own clock, from CUPTI's activity records.
//!
//! Input: a session, and the launches of a sample between two time stamps of the clock probe.
//! Output: nanoseconds from the first start to the last end of the work in between. CUDA events
//! read some 2.3 µs more around a kernel, and on an H100 that share differs by ±0.1 µs from one
//! process to the next, where the device's own times differ by ±2 ns.
//!
//! The records also show work on streams that the time stamps do not wait for: its time would be
//! missed, so that is an error. Work of a library that waits for it may also begin before the first
//! stamp, while caches are emptied: then the sample is taken again, and the host waits for the
//! stamp.

use std::path::Path;

use gpuprof_cupti::{Activity, ActivityRecorder};
use gpuprof_model::series::without_place;

use super::clock;
use super::launches::{LaunchTimes, place};
use super::recorder;
use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// The time of a sample.
pub(super) enum Sampled {
    /// Nanoseconds.
    Duration(f64),
    /// CUPTI recorded none of its work.
    Unrecorded,
    /// Work on another stream began before the first stamp.
    Early,
}

/// Records the work of one configuration's samples.
pub(super) struct SampleRecorder<'a> {
    session: &'a Session,
    recorder: ActivityRecorder,
    /// CUPTI's number of the measured stream, once a sample has shown it.
    stream: Option<u32>,
    /// Which work is timed, in the order of the calls; none if all is.
    inside: Option<&'a [bool]>,
    times: LaunchTimes,
    /// Whether the host waits for the first stamp of a sample.
    waits: bool,
}

impl<'a> SampleRecorder<'a> {
    /// Begins to record, after all earlier work has ended; `cupti` is its library or folder, if one
    /// was named.
    ///
    /// # Errors
    /// Why CUPTI records nothing, in words.
    pub(super) fn begin(
        session: &'a Session,
        cupti: Option<&Path>,
        inside: Option<&'a [bool]>,
    ) -> std::result::Result<Self, String> {
        let recorder = recorder::begin(session, cupti, false)?;
        let times = LaunchTimes::default();
        Ok(Self { session, recorder, stream: None, inside, times, waits: false })
    }

    /// Forgets the times of launches so far.
    pub(super) fn forget_times(&mut self) {
        self.times = LaunchTimes::default();
    }

    /// Whether the host has to wait for the first stamp of a sample.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// The duration of the sample that has just ended. After [`Sampled::Early`], the host has to
    /// wait.
    ///
    /// # Errors
    /// CUPTI's; work on a stream that the time stamps do not cover.
    pub(super) fn duration(&mut self) -> Result<Sampled> {
        let mut records = self.recorder.take().map_err(Error::cupti)?;
        let stamps = stamps(&records).map_err(Error::failed)?;
        let begin = stamps[0].start;
        self.stream = Some(stamps[0].stream);
        if !self.waits && begins_early(&records, stamps[0]) {
            self.waits = true;
            return Ok(Sampled::Early);
        }
        let duration = duration(&records, stamps, self.inside).map_err(Error::failed)?;
        records.retain(|record| record.start >= begin && !is_stamp(record));
        self.times.add(records);
        Ok(duration.map_or(Sampled::Unrecorded, Sampled::Duration))
    }

    /// Waits for work on any stream, and stops recording. Output: the times of launches.
    ///
    /// # Errors
    /// The driver's; work that no time stamp covered.
    pub(super) fn end(mut self) -> Result<LaunchTimes> {
        self.session.context.synchronize()?;
        let records = self.recorder.take().map_err(Error::cupti)?;
        let stray = records.iter().find(|record| Some(record.stream) != self.stream);
        self.session.quiet.stage(|| {
            drop(self.recorder);
            Ok(())
        })?;
        stray.map_or(Ok(self.times), |record| Err(Error::failed(uncovered_by(record))))
    }
}

/// The two time stamps of a sample.
fn stamps(records: &[Activity]) -> std::result::Result<[&Activity; 2], String> {
    let stamps: Vec<&Activity> = records.iter().filter(|record| is_stamp(record)).collect();
    let count = stamps.len();
    stamps.try_into().map_err(|_| {
        format!("CUPTI recorded {count} time stamps of the 2 around a sample: it lost records")
    })
}

/// Whether work on another stream than that of the stamp `before` began earlier.
fn begins_early(records: &[Activity], before: &Activity) -> bool {
    let early = |record: &Activity| record.stream != before.stream && record.start < before.start;
    records.iter().any(early)
}

/// The nanoseconds that the device worked for the sample between its time stamps, from the first
/// start to the last end, of the work `inside` of the range if that is not all; `records` are in
/// the order of their starts.
fn duration(
    records: &[Activity],
    [before, after]: [&Activity; 2],
    inside: Option<&[bool]>,
) -> std::result::Result<Option<f64>, String> {
    let mut own = Vec::new();
    for record in records.iter().filter(|record| !is_stamp(record)) {
        if record.stream == before.stream {
            // Restoring inputs and flushing the cache come before the first stamp.
            if record.start < before.start {
                continue;
            }
        } else if record.start < before.start || record.end > after.end || record.end == 0 {
            return Err(uncovered_by(record));
        }
        own.push(record);
    }
    if let Some(inside) = inside {
        own = select(own, inside)?;
    }
    let start = own.iter().map(|record| record.start).min();
    let end = own.iter().map(|record| record.end).max();
    Ok(start.zip(end).map(|(start, end)| (end - start) as f64))
}

/// The work of a sample that is `inside` of the range.
fn select<'r>(
    mut own: Vec<&'r Activity>,
    inside: &[bool],
) -> std::result::Result<Vec<&'r Activity>, String> {
    let (found, expected) = (own.len(), inside.len());
    if found != expected {
        return Err(format!(
            "a part of the closure is timed, and it did {expected} pieces of work in one call and \
             {found} in another, so the timed ones are not known"
        ));
    }
    if !inside.contains(&true) {
        return Err("the closure does no work in its range (cuProfilerStart, or --nvtx)".to_owned());
    }
    own.sort_by_key(|record| place(record));
    Ok(own.into_iter().zip(inside).filter(|(_, inside)| **inside).map(|(own, _)| own).collect())
}

fn is_stamp(record: &Activity) -> bool {
    record.kernel().is_some_and(|kernel| kernel.name == clock::KERNEL)
}

fn uncovered_by(record: &Activity) -> String {
    let kernel = record.kernel().map(|kernel| kernel.name.as_str());
    uncovered(kernel, record.device)
}

/// The error of work on a stream that was not joined: of a kernel, or of a copy or fill. The
/// measured device is number 0.
pub(crate) fn uncovered(kernel: Option<&str>, device: u32) -> String {
    let what = match kernel {
        Some(kernel) => format!("kernel `{}`", without_place(kernel)),
        None => "a copy or fill".to_owned(),
    };
    let stream = match device {
        0 => "a stream".to_owned(),
        other => format!("a stream of device {other}"),
    };
    format!(
        "{what} ran on {stream} that the measured one does not wait for, so its time would be \
         missed. Launch on `run.stream()`, or name the stream before `run.measure`: \
         `run.join(&other)`, or `run.join_raw(POINTER)`, the handle of any library"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_cupti::{DeviceWork, KernelActivity};

    fn record(kernel: &str, stream: u32, start: u64, end: u64) -> Activity {
        let launch = |name: &str| KernelActivity { name: name.to_owned(), ..Default::default() };
        let work = match kernel {
            "" => DeviceWork::Fill { bytes: 4 },
            name => DeviceWork::Kernel(launch(name)),
        };
        Activity { work, start, end, device: 0, context: 1, stream, correlation: 0 }
    }

    /// A sample: the cache's flush, a stamp, `work`, and the other stamp from 9,000 to 9,500.
    fn sample(work: &[Activity]) -> std::result::Result<Option<f64>, String> {
        let mut records = vec![
            record("", 7, 100, 200),
            record("gpuprof_flush", 7, 300, 900),
            record(clock::KERNEL, 7, 1_000, 1_500),
            record(clock::KERNEL, 7, 9_000, 9_500),
        ];
        records.extend_from_slice(work);
        records.sort_by_key(|record| record.start);
        duration(&records, stamps(&records)?, None)
    }

    #[test]
    fn a_kernel_takes_the_time_from_its_start_to_its_end() {
        assert_eq!(sample(&[record("saxpy", 7, 2_000, 2_992)]), Ok(Some(992.0)));
    }

    #[test]
    fn several_pieces_of_work_take_the_time_from_the_first_start_to_the_last_end() {
        let work = [
            record("a", 7, 2_000, 3_000),
            record("", 7, 3_200, 3_500),
            record("b", 7, 4_000, 5_000),
        ];
        assert_eq!(sample(&work), Ok(Some(3_000.0)));
    }

    #[test]
    fn only_the_work_inside_of_the_range_is_timed() {
        let queued = |correlation, record| Activity { correlation, ..record };
        // The second call's work runs first.
        let records = [
            record(clock::KERNEL, 7, 1_000, 1_500),
            queued(2, record("b", 13, 2_000, 3_000)),
            queued(1, record("a", 7, 4_000, 5_000)),
            queued(3, record("", 7, 6_000, 6_500)),
            record(clock::KERNEL, 7, 9_000, 9_500),
        ];
        let of = |inside: &[bool]| duration(&records, stamps(&records)?, Some(inside));
        assert_eq!(of(&[false, true, true]), Ok(Some(4_500.0)));
        assert_eq!(of(&[true, false, false]), Ok(Some(1_000.0)));
        assert!(of(&[true, true]).unwrap_err().contains("2 pieces of work in one call and 3 in"));
        assert!(of(&[false; 3]).unwrap_err().contains("no work in its range"));
    }

    #[test]
    fn a_kernel_that_starts_before_the_stamp_ends_belongs_to_the_sample() {
        // Programmatic dependent launch.
        assert_eq!(sample(&[record("early", 7, 1_400, 3_400)]), Ok(Some(2_000.0)));
    }

    #[test]
    fn joined_streams_count_and_others_are_an_error() {
        let own = record("own", 7, 2_000, 3_000);
        assert_eq!(sample(&[own.clone(), record("joined", 13, 2_500, 4_000)]), Ok(Some(2_000.0)));
        let strays = [(2_500, 9_900), (2_500, 0), (500, 900), (9_600, 9_700)];
        for (start, end) in strays {
            let error = sample(&[own.clone(), record("stray", 13, start, end)]).unwrap_err();
            assert!(error.starts_with("kernel `stray` ran on a stream that"), "{error}");
        }
        let elsewhere = Activity { device: 1, ..record("stray", 13, 2_500, 9_900) };
        let error = sample(&[own, elsewhere]).unwrap_err();
        assert!(error.starts_with("kernel `stray` ran on a stream of device 1 that"), "{error}");
    }

    #[test]
    fn work_on_another_stream_that_begins_before_the_stamp_is_early() {
        let before = record(clock::KERNEL, 7, 1_000, 1_500);
        let early = |stream, start| begins_early(&[record("one", stream, start, 3_000)], &before);
        assert!(early(13, 900));
        assert!(!early(13, 1_000) && !early(7, 900));
    }

    #[test]
    fn a_sample_without_records_has_no_duration_and_one_without_stamps_is_an_error() {
        assert_eq!(sample(&[]), Ok(None));
        let error = stamps(&[record("saxpy", 7, 2_000, 2_992)]).unwrap_err();
        assert!(error.starts_with("CUPTI recorded 0 time stamps of the 2"), "{error}");
    }
}
