//! Pointers from C, each with the one thing that may be done with it.
//!
//! CUDA's contract with its callers makes these sound: an out pointer that is not null is valid for
//! one write of its type, text is NUL-terminated, and a buffer has the length that the same call
//! states.

use super::code::Code;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// An opaque handle: a context, a module, a function, a stream or an event. Never dereferenced.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub usize);

impl Handle {
    /// No object.
    pub const NULL: Self = Self(0);
}

/// The destination of a result.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the result.
    pub fn set(self, value: T) -> Result<(), Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract valid for one write of its type.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the result if the caller wants it.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, and by CUDA's contract valid for one write of its type.
            unsafe { self.0.write(value) };
        }
    }
}

/// NUL-terminated text.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// The text.
    pub fn get<'t>(self) -> Result<&'t str, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract NUL-terminated and alive during the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Code::INVALID_VALUE)
    }
}

/// Bytes to read.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Source(*const c_void);

impl Source {
    /// `count` bytes.
    pub fn bytes<'b>(self, count: usize) -> Result<&'b [u8], Code> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() || count > isize::MAX as usize {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract `count` bytes long and alive during the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast(), count) })
    }

    /// Whether the bytes begin with `prefix`, which has no NUL before its end; never reads beyond a
    /// NUL.
    pub fn starts_with(self, prefix: &[u8]) -> Result<bool, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let first: *const u8 = self.0.cast();
        // SAFETY: not null; each byte is read only after all before it matched, so none was the NUL
        // that ends a text.
        Ok(prefix.iter().enumerate().all(|(at, byte)| unsafe { *first.add(at) } == *byte))
    }

    /// The same bytes as NUL-terminated text.
    pub fn text(self) -> Text {
        Text(self.0.cast())
    }
}

/// The structure that nvcc puts in front of fatbins (`fatbinary_section.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FatbinWrapper {
    magic: u32,
    pub version: u32,
    pub data: Source,
    /// In version 2, the fatbins before they were linked.
    pub linked: Sources,
}

/// A list of addresses that ends with a null.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Sources(*const Source);

impl Sources {
    /// All of them.
    pub fn until_null(self) -> Result<Vec<Source>, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_IMAGE);
        }
        // SAFETY: not null, and nvcc ends the list with a null, behind which nothing is read.
        let all = (0..).map(|at| unsafe { *self.0.add(at) });
        Ok(all.take_while(|source| !source.0.is_null()).collect())
    }
}

impl Source {
    /// The wrapper that the bytes are, which begin with its magic number.
    pub fn wrapper(self) -> Result<FatbinWrapper, Code> {
        let wrapper: *const FatbinWrapper = self.0.cast();
        if !wrapper.is_aligned() {
            return Err(Code::INVALID_IMAGE);
        }
        // SAFETY: aligned, and an image that begins with the magic number is a wrapper.
        Ok(unsafe { wrapper.read() })
    }
}

/// Bytes to write.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Target(*mut c_void);

impl Target {
    /// `count` bytes.
    pub fn bytes<'b>(self, count: usize) -> Result<&'b mut [u8], Code> {
        if count == 0 {
            return Ok(&mut []);
        }
        if self.0.is_null() || count > isize::MAX as usize {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract `count` bytes long, writable and not otherwise
        // used during the call.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), count) })
    }

    /// The address as a number.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// From the integer that the caller passed as one of its addresses.
    pub fn from_address(address: u64) -> Self {
        Self(address as *mut c_void)
    }
}

impl Source {
    /// The start of `bytes`.
    pub fn start(bytes: &[u8]) -> Self {
        Self(bytes.as_ptr().cast())
    }

    /// The address as a number.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// From the integer that the caller passed as one of its addresses.
    pub fn from_address(address: u64) -> Self {
        Self(address as *const c_void)
    }
}

/// `kernelParams`: one pointer to each parameter.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Params(*const Source);

impl Params {
    /// The first `count` pointers; `None` if null.
    pub fn get<'p>(self, count: usize) -> Option<&'p [Source]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: not null, and by CUDA's contract one pointer for each parameter of the kernel.
        Some(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// `extra`: pairs of a tag and a pointer, ended by a null tag.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Extra(*const Handle);

const PARAM_BUFFER_POINTER: Handle = Handle(1);
const PARAM_BUFFER_SIZE: Handle = Handle(2);

impl Extra {
    /// Nothing.
    pub const NONE: Self = Self(std::ptr::null());

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The parameter buffer that it describes; `None` if null.
    pub fn buffer<'b>(self) -> Option<Result<&'b [u8], Code>> {
        if self.is_null() {
            return None;
        }
        let (mut buffer, mut size) = (0, 0);
        for pair in 0.. {
            // SAFETY: by CUDA's contract a null tag ends the list, and the loop ends at the first.
            let tag = unsafe { *self.0.add(2 * pair) };
            if tag == Handle::NULL {
                break;
            }
            // SAFETY: by CUDA's contract a tag that is not null is followed by its value.
            let value = unsafe { *self.0.add(2 * pair + 1) };
            match tag {
                PARAM_BUFFER_POINTER => buffer = value.0,
                PARAM_BUFFER_SIZE => {
                    let pointer = value.0 as *const usize;
                    if pointer.is_null() {
                        return Some(Err(Code::INVALID_VALUE));
                    }
                    // SAFETY: not null, and by CUDA's contract a pointer to the buffer's size.
                    size = unsafe { pointer.read() };
                }
                _ => return Some(Err(Code::INVALID_VALUE)),
            }
        }
        Some(Source(buffer as *const c_void).bytes(size))
    }
}

/// `options` and `optionValues` of a module's compilation: pairs of a number and a value.
#[derive(Debug, Clone, Copy)]
pub struct JitOptions {
    count: c_uint,
    options: JitNumbers,
    values: JitValues,
}

/// `options`: which ones.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct JitNumbers(*const c_uint);

/// `optionValues`: one for each.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct JitValues(*mut usize);

const ERROR_LOG_BUFFER: c_uint = 5;
const ERROR_LOG_BUFFER_BYTES: c_uint = 6;

impl JitOptions {
    /// `count` options.
    pub fn new(count: c_uint, options: JitNumbers, values: JitValues) -> Self {
        Self { count, options, values }
    }

    fn place(self, option: c_uint) -> Option<usize> {
        if self.options.0.is_null() || self.values.0.is_null() {
            return None;
        }
        // SAFETY: not null, and by CUDA's contract `count` options, alive during the call.
        let options = unsafe { std::slice::from_raw_parts(self.options.0, self.count as usize) };
        options.iter().position(|known| *known == option)
    }

    fn value(self, option: c_uint) -> Option<usize> {
        // SAFETY: the place is one of `count`, and by CUDA's contract there are as many values.
        self.place(option).map(|at| unsafe { self.values.0.add(at).read() })
    }

    /// Where the caller wants to read why the compilation failed.
    pub fn error_log(self) -> Option<ErrorLog> {
        let size_at = self.place(ERROR_LOG_BUFFER_BYTES)?;
        let bytes = self.value(ERROR_LOG_BUFFER_BYTES).filter(|bytes| *bytes > 0)?;
        let buffer = self.value(ERROR_LOG_BUFFER)? as u64;
        let written = Target(self.values.0.wrapping_add(size_at).cast()).address();
        Some(ErrorLog { buffer, bytes, written })
    }
}

/// The caller's error log. It outlives the object that is compiled or linked, by CUDA's contract.
#[derive(Debug, Clone, Copy)]
pub struct ErrorLog {
    buffer: u64,
    bytes: usize,
    /// The address of the value that says how many bytes were written.
    written: u64,
}

impl ErrorLog {
    /// Writes a message, cut to fit, and how many bytes that took.
    pub fn write(self, message: &str) {
        let Ok(log) = Target::from_address(self.buffer).bytes(self.bytes) else { return };
        let kept = message.floor_char_boundary(self.bytes - 1);
        log[..kept].copy_from_slice(&message.as_bytes()[..kept]);
        log[kept] = 0;
        if let Ok(written) = Target::from_address(self.written).bytes(size_of::<usize>()) {
            written.copy_from_slice(&(kept + 1).to_ne_bytes());
        }
    }
}

/// `CUlaunchConfig`, as far as it is the same in every CUDA version.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawLaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: Handle,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

/// `CUlaunchAttribute`: its number, and the first word of its value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LaunchAttribute {
    pub id: u32,
    padding: u32,
    pub value: u32,
    rest: [u32; 15],
}

impl RawLaunchConfig {
    /// Its attributes.
    pub fn attributes(&self) -> &[LaunchAttribute] {
        if self.attributes.is_null() || self.attribute_count == 0 {
            return &[];
        }
        // SAFETY: not null, and by CUDA's contract valid for as many attributes as it says.
        unsafe { std::slice::from_raw_parts(self.attributes, self.attribute_count as usize) }
    }
}

/// A pointer to a structure of CUDA's.
#[repr(transparent)]
#[derive(Debug)]
pub struct Structure<T>(*const T);

impl<T: Copy> Structure<T> {
    /// The structure.
    pub fn get(self) -> Result<T, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract valid for one read.
        Ok(unsafe { self.0.read() })
    }
}

/// Handles of the caller, to read or to write.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Handles(*mut Handle);

impl Handles {
    /// `count` handles.
    pub fn get<'h>(self, count: usize) -> Result<&'h [Handle], Code> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and by CUDA's contract `count` handles, alive during the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }

    /// Writes as many of `all` as `room` holds, if the caller wants them, and how many there are.
    pub fn set_if_wanted(self, all: &[Handle], room: Out<usize>) -> Result<(), Code> {
        if !self.0.is_null() && !room.0.is_null() {
            // SAFETY: not null, and by CUDA's contract the length of the caller's array.
            let count = unsafe { room.0.read() }.min(all.len());
            // SAFETY: not null, and by CUDA's contract valid for `room` handles.
            unsafe { std::slice::from_raw_parts_mut(self.0, count) }.copy_from_slice(&all[..count]);
        }
        room.set(all.len())
    }
}

/// A host function that a stream calls.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Calls a host function with the caller's own argument.
pub fn call_host(function: Option<HostFunction>, argument: Target) -> Result<(), Code> {
    let function = function.ok_or(Code::INVALID_VALUE)?;
    // SAFETY: the caller of the driver gave the function and its argument to be called together.
    unsafe { function(argument.0) };
    Ok(())
}

/// Gives a C string to the caller; the caller must return it to [`free_text`].
pub fn give_text(text: String) -> *mut c_char {
    let bytes: Vec<u8> = text.into_bytes().into_iter().filter(|byte| *byte != 0).collect();
    std::ffi::CString::new(bytes).map_or(std::ptr::null_mut(), std::ffi::CString::into_raw)
}

/// Takes back a text from [`give_text`].
pub fn free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: by contract the pointer came from `give_text` and comes back once.
        drop(unsafe { std::ffi::CString::from_raw(text) });
    }
}

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

/// `PROT_READ | PROT_WRITE`, and `MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE`.
const READ_WRITE: c_int = 3;
const OWN_AT_ADDRESS: c_int = 0x2 | 0x20 | 0x10_0000;

/// The size of a page, at most: the emulator leaves more between two allocations.
const PAGE: u64 = 4096;

/// The first page of an allocation, and the bytes of all its pages.
fn pages(address: u64, bytes: usize) -> (*mut c_void, usize) {
    let first = address / PAGE * PAGE;
    let end = (address + bytes as u64).next_multiple_of(PAGE);
    (first as *mut c_void, (end - first) as usize)
}

/// Host memory at an address that the device chose.
#[derive(Debug)]
pub struct HostPages {
    address: u64,
    bytes: usize,
}

impl HostPages {
    /// Maps the pages of an allocation; none if the host has something there.
    pub fn map(address: u64, bytes: usize) -> Option<Self> {
        let (first, whole) = pages(address, bytes);
        // SAFETY: the kernel maps new pages, and none over those that the process has.
        let mapped = unsafe { mmap(first, whole, READ_WRITE, OWN_AT_ADDRESS, -1, 0) };
        if mapped == first { Some(Self { address, bytes }) } else { None }
    }

    /// The contents of the host's pages.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the pages are mapped as long as this value lives; the program does not write
        // them while it waits for the driver, as CUDA demands of managed memory.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }

    /// The same, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nor does it read them.
        unsafe { std::slice::from_raw_parts_mut(self.address as *mut u8, self.bytes) }
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        let (first, whole) = pages(self.address, self.bytes);
        // SAFETY: `map` mapped these pages, and this value alone has them.
        unsafe { munmap(first, whole) };
    }
}
