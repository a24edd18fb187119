//! Copies and fills of device memory, in the order of the launches around them.
//!
//! Input: the bytes that a call of the driver moved, in one piece or row by row, and the stream of
//! the call. Output: one record per call, of the first calls after a report.

/// The most records that are kept between reports.
const MOST: usize = 1024;

/// The direction of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveKind {
    /// From the host to the device.
    Upload,
    /// From the device to the host.
    Download,
    /// Within the device's memory.
    Copy,
    /// One value to many addresses.
    Fill,
}

/// A call that moved bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveRecord {
    /// The direction.
    pub kind: MoveKind,
    /// How many bytes.
    pub bytes: u64,
    /// The stream's number; 0 is the default stream.
    pub stream: u64,
    /// How many launches of the same report ended before it.
    pub launches_before: usize,
}

/// The calls since the last report.
#[derive(Debug, Default)]
pub struct Moves {
    kept: Vec<MoveRecord>,
    /// How many were not kept.
    more: u64,
    /// The move of the current call so far.
    open: Option<(MoveKind, u64)>,
}

impl Moves {
    /// Notes that the current call moved `bytes`.
    pub fn note(&mut self, kind: MoveKind, bytes: u64) {
        let before = self.open.map_or(0, |(_, bytes)| bytes);
        self.open = Some((kind, before + bytes));
    }

    /// Ends the current call, on the stream with this number.
    pub fn end_call(&mut self, stream: u64, launches_before: usize) {
        match self.open.take() {
            None => {}
            Some(_) if self.kept.len() == MOST => self.more += 1,
            Some((kind, bytes)) => {
                self.kept.push(MoveRecord { kind, bytes, stream, launches_before });
            }
        }
    }

    /// The calls since the previous call of this, and how many there were in addition.
    pub fn take(&mut self) -> (Vec<MoveRecord>, u64) {
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_copy_are_one_record_and_excess_calls_are_counted() {
        let mut moves = Moves::default();
        (0..3).for_each(|_| moves.note(MoveKind::Upload, 16));
        moves.end_call(2, 1);
        // A call that moves nothing, such as a launch.
        moves.end_call(2, 1);
        let (kind, bytes, stream, launches_before) = (MoveKind::Upload, 48, 2, 1);
        let expected = vec![MoveRecord { kind, bytes, stream, launches_before }];
        assert_eq!(moves.take(), (expected, 0));
        for _ in 0..MOST + 5 {
            moves.note(MoveKind::Fill, 1);
            moves.end_call(0, 0);
        }
        let (kept, more) = moves.take();
        assert_eq!((kept.len(), more), (MOST, 5));
        assert_eq!(moves.take(), (Vec::new(), 0));
    }
}
