//! Counter data images: ranges, and the counts of every counter in them.
//!
//! The number of counters and ranges determines the size of an image. It is read whole, changed,
//! and written whole; unused bytes are zero.

use std::collections::BTreeMap;

use crate::call::{self, Code, INVALID_PARAMETER, NOT_INITIALIZED, sys};
use crate::catalogue::Counted;
use crate::ready;

const MAGIC: &str = "fake CUPTI counter data";

/// The longest line: the longest name, two numbers, and a little more.
const LINE: usize = 160;

/// The contents of an image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CounterData {
    /// The counters it has room for.
    pub raws: Vec<String>,
    /// The ranges it has room for.
    pub max_ranges: usize,
    /// The ranges in it, in the order in which they first occurred.
    pub ranges: Vec<Range>,
}

/// One range.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Range {
    /// Its name.
    pub name: String,
    /// What was counted in it so far: a counter that was collected twice counted twice as much.
    pub counted: BTreeMap<String, (u64, u64)>,
}

impl Range {
    /// The counts of `raw`.
    #[expect(clippy::cast_precision_loss, reason = "tests launch small kernels")]
    pub fn counted(&self, raw: &str) -> Counted {
        match self.counted.get(raw) {
            Some(&(value, nanoseconds)) => {
                Counted { value: value as f64, nanoseconds: nanoseconds as f64 }
            }
            None => Counted { value: f64::NAN, nanoseconds: f64::NAN },
        }
    }
}

impl CounterData {
    /// How many bytes the image has.
    pub fn size(&self) -> usize {
        LINE * (3 + self.raws.len() + self.max_ranges * (1 + self.raws.len()))
    }

    /// Adds what was counted in a range; whether there was room.
    pub fn add(&mut self, range: &str, counted: &[(String, u64, u64)]) -> bool {
        let at = match self.ranges.iter().position(|known| known.name == range) {
            Some(at) => at,
            None if self.ranges.len() == self.max_ranges => return false,
            None => {
                self.ranges.push(Range { name: range.to_owned(), ..Range::default() });
                self.ranges.len() - 1
            }
        };
        for (raw, value, nanoseconds) in counted {
            let slot = self.ranges[at].counted.entry(raw.clone()).or_default();
            *slot = (slot.0 + value, slot.1 + nanoseconds);
        }
        true
    }

    /// Writes the image.
    pub fn write(&self, image: &mut [u8]) -> Result<(), Code> {
        let mut text = format!("{MAGIC}\nranges {}\n", self.max_ranges);
        for raw in &self.raws {
            text.push_str(&format!("counter {raw}\n"));
        }
        for range in &self.ranges {
            text.push_str(&format!("range {}\n", range.name));
            for (raw, (value, nanoseconds)) in &range.counted {
                text.push_str(&format!("counted {raw} {value} {nanoseconds}\n"));
            }
        }
        text.push_str("end\n");
        if image.len() != self.size() || text.len() > image.len() {
            return Err(INVALID_PARAMETER);
        }
        image.fill(0);
        image[..text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    }

    /// Reads an image.
    pub fn read(image: &[u8]) -> Result<Self, Code> {
        Self::parse(image).filter(|data| data.size() == image.len()).ok_or(INVALID_PARAMETER)
    }

    fn parse(image: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(image).ok()?.lines();
        let mut data = Self::default();
        if lines.next() != Some(MAGIC) {
            return None;
        }
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["ranges", count] => data.max_ranges = count.parse().ok()?,
                ["counter", raw] => data.raws.push(raw.to_owned()),
                ["range", name] => {
                    data.ranges.push(Range { name: name.to_owned(), ..Range::default() });
                }
                ["counted", raw, value, nanoseconds] => {
                    let counted = (value.parse().ok()?, nanoseconds.parse().ok()?);
                    data.ranges.last_mut()?.counted.insert(raw.to_owned(), counted);
                }
                ["end"] => return Some(data),
                _ => return None,
            }
        }
        None
    }
}

/// `cuptiRangeProfilerGetCounterDataInfo`: without a GPU it answers 15, as NVIDIA's does.
pub fn range_count(p: &mut sys::CUpti_RangeProfiler_GetCounterDataInfo_Params) -> Result<(), Code> {
    if !ready::is_initialized() {
        return Err(NOT_INITIALIZED);
    }
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pCounterDataImage, p.counterDataImageSize) }?;
    p.numTotalRanges = CounterData::read(image)?.ranges.len();
    Ok(())
}

/// `cuptiRangeProfilerCounterDataGetRangeInfo`: likewise.
pub fn range_name(
    p: &mut sys::CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
) -> Result<(), Code> {
    if !ready::is_initialized() {
        return Err(NOT_INITIALIZED);
    }
    // SAFETY: the client's image, for the call.
    let image = unsafe { call::bytes(p.pCounterDataImage, p.counterDataImageSize) }?;
    let data = CounterData::read(image)?;
    // SAFETY: the client's text, for the call.
    let delimiter = unsafe { call::text(p.rangeDelimiter) }?;
    let range = data.ranges.get(p.rangeIndex).ok_or(INVALID_PARAMETER)?;
    p.rangeName = call::leak(&range.name.replace('/', &delimiter));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_counter() -> CounterData {
        CounterData { raws: vec!["a__b".into()], max_ranges: 2, ranges: Vec::new() }
    }

    #[test]
    fn an_image_is_restored_and_repeated_counters_are_summed() {
        let mut data = one_counter();
        assert!(data.add("0", &[("a__b".into(), 7, 100)]));
        assert!(data.add("0", &[("a__b".into(), 7, 100)]));
        assert!(data.add("1", &[]));
        assert!(!data.add("2", &[]), "there is room for two");
        let mut image = vec![0; data.size()];
        data.write(&mut image).unwrap();
        let read = CounterData::read(&image).unwrap();
        assert_eq!(read, data);
        assert_eq!(read.ranges[0].counted("a__b"), Counted { value: 14.0, nanoseconds: 200.0 });
        assert!(read.ranges[1].counted("a__b").value.is_nan());
    }

    #[test]
    fn an_invalid_or_truncated_image_is_refused() {
        let data = one_counter();
        let mut image = vec![0; data.size()];
        data.write(&mut image).unwrap();
        assert_eq!(CounterData::read(&image[1..]), Err(INVALID_PARAMETER));
        assert_eq!(CounterData::read(&image[..image.len() - 1]), Err(INVALID_PARAMETER));
        assert_eq!(data.write(&mut image[1..]), Err(INVALID_PARAMETER));
    }
}
