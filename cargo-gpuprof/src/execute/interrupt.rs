//! SIGINT and SIGTERM: the first ends the run with what was measured, the second at once.
//!
//! SIGXFSZ, which a limit on the size of files sends, would end the process in the middle of a
//! write; listened to, it is an error of that write as a full disk is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// The signal that was received, if any.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Starts listening.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in [SIGINT, SIGTERM] {
            // Registered before the flag is set, so that only a second signal finds it true.
            let second = Arc::new(AtomicBool::new(false));
            flag::register_conditional_shutdown(signal, 128 + signal, second.clone())?;
            flag::register(signal, second)?;
            flag::register_usize(
                signal,
                interrupt.0.clone(),
                usize::try_from(signal).unwrap_or(0),
            )?;
        }
        Ok(interrupt)
    }

    /// The signal's number.
    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }
}
