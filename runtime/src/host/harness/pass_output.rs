//! The output of a pass: of kernels, through CUDA's driver, and of the harness itself.
//!
//! Input: standard output, which the runner has in a file. Output: the text since the start of the
//! pass, for the runner to show.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ptr;

use gpuprof_model::measurement::PassOutcome;

/// The most output of one pass.
const MOST: u64 = 16 << 10;

/// The length of standard output at the start of a pass.
pub(crate) struct PassOutput(u64);

impl PassOutput {
    /// From here on.
    pub(crate) fn begin() -> Self {
        Self(file().and_then(|file| Ok(file.metadata()?.len())).unwrap_or(u64::MAX))
    }

    /// `outcome` with what was printed until now.
    pub(crate) fn attach_to(self, outcome: PassOutcome) -> PassOutcome {
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
            PassOutcome::Invalid { .. } | PassOutcome::Denied(_) | PassOutcome::Lost => outcome,
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
