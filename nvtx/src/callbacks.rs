//! The functions that NVTX's headers call.
//!
//! NVTX attaches them to each copy of its headers in the process, by their numbers in a table.
//! Whatever has no function here does nothing, and costs the program nothing.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{
    CALLBACKS, CORE, CORE2, Callbacks, EventAttributes, Function, FunctionTable, GetExportTable,
    Narrow, Wide,
};
use crate::listener::tell;
use crate::range_paths::{message, named, narrow, path, pop, push, text, wide};

/// `NVTX_NO_PUSH_POP_TRACKING`: there is no range to pop.
const NOTHING: c_int = -2;

/// A number for the next range; NVTX has 0 for none.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// # Safety
/// Null, or a domain of [`named`].
unsafe fn pushed(domain: *const c_void, name: String) -> c_int {
    let id = next_id();
    // SAFETY: the caller's promise.
    let (path, depth) = unsafe { push(domain, id, name) };
    tell(id, Some(path));
    c_int::try_from(depth).unwrap_or(c_int::MAX)
}

fn popped(domain: *const c_void) -> c_int {
    let Some((id, depth)) = pop(domain) else { return NOTHING };
    tell(id, None);
    c_int::try_from(depth).unwrap_or(c_int::MAX)
}

/// # Safety
/// Null, or a domain of [`named`].
unsafe fn started(domain: *const c_void, name: &str) -> u64 {
    let id = next_id();
    // SAFETY: the caller's promise.
    tell(id, Some(path(&unsafe { text(domain) }, name)));
    id
}

// SAFETY (of all of these): NVTX's headers call them with the arguments of the program's calls of
// functions of the same types.

unsafe extern "C" fn range_push_ex(event: *const EventAttributes) -> c_int {
    // SAFETY: as above.
    unsafe { pushed(std::ptr::null(), message(event)) }
}

unsafe extern "C" fn range_push_a(name: *const Narrow) -> c_int {
    // SAFETY: as above.
    unsafe { pushed(std::ptr::null(), narrow(name)) }
}

unsafe extern "C" fn range_push_w(name: *const Wide) -> c_int {
    // SAFETY: as above.
    unsafe { pushed(std::ptr::null(), wide(name)) }
}

extern "C" fn range_pop() -> c_int {
    popped(std::ptr::null())
}

unsafe extern "C" fn range_start_ex(event: *const EventAttributes) -> u64 {
    // SAFETY: as above.
    unsafe { started(std::ptr::null(), &message(event)) }
}

unsafe extern "C" fn range_start_a(name: *const Narrow) -> u64 {
    // SAFETY: as above.
    unsafe { started(std::ptr::null(), &narrow(name)) }
}

unsafe extern "C" fn range_start_w(name: *const Wide) -> u64 {
    // SAFETY: as above.
    unsafe { started(std::ptr::null(), &wide(name)) }
}

extern "C" fn range_end(id: u64) {
    tell(id, None);
}

unsafe extern "C" fn domain_range_push_ex(
    domain: *const c_void,
    event: *const EventAttributes,
) -> c_int {
    // SAFETY: as above.
    unsafe { pushed(domain, message(event)) }
}

extern "C" fn domain_range_pop(domain: *const c_void) -> c_int {
    popped(domain)
}

unsafe extern "C" fn domain_range_start_ex(
    domain: *const c_void,
    event: *const EventAttributes,
) -> u64 {
    // SAFETY: as above.
    unsafe { started(domain, &message(event)) }
}

extern "C" fn domain_range_end(_domain: *const c_void, id: u64) {
    tell(id, None);
}

unsafe extern "C" fn register_string_a(
    _domain: *const c_void,
    name: *const Narrow,
) -> *const c_void {
    // SAFETY: as above.
    named(unsafe { narrow(name) }).cast()
}

unsafe extern "C" fn register_string_w(_domain: *const c_void, name: *const Wide) -> *const c_void {
    // SAFETY: as above.
    named(unsafe { wide(name) }).cast()
}

unsafe extern "C" fn domain_create_a(name: *const Narrow) -> *const c_void {
    // SAFETY: as above.
    named(unsafe { narrow(name) }).cast()
}

unsafe extern "C" fn domain_create_w(name: *const Wide) -> *const c_void {
    // SAFETY: as above.
    named(unsafe { wide(name) }).cast()
}

/// The functions of `NVTX_CB_MODULE_CORE`, by `NvtxCallbackIdCore`.
fn core() -> [(usize, Function); 8] {
    [
        (4, range_start_ex as Function),
        (5, range_start_a as Function),
        (6, range_start_w as Function),
        (7, range_end as Function),
        (8, range_push_ex as Function),
        (9, range_push_a as Function),
        (10, range_push_w as Function),
        (11, range_pop as Function),
    ]
}

/// The functions of `NVTX_CB_MODULE_CORE2`, by `NvtxCallbackIdCore2`.
fn core2() -> [(usize, Function); 8] {
    [
        (2, domain_range_start_ex as Function),
        (3, domain_range_end as Function),
        (4, domain_range_push_ex as Function),
        (5, domain_range_pop as Function),
        (10, register_string_a as Function),
        (11, register_string_w as Function),
        (12, domain_create_a as Function),
        (13, domain_create_w as Function),
    ]
}

/// Attaches the functions here to a copy of NVTX's headers; 0 if that does not have them.
///
/// # Safety
/// NVTX's headers call this, with the function that has their tables.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "NVTX's headers look for this name")]
pub unsafe extern "C" fn InitializeInjectionNvtx2(tables: GetExportTable) -> c_int {
    // SAFETY: the caller's promise; a table lives as long as the headers' code.
    let Some(callbacks) = (unsafe { tables(CALLBACKS).cast::<Callbacks>().as_ref() }) else {
        return 0;
    };
    if callbacks.struct_size < size_of::<Callbacks>() {
        return 0;
    }
    // SAFETY: the types of the functions are those of their numbers.
    let attached =
        unsafe { attach(callbacks, CORE, &core()) && attach(callbacks, CORE2, &core2()) };
    c_int::from(attached)
}

/// Attaches `functions` to a module; whether it has all of them.
///
/// # Safety
/// The functions have the types that the module calls under their numbers.
unsafe fn attach(callbacks: &Callbacks, module: c_int, functions: &[(usize, Function)]) -> bool {
    let (mut table, mut size): (FunctionTable, c_uint) = (std::ptr::null_mut(), 0);
    // SAFETY: it writes both.
    let known = unsafe { (callbacks.module)(module, &raw mut table, &raw mut size) };
    let holds = |number: usize| number < size as usize;
    if known == 0 || table.is_null() || !functions.iter().all(|(number, _)| holds(*number)) {
        return false;
    }
    for (number, function) in functions {
        // SAFETY: the table has `size` pointers; null, or a place for a function.
        unsafe {
            let place = *table.add(*number);
            if !place.is_null() {
                place.write(*function);
            }
        }
    }
    true
}

#[cfg(test)]
#[path = "callbacks_tests.rs"]
mod tests;
