//! What was printed during a pass: by kernels, through CUDA's driver, and by the harness itself.
//!
//! Input: standard output, which the runner has in a file. Output: what came to it since the pass
//! began, for the runner to show.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ptr;

use gpuprof_model::measurement::PassOutcome;

/// What is told of one pass at most.
const MOST: u64 = 16 << 10;

/// Where standard output was when a pass began.
pub(crate) struct Printed(u64);

impl Printed {
    /// From here on.
    pub(crate) fn begin() -> Self {
        Self(file().and_then(|file| Ok(file.metadata()?.len())).unwrap_or(u64::MAX))
    }

    /// `outcome` with what was printed until now.
    pub(crate) fn told(self, outcome: PassOutcome) -> PassOutcome {
        let Some(text) = self.text().ok().filter(|text| !text.is_empty()) else { return outcome };
        match outcome {
            PassOutcome::Finished(mut result) => {
                result.printed = Some(text);
                PassOutcome::Finished(result)
            }
            PassOutcome::Failed { kind, reason } => {
                let reason = format!("{reason}; before that, it printed:\n{}", text.trim_end());
                PassOutcome::Failed { kind, reason }
            }
            PassOutcome::Invalid { .. } | PassOutcome::Denied(_) => outcome,
        }
    }

    fn text(&self) -> io::Result<String> {
        let mut file = file()?;
        let length = file.metadata()?.len().saturating_sub(self.0);
        file.seek(SeekFrom::Start(self.0.min(i64::MAX.cast_unsigned())))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if length > MOST {
            text += &format!("[{} more bytes]\n", length - MOST);
        }
        Ok(text)
    }
}

/// Standard output with all that was written to it, if it is a file.
fn file() -> io::Result<File> {
    io::stdout().flush()?;
    // SAFETY: none of the C library's streams is in use by this thread; it locks each.
    unsafe { libc::fflush(ptr::null_mut()) };
    let file = File::open("/proc/self/fd/1")?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotSeekable.into()) }
}
