//! A blocking call in its own thread, so that it can be waited for together with other events.
//!
//! Input: a call that blocks in the kernel, such as `wait` for a child or `flock` on a file.
//! Output: a descriptor that becomes readable when the call returns, and its result. Such calls
//! have no time limit and cannot be cancelled. To stop waiting, drop the value: the call continues
//! in its thread, and its result is dropped, which releases a lock.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// A running call.
#[derive(Debug)]
pub struct BlockingCall<T> {
    result: Receiver<T>,
    ended: PipeReader,
}

impl<T: Send + 'static> BlockingCall<T> {
    /// Starts `call`.
    ///
    /// # Errors
    /// The system gives no descriptor or no thread.
    pub fn start(call: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (ended, ends) = io::pipe()?;
        let (sender, result) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            let _ = sender.send(call());
            // After the result is sent: when the pipe ends, the result is there.
            drop(ends);
        })?;
        Ok(Self { result, ended })
    }

    /// The result, once, if the call has returned.
    pub fn result(&self) -> Option<T> {
        self.result.try_recv().ok()
    }

    /// The result, if the call returns within `time`.
    pub fn within(&self, time: Duration) -> Option<T> {
        self.result.recv_timeout(time).ok()
    }
}

impl<T> AsFd for BlockingCall<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::interrupt::Interrupt;

    #[test]
    fn the_descriptor_is_readable_once_the_result_is_ready() {
        let (go, goes) = mpsc::channel::<()>();
        let call = BlockingCall::start(move || goes.recv().is_err()).unwrap();
        let never = Interrupt::default();
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(!never.wait(&[call.as_fd()], Some(soon)).unwrap());
        assert!(Instant::now() >= soon && call.result().is_none());
        drop(go);
        assert!(never.wait(&[call.as_fd()], None).unwrap());
        assert_eq!((call.result(), call.result()), (Some(true), None));
    }

    #[test]
    fn an_abandoned_result_is_dropped() {
        let (go, goes) = mpsc::channel::<()>();
        let (held, dropped) = io::pipe().unwrap();
        let call = BlockingCall::start(move || {
            let _ = goes.recv();
            dropped
        });
        drop((call, go));
        assert!(Interrupt::default().wait(&[held.as_fd()], None).unwrap());
    }
}
