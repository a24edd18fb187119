//! The panic handler of the device: the message and its location go to CUDA's `__assertfail`, which
//! reports them with block and thread, and the launch ends.
//!
//! The report contains the text of a message but not its values (`_` replaces each value):
//! formatting would cost every kernel that may panic fifty registers. For that, LLVM must not know
//! that the message is read: then it drops the values, and all the code that would format them. So
//! one piece of inline assembly, which is declared to read no memory, reads the message. It depends
//! on Rust's layout of [`Location`](core::panic::Location) and `fmt::Arguments`; if that differs, the location is missing,
//! or the message.

use core::fmt;
use core::panic::{Location, PanicInfo, PanicMessage};

/// Whether a location is laid out as the handler expects: file, its length, line, column.
const KNOWN_LOCATION: bool = size_of::<Location<'_>>() == 24 && {
    let location: &'static Location<'static> = Location::caller();
    let start = core::ptr::from_ref(location).cast::<u8>();
    // SAFETY: these read within the location, whole numbers where they are, or fail to compile.
    let (length, line) = unsafe { (*start.add(8).cast::<usize>(), *start.add(16).cast::<u32>()) };
    length == location.file().len() && line == location.line()
};

/// Whether a message is two addresses, as since Rust 1.93.
const KNOWN_MESSAGE: bool = size_of::<fmt::Arguments<'_>>() == 16;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let [template, values] = if KNOWN_MESSAGE { parts(info.message()) } else { NO_MESSAGE };
    let place = match info.location() {
        Some(location) if KNOWN_LOCATION => core::ptr::from_ref(location).cast::<u8>(),
        _ => NO_PLACE.as_ptr(),
    };
    report(template, values, place)
}

/// An empty text: the second part is its length, with a set bit.
const NO_MESSAGE: [*const u8; 2] = [c"".as_ptr().cast(), core::ptr::without_provenance(1)];

/// A place that is none: the address of a file's name, 0, and line 0.
static NO_PLACE: [u8; 24] = [0; 24];

/// The two addresses of a message.
fn parts(message: PanicMessage<'_>) -> [*const u8; 2] {
    // SAFETY: a `PanicMessage` is a reference to a `fmt::Arguments`, which is two addresses
    // (`KNOWN_MESSAGE`).
    unsafe {
        let message: &fmt::Arguments<'_> = core::mem::transmute(message);
        *core::ptr::from_ref(message).cast::<[*const u8; 2]>()
    }
}

core::arch::global_asm!(
    ".extern .func __assertfail",
    "(",
    ".param .b64 message,",
    ".param .b64 file,",
    ".param .b32 line,",
    ".param .b64 function,",
    ".param .b64 size",
    ");",
);

/// Ends the launch with the text of `template` and `values`, at `place`.
///
/// A message without values is an address and, with a set bit, a length. One with values is a
/// sequence of texts, each after its length (a byte, or 128 and two bytes), and of values: a byte
/// from 192 on, whose lower bits give the options that follow.
#[allow(named_asm_labels, reason = "PTX has no others, and the braces keep them apart")]
#[inline(always)]
fn report(template: *const u8, values: *const u8, place: *const u8) -> ! {
    // SAFETY: nothing runs after it, and until then it reads the caller's data, within its bounds,
    // and writes to its own memory.
    unsafe {
        core::arch::asm!(
            include_str!("panic.ptx"),
            template = in(reg64) template,
            values = in(reg64) values,
            place = in(reg64) place,
            function = in(reg64) c"panicked".as_ptr(),
            options(nomem, noreturn),
        );
    }
}
