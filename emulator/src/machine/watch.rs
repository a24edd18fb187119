//! The position of a long launch, kept in a file that outlives a killed process.
//!
//! Input: a path (`GPUEMU_WHERE`) and, now and then, a place. Output: once a launch has run for a
//! quarter of a second, a file with a sentence that says where it is, a quarter of a second old at
//! most, plus the time of a warp's turn. The file is removed when the launch ends. Nothing else
//! depends on it, so results do not depend on time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the file is written.
const EVERY: Duration = Duration::from_millis(250);

/// The file of one launch.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    every: Duration,
    /// When it is written next, and whether it was.
    next: Mutex<(Instant, bool)>,
}

impl Watch {
    /// A launch begins.
    pub fn begin(path: PathBuf) -> Self {
        Self::begin_every(path, EVERY)
    }

    fn begin_every(path: PathBuf, every: Duration) -> Self {
        Self { path, every, next: Mutex::new((Instant::now() + every, false)) }
    }

    /// The launch is at `place`, if that is to be written again.
    pub fn record_position(&self, place: impl FnOnce() -> String) {
        // Another thread that writes is as good.
        let Ok(mut next) = self.next.try_lock() else { return };
        let now = Instant::now();
        if now < next.0 {
            return;
        }
        *next = (now + self.every, true);
        // The file is replaced atomically, since the process may be killed at any time. If it
        // cannot be written, the launch continues without it.
        let new = self.path.with_added_extension("new");
        let _ = std::fs::write(&new, place()).and_then(|()| std::fs::rename(&new, &self.path));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.next.get_mut().unwrap_or_else(PoisonError::into_inner).1 {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watch_file_exists_while_a_long_launch_runs() {
        let path = std::env::temp_dir().join(format!("gpuprof-place-{}", std::process::id()));
        let told = || std::fs::read_to_string(&path).ok();
        let short = Watch::begin(path.clone());
        short.record_position(|| "here".to_owned());
        assert_eq!(told(), None);
        drop(short);
        let long = Watch::begin_every(path.clone(), Duration::ZERO);
        for place in ["here", "there"] {
            long.record_position(|| place.to_owned());
            assert_eq!(told().as_deref(), Some(place));
        }
        drop(long);
        assert_eq!(told(), None);
        assert!(!path.with_added_extension("new").exists());
    }
}
