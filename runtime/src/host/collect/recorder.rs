//! The start of CUPTI's recorder of activities in a process that others may not disturb.
//!
//! Input: a session, and the place of CUPTI. Output: a recorder, or why there is none.

use std::path::Path;

use gpuprof_cupti::{ActivityApi, ActivityRecorder, WatchError};

use crate::host::error::Error;
use crate::host::session::Session;

/// Begins to record, after all earlier work has ended: work alone, or `calls` of the driver too.
/// `cupti` is its library or folder, if one was named.
///
/// # Errors
/// Why CUPTI records nothing, in words.
pub(super) fn begin(
    session: &Session,
    cupti: Option<&Path>,
    calls: bool,
) -> std::result::Result<ActivityRecorder, String> {
    // Nothing of this reaches the device, so others may measure meanwhile.
    let api = ActivityApi::load(cupti).map_err(|error| match error {
        WatchError::NotFound(_) => "no usable CUPTI was found".to_owned(),
        other => other.to_string(),
    })?;
    let begin = || {
        session.context.synchronize()?;
        let begun = match calls {
            true => ActivityRecorder::begin_with_calls(api),
            false => ActivityRecorder::begin(api),
        };
        begun.map_err(|e| Error::failed(e.to_string()))
    };
    session.quiet.stage(begin).map_err(|e| e.to_string())
}
