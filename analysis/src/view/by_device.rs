//! The parts of a series: one for each device that measured some of its configurations.
//!
//! Input: a series. Output: the series itself if one device measured all of it, else a series per
//! device. Best, ties, ratios and fronts are found within a part. Two devices of one model differ,
//! and processes on one of them cannot show by how much, so a difference between rows of two parts
//! may be the kernel's or the devices': no report ranks them.

use std::borrow::Cow;

use gpuprof_model::each_once::each_once;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};

use crate::view::narrowed;

/// The part of a series that one device measured.
#[derive(Debug)]
pub struct DeviceRows<'s> {
    /// The series with the configurations of that device. The last of several parts has the
    /// judgements and changes, which belong to the series.
    pub series: Cow<'s, SeriesResult>,
    /// The device's UUID, if the run had several.
    pub device: Option<&'s str>,
    /// How many configurations the series has in all its parts.
    pub of: usize,
}

impl DeviceRows<'_> {
    /// Whether there are others.
    pub fn is_one_of_several(&self) -> bool {
        self.series.configurations.len() < self.of
    }
}

/// The parts of `series`, in the order in which their devices appear.
pub fn parts(series: &SeriesResult) -> Vec<DeviceRows<'_>> {
    let rows = &series.configurations;
    let devices = each_once(rows.iter().map(|row| row.device.as_deref()));
    let of = rows.len();
    let [first, .., last] = devices[..] else {
        let device = devices.first().copied().flatten();
        return vec![DeviceRows { series: Cow::Borrowed(series), device, of }];
    };
    debug_assert_ne!(first, last, "each is there once");
    let part = |device: Option<&'_ str>| {
        let here = |row: &&ConfigurationResult| row.device.as_deref() == device;
        let mut part = narrowed(series, rows.iter().filter(here).cloned().collect());
        if device != last {
            part.judgements.clear();
            part.not_applicable.clear();
            part.changes.clear();
        }
        Cow::Owned(part)
    };
    devices.into_iter().map(|device| DeviceRows { series: part(device), device, of }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{rows, series};
    use gpuprof_model::verdict::{Layer, NotApplicable};

    fn on(devices: &[Option<&str>]) -> SeriesResult {
        let mut series = series(rows("registers", &[8.0, 9.0, 7.0]));
        for (row, device) in series.configurations.iter_mut().zip(devices) {
            row.device = device.map(str::to_owned);
        }
        let (threshold, origin) = ("x".into(), Layer::Attribute);
        series.not_applicable = vec![NotApplicable { threshold, origin }];
        series
    }

    #[test]
    fn rows_are_split_by_device() {
        for device in [None, Some("GPU-1")] {
            let series = on(&[device; 3]);
            let parts = parts(&series);
            assert_eq!((parts.len(), parts[0].device, parts[0].of), (1, device, 3));
            assert_eq!(*parts[0].series, series);
            assert!(!parts[0].is_one_of_several());
        }
        let empty = series(Vec::new());
        assert_eq!(parts(&empty).len(), 1);
    }

    #[test]
    fn rows_are_split_by_device_and_judgements_shown_once() {
        let series = on(&[Some("GPU-2"), Some("GPU-1"), Some("GPU-2")]);
        let parts = parts(&series);
        assert_eq!(
            parts.iter().map(|p| p.device).collect::<Vec<_>>(),
            [Some("GPU-2"), Some("GPU-1")]
        );
        let counts = parts.iter().map(|p| p.series.configurations.len());
        assert_eq!(counts.collect::<Vec<_>>(), [2, 1]);
        assert!(parts.iter().all(DeviceRows::is_one_of_several));
        let told: Vec<usize> = parts.iter().map(|p| p.series.not_applicable.len()).collect();
        assert_eq!(told, [0, 1]);
    }
}
