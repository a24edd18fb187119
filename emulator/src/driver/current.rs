//! The contexts that are current on a thread, and the calls that need one.

use std::cell::RefCell;

use super::code::Code;
use super::pointers::Handle;
use super::state::{Driver, with};

thread_local! {
    /// Current contexts of this thread, the last on top.
    static CURRENT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// A call that needs a current context.
pub fn with_context(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    with(|driver| {
        current().ok_or(Code::INVALID_CONTEXT)?;
        f(driver)
    })
}

/// A call that needs a current context in which no kernel has failed.
pub fn with_healthy(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    with_context(|driver| match driver.sticky {
        Some(code) => Err(code),
        None => f(driver),
    })
}

/// The current context of this thread.
pub fn current() -> Option<Handle> {
    CURRENT.with_borrow(|stack| stack.last().copied())
}

/// Replaces the current context.
pub fn set_current(context: Handle) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        if context != Handle::NULL {
            stack.push(context);
        }
    });
}

/// Makes a context current on top of the others.
pub fn push_current(context: Handle) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}

/// Takes the current context off.
pub fn pop_current() -> Option<Handle> {
    CURRENT.with_borrow_mut(Vec::pop)
}
