//! The work that collectors repeat.
//!
//! Input: the closure of a series function, or the launch of a kernel. Output: its launches, as
//! often as a collector needs them, each time with the inputs that they had at first if those can
//! be restored.

use crate::host::collect::cupti::Member;
use crate::host::error::Result;

/// A step of the work: it queues something on the device.
pub(crate) type Step<'w> = &'w mut dyn FnMut() -> Result<()>;

/// What is measured.
pub(crate) struct MeasuredWork<'w> {
    /// Restores the inputs; none if nothing is restored.
    pub(crate) restore: Option<Step<'w>>,
    /// Launches.
    pub(crate) launch: Step<'w>,
}

impl MeasuredWork<'_> {
    /// Whether inputs are restored before each launch.
    pub(crate) fn restores_inputs(&self) -> bool {
        self.restore.is_some()
    }

    /// Queues the restoring of the inputs.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn restore(&mut self) -> Result<()> {
        self.restore.as_mut().map_or(Ok(()), |restore| restore())
    }

    /// Queues the steps before a launch: the restoring of the inputs, and then, for a `cold` cache,
    /// the `flush` of the L2, which holds them now.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn prepare(&mut self, cold: bool, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        self.restore()?;
        if cold { flush() } else { Ok(()) }
    }

    /// Queues the launches.
    ///
    /// # Errors
    /// The driver's, or those of a closure.
    pub(crate) fn launch(&mut self) -> Result<()> {
        (self.launch)()
    }
}

/// A series function has the only slot.
impl Member for MeasuredWork<'_> {
    fn slot(&self) -> u32 {
        0
    }

    fn restore(&mut self) -> Result<()> {
        self.restore()
    }

    fn launch(&mut self) -> Result<()> {
        self.launch()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn inputs_are_restored_before_the_cache_flush() {
        let steps = |cold| {
            let log = RefCell::new(Vec::new());
            let step = |name: &'static str| {
                let log = &log;
                move || {
                    log.borrow_mut().push(name);
                    Ok(())
                }
            };
            let (mut restore, mut launch) = (step("restore"), step("launch"));
            let mut work = MeasuredWork { restore: Some(&mut restore), launch: &mut launch };
            work.prepare(cold, step("flush")).unwrap();
            work.launch().unwrap();
            log.into_inner()
        };
        assert_eq!(steps(true), ["restore", "flush", "launch"]);
        assert_eq!(steps(false), ["restore", "launch"]);
    }
}
