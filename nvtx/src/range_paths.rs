//! The paths of open NVTX ranges, and the names of domains that they begin with.
//!
//! Input: texts of NVTX's callers, and pushes and pops. Output: the path of a range, with the
//! ranges of its domain and thread that it lies in.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};

use crate::abi::{ASCII, EventAttributes, Narrow, REGISTERED, UNICODE, Wide};

/// A domain or a registered string: its address is the handle.
pub struct Named(String);

/// A handle that names `text` as long as the process lives, as handles of NVTX may.
pub fn named(text: String) -> *const Named {
    Box::leak(Box::new(Named(text)))
}

/// The text of `char*`; lossy if it is not UTF-8.
///
/// # Safety
/// Null, or a text that ends with a zero.
pub unsafe fn narrow(text: *const Narrow) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The text of `wchar_t*`.
///
/// # Safety
/// Null, or a text that ends with a zero.
pub unsafe fn wide(text: *const Wide) -> String {
    let mut found = String::new();
    let mut at = text;
    while !at.is_null() {
        // SAFETY: the caller's promise: the zero was not reached.
        let (code, next) = unsafe { (*at, at.add(1)) };
        if code == 0 {
            break;
        }
        found.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        at = next;
    }
    found
}

/// The message of an event; empty without one.
///
/// # Safety
/// Null, or an event of NVTX's headers.
pub unsafe fn message(event: *const EventAttributes) -> String {
    // SAFETY: the caller's promise.
    let Some(event) = (unsafe { event.as_ref() }) else { return String::new() };
    // SAFETY: the message points to a text or a handle by its type.
    unsafe {
        match event.message_type {
            ASCII => narrow(event.message.cast()),
            UNICODE => wide(event.message.cast()),
            REGISTERED => text(event.message),
            _ => String::new(),
        }
    }
}

/// The text of a domain or a registered string; empty of null.
///
/// # Safety
/// Null, or a handle of [`named`].
pub unsafe fn text(handle: *const c_void) -> String {
    // SAFETY: the caller's promise; handles live as long as the process.
    unsafe { handle.cast::<Named>().as_ref() }.map(|named| named.0.clone()).unwrap_or_default()
}

thread_local! {
    /// The open ranges of this thread by their domains, outermost first: identifiers and names.
    static PUSHED: RefCell<HashMap<usize, Vec<(u64, String)>>> = RefCell::default();
}

/// Opens a range of this thread; returns its path and how many it lies in.
///
/// # Safety
/// Null, or a domain of [`named`].
pub unsafe fn push(domain: *const c_void, id: u64, name: String) -> (String, usize) {
    // SAFETY: the caller's promise.
    let domain_name = unsafe { text(domain) };
    let opened = PUSHED.try_with(|pushed| {
        let mut pushed = pushed.borrow_mut();
        let stack = pushed.entry(domain as usize).or_default();
        stack.push((id, name));
        let names: Vec<&str> = stack.iter().map(|(_, name)| name.as_str()).collect();
        (path(&domain_name, &names.join("/")), stack.len() - 1)
    });
    // A thread that is being destroyed has no ranges any more.
    opened.unwrap_or_default()
}

/// Closes the innermost range of this thread in `domain`; returns its identifier and how many it
/// lay in.
pub fn pop(domain: *const c_void) -> Option<(u64, usize)> {
    let closed = PUSHED.try_with(|pushed| {
        let mut pushed = pushed.borrow_mut();
        let stack = pushed.get_mut(&(domain as usize))?;
        let (id, _) = stack.pop()?;
        Some((id, stack.len()))
    });
    closed.ok().flatten()
}

/// `domain@names`, without the domain if it is the default one.
pub fn path(domain: &str, names: &str) -> String {
    if domain.is_empty() { names.to_owned() } else { format!("{domain}@{names}") }
}
