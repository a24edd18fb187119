//! The contexts that are current on a thread, and the calls that need one.

use std::cell::RefCell;

use super::code::Code;
use super::pointers::Handle;
use super::state::{Driver, with};

/// How many contexts a thread can push.
const DEEPEST: usize = 64;

/// Contexts, the last on top. It owns nothing, so it has no destructor: a program may call the
/// driver from the destructors of its thread-locals, after other thread-locals are gone.
struct Stack {
    contexts: [Handle; DEEPEST],
    depth: usize,
}

impl Stack {
    fn top(&self) -> Option<Handle> {
        self.contexts[..self.depth].last().copied()
    }

    fn pop(&mut self) -> Option<Handle> {
        let top = self.top();
        self.depth = self.depth.saturating_sub(1);
        top
    }

    fn push(&mut self, context: Handle) -> Result<(), Code> {
        *self.contexts.get_mut(self.depth).ok_or(Code::OUT_OF_MEMORY)? = context;
        self.depth += 1;
        Ok(())
    }
}

thread_local! {
    /// Current contexts of this thread.
    static CURRENT: RefCell<Stack> =
        const { RefCell::new(Stack { contexts: [Handle::NULL; DEEPEST], depth: 0 }) };
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

/// A call on a stream. A stream that the program created belongs to a context, so it needs no
/// current one; the default streams are those of the current context.
pub fn on_stream(stream: Handle, f: impl FnOnce(&mut Driver, u64) -> Result<(), Code>) -> Code {
    with(|driver| {
        let number = match stream {
            // The default stream, and its two named forms.
            Handle(0..=2) => current().map(|_| 0).ok_or(Code::INVALID_CONTEXT)?,
            stream => driver.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?.0,
        };
        match driver.sticky {
            Some(code) => Err(code),
            None => f(driver, number),
        }
    })
}

/// A call that waits for a stream, which none may while it is captured.
pub fn after_stream(stream: Handle) -> Code {
    on_stream(stream, |driver, number| {
        if driver.graphs.captures(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        driver.order.wait_on_host(number);
        Ok(())
    })
}

/// The current context of this thread.
pub fn current() -> Option<Handle> {
    CURRENT.with_borrow(Stack::top)
}

/// Replaces the current context.
pub fn set_current(context: Handle) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        if context != Handle::NULL {
            // There is room: one was taken off, or none was there.
            let _ = stack.push(context);
        }
    });
}

/// Makes a context current on top of the others.
pub fn push_current(context: Handle) -> Result<(), Code> {
    CURRENT.with_borrow_mut(|stack| stack.push(context))
}

/// Takes the current context off.
pub fn pop_current() -> Option<Handle> {
    CURRENT.with_borrow_mut(Stack::pop)
}
